#include "tracer/file/info_json.hpp"

#include <limits>

#include "base/json.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Result<std::map<std::string, std::string>> settings_of(JsonObject& object, std::string_view key) {
  COHORT_TRY(const json* field, object.value(key));
  std::map<std::string, std::string> settings;
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidInput, "{} must be an object of strings", object.path_of(key));
  };
  if (!field->is_object()) return wrong();
  for (const auto& [name, value] : field->items()) {
    if (!value.is_string()) return wrong();
    settings[name] = value.get<std::string>();
  }
  return settings;
}

Result<DeviceInfo> device_of(JsonObject& info) {
  COHORT_TRY(const json* field, info.value("device"));
  COHORT_TRY(auto object, JsonObject::open(*field, info.path_of("device")));
  DeviceInfo device;
  COHORT_TRY(device.id, object.string("id"));
  COHORT_TRY(device.kind, object.string("kind"));
  COHORT_TRY(device.name, object.string("name"));
  COHORT_TRY(const std::int64_t cores, object.integer("cores", 0, std::numeric_limits<int>::max()));
  device.cores = static_cast<int>(cores);
  COHORT_TRY(device.memory.value, object.integer("memory_bytes", 0, kMost));
  COHORT_TRY(device.settings, settings_of(object, "settings"));
  COHORT_CHECK(object.no_other_keys());
  return device;
}

Result<WallTimes> wall_times_of(JsonObject& object) {
  WallTimes times;
  COHORT_TRY(times.what, object.string("what"));
  COHORT_TRY(const std::int64_t discarded, object.integer("discarded", 0, std::numeric_limits<int>::max()));
  times.discarded = static_cast<int>(discarded);
  COHORT_TRY(const json* samples, object.value("samples_ns"));
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidInput, "{} must be a list of whole nanoseconds", object.path_of("samples_ns"));
  };
  if (!samples->is_array()) return wrong();
  for (const json& sample : *samples) {
    if (!sample.is_number_integer()) return wrong();
    times.samples.emplace_back(sample.get<std::int64_t>());
  }
  COHORT_CHECK(object.no_other_keys());
  return times;
}

Result<std::map<std::string, std::int64_t>> dropped_of(JsonObject& info) {
  COHORT_TRY(const json* field, info.value("dropped"));
  COHORT_TRY(auto object, JsonObject::open(*field, info.path_of("dropped")));
  std::map<std::string, std::int64_t> dropped;
  for (const auto& [reason, unused] : field->items()) {
    COHORT_TRY(dropped[reason], object.integer(reason, 0, kMost));
  }
  return dropped;
}

}  // namespace

std::string trace_info_to_json(const TraceInfo& info) {
  ordered_json walls = ordered_json::array();
  for (const WallTimes& times : info.wall_times) {
    ordered_json samples = ordered_json::array();
    for (const Nanoseconds sample : times.samples) samples.push_back(sample.count());
    walls.push_back({{"what", times.what}, {"discarded", times.discarded}, {"samples_ns", std::move(samples)}});
  }
  const DeviceInfo& device = info.device;
  const ordered_json value = {
      {"version", kVersion},
      {"kind", to_string(info.kind)},
      {"device",
       {{"id", device.id},
        {"kind", device.kind},
        {"name", device.name},
        {"cores", device.cores},
        {"memory_bytes", device.memory.value},
        {"settings", device.settings}}},
      {"settings", info.settings},
      {"plan", info.plan},
      {"wall_times", std::move(walls)},
      {"dropped", info.dropped},
  };
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<TraceInfo> trace_info_from_json(std::string_view text) {
  COHORT_TRY(const json value, parse_json(text));
  COHORT_TRY(auto object, JsonObject::open(value, "cohort"));
  COHORT_TRY(const std::int64_t version, object.integer("version", 1, kMost));
  if (version > kVersion)
    return fail(ErrorCode::kInvalidInput, "cohort.version is {}: written by a newer Cohort; this one reads {}", version,
                kVersion);
  TraceInfo info;
  COHORT_TRY(const std::string kind, object.string("kind"));
  const auto known = trace_kind_from(kind);
  if (!known)
    return fail(ErrorCode::kInvalidInput, "cohort.kind must be recorded, profile, predicted or measured, not \"{}\"",
                kind);
  info.kind = *known;
  COHORT_TRY(info.device, device_of(object));
  COHORT_TRY(info.settings, settings_of(object, "settings"));
  COHORT_TRY(info.plan, object.string("plan"));
  COHORT_TRY(auto walls, object.objects("wall_times"));
  for (JsonObject& wall : walls) {
    COHORT_TRY(auto times, wall_times_of(wall));
    info.wall_times.push_back(std::move(times));
  }
  COHORT_TRY(info.dropped, dropped_of(object));
  COHORT_CHECK(object.no_other_keys());
  return info;
}

}  // namespace cohort
