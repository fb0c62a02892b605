#pragma once

#include <cstdint>
#include <string_view>

namespace cohort {

/// What a call of a GPU runtime or driver does, of CUDA's runtime and driver and of HIP.
enum class CallKind : std::uint8_t {
  kOther,
  kLaunch,       ///< of one kernel
  kGraphLaunch,  ///< of all nodes of a graph
  kCopy,
  kMemset,
  kStreamSynchronize,  ///< blocks the host thread
  kEventSynchronize,
  kDeviceSynchronize,
  kEventRecord,
  kStreamWait,  ///< makes a stream wait for an event; the host goes on
  kFree,        ///< of device memory: waits where that is in use
};

/// From a call's name in any version: "cudaLaunchKernel", "cuLaunchKernelEx_ptsz",
/// "cudaMemcpyAsync_v3020", "hipExtModuleLaunchKernel".
CallKind call_kind_from(std::string_view name);

/// Calls that put work on a stream.
constexpr bool puts_work(CallKind kind) {
  return kind == CallKind::kLaunch || kind == CallKind::kGraphLaunch || kind == CallKind::kCopy ||
         kind == CallKind::kMemset;
}

}  // namespace cohort
