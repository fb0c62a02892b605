#include "tracer/call_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace cohort {
namespace {

constexpr std::array<std::pair<std::string_view, CallKind>, 33> kWhole = {{
    {"LaunchKernel", CallKind::kLaunch},
    {"LaunchKernelExC", CallKind::kLaunch},
    {"LaunchKernelEx", CallKind::kLaunch},
    {"LaunchKernelTree", CallKind::kLaunch},
    {"LaunchByPtr", CallKind::kLaunch},
    {"Launch", CallKind::kLaunch},
    {"LaunchGrid", CallKind::kLaunch},
    {"LaunchGridAsync", CallKind::kLaunch},
    {"LaunchCooperativeKernel", CallKind::kLaunch},
    {"LaunchCooperativeKernelMultiDevice", CallKind::kLaunch},
    {"ModuleLaunchKernel", CallKind::kLaunch},
    {"ModuleLaunchKernelEx", CallKind::kLaunch},
    {"ModuleLaunchCooperativeKernel", CallKind::kLaunch},
    {"ExtLaunchKernel", CallKind::kLaunch},
    {"ExtLaunchMultiKernelMultiDevice", CallKind::kLaunch},
    {"ExtModuleLaunchKernel", CallKind::kLaunch},
    {"HccModuleLaunchKernel", CallKind::kLaunch},
    {"DrvLaunchKernelEx", CallKind::kLaunch},
    {"GraphLaunch", CallKind::kGraphLaunch},
    {"StreamSynchronize", CallKind::kStreamSynchronize},
    {"EventSynchronize", CallKind::kEventSynchronize},
    {"DeviceSynchronize", CallKind::kDeviceSynchronize},
    {"CtxSynchronize", CallKind::kDeviceSynchronize},
    {"ThreadSynchronize", CallKind::kDeviceSynchronize},
    {"EventRecord", CallKind::kEventRecord},
    {"EventRecordWithFlags", CallKind::kEventRecord},
    {"StreamWaitEvent", CallKind::kStreamWait},
    {"StreamWaitValue32", CallKind::kStreamWait},
    {"StreamWaitValue64", CallKind::kStreamWait},
    {"Free", CallKind::kFree},
    {"MemFree", CallKind::kFree},
    {"MemPrefetchAsync", CallKind::kCopy},
    {"MemcpyWithStream", CallKind::kCopy},
}};

/// Without "_v7000", "_v2", "_ptsz", "_ptds", "_spt" at its end.
std::string_view without_suffixes(std::string_view name) {
  for (;;) {
    const std::size_t mark = name.rfind('_');
    if (mark == std::string_view::npos || mark == 0) return name;
    const std::string_view suffix = name.substr(mark + 1);
    const bool version =
        suffix.size() > 1 && suffix[0] == 'v' && std::all_of(suffix.begin() + 1, suffix.end(), is_digit);
    if (!version && suffix != "ptsz" && suffix != "ptds" && suffix != "spt") return name;
    name = name.substr(0, mark);
  }
}

}  // namespace

CallKind call_kind_from(std::string_view name) {
  name = without_suffixes(name);
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view stem = name.substr(prefix.size());
    const auto* const found =
        std::find_if(kWhole.begin(), kWhole.end(), [&](const auto& entry) { return entry.first == stem; });
    if (found != kWhole.end()) return found->second;
    if (stem.starts_with("Memcpy")) return CallKind::kCopy;
    if (stem.starts_with("Memset")) return CallKind::kMemset;
    return CallKind::kOther;
  }
  return CallKind::kOther;
}

}  // namespace cohort
