#include "executor/cuda/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "executor/program_check.hpp"

namespace cohort::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;  // what the libraries' vector loads and workspaces ask for

Bytes aligned(Bytes size) { return Bytes{(size.value + kAlignment - 1) / kAlignment * kAlignment}; }

Block zeroed(DeviceApi& api, Bytes size) {
  Block block(api, Block::Where::kDevice, size);
  if (size.value > 0) api.clear(block.data(), size);
  return block;
}

}  // namespace

Block::Block(DeviceApi& api, Where where, Bytes size) : api_(&api), where_(where), size_(size) {
  if (size.value == 0) return;
  data_ = where == Where::kDevice ? api.allocate(size) : api.allocate_pinned(size);
}

Block::~Block() {
  if (data_ == nullptr) return;
  if (where_ == Where::kDevice) {
    api_->release(data_);
  } else {
    api_->release_pinned(data_);
  }
}

void Block::swap(Block& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(where_, other.where_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

ProgramMemory::ProgramMemory(const Program& program, DeviceApi& api)
    : program_(&program),
      arena_(zeroed(api, program.arena)),
      own_(program.buffers.size()),
      pinned_(program.buffers.size()) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const int count = instances_outside_arena(program, buffer);
    for (int slot = 0; slot < count; ++slot) {
      own_[i].push_back(zeroed(api, buffer.size));
      if (buffer.kind != BufferKind::kInput) continue;
      Block& host = pinned_[i].emplace_back(api, Block::Where::kPinned, buffer.size);
      std::fill_n(host.data(), static_cast<std::size_t>(buffer.size.value), std::byte{0});
    }
  }
}

std::byte* ProgramMemory::at(BufferId id, int slot) const {
  const std::vector<Block>& own = own_[to_index(id)];
  if (own.empty()) return arena_.data() + program_->buffer(id).offset.value;
  return own[own.size() == 1 ? 0 : static_cast<std::size_t>(slot)].data();
}

std::byte* ProgramMemory::pinned(BufferId input, int slot) const {
  return pinned_[to_index(input)][static_cast<std::size_t>(slot)].data();
}

std::byte* ProgramMemory::element(const View& view, int slot) const {
  return at(view.buffer, slot) + view.offset * element_bytes(view.type);
}

CallArguments ProgramMemory::arguments(const Step& step, int slot) const {
  CallArguments arguments;
  for (const Operand& operand : step.call.inputs) {
    const View* view = std::get_if<View>(&operand);
    arguments.inputs.push_back(view == nullptr ? nullptr : element(*view, slot));
  }
  for (const View& view : step.call.outputs) arguments.outputs.push_back(element(view, slot));
  if (step.workspace) arguments.workspace = at(*step.workspace, slot);
  return arguments;
}

const void* ChunkedWeights::add(std::span<const std::byte> bytes) {
  const Bytes size = aligned(Bytes{static_cast<std::int64_t>(bytes.size())});
  if (chunks_.empty() || used_ + size > chunks_.back().size()) {
    const Bytes wanted = chunks_.empty() ? aligned(expected_) : kChunk;
    chunks_.emplace_back(*api_, Block::Where::kDevice, std::max(size, wanted));
    used_ = {};
  }
  std::byte* const place = chunks_.back().data() + used_.value;
  used_ += size;
  api_->copy_to_device(place, bytes);
  return place;
}

}  // namespace cohort::cuda
