#include "executor/input_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace cohort {
namespace {

/// Writes dimension `axis` and all after it, reading on from `from` in logical order.
const float* scatter(const Shape& shape, const Shape& strides, std::size_t axis, const float* from, float* to) {
  if (axis == shape.size()) {
    *to = *from;
    return from + 1;
  }
  for (std::int64_t i = 0; i < shape[axis]; ++i) from = scatter(shape, strides, axis + 1, from, to + i * strides[axis]);
  return from;
}

}  // namespace

InputPlace place_of(const Program& program, std::size_t input_index) {
  const MemberId first = program.inputs[input_index].members.front();
  InputPlace place{static_cast<std::uint32_t>(first), 0};
  for (std::size_t i = 0; i < input_index; ++i) {
    if (program.inputs[i].members.front() == first) ++place.position;
  }
  return place;
}

std::vector<float> generated_values(const Shape& shape, std::uint64_t seed, InputPlace place) {
  Random random(derive_seed(derive_seed(seed, place.pipeline), place.position));
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = random.uniform(-1.0F, 1.0F);
  return values;
}

std::vector<float> usual_settings() {
  std::vector<float> values(static_cast<std::size_t>(kSettingCount), 0);
  const auto set = [&](Setting setting, float value) { values[static_cast<std::size_t>(setting)] = value; };
  set(Setting::kLearningRate, 1e-3F);
  set(Setting::kMomentum, 0.9F);
  set(Setting::kBeta1, 0.9F);
  set(Setting::kBeta2, 0.999F);
  set(Setting::kEpsilon, 1e-8F);
  set(Setting::kCorrection1, 1 - 0.9F);
  set(Setting::kCorrection2, 1 - 0.999F);
  set(Setting::kClipNorm, std::numeric_limits<float>::infinity());
  set(Setting::kDropoutRate, 0.5F);
  return values;
}

std::vector<float> generated_values(const ProgramInput& input, std::uint64_t seed, InputPlace place) {
  if (input.role == TensorRole::kSetting && input.element == ElementType::kFloat32) {
    std::vector<float> rows;
    for (std::size_t i = 0; i < input.members.size(); ++i) {
      const std::vector<float> row = usual_settings();
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }
  std::vector<float> values = generated_values(input.shape, seed, place);
  if (input.element == ElementType::kFloat32) return values;
  for (float& value : values) value = std::bit_cast<float>(std::int32_t{value < 0 ? 0 : 1});
  return values;
}

Result<std::vector<float>> as_elements(const ProgramInput& input, std::vector<float> numbers) {
  if (input.element == ElementType::kFloat32) return numbers;
  for (float& number : numbers) {
    if (!(std::abs(number) < 0x1p31F) || number != std::trunc(number))
      return fail(ErrorCode::kInvalidInput, "input \"{}\" holds whole numbers of 32 bits, and {} is none", input.name,
                  number);
    number = std::bit_cast<float>(static_cast<std::int32_t>(number));
  }
  return numbers;
}

std::vector<float> as_numbers(ElementType element, std::vector<float> elements) {
  if (element == ElementType::kFloat32) return elements;
  for (float& each : elements) each = static_cast<float>(std::bit_cast<std::int32_t>(each));
  return elements;
}

Result<void> write_input(Runner& runner, std::size_t input_index, int slot, std::span<const float> values) {
  const Program& program = runner.program();
  const ProgramInput& input = program.inputs[input_index];
  const std::span<float> memory = runner.session().input(input_index, slot);
  if (values.size() != memory.size()) {
    return fail(ErrorCode::kInvalidInput, "input \"{}\" of shape {} needs {} values and got {}", input.name,
                to_string(input.shape), memory.size(), values.size());
  }
  scatter(input.shape, dense_strides(input.shape, program.layout), 0, values.data(), memory.data());
  return {};
}

Result<void> fill_inputs(Runner& runner, const InputValues& values) {
  const Program& program = runner.program();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    COHORT_TRY(const std::vector<float> filled, values(program.inputs[i], place_of(program, i)));
    for (int slot = 0; slot < program.input_buffers; ++slot) COHORT_CHECK(write_input(runner, i, slot, filled));
  }
  for (int slot = 0; slot < program.input_buffers; ++slot) runner.upload(slot);
  return {};
}

Result<void> fill_inputs_to_time(Runner& runner) {
  constexpr std::int64_t kPattern = 4093;  // a prime: rows of no shape repeat it in step
  const Program& program = runner.program();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    ProgramInput any = program.inputs[i];
    if (any.role != TensorRole::kSetting) any.shape = {kPattern};
    const std::vector<float> pattern = generated_values(any, 0, {});
    for (int slot = 0; slot < program.input_buffers; ++slot) {
      std::span<float> left = runner.session().input(i, slot);
      while (!left.empty()) {
        const std::size_t count = std::min(left.size(), pattern.size());
        std::copy_n(pattern.begin(), count, left.begin());
        left = left.subspan(count);
      }
    }
  }
  for (int slot = 0; slot < program.input_buffers; ++slot) runner.upload(slot);
  return runner.wait();
}

}  // namespace cohort
