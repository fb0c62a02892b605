#include "simulator/contention/gpu_profile.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "base/json.hpp"

namespace cohort {
namespace {

constexpr std::string_view kFormat = "cohort gpu profile 1";
constexpr int kMostCount = 1 << 20;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

constexpr std::array<Throughput, kThroughputs> kAll = {Throughput::kIssue,  Throughput::kTensor, Throughput::kShared,
                                                       Throughput::kSmPort, Throughput::kL2,     Throughput::kDram};

/// The same list of fields serves reading and writing, so that neither forgets one.
template <class Profile, class Visitor>
void visit_sm(Profile& sm, Visitor&& visit) {
  visit("threads", sm.threads);
  visit("blocks", sm.blocks);
  visit("registers", sm.registers);
  visit("partitions", sm.partitions);
  visit("register_unit", sm.register_unit);
  visit("shared_memory_bytes", sm.shared_memory.value);
  visit("shared_memory_of_block_bytes", sm.shared_memory_of_block.value);
  visit("shared_memory_unit_bytes", sm.shared_memory_unit.value);
  visit("reserved_shared_memory_bytes", sm.reserved_shared_memory.value);
}

template <class Costs, class Visitor>
void visit_launch(Costs& launch, Visitor&& visit) {
  visit("call_ns", launch.call);
  visit("latency_ns", launch.latency);
  visit("gap_ns", launch.gap);
  visit("graph_call_ns", launch.graph_call);
  visit("graph_node_ns", launch.graph_node);
  visit("graph_gap_ns", launch.graph_gap);
  visit("kernel_fixed_ns", launch.kernel_fixed);
  visit("copy_latency_ns", launch.copy_latency);
}

template <class Profile, class Visitor>
void visit_top(Profile& profile, Visitor&& visit) {
  visit("sms", profile.sms);
  visit("clock_hertz", profile.clock.hertz);
  visit("fma_flops_per_second", profile.fma.per_second);
  visit("tensor_flops_per_second", profile.tensor.per_second);
  visit("shared_bytes_per_second", profile.shared.per_second);
  visit("sm_port_bytes_per_second", profile.sm_port.per_second);
  visit("l2_bytes_per_second", profile.l2.per_second);
  visit("dram_bytes_per_second", profile.dram.per_second);
  visit("l2_size_bytes", profile.l2_size.value);
  visit("memory_bytes", profile.memory.value);
  visit("copy_engines", profile.copy_engines);
  visit("to_device_bytes_per_second", profile.to_device.per_second);
  visit("to_host_bytes_per_second", profile.to_host.per_second);
  visit("connections", profile.connections);
  visit("resident_grids", profile.resident_grids);
  visit("head_of_line", profile.head_of_line);
}

/// Reads one field after another until one is wrong.
class Reader {
 public:
  explicit Reader(JsonObject& object) : object_(&object) {}

  void operator()(std::string_view key, int& value) {
    keep(object_->integer(key, 0, kMostCount), [&](std::int64_t read) { value = static_cast<int>(read); });
  }
  void operator()(std::string_view key, std::int64_t& value) {
    keep(object_->integer(key, 0, kMost), [&](std::int64_t read) { value = read; });
  }
  void operator()(std::string_view key, double& value) {
    keep(object_->number(key), [&](double read) { value = read; });
  }
  void operator()(std::string_view key, bool& value) {
    keep(object_->boolean(key), [&](bool read) { value = read; });
  }
  void operator()(std::string_view key, Nanoseconds& value) {
    keep(object_->integer(key, 0, kMost), [&](std::int64_t read) { value = Nanoseconds(read); });
  }
  [[nodiscard]] const Result<void>& outcome() const { return outcome_; }

 private:
  template <class T, class Store>
  void keep(Result<T> read, Store&& store) {
    if (!outcome_) return;
    if (read) {
      store(*read);
    } else {
      outcome_ = tl::unexpected<Error>(std::move(read).error());
    }
  }

  JsonObject* object_;
  Result<void> outcome_;
};

class Writer {
 public:
  explicit Writer(nlohmann::ordered_json& json) : json_(&json) {}

  void operator()(std::string_view key, const Nanoseconds& value) { (*json_)[std::string(key)] = value.count(); }
  template <class T>
  void operator()(std::string_view key, const T& value) {
    (*json_)[std::string(key)] = value;
  }

 private:
  nlohmann::ordered_json* json_;
};

Result<void> check_rates(const GpuProfile& profile) {
  for (const auto& [name, rate] : {std::pair{"clock_hertz", profile.clock.hertz},
                                   {"fma_flops_per_second", profile.fma.per_second},
                                   {"shared_bytes_per_second", profile.shared.per_second},
                                   {"sm_port_bytes_per_second", profile.sm_port.per_second},
                                   {"l2_bytes_per_second", profile.l2.per_second},
                                   {"dram_bytes_per_second", profile.dram.per_second},
                                   {"to_device_bytes_per_second", profile.to_device.per_second},
                                   {"to_host_bytes_per_second", profile.to_host.per_second}}) {
    if (!(rate > 0) || !std::isfinite(rate)) {
      return fail(ErrorCode::kInvalidInput, "{} is {}; it must be above 0", name, rate);
    }
  }
  if (!(profile.tensor.per_second >= 0) || !std::isfinite(profile.tensor.per_second)) {
    return fail(ErrorCode::kInvalidInput, "tensor_flops_per_second is {}; it must not be negative",
                profile.tensor.per_second);
  }
  for (const Throughput throughput : kAll) {
    const double slowdown = profile.slowdown[static_cast<std::size_t>(throughput)];
    constexpr double kMostTimes = 100;  // times: what is more is damaged
    if (!(slowdown >= 0 && slowdown <= kMostTimes)) {
      return fail(ErrorCode::kInvalidInput, "slowdown.{} is {}; it must be from 0 to {}", to_string(throughput),
                  slowdown, kMostTimes);
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(Throughput throughput) {
  switch (throughput) {
    case Throughput::kIssue:
      return "issue";
    case Throughput::kTensor:
      return "tensor";
    case Throughput::kShared:
      return "shared";
    case Throughput::kSmPort:
      return "sm_port";
    case Throughput::kL2:
      return "l2";
    case Throughput::kDram:
      return "dram";
  }
  return "";
}

Nanoseconds graph_launch_time(const LaunchCosts& costs, std::int64_t nodes, std::int64_t streams) {
  return costs.graph_call + costs.graph_stream * (streams - 1) +
         (streams == 1 ? costs.graph_chain_node : costs.graph_node) * nodes;
}

Nanoseconds upload_time(const GpuProfile& profile, Bytes size) {
  constexpr double kNanosecondsASecond = 1e9;
  const double moving = static_cast<double>(size.value) / profile.to_device.per_second * kNanosecondsASecond;
  return profile.launch.copy_latency + Nanoseconds(std::llround(moving));
}

Result<void> validate(const GpuProfile& profile) {
  constexpr Nanoseconds kLongestLaunch = std::chrono::minutes(1);  // what is longer is damaged
  if (profile.sms < 1 || static_cast<std::size_t>(profile.sms) > kMostSms) {
    return fail(ErrorCode::kInvalidInput, "sms is {}; it must be from 1 to {}", profile.sms, kMostSms);
  }
  for (const auto& [name, value] : {std::pair{"sm.threads", std::int64_t{profile.sm.threads}},
                                    {"sm.blocks", std::int64_t{profile.sm.blocks}},
                                    {"sm.registers", profile.sm.registers},
                                    {"sm.partitions", std::int64_t{profile.sm.partitions}},
                                    {"sm.register_unit", std::int64_t{profile.sm.register_unit}},
                                    {"sm.shared_memory_bytes", profile.sm.shared_memory.value},
                                    {"sm.shared_memory_of_block_bytes", profile.sm.shared_memory_of_block.value},
                                    {"sm.shared_memory_unit_bytes", profile.sm.shared_memory_unit.value},
                                    {"l2_size_bytes", profile.l2_size.value},
                                    {"copy_engines", std::int64_t{profile.copy_engines}},
                                    {"connections", std::int64_t{profile.connections}},
                                    {"resident_grids", std::int64_t{profile.resident_grids}}}) {
    if (value < 1) return fail(ErrorCode::kInvalidInput, "{} is {}; it must be at least 1", name, value);
  }
  if (profile.sm.blocks > kMostBlocksOnSm) {
    return fail(ErrorCode::kInvalidInput, "sm.blocks is {}; it must be at most {}", profile.sm.blocks, kMostBlocksOnSm);
  }
  for (const auto& [name, value] : {std::pair{"sm.threads", std::int64_t{profile.sm.threads}},
                                    {"sm.registers", profile.sm.registers},
                                    {"sm.partitions", std::int64_t{profile.sm.partitions}},
                                    {"sm.register_unit", std::int64_t{profile.sm.register_unit}},
                                    {"sm.shared_memory_bytes", profile.sm.shared_memory.value},
                                    {"sm.shared_memory_of_block_bytes", profile.sm.shared_memory_of_block.value},
                                    {"sm.shared_memory_unit_bytes", profile.sm.shared_memory_unit.value},
                                    {"sm.reserved_shared_memory_bytes", profile.sm.reserved_shared_memory.value}}) {
    if (value > kMostRoomOnSm) {
      return fail(ErrorCode::kInvalidInput, "{} is {}; it must be at most {}", name, value, kMostRoomOnSm);
    }
  }
  if (profile.sm.reserved_shared_memory < Bytes{0}) {
    return fail(ErrorCode::kInvalidInput, "sm.reserved_shared_memory_bytes is {}; it must not be negative",
                profile.sm.reserved_shared_memory.value);
  }
  if (profile.launch.lock > profile.launch.call) {
    return fail(ErrorCode::kInvalidInput, "launch.lock_ns is {}; it is part of launch.call_ns, {}",
                profile.launch.lock.count(), profile.launch.call.count());
  }
  Result<void> times;
  visit_launch(profile.launch, [&](std::string_view name, Nanoseconds time) {
    if (times && (time < Nanoseconds(0) || time > kLongestLaunch)) {
      times = fail(ErrorCode::kInvalidInput, "launch.{} is {}; it must be from 0 to {}", name, time.count(),
                   kLongestLaunch.count());
    }
  });
  COHORT_CHECK(times);
  return check_rates(profile);
}

std::string write_gpu_profile(const GpuProfile& profile) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["device"] = profile.device;
  json["source"] = profile.source;
  json["compute_capability"] = fmt::format("{}.{}", profile.capability.major, profile.capability.minor);
  visit_top(profile, Writer(json));
  visit_sm(profile.sm, Writer(json["sm"]));
  visit_launch(profile.launch, Writer(json["launch"]));
  json["launch"]["lock_ns"] = profile.launch.lock.count();
  json["launch"]["graph_chain_node_ns"] = profile.launch.graph_chain_node.count();
  json["launch"]["graph_stream_ns"] = profile.launch.graph_stream.count();
  for (const Throughput throughput : kAll) {
    json["slowdown"][std::string(to_string(throughput))] = profile.slowdown[static_cast<std::size_t>(throughput)];
  }
  return json.dump(2) + "\n";
}

Result<GpuProfile> parse_gpu_profile(std::string_view text) {
  COHORT_TRY(const nlohmann::json value, parse_json(text));
  COHORT_TRY(JsonObject object, JsonObject::open(value, ""));
  COHORT_TRY(const std::string format, object.string("format"));
  if (format != kFormat) {
    return fail(ErrorCode::kInvalidInput, "format is \"{}\"; a GPU profile says \"{}\"", format, kFormat);
  }
  GpuProfile profile;
  COHORT_TRY(profile.device, object.string("device"));
  COHORT_TRY(profile.source, object.string("source"));
  COHORT_TRY(const std::string capability, object.string("compute_capability"));
  const std::size_t dot = capability.find('.');
  const auto digits = [](const std::string& part) {
    return !part.empty() && part.size() <= 3 && part.find_first_not_of("0123456789") == std::string::npos;
  };
  if (dot == std::string::npos || !digits(capability.substr(0, dot)) || !digits(capability.substr(dot + 1))) {
    return fail(ErrorCode::kInvalidInput, "compute_capability is \"{}\"; it must be like \"9.0\"", capability);
  }
  profile.capability = {std::stoi(capability.substr(0, dot)), std::stoi(capability.substr(dot + 1))};
  Reader top(object);
  visit_top(profile, top);
  COHORT_CHECK(top.outcome());

  COHORT_TRY(const nlohmann::json* sm_value, object.value("sm"));
  COHORT_TRY(JsonObject sm_object, JsonObject::open(*sm_value, "sm"));
  Reader sm(sm_object);
  visit_sm(profile.sm, sm);
  COHORT_CHECK(sm.outcome());
  COHORT_CHECK(sm_object.no_other_keys());

  COHORT_TRY(const nlohmann::json* launch_value, object.value("launch"));
  COHORT_TRY(JsonObject launch_object, JsonObject::open(*launch_value, "launch"));
  Reader launch(launch_object);
  visit_launch(profile.launch, launch);
  profile.launch.lock = profile.launch.call;  // as long as a profile says nothing of it
  if (launch_object.has("lock_ns")) launch("lock_ns", profile.launch.lock);
  profile.launch.graph_chain_node = profile.launch.graph_node;  // likewise
  if (launch_object.has("graph_chain_node_ns")) launch("graph_chain_node_ns", profile.launch.graph_chain_node);
  if (launch_object.has("graph_stream_ns")) launch("graph_stream_ns", profile.launch.graph_stream);
  COHORT_CHECK(launch.outcome());
  COHORT_CHECK(launch_object.no_other_keys());

  COHORT_TRY(const nlohmann::json* slowdown_value, object.value("slowdown"));
  COHORT_TRY(JsonObject slowdown_object, JsonObject::open(*slowdown_value, "slowdown"));
  for (const Throughput throughput : kAll) {
    COHORT_TRY(profile.slowdown[static_cast<std::size_t>(throughput)], slowdown_object.number(to_string(throughput)));
  }
  COHORT_CHECK(slowdown_object.no_other_keys());
  COHORT_CHECK(object.no_other_keys());
  COHORT_CHECK(validate(profile));
  return profile;
}

}  // namespace cohort
