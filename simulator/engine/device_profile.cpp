#include "simulator/engine/device_profile.hpp"

#include <limits>

#include "base/json.hpp"

namespace cohort {
namespace {

constexpr std::string_view kFormat = "cohort device profile 1";
constexpr int kMostCores = 4096;

Result<Nanoseconds> read_time(JsonObject& object, std::string_view key) {
  COHORT_TRY(const std::int64_t count, object.integer(key, 0, std::numeric_limits<std::int64_t>::max()));
  return Nanoseconds(count);
}

}  // namespace

Result<void> validate(const DeviceProfile& profile) {
  if (profile.cores < 1 || profile.cores > kMostCores)
    return fail(ErrorCode::kInvalidInput, "cores is {}; it must be from 1 to {}", profile.cores, kMostCores);
  for (const auto& [name, time] :
       {std::pair{"step_overhead_ns", profile.step_overhead}, std::pair{"launch_overhead_ns", profile.launch_overhead},
        std::pair{"handoff_latency_ns", profile.handoff_latency}, std::pair{"spin_time_ns", profile.spin_time}}) {
    if (time < Nanoseconds(0)) {
      return fail(ErrorCode::kInvalidInput, "{} is {}; it must not be negative", name, time.count());
    }
  }
  if (!(profile.oversubscription_penalty >= 1)) {
    return fail(ErrorCode::kInvalidInput, "oversubscription_penalty is {}; it must be at least 1",
                profile.oversubscription_penalty);
  }
  return {};
}

std::string write_device_profile(const DeviceProfile& profile) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["device"] = profile.device;
  json["cores"] = profile.cores;
  json["step_overhead_ns"] = profile.step_overhead.count();
  json["launch_overhead_ns"] = profile.launch_overhead.count();
  json["handoff_latency_ns"] = profile.handoff_latency.count();
  json["spin_time_ns"] = profile.spin_time.count();
  json["oversubscription_penalty"] = profile.oversubscription_penalty;
  return json.dump(2) + "\n";
}

Result<DeviceProfile> parse_device_profile(std::string_view json) {
  COHORT_TRY(const nlohmann::json value, parse_json(json));
  COHORT_TRY(JsonObject object, JsonObject::open(value, ""));
  COHORT_TRY(const std::string format, object.string("format"));
  if (format != kFormat) {
    return fail(ErrorCode::kInvalidInput, "format is \"{}\"; a device profile says \"{}\"", format, kFormat);
  }
  DeviceProfile profile;
  COHORT_TRY(profile.device, object.string("device"));
  COHORT_TRY(const std::int64_t cores, object.integer("cores", 1, kMostCores));
  profile.cores = static_cast<int>(cores);
  COHORT_TRY(profile.step_overhead, read_time(object, "step_overhead_ns"));
  COHORT_TRY(profile.launch_overhead, read_time(object, "launch_overhead_ns"));
  COHORT_TRY(profile.handoff_latency, read_time(object, "handoff_latency_ns"));
  COHORT_TRY(profile.spin_time, read_time(object, "spin_time_ns"));
  COHORT_TRY(profile.oversubscription_penalty, object.number("oversubscription_penalty"));
  COHORT_CHECK(object.no_other_keys());
  COHORT_CHECK(validate(profile));
  return profile;
}

}  // namespace cohort
