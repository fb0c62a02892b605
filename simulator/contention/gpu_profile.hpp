#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/contention/occupancy.hpp"

namespace cohort {

struct FlopRate {
  double per_second = 0;
  friend bool operator==(const FlopRate&, const FlopRate&) = default;
};
struct ByteRate {
  double per_second = 0;
  friend bool operator==(const ByteRate&, const ByteRate&) = default;
};
struct Frequency {
  double hertz = 0;
  friend bool operator==(const Frequency&, const Frequency&) = default;
};

/// What blocks compete for besides room. The first kSmThroughputs belong to each SM, the others to the whole device.
enum class Throughput { kIssue, kTensor, kShared, kSmPort, kL2, kDram };
inline constexpr std::size_t kThroughputs = 6;
inline constexpr std::size_t kSmThroughputs = 4;
std::string_view to_string(Throughput throughput);

/// Costs of launching and of gaps between kernels.
struct LaunchCosts {
  Nanoseconds call{};          ///< host time of one kernel launch
  Nanoseconds latency{};       ///< from the start of the call to the kernel's start on an idle stream
  Nanoseconds gap{};           ///< between two kernels of a busy stream
  Nanoseconds graph_call{};    ///< host time of one graph launch, however many nodes, on one stream
  Nanoseconds graph_node{};    ///< and for each node
  Nanoseconds graph_gap{};     ///< between two nodes of a chain
  Nanoseconds kernel_fixed{};  ///< part of a kernel's time that no block takes: its start and its end
  Nanoseconds copy_latency{};  ///< part of a copy's time that does not depend on its size
  /// Part of `call`, its last, in which no other thread's call goes on: the driver's lock.
  Nanoseconds lock{};
  /// For each node of a graph that is one chain, in place of `graph_node`: drivers take those in at once.
  Nanoseconds graph_chain_node{};
  /// For each further stream of a graph: the launch takes that much longer, and the stream starts that much later than
  /// the one before.
  Nanoseconds graph_stream{};

  friend bool operator==(const LaunchCosts&, const LaunchCosts&) = default;
};

/// Bounds of validate(GpuProfile), no less than any GPU has; the engine counts on them.
inline constexpr std::size_t kMostSms = 256;
inline constexpr int kMostBlocksOnSm = 32;
inline constexpr std::int64_t kMostRoomOnSm = 1 << 20;  ///< threads, registers, bytes of shared memory

/// Facts of one GPU: published figures, or what a calibration found in their place.
struct GpuProfile {
  std::string device;  ///< as it stands in traces: "NVIDIA H100 80GB HBM3"
  std::string source;  ///< where the figures come from
  ComputeCapability capability;
  int sms = 1;
  SmLimits sm;
  Frequency clock;   ///< boost
  FlopRate fma;      ///< float32 on the ordinary pipes, whole device
  FlopRate tensor;   ///< dense float16 or bfloat16 with float32 sums; 0 without tensor cores
  ByteRate shared;   ///< shared memory and L1, whole device
  ByteRate sm_port;  ///< one SM to and from L2
  ByteRate l2;       ///< whole device
  ByteRate dram;
  Bytes l2_size;
  Bytes memory;
  int copy_engines = 1;  ///< 1: both directions share it
  ByteRate to_device;    ///< from pinned host memory
  ByteRate to_host;
  int connections = 8;       ///< hardware queues (CUDA_DEVICE_MAX_CONNECTIONS)
  int resident_grids = 128;  ///< kernels on the device at a time
  /// Whether blocks of a later kernel wait until every block of an earlier one is placed.
  bool head_of_line = true;
  LaunchCosts launch;
  /// By Throughput: how much longer a block's latency is while others ask for all of it; 0: none below saturation.
  std::array<double, kThroughputs> slowdown{};

  friend bool operator==(const GpuProfile&, const GpuProfile&) = default;
};

/// Host time of launching a graph of so many nodes on so many streams, at least one.
Nanoseconds graph_launch_time(const LaunchCosts& costs, std::int64_t nodes, std::int64_t streams);

/// Of a copy from pinned host memory, with the copy engine to itself.
Nanoseconds upload_time(const GpuProfile& profile, Bytes size);

/// Checks ranges. Errors: kInvalidInput naming the field.
Result<void> validate(const GpuProfile& profile);

/// JSON text, units in the keys; equal profiles, equal bytes.
std::string write_gpu_profile(const GpuProfile& profile);
/// Errors: kInvalidInput naming the field.
Result<GpuProfile> parse_gpu_profile(std::string_view json);

/// The GPUs of published_gpu_profile(), for people.
inline constexpr std::string_view kPublishedGpus = "P100, V100, T4, A100, RTX 3090, L4, RTX 4090, H100, H200";
/// Published figures of one of them by its name as it stands in traces, "NVIDIA A100-SXM4-40GB", or part of it, and of
/// MIG slices of A100, H100 SXM and H200 (MigSlice); absent for other names.
std::optional<GpuProfile> published_gpu_profile(std::string_view device);

}  // namespace cohort
