#include "executor/host/host_memory.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <variant>

#include "executor/program_check.hpp"

namespace cohort {
namespace {

constexpr std::align_val_t kAlignment{static_cast<std::size_t>(kBufferAlignment.value)};

/// Memory that the system can give without taking any from a program; absent where it does not tell.
std::optional<Bytes> free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return Bytes{1024} * kibibytes;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// Most that a step's weights take as they are gathered, which a kernel then packs: 16 members' first dense layer of an
/// AlexNet are 2.4 GB.
Bytes gathered_weights(const Program& program) {
  std::int64_t most = 0;
  for (const Step& step : program.steps) {
    std::int64_t elements = 0;
    for (const Operand& operand : step.call.inputs) {
      if (const auto* const weight = std::get_if<WeightView>(&operand)) elements += element_count(weight->shape);
    }
    most = std::max(most, elements);
  }
  return Bytes{std::int64_t{sizeof(float)}} * most;
}

/// The system would grant more than it has, and kill the process as soon as that is used.
Result<void> check_free(const Program& program) {
  const std::optional<Bytes> free = free_memory();
  const Bytes needed = memory_needed(program), gathered = gathered_weights(program);
  if (!free || needed + gathered <= *free) return {};
  return fail(ErrorCode::kDoesNotFit,
              "the model batch needs {} ({}), and {} while its weights are packed; {} of memory are free",
              format_bytes(needed), memory_parts(program.memory), format_bytes(gathered), format_bytes(*free));
}

}  // namespace

AlignedBytes::AlignedBytes(Bytes size) {
  const auto count = static_cast<std::size_t>(size.value);
  data_.reset(static_cast<std::byte*>(::operator new(count, kAlignment)));
  std::memset(data_.get(), 0, count);
}

void AlignedBytes::Free::operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }

Result<HostMemory> HostMemory::allocate(const Program& program, Bytes machine) {
  COHORT_CHECK(check_fits(program, machine));
  COHORT_CHECK(check_free(program));
  HostMemory memory(program);
  try {
    memory.allocate_all();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDoesNotFit, "the model batch needs {}, which the system does not give",
                format_bytes(memory_needed(program)));
  }
  return memory;
}

void HostMemory::allocate_all() {
  arena_ = AlignedBytes(program_->arena);
  for (const Buffer& buffer : program_->buffers) {
    std::vector<AlignedBytes>& own = own_.emplace_back();
    for (int i = 0; i < instances_outside_arena(*program_, buffer); ++i) own.emplace_back(buffer.size);
  }
}

std::byte* HostMemory::at(BufferId buffer, int slot) const {
  const std::vector<AlignedBytes>& own = own_[to_index(buffer)];
  if (own.empty()) return arena_.data() + program_->buffer(buffer).offset.value;
  return own[own.size() == 1 ? 0 : static_cast<std::size_t>(slot)].data();
}

float* HostMemory::first_element(const View& view, int slot) const {
  // Buffers begin on cache lines and hold floats, which is what makes this cast sound.
  return reinterpret_cast<float*>(at(view.buffer, slot)) + view.offset;
}

}  // namespace cohort
