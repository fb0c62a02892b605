#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/task_graph.hpp"
#include "tracer/microbenchmark_record.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// How a recorded kernel was launched; absent where grid or block were not recorded.
std::optional<LaunchShape> launch_shape(const Trace& trace, const Slice& slice);

/// Tasks [first, end) of a graph, recorded by one trace.
struct RecordedTasks {
  const Trace* trace = nullptr;
  std::size_t first = 0;
  std::size_t end = 0;
};

/// What recorded kernels ask of a GPU, by the launch and the time that were recorded and the utilisation that
/// is usual for their kind (utilisation_prior()). A kernel whose launch was not recorded, or that the device
/// does not take, fills the device as many times as Task::waves says. Copies take their recorded time on an engine, and
/// of DRAM what their bytes do.
Result<GpuWork> recorded_gpu_work(const TaskGraph& graph, std::span<const RecordedTasks> tasks, const GpuProfile& gpu);

/// What a kernel alone is taken to use of the device's throughput, by its name and its blocks: matrix
/// products and convolutions most of the arithmetic pipes, everything else most of the memory.
/// No measurement: the last resort where nothing better is known.
std::array<double, kThroughputs> utilisation_prior(std::string_view kernel, double waves, const GpuProfile& gpu);

/// The direction that a recorded copy's name tells, as "Memcpy HtoD (Pinned -> Device)"; absent for others, as between
/// devices.
std::optional<CopyDirection> recorded_copy_direction(std::string_view name);

/// Whether a recorded copy goes from one GPU to another by its name: "Memcpy PtoP (Device -> Device)" of CUPTI, Nsight
/// and PyTorch, names with "Peer" of HIP. ROCm's "CopyDeviceToDevice" says nothing of that.
bool is_peer_copy(std::string_view name);

/// By the names that cuBLAS, cuDNN, CUTLASS and their relatives give.
bool is_matrix_product(std::string_view kernel);

}  // namespace cohort
