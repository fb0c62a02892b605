#pragma once

#include <array>
#include <cstdint>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/occupancy.hpp"

namespace cohort {

/// What a kernel asks of a GPU, block by block. All blocks are alike.
struct KernelDemand {
  std::int64_t blocks = 1;
  BlockShare block;       ///< room that a block takes of its SM
  int blocks_per_sm = 1;  ///< the most of its own blocks on one SM
  int cluster = 1;        ///< blocks that are placed together
  int priority = 0;       ///< larger ones are placed first
  /// Its blocks share out the work among themselves until it is done, and then all end.
  bool persistent = false;
  double fixed_ns = 0;  ///< part of the kernel's time that no block takes
  double floor_ns = 1;  ///< time of one block that nothing holds up
  /// By Throughput: time that one block would take of all of the resource, an SM's or the device's. DRAM: while the
  /// kernel finds its data in L2 as often as when it ran alone.
  std::array<double, kThroughputs> work_ns{};
  double cold_dram_ns = 0;  ///< DRAM: where others have driven its data out of L2; never less than above
  Bytes footprint;          ///< memory that the kernel touches

  friend bool operator==(const KernelDemand&, const KernelDemand&) = default;
};

/// What is known of a kernel that ran alone.
struct SoloRun {
  Nanoseconds time{};
  /// By Throughput: mean part of the resource that was used during `time`, each from 0 to 1.
  std::array<double, kThroughputs> utilisation{};
  double cold_dram_utilisation = 0;  ///< what DRAM's would have been with L2 of no use; 0: as it was
  Bytes footprint;
  int priority = 0;
};

/// Whether a launch looks like one whose blocks fetch their work: one block an SM, and a grid of 90% to 100% of the
/// SMs. Such a grid runs for as long as there is work, whatever the number of blocks.
bool looks_persistent(const LaunchShape& launch, int blocks_per_sm, const GpuProfile& gpu);

/// The demand with which a kernel alone takes exactly the time that was measured. Of all floors that explain the time
/// together with the utilisations the largest is taken; utilisations that the time has no room for are reduced.
/// Errors: kInvalidInput naming the field.
Result<KernelDemand> demand_of(const LaunchShape& launch, const SoloRun& solo, const GpuProfile& gpu);

/// Time of the kernel alone on the device. Errors: kInvalidInput where a block does not fit an SM.
Result<double> solo_ns(const KernelDemand& kernel, const GpuProfile& gpu);

}  // namespace cohort
