#include "simulator/transform/capture.hpp"

#include <algorithm>
#include <array>

#include "tracer/call_kind.hpp"

namespace cohort {
namespace {

/// In names as cudaMalloc, cuMemAllocHost_v2, hipHostMalloc, cuModuleLoadDataEx.
constexpr std::array<std::string_view, 10> kRefused = {"Malloc",       "MemAlloc",       "HostAlloc", "Free",
                                                       "HostRegister", "HostUnregister", "MemCreate", "MemMap",
                                                       "ModuleLoad",   "LibraryLoad"};

}  // namespace

bool refuses_capture(std::string_view call) {
  const auto has = [&](std::string_view word) { return call.find(word) != std::string_view::npos; };
  switch (call_kind_from(call)) {
    case CallKind::kStreamSynchronize:
    case CallKind::kEventSynchronize:
    case CallKind::kDeviceSynchronize:
    case CallKind::kFree:
      return true;
    case CallKind::kLaunch:
    case CallKind::kGraphLaunch:
    case CallKind::kEventRecord:
    case CallKind::kStreamWait:
      return false;
    case CallKind::kCopy:
    case CallKind::kMemset:
      return !has("Async");
    case CallKind::kOther:
      break;
  }
  return !has("Async") && std::any_of(kRefused.begin(), kRefused.end(), has);
}

}  // namespace cohort
