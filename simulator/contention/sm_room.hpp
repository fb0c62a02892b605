#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/kernel_demand.hpp"

namespace cohort {

/// How many blocks of a kernel each SM holds; 0 beyond the device's last.
using BlocksBySm = std::array<std::uint8_t, kMostSms>;

/// Blocks of a kernel and where they are.
struct PlacedBlocks {
  BlocksBySm by_sm{};
  std::int64_t count = 0;
  std::size_t begin = 0;  ///< no SM before has any, nor one from `end` on
  std::size_t end = 0;

  void add(const PlacedBlocks& more);
  void take(const PlacedBlocks& some);  ///< `some`: all of them among these
};

/// SMs that loops over arrays take in, beyond the device's last as well: whole vectors of the processor's.
std::size_t padded_sms(const GpuProfile& gpu);

/// Blocks of the kernel that an SM holds while nothing else is on it.
int room_when_empty(const KernelDemand& kernel, const SmLimits& sm);

/// What every SM of a device has left for blocks. One array for each kind of room, so that the compiler can take
/// several SMs at a time.
class SmRoom {
 public:
  explicit SmRoom(const GpuProfile& gpu);

  /// Takes room for up to `blocks` blocks of a kernel that is on the SMs with `own` already: an SM with most room
  /// first, ties to the lowest SM; in whole clusters.
  PlacedBlocks place(const KernelDemand& kernel, const BlocksBySm& own, std::int64_t blocks);
  void give_back(const KernelDemand& kernel, const PlacedBlocks& blocks);

 private:
  enum Kind : std::size_t { kSlots, kThreads, kRegisters, kSharedMemory, kKinds };
  using Room = std::array<float, kKinds>;

  static Room room_of_block(const KernelDemand& kernel);
  void find_fitting(const KernelDemand& kernel, const BlocksBySm& own);
  [[nodiscard]] int most_fitting() const;
  [[nodiscard]] std::int64_t blocks_above(int level) const;
  [[nodiscard]] int level_of(std::int64_t blocks) const;

  std::size_t sms_;
  std::array<std::array<float, kMostSms>, kKinds> left_{};  ///< whole numbers
  std::array<std::int16_t, kMostSms> fitting_{};            ///< of place(): blocks that still fit
};

}  // namespace cohort
