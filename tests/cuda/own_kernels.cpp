#include "own_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

#include "base/random.hpp"
#include "executor/cuda/own/host_kernels.hpp"
#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/own/number.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/program_check.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::testing {
namespace {

class HostLauncher final : public cuda::KernelLauncher {
 public:
  void launch(const cuda::own::KernelArguments& kernel, cuda::StreamHandle /*stream*/) override {
    cuda::own::run_on_host(kernel);
  }
};

class HostStore final : public cuda::WeightStore {
 public:
  const void* add(std::span<const std::byte> bytes) override {
    return bytes_.emplace_back(bytes.begin(), bytes.end()).data();
  }

 private:
  std::deque<std::vector<std::byte>> bytes_;
};

/// The memory behind a float32 view as numbers of another type, and back.
class Memory {
 public:
  Memory(const View& view, DataType type, const float* first) : span_(element_span(view)), type_(type) {
    const std::vector<float> values(first - view.offset + span_.begin, first - view.offset + span_.end);
    bytes_ = cuda::own::bytes_of(values, type);
    before_ = bytes_;
  }
  [[nodiscard]] void* data() { return bytes_.data(); }
  /// What has changed, wherever it lies.
  void write_back(float* first) const {
    cuda::own::with_type(type_, [&](auto number) {
      using T = decltype(number);
      for (std::int64_t i = 0; i < span_.end - span_.begin; ++i) {
        const float value = cuda::own::load<T>(bytes_.data(), i);
        if (value != cuda::own::load<T>(before_.data(), i)) first[i] = value;
      }
    });
  }

 private:
  ElementSpan span_;
  DataType type_;
  std::vector<std::byte> bytes_, before_;
};

bool is_float32_throughout(const OpCall& call) {
  const auto float32 = [](const auto& view) { return view.type == DataType::kFloat32; };
  return float32(call.outputs[0]) && std::all_of(call.inputs.begin(), call.inputs.end(),
                                                 [&](const Operand& operand) { return std::visit(float32, operand); });
}

class OwnKernel final : public HostKernel {
 public:
  OwnKernel(OpCall call, std::unique_ptr<HostStore> store, std::unique_ptr<cuda::PreparedCall> prepared)
      : call_(std::move(call)), store_(std::move(store)), prepared_(std::move(prepared)) {}

  void run(const HostArguments& arguments) override {
    const View& y = call_.outputs[0];
    if (is_float32_throughout(call_)) {
      cuda::CallArguments own{{arguments.inputs.begin(), arguments.inputs.end()},
                              {arguments.outputs.begin(), arguments.outputs.end()},
                              arguments.workspace};
      prepared_->bind(own)->launch({});
      return;
    }
    std::deque<Memory> memory;
    cuda::CallArguments own{{}, {}, arguments.workspace};
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const View* const view = std::get_if<View>(&call_.inputs[i]);
      own.inputs.push_back(view == nullptr ? nullptr
                                           : memory.emplace_back(*view, view->type, arguments.inputs[i]).data());
    }
    own.outputs.push_back(memory.emplace_back(y, y.type, arguments.outputs[0]).data());
    prepared_->bind(own)->launch({});
    memory.back().write_back(arguments.outputs[0]);
  }

 private:
  OpCall call_;
  std::unique_ptr<HostStore> store_;
  std::unique_ptr<cuda::PreparedCall> prepared_;
};

class OwnKernels final : public HostKernels {
 public:
  explicit OwnKernels(DataType type) : type_(type), calls_(cuda::make_own_calls(launcher_)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return calls_->alternatives(typed(call), threads);
  }
  bool accepts_strides(const OpCall& call) const override { return calls_->accepts_strides(call); }
  int cores() const override { return 1; }
  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int /*threads*/,
                                              std::span<const std::vector<float>> weights) const override {
    auto store = std::make_unique<HostStore>();
    COHORT_TRY(auto prepared, calls_->prepare(typed(call), {algorithm, 0}, weights, *store));
    return std::make_unique<OwnKernel>(typed(call), std::move(store), std::move(prepared));
  }
  void use_threads(int /*threads*/, std::span<const int> /*cores*/) const override {}

 private:
  /// Whole numbers keep their 32 bits.
  [[nodiscard]] OpCall typed(OpCall call) const {
    const std::size_t own = own_input_count(call);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const bool whole = i < own && cuda::own::holds_whole_numbers(call.attributes, i);
      if (!whole) std::visit([&](auto& view) { view.type = type_; }, call.inputs[i]);
    }
    if (!cuda::own::holds_whole_numbers(call.attributes)) call.outputs[0].type = type_;
    return call;
  }

  DataType type_;
  HostLauncher launcher_;
  std::unique_ptr<cuda::CallFactory> calls_;
};

}  // namespace

std::unique_ptr<HostKernels> make_own_kernels_on_host(DataType type) { return std::make_unique<OwnKernels>(type); }

namespace {

/// Values that 8 bits of mantissa hold, so that types differ in how results are rounded only.
void set_short_inputs(const OpCall& call, CallRunner& runner, float low, float high) {
  Random random(5);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape_of(call.inputs[i]))));
    for (float& value : values) {
      cuda::own::Bfloat16 rounded{};
      cuda::own::from_float(random.uniform(low, high), rounded);
      value = cuda::own::to_float(rounded);
    }
    runner.set_input(i, values);
  }
}

void expect_near(const CallRunner& runner, DataType type, float tolerance) {
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  const std::vector<float> actual = runner.run(*make_own_kernels_on_host(type));
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(largest, 1.0F))
        << "element " << i << " in " << to_string(type);
}

}  // namespace

void expect_equals_reference(const OpCall& call, float low, float high) {
  // float32 sums of some hundred products, against sums in double.
  expect_near(CallRunner(call, 1, low, high), DataType::kFloat32, 2e-5F);
  // Stored constants and results are rounded, those of recurrent layers at every step.
  CallRunner runner(call, 1, low, high);
  set_short_inputs(call, runner, low, high);
  expect_near(runner, DataType::kBfloat16, 6.0F / 256);
  expect_near(runner, DataType::kFloat16, 6.0F / 2048);
}

void expect_equals_reference_in_float32(const CallRunner& runner) { expect_near(runner, DataType::kFloat32, 2e-5F); }

void expect_same_bits(const CallRunner& runner) {
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16}) {
    const std::vector<float> actual = runner.run(*make_own_kernels_on_host(type));
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::int32_t>(actual[i]), std::bit_cast<std::int32_t>(expected[i]))
          << "element " << i << " in " << to_string(type);
  }
}

std::vector<std::int32_t> as_whole_numbers(const std::vector<float>& elements) {
  std::vector<std::int32_t> values;
  for (const float element : elements) values.push_back(std::bit_cast<std::int32_t>(element));
  return values;
}

OpCall call_of(OpAttributes attributes, std::vector<Operand> inputs, std::vector<PostOp> post_ops, Layout layout,
               std::size_t own) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < (own == 0 ? inputs.size() : own); ++i)
    shapes.push_back(std::visit([](const auto& view) { return view.shape; }, inputs[i]));
  const auto shape = infer_shape(attributes, shapes);
  EXPECT_TRUE(shape) << (shape ? "" : shape.error().message);
  return make_call(std::move(attributes), std::move(inputs), dense(9, *shape, layout), std::move(post_ops));
}

}  // namespace cohort::testing
