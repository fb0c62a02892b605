#include "planning/profiled_catalog.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

bool is_estimated(const DeviceInfo& profiled) { return profiled.settings.contains(std::string(kEstimatedFrom)); }

int multiprocessors_of(const DeviceInfo& device) {
  int count = 0;
  const auto found = device.settings.find("multiprocessors");
  if (found != device.settings.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
  return std::clamp(count, 0, 65536);
}

CostKey key_of(const OpCall& call, const Alternative& way) {
  return {call.signature, call.strategy, call.width, way.threads, way.algorithm};
}

}  // namespace

ProfiledDeviceCatalog::ProfiledDeviceCatalog(const CostTable& costs, const DeviceInfo& profiled, Precision precision,
                                             int cores, const OpCatalog* device)
    : costs_(costs),
      recorded_(costs, cores, precision, multiprocessors_of(profiled)),
      on_gpu_(profiled.kind == "cuda"),
      device_(device) {}

Result<std::vector<Alternative>> ProfiledDeviceCatalog::alternatives(const OpCall& call, int threads) const {
  COHORT_TRY(auto recorded, recorded_.alternatives(call, threads));
  if (device_ == nullptr) return recorded;
  COHORT_TRY(auto here, device_->alternatives(call, threads));
  std::vector<Alternative> both;
  for (const Alternative& alternative : here) {
    const auto same = [&](const Alternative& other) { return other.algorithm == alternative.algorithm; };
    const bool known = std::any_of(recorded.begin(), recorded.end(), same);
    // Of a launch of several members' ops that no profile holds, what is recorded of each op stands for all ways.
    if (known && (call.parts.empty() || costs_.has(key_of(call, alternative)))) both.push_back(alternative);
  }
  return both.empty() ? here : both;
}

bool ProfiledDeviceCatalog::accepts_strides(const OpCall& call) const {
  return device_ != nullptr ? device_->accepts_strides(call) : recorded_.accepts_strides(call);
}

int ProfiledDeviceCatalog::multiprocessors() const {
  return device_ != nullptr ? device_->multiprocessors() : recorded_.multiprocessors();
}

std::optional<int> ProfiledDeviceCatalog::most_streams() const {
  return on_gpu_ ? std::nullopt : std::optional(recorded_.cores());
}

bool is_profiled_device(const DeviceInfo& here, const DeviceInfo& profiled) {
  if (is_estimated(profiled)) return false;
  const auto agree = [&](const char* key) {
    const auto mine = here.settings.find(key), recorded = profiled.settings.find(key);
    return mine == here.settings.end() || recorded == profiled.settings.end() || mine->second == recorded->second;
  };
  return here.name == profiled.name && agree("isa") && agree("library");
}

Result<void> check_can_be_timed(const DeviceInfo& profiled, std::string_view what) {
  if (!is_estimated(profiled)) return {};
  return fail(ErrorCode::kInvalidInput,
              "{}: the profile was made from step times, its ops were never timed; profile the model on the device",
              what);
}

Result<void> check_profiled_device(const DeviceInfo& here, const DeviceInfo& profiled, std::string_view what) {
  if (is_profiled_device(here, profiled)) return {};
  return fail(ErrorCode::kDeviceMissing, "{}: the profile is of {}, this is {}: times of both do not mix", what,
              profiled.name, here.name);
}

}  // namespace cohort
