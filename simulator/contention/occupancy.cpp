#include "simulator/contention/occupancy.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace cohort {
namespace {

using namespace literals;

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;   // a block
constexpr int kMostRegisters = 255;  // a thread
constexpr int kMostCluster = 16;     // blocks, where opted in
/// A block is admitted as if each of four partitions took an equal number of its warps, on 6.0 too.
constexpr int kAdmissionPartitions = 4;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// {threads, blocks, registers, partitions, register unit, shared memory of SM and block, its unit, reserved}
struct Row {
  ComputeCapability capability;
  SmLimits limits;
};
constexpr std::array<Row, 9> kRows = {{
    {{6, 0}, {2048, 32, 65536, 2, 256, 64_KiB, 48_KiB, Bytes{256}, Bytes{0}}},
    {{7, 0}, {2048, 32, 65536, 4, 256, 96_KiB, 96_KiB, Bytes{256}, Bytes{0}}},
    {{7, 5}, {1024, 16, 65536, 4, 256, 64_KiB, 64_KiB, Bytes{256}, Bytes{0}}},
    {{8, 0}, {2048, 32, 65536, 4, 256, 164_KiB, 163_KiB, Bytes{128}, 1_KiB}},
    {{8, 6}, {1536, 16, 65536, 4, 256, 100_KiB, 99_KiB, Bytes{128}, 1_KiB}},
    {{8, 9}, {1536, 24, 65536, 4, 256, 100_KiB, 99_KiB, Bytes{128}, 1_KiB}},
    {{9, 0}, {2048, 32, 65536, 4, 256, 228_KiB, 227_KiB, Bytes{128}, 1_KiB}},
    {{10, 0}, {2048, 32, 65536, 4, 256, 228_KiB, 227_KiB, Bytes{128}, 1_KiB}},
    {{12, 0}, {1536, 24, 65536, 4, 256, 100_KiB, 99_KiB, Bytes{128}, 1_KiB}},
}};

Result<void> check(const LaunchShape& launch, const SmLimits& limits) {
  if (launch.blocks < 1) return fail(ErrorCode::kInvalidInput, "blocks is {}; it must be at least 1", launch.blocks);
  if (launch.threads < 1 || launch.threads > kMostThreads) {
    return fail(ErrorCode::kInvalidInput, "threads is {}; a block has 1 to {}", launch.threads, kMostThreads);
  }
  if (launch.registers < 0 || launch.registers > kMostRegisters) {
    return fail(ErrorCode::kInvalidInput, "registers is {}; a thread has 0 to {}", launch.registers, kMostRegisters);
  }
  if (launch.cluster < 1 || launch.cluster > kMostCluster) {
    return fail(ErrorCode::kInvalidInput, "cluster is {}; it has 1 to {} blocks", launch.cluster, kMostCluster);
  }
  if (launch.shared_memory < Bytes{0} || launch.shared_memory > limits.shared_memory_of_block) {
    return fail(ErrorCode::kInvalidInput, "shared memory is {} bytes; a block has at most {}",
                launch.shared_memory.value, limits.shared_memory_of_block.value);
  }
  return {};
}

}  // namespace

std::optional<SmLimits> sm_limits(ComputeCapability capability) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.capability == capability; });
  if (row == kRows.end()) return std::nullopt;
  return row->limits;
}

std::string_view to_string(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kThreads:
      return "threads";
    case OccupancyLimit::kBlocks:
      return "blocks";
    case OccupancyLimit::kRegisters:
      return "registers";
    case OccupancyLimit::kSharedMemory:
      return "shared memory";
  }
  return "";
}

Result<Occupancy> occupancy(const LaunchShape& launch, const SmLimits& limits) {
  COHORT_CHECK(check(launch, limits));
  const std::int64_t warps = round_up(launch.threads, kWarp) / kWarp;
  const std::int64_t warp_registers = round_up(std::int64_t{launch.registers} * kWarp, limits.register_unit);
  if (warp_registers * round_up(warps, kAdmissionPartitions) > limits.registers) {
    return fail(ErrorCode::kInvalidInput, "registers is {} for {} threads a block; an SM has {} registers",
                launch.registers, launch.threads, limits.registers);
  }
  Occupancy result;
  result.block.threads = static_cast<int>(warps * kWarp);
  result.block.registers = warps * warp_registers;
  result.block.shared_memory =
      Bytes{round_up((launch.shared_memory + limits.reserved_shared_memory).value, limits.shared_memory_unit.value)};

  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  const std::int64_t by_threads = limits.threads / result.block.threads;
  const std::int64_t by_registers =
      warp_registers == 0 ? kUnlimited
                          : limits.registers / limits.partitions / warp_registers * limits.partitions / warps;
  const std::int64_t by_shared_memory = result.block.shared_memory == Bytes{0}
                                            ? kUnlimited
                                            : limits.shared_memory.value / result.block.shared_memory.value;
  const std::array<std::pair<OccupancyLimit, std::int64_t>, 4> most = {{
      {OccupancyLimit::kThreads, by_threads},
      {OccupancyLimit::kBlocks, limits.blocks},
      {OccupancyLimit::kRegisters, by_registers},
      {OccupancyLimit::kSharedMemory, by_shared_memory},
  }};
  const auto least =
      std::min_element(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  result.limit = least->first;
  result.blocks_per_sm = static_cast<int>(least->second);
  return result;
}

}  // namespace cohort
