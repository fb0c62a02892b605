#include "simulator/engine/device_profile.hpp"

#include <utility>

namespace cohort {
namespace {

constexpr int kMostCores = 4096;

}  // namespace

Result<void> validate(const DeviceProfile& profile) {
  if (profile.cores < 1 || profile.cores > kMostCores)
    return fail(ErrorCode::kInvalidInput, "cores is {}; it must be from 1 to {}", profile.cores, kMostCores);
  for (const auto& [name, time] :
       {std::pair{"step overhead", profile.step_overhead}, std::pair{"launch overhead", profile.launch_overhead},
        std::pair{"hand-off latency", profile.handoff_latency}, std::pair{"spin time", profile.spin_time}}) {
    if (time < Nanoseconds(0)) {
      return fail(ErrorCode::kInvalidInput, "{} is {} ns; it must not be negative", name, time.count());
    }
  }
  if (!(profile.oversubscription_penalty >= 1)) {
    return fail(ErrorCode::kInvalidInput, "oversubscription penalty is {}; it must be at least 1",
                profile.oversubscription_penalty);
  }
  return {};
}

}  // namespace cohort
