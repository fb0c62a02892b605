#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "executor/cuda/calls.hpp"
#include "executor/cuda/device_api.hpp"

namespace cohort::cuda {

/// A block of device or pinned host memory.
class Block {
 public:
  enum class Where { kDevice, kPinned };

  Block() = default;
  /// Throws DeviceError. A block of no size is null.
  Block(DeviceApi& api, Where where, Bytes size);
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  void swap(Block& other) noexcept;

  DeviceApi* api_ = nullptr;
  Where where_ = Where::kDevice;
  std::byte* data_ = nullptr;
  Bytes size_;
};

/// The buffers of a Program on the device: the arena in one block, every input once per minibatch in
/// flight with a pinned block of its own beside it, outputs on their own. All zero at first.
class ProgramMemory {
 public:
  /// Throws DeviceError.
  ProgramMemory(const Program& program, DeviceApi& api);

  /// First byte of a buffer; `slot` matters for inputs only.
  [[nodiscard]] std::byte* at(BufferId buffer, int slot) const;
  [[nodiscard]] std::byte* pinned(BufferId input, int slot) const;
  /// Pointers of a step's operands.
  [[nodiscard]] CallArguments arguments(const Step& step, int slot) const;

 private:
  [[nodiscard]] std::byte* element(const View& view, int slot) const;

  const Program* program_;
  Block arena_;
  std::vector<std::vector<Block>> own_;     ///< by buffer, then slot; empty for arena buffers
  std::vector<std::vector<Block>> pinned_;  ///< likewise, of inputs
};

/// Weights one behind the other in blocks of at least kChunk.
class ChunkedWeights final : public WeightStore {
 public:
  static constexpr Bytes kChunk{32 << 20};
  /// Room is taken for `expected` bytes at once.
  ChunkedWeights(DeviceApi& api, Bytes expected) : api_(&api), expected_(expected) {}

  const void* add(std::span<const std::byte> bytes) override;

 private:
  DeviceApi* api_;
  Bytes expected_;
  std::vector<Block> chunks_;
  Bytes used_;  ///< of the last chunk
};

}  // namespace cohort::cuda
