#include "executor/host/host_memory.hpp"

#include <cstring>
#include <new>

#include "executor/program_check.hpp"

namespace cohort {
namespace {

constexpr std::align_val_t kAlignment{static_cast<std::size_t>(kBufferAlignment.value)};

}  // namespace

AlignedBytes::AlignedBytes(Bytes size) {
  const auto count = static_cast<std::size_t>(size.value);
  data_.reset(static_cast<std::byte*>(::operator new(count, kAlignment)));
  std::memset(data_.get(), 0, count);
}

void AlignedBytes::Free::operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }

Result<HostMemory> HostMemory::allocate(const Program& program, Bytes machine) {
  COHORT_CHECK(check_fits(program, machine));
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
