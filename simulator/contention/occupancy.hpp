#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend bool operator==(const ComputeCapability&, const ComputeCapability&) = default;
};

/// What one streaming multiprocessor (SM) can hold at a time, and in which steps it is handed out.
struct SmLimits {
  int threads = 0;
  int blocks = 0;
  std::int64_t registers = 0;    ///< of 32 bits
  int partitions = 0;            ///< parts of an SM; a warp's registers all lie in one
  int register_unit = 0;         ///< registers are given to a warp in multiples of this
  Bytes shared_memory;           ///< for all blocks
  Bytes shared_memory_of_block;  ///< the most one block may ask for, opted in
  Bytes shared_memory_unit;
  Bytes reserved_shared_memory;  ///< taken by the system for each block

  friend bool operator==(const SmLimits&, const SmLimits&) = default;
};

/// Limits of 6.0, 7.0, 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0; absent for others.
/// Source: NVIDIA, "CUDA C++ Programming Guide", technical specifications per compute capability; allocation units
/// and the sub-partitions of 6.0 from the CUDA toolkit's occupancy calculator (cuda_occupancy.h, 13.0).
std::optional<SmLimits> sm_limits(ComputeCapability capability);

/// Why no further block fits an SM.
enum class OccupancyLimit { kThreads, kBlocks, kRegisters, kSharedMemory };
std::string_view to_string(OccupancyLimit limit);

/// What one block of a kernel takes of an SM.
struct BlockShare {
  int threads = 0;             ///< whole warps
  std::int64_t registers = 0;  ///< whole allocation units of each warp
  Bytes shared_memory;         ///< with what is reserved, in whole units

  friend bool operator==(const BlockShare&, const BlockShare&) = default;
};

/// Theoretical occupancy of a launch.
struct Occupancy {
  int blocks_per_sm = 0;
  OccupancyLimit limit = OccupancyLimit::kThreads;  ///< of several the first named in the enumeration
  BlockShare block;
};

/// How many blocks of a launch an SM holds when nothing else runs there. Registers and shared memory are those of
/// CUPTI's kernel records (shared memory: static and dynamic).
/// Errors: kInvalidInput naming the field of the launch that no SM of these limits can serve.
Result<Occupancy> occupancy(const LaunchShape& launch, const SmLimits& limits);

}  // namespace cohort
