#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "simulator/contention/gpu_engine.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/kernel_demand.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// What a task puts on the GPU: a position in GpuWork::kernels or in GpuWork::copies.
struct KernelTask {
  std::uint32_t kernel = 0;
};
struct CopyTask {
  std::uint32_t copy = 0;
};

/// The tasks of a graph that contend for GPUs of one kind, each with those on its own streams. Kernels of equal shape
/// share one demand.
struct GpuWork {
  GpuProfile profile;
  std::vector<KernelDemand> kernels;
  std::vector<CopyDemand> copies;
  std::vector<std::optional<std::variant<KernelTask, CopyTask>>> tasks;  ///< by TaskId; absent: not on the GPU
};

/// Errors: kInvalidInput naming the task, and what is out of range or fits no SM.
Result<void> check_gpu_work(const GpuWork& work, const TaskGraph& graph);

/// The throughput of one GPU that its kernels together keep busy longest, and for how long; a lower bound of any
/// schedule.
struct BusiestThroughput {
  Throughput throughput = Throughput::kIssue;
  Nanoseconds time{};
};
BusiestThroughput busiest_throughput(const GpuWork& work, const TaskGraph& graph);

}  // namespace cohort
