#include "simulator/costs/recorded_gpu_work.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace cohort {
namespace {

/// Number of things in a grid or block; 0 where it was not recorded or makes no sense.
std::int64_t product(const std::optional<std::vector<std::int64_t>>& sizes) {
  constexpr std::int64_t kMostOfOne = std::int64_t{1} << 31;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t of = sizes && !sizes->empty() ? 1 : 0;
  for (std::size_t i = 0; sizes && i < sizes->size(); ++i) {
    const std::int64_t size = (*sizes)[i];
    if (size < 1 || size > kMostOfOne || of > kMost / size) return 0;
    of *= size;
  }
  return of;
}

class WorkMaker {
 public:
  WorkMaker(const TaskGraph& graph, const GpuProfile& gpu) : graph_(graph) {
    work_.profile = gpu;
    work_.tasks.resize(graph.tasks.size());
  }

  Result<GpuWork> make(std::span<const RecordedTasks> parts) {
    for (const RecordedTasks& part : parts) {
      known_.clear();
      for (std::size_t i = part.first; i < part.end; ++i) {
        const Task& task = graph_.tasks[i];
        if (task.duration <= Nanoseconds(0)) continue;
        if (task.kind == TaskKind::kCopy) work_.tasks[i] = copy_of(task, *part.trace);
        if (task.kind != TaskKind::kKernel) continue;
        auto kernel = kernel_of(task, *part.trace);
        if (!kernel) return in_context(graph_.label(TaskId(i)), kernel.error());
        work_.tasks[i] = KernelTask{*kernel};
      }
    }
    return std::move(work_);
  }

 private:
  /// Members' copies of a kernel are told by what they were recorded as, before their launch is looked up.
  Result<std::uint32_t> kernel_of(const Task& task, const Trace& trace) {
    const auto copy = std::tuple(task.step, task.label, task.duration, task.waves);
    const auto found = known_.find(copy);
    if (found != known_.end()) return found->second;
    COHORT_TRY(const std::uint32_t kernel, kernel_of_shape(task, shape_of(task, trace)));
    known_.emplace(copy, kernel);
    return kernel;
  }

  Result<std::uint32_t> kernel_of_shape(const Task& task, const LaunchShape& shape) {
    const auto key = std::tuple(task.label, task.duration, shape.blocks, shape.threads, shape.registers,
                                shape.shared_memory.value, shape.cluster);
    const auto found = kernels_.find(key);
    if (found != kernels_.end()) return found->second;
    COHORT_TRY(const Occupancy held, occupancy(shape, work_.profile.sm));
    SoloRun solo;
    solo.time = task.duration;
    const double room = static_cast<double>(held.blocks_per_sm) * work_.profile.sms;
    solo.utilisation =
        utilisation_prior(graph_.labels[to_index(task.label)], static_cast<double>(shape.blocks) / room, work_.profile);
    COHORT_TRY(const KernelDemand demand, demand_of(shape, solo, work_.profile));
    work_.kernels.push_back(demand);
    const auto kernel = static_cast<std::uint32_t>(work_.kernels.size() - 1);
    kernels_.emplace(key, kernel);
    return kernel;
  }

  std::optional<CopyTask> copy_of(const Task& task, const Trace& trace) {
    const auto direction = recorded_copy_direction(graph_.labels[to_index(task.label)]);
    if (!direction) return std::nullopt;
    const double time = static_cast<double>(task.duration.count());
    const double dram = std::min(time, dram_time(task, trace, *direction));
    const auto [place, is_new] = copies_.try_emplace(std::tuple(*direction, task.duration, dram),
                                                     static_cast<std::uint32_t>(work_.copies.size()));
    if (is_new) work_.copies.push_back({*direction, time, dram});
    return CopyTask{place->second};
  }

  /// Nanoseconds that the copy would take of all of DRAM. Without recorded bytes: of a copy over the link as many as
  /// that takes, of one inside the device, which reads and writes, all that there are.
  [[nodiscard]] double dram_time(const Task& task, const Trace& trace, CopyDirection direction) const {
    const bool inside = direction == CopyDirection::kDeviceToDevice;
    const auto bytes = task.step ? trace.integer_arg(trace.slices[*task.step], "bytes") : std::nullopt;
    const double rate = work_.profile.dram.per_second;
    if (bytes) return (inside ? 2 : 1) * static_cast<double>(std::max(std::int64_t{0}, *bytes)) / rate * 1e9;
    const double time = static_cast<double>(task.duration.count());
    return inside ? time : time * work_.profile.to_device.per_second / rate;
  }

  /// As recorded, with the blocks that Task::waves says: those of a fused kernel are all members'.
  [[nodiscard]] LaunchShape shape_of(const Task& task, const Trace& trace) const {
    const double waves = task.waves > 0 ? static_cast<double>(task.waves) : 1;
    std::optional<LaunchShape> shape;
    if (task.step) shape = launch_shape(trace, trace.slices[*task.step]);
    if (!shape || !occupancy(*shape, work_.profile.sm)) {
      constexpr int kThreads = 256;
      shape = LaunchShape{};
      shape->blocks = 1;
      shape->threads = kThreads;
    }
    if (const auto held = occupancy(*shape, work_.profile.sm)) {
      const double room = static_cast<double>(held->blocks_per_sm) * work_.profile.sms;
      shape->blocks = std::max<std::int64_t>(1, std::llround(waves * room));
    }
    // Whole clusters only.
    shape->blocks = (shape->blocks + shape->cluster - 1) / shape->cluster * shape->cluster;
    return *shape;
  }

  const TaskGraph& graph_;
  GpuWork work_;
  /// Of the part at hand: by slice, name, time and waves.
  std::map<std::tuple<std::optional<std::uint32_t>, LabelId, Nanoseconds, float>, std::uint32_t> known_;
  /// By name, time, blocks, threads, registers, shared memory and cluster.
  std::map<std::tuple<LabelId, Nanoseconds, std::int64_t, int, int, std::int64_t, int>, std::uint32_t> kernels_;
  std::map<std::tuple<CopyDirection, Nanoseconds, double>, std::uint32_t> copies_;
};

}  // namespace

std::optional<LaunchShape> launch_shape(const Trace& trace, const Slice& slice) {
  constexpr std::int64_t kMostThreads = 1024;
  constexpr std::int64_t kMostRegisters = 255;
  constexpr std::int64_t kMostShared = std::int64_t{1} << 20;
  constexpr std::int64_t kMostCluster = 16;
  LaunchShape shape;
  shape.blocks = product(trace.integers_arg(slice, "grid"));
  const std::int64_t threads = product(trace.integers_arg(slice, "block"));
  if (shape.blocks == 0 || threads == 0 || threads > kMostThreads) return std::nullopt;
  shape.threads = static_cast<int>(threads);
  const auto within = [&](std::string_view key, std::int64_t most) {
    return std::clamp(trace.integer_arg(slice, key).value_or(0), std::int64_t{0}, most);
  };
  shape.registers = static_cast<int>(within("registers per thread", kMostRegisters));
  shape.shared_memory = Bytes{within("shared memory", kMostShared)};
  const std::int64_t cluster = product(trace.integers_arg(slice, "cluster"));
  if (cluster > 1 && cluster <= kMostCluster) shape.cluster = static_cast<int>(cluster);
  return shape;
}

Result<GpuWork> recorded_gpu_work(const TaskGraph& graph, std::span<const RecordedTasks> tasks, const GpuProfile& gpu) {
  return WorkMaker(graph, gpu).make(tasks);
}

std::optional<CopyDirection> recorded_copy_direction(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  // CUPTI's spelling, then that of ROCm's tracer, then that of XLA and TensorFlow.
  if (has("HtoD") || has("HostToDevice") || has("H2D")) return CopyDirection::kHostToDevice;
  if (has("DtoH") || has("DeviceToHost") || has("D2H")) return CopyDirection::kDeviceToHost;
  if (has("DtoD") || has("DeviceToDevice") || has("D2D")) return CopyDirection::kDeviceToDevice;
  return std::nullopt;
}

bool is_peer_copy(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return has("PtoP") || has("Peer") || has("P2P");
}

bool is_matrix_product(std::string_view kernel) {
  // Inductor's names say what a kernel of Triton is before they list the ops in it: a template, or none.
  const auto begins = [&](std::string_view start) { return kernel.starts_with(start); };
  if (begins("triton_poi_") || begins("triton_red_") || begins("triton_per_")) return false;
  if (begins("triton_tem_") || begins("triton_mm")) return true;
  // nvjet: cuBLAS on Hopper and later; Cijk: rocBLAS and hipBLASLt; fmha, flash and sdpa: fused attention.
  constexpr std::array<std::string_view, 15> kParts = {"gemm",  "Gemm",  "winograd", "scudnn", "cutlass",
                                                       "gemv",  "dgrad", "wgrad",    "xmma",   "implicit",
                                                       "nvjet", "Cijk_", "fmha",     "flash",  "sdpa"};
  const bool named = std::any_of(kParts.begin(), kParts.end(),
                                 [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
  if (named) return true;
  for (const std::string_view convolution : {"conv", "Conv"}) {
    for (std::size_t at = kernel.find(convolution); at != std::string_view::npos;
         at = kernel.find(convolution, at + 1)) {
      if (!kernel.substr(at + convolution.size()).starts_with("er")) return true;  // conversions copy
    }
  }
  return false;
}

std::array<double, kThroughputs> utilisation_prior(std::string_view kernel, double waves, const GpuProfile& gpu) {
  constexpr double kMost = 0.7;  // what libraries' kernels commonly reach of the resource that limits them
  constexpr double kRest = 0.3;  // and of the others
  // Less than a wave reaches most of it already; a few blocks use no more than their SMs can.
  const double covered = std::min(1.0, 2 * waves);
  std::array<double, kThroughputs> utilisation{};
  const bool product = is_matrix_product(kernel);
  const bool tensor = product && gpu.tensor.per_second > 0;
  utilisation[static_cast<std::size_t>(Throughput::kIssue)] = covered * (product && !tensor ? kMost : kRest);
  utilisation[static_cast<std::size_t>(Throughput::kTensor)] = tensor ? covered * kMost : 0;
  utilisation[static_cast<std::size_t>(Throughput::kDram)] = covered * (product ? kRest : kMost);
  return utilisation;
}

}  // namespace cohort
