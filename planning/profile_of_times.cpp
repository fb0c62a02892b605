#include "planning/profile_of_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "executor/profile/kernels.hpp"
#include "planning/provenance.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/contention/mig_slice.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using namespace literals;

/// No kernel takes less, from its start to the next one's.
constexpr Nanoseconds kLeastKernel = 2_us;
/// What the ops are said to run by: nobody knows.
constexpr std::string_view kUnknownWay = "estimated from step times";

/// All of the device in the unit of the table's column: of a GPU, or of a slice.
double whole(ShareUnit unit, std::string_view device) {
  constexpr int kAllGpcs = 7;
  const auto slice = mig_slice_of(device);
  switch (unit) {
    case ShareUnit::kAll:
      return 1;
    case ShareUnit::kGpcs:
      return slice ? slice->compute : kAllGpcs;
    case ShareUnit::kPercent:
      return 100;
  }
  return 1;
}

/// Ops whose results lie where their inputs do launch nothing.
bool launches_kernel(const Op& op) { return !std::holds_alternative<Reshape>(op.attributes); }

/// What an op takes of a GPU, roughly and at least.
struct OpBounds {
  Nanoseconds rough{};
  Nanoseconds least{};
};

/// How the GPU's time is divided, so that the parts add up to it: all ops' rough times by one factor, but each its
/// least time where there is time for that.
std::vector<Nanoseconds> divided(Nanoseconds all, const std::vector<OpBounds>& ops) {
  const auto at = [&](double factor, const OpBounds& op) {
    return std::max(op.least, Nanoseconds(std::llround(factor * static_cast<double>(op.rough.count()))));
  };
  const auto sum_at = [&](double factor) {
    Nanoseconds sum{};
    for (const OpBounds& op : ops) sum += at(factor, op);
    return sum;
  };
  double low = 0;
  double high = 1;
  while (sum_at(high) < all && high < 1e9) high *= 2;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (sum_at(middle) < all ? low : high) = middle;
  }
  const double rest = seconds(all) / seconds(sum_at(high));  // 1 unless even the least times take longer
  std::vector<Nanoseconds> times;
  for (const OpBounds& op : ops)
    times.push_back(Nanoseconds(std::llround(rest * static_cast<double>(at(high, op).count()))));
  return times;
}

/// How far off the GPU's time may be, a standard deviation in parts of it, by what it was concluded from: that of the
/// intervals of colocate() (docs/colocation.md).
double deviation_of(WorkOrigin origin) {
  switch (origin) {
    case WorkOrigin::kRecorded:
    case WorkOrigin::kGpuBound:
      return 0.04;
    case WorkOrigin::kOtherShare:
      return 0.06;
    case WorkOrigin::kOtherMinibatch:
      return 0.14;
    case WorkOrigin::kAtMost:
      return 0.5;
  }
  return 0.5;
}

Result<ProcessDemand> demand_of(const ModelSource& source, const ProcessDemands& demands, const TimedSteps& steps) {
  const double share = whole(steps.times.unit, steps.gpu.device);
  if (const ProcessDemand* const row = demands.find(source.minibatch, share)) return *row;
  std::set<std::int64_t> there;
  for (const ProcessDemand& each : demands.rows) {
    if (each.alone.share == share && each.alone.part.empty()) there.insert(each.alone.minibatch);
  }
  const std::string of = steps.times.unit == ShareUnit::kGpcs ? share_text(steps.times.unit, share) : "the whole GPU";
  return fail(ErrorCode::kInvalidInput, "no row is of one process with minibatch {} on {}{}", source.minibatch, of,
              there.empty() ? std::string() : fmt::format("; there are {} (--minibatch)", fmt::join(there, ", ")));
}

DeviceInfo device_of(const GpuProfile& gpu) {
  DeviceInfo device;
  device.id = "cuda:0";
  device.kind = "cuda";
  device.name = gpu.device;
  device.memory = gpu.memory;
  device.settings["multiprocessors"] = std::to_string(gpu.sms);
  device.settings[std::string(kLastCacheSetting)] = std::to_string(gpu.l2_size.value);
  device.settings["compute_capability"] = fmt::format("{}.{}", gpu.capability.major, gpu.capability.minor);
  return device;
}

TraceInfo info_of(const ModelSource& source, const TimedSteps& steps, const ProcessDemand& demand) {
  TraceInfo info;
  info.kind = TraceKind::kProfile;
  info.device = device_of(steps.gpu);
  info.device.settings[std::string(kEstimatedFrom)] =
      fmt::format("times of whole steps (GPU work: {})", to_string(demand.origin));
  info.settings = provenance();
  write_source(source, info.settings);
  info.settings["precision"] = to_string(steps.precision);
  info.settings["layout"] = to_string(steps.layout);
  info.device.settings[std::string(kEstimatedWithin)] = fmt::format("{}", deviation_of(demand.origin));
  info.wall_times.push_back({std::string(kWallUntraced), {demand.alone.step}, 0});
  return info;
}

}  // namespace

Result<ProfileOfTimes> profile_of_times(const ModelSource& source, const Model& model, const TimedSteps& steps) {
  const double copy_rate = steps.gpu.to_device.per_second;
  COHORT_CHECK(check_copied(steps.times, steps.copied, copy_rate));
  const ProcessDemands demands = process_demands(steps.times, steps.copied, copy_rate);
  ProfileOfTimes result;
  COHORT_TRY(result.demand, demand_of(source, demands, steps));
  result.host_time = demands.host_time;
  result.follows_shares = demands.follows_shares;
  std::vector<const Op*> ops;
  std::vector<OpBounds> bounds;
  for (const Op& op : model.ops) {
    if (!launches_kernel(op)) continue;
    ops.push_back(&op);
    const CallWork work = call_work_of(model, op, steps.precision);
    const Nanoseconds least = std::max(kLeastKernel, roofline_time(work, steps.gpu));
    bounds.push_back({std::max(kLeastKernel, rough_time(work, steps.gpu)), least});
    result.least += least;
  }
  if (ops.empty()) return fail(ErrorCode::kInvalidInput, "{} has no op that takes time", source.model);
  result.ops = ops.size();

  Trace& trace = result.trace;
  trace.info = info_of(source, steps, result.demand);
  const TrackId track = trace.add_track("profile", "ops, estimated");
  Nanoseconds start{};
  const auto add = [&](std::string_view name, std::string signature, Nanoseconds time) {
    ProfileRecord record;
    record.signature = std::move(signature);
    record.strategy = to_string(Strategy::kSerial);
    record.algorithm = kUnknownWay;
    record.time = time;
    add_profile_record(trace, track, name, start, record);
    start += time;
  };
  const std::vector<Nanoseconds> times = divided(result.demand.gpu_work, bounds);
  for (std::size_t i = 0; i < ops.size(); ++i)
    add(ops[i]->name, signature_in(steps.precision, signature_of(model, *ops[i])), times[i]);
  const std::set<DataType> types = {DataType::kFloat32, storage_of(steps.precision)};
  for (const DataType type : types) {
    const std::string kind = type == DataType::kFloat32 ? "" : fmt::format(" in {}", to_string(type));
    for (const std::int64_t elements : {std::int64_t{1} << 10, std::int64_t{1} << 24}) {
      const double bytes = 2.0 * static_cast<double>(elements * element_bytes(type));
      const Nanoseconds time(std::llround(1e9 * bytes / steps.gpu.dram.per_second));
      add("copy", fmt::format("{}[{}]{}", kCopyPrefix, elements, kind), kLeastKernel + time);
    }
  }
  return result;
}

}  // namespace cohort
