#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// What a slice of a recorded GPU trace is. Importers translate every tool's names to the categories of PyTorch's
/// profiler, given here.
enum class SliceKind : std::uint8_t {
  kOther,
  kKernel,            ///< "kernel": one launch, on its stream
  kCopy,              ///< "gpu_memcpy"
  kMemset,            ///< "gpu_memset"
  kGraph,             ///< "gpu_graph": a whole graph launch, where its nodes were not recorded
  kRuntimeCall,       ///< "cuda_runtime", also for HIP: a call on a host thread
  kDriverCall,        ///< "cuda_driver": may lie inside a runtime call
  kSynchronization,   ///< "cuda_sync": a wait as the device's tool saw it; no work
  kEventRecord,       ///< "cuda_event": the moment in which a stream passed an event
  kOp,                ///< "cpu_op": an operator of the framework, nested
  kAnnotation,        ///< "user_annotation": a range that the program marked on a host thread
  kDeviceAnnotation,  ///< "gpu_user_annotation": the same drawn on a stream; no work
  kPythonFunction,    ///< "python_function"
  kOverhead,          ///< "overhead": of the tracing tool
};

/// Kernels, copies, memsets and graphs: what keeps a device busy.
constexpr bool is_device_work(SliceKind kind) {
  return kind == SliceKind::kKernel || kind == SliceKind::kCopy || kind == SliceKind::kMemset ||
         kind == SliceKind::kGraph;
}
constexpr bool is_call(SliceKind kind) { return kind == SliceKind::kRuntimeCall || kind == SliceKind::kDriverCall; }

/// Kinds of a trace's slices, one look-up each.
class SliceKinds {
 public:
  explicit SliceKinds(const StringTable& strings);
  SliceKind operator()(const Slice& slice) const { return kinds_[to_index(slice.category)]; }

 private:
  std::vector<SliceKind> kinds_;  ///< by StringId
};

}  // namespace cohort
