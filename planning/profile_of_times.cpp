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
#include "simulator/predict/program_gpu.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using namespace literals;

/// No kernel takes less, from its start to the next one's.
constexpr Nanoseconds kLeastKernel = 2_us;
/// Its share of a GPU, by the unit of the table's column.
constexpr double kAllGpcs = 7;
constexpr double kAllPercent = 100;
/// What the ops are said to run by: nobody knows.
constexpr std::string_view kUnknownWay = "estimated from step times";

double whole_gpu(ShareUnit unit) {
  switch (unit) {
    case ShareUnit::kAll:
      return 1;
    case ShareUnit::kGpcs:
      return kAllGpcs;
    case ShareUnit::kPercent:
      return kAllPercent;
  }
  return 1;
}

/// Ops whose results lie where their inputs do launch nothing.
bool launches_kernel(const Op& op) { return !std::holds_alternative<Reshape>(op.attributes); }

/// How the GPU's time is divided, so that the parts add up to it.
std::vector<Nanoseconds> divided(Nanoseconds all, const std::vector<Nanoseconds>& rough) {
  const auto at = [&](double factor, Nanoseconds time) {
    return std::max(kLeastKernel, Nanoseconds(std::llround(factor * static_cast<double>(time.count()))));
  };
  const auto sum_at = [&](double factor) {
    Nanoseconds sum{};
    for (const Nanoseconds time : rough) sum += at(factor, time);
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
  const Nanoseconds sum = sum_at(high);  // more where even the least of all kernels is
  const double rest = sum > all ? seconds(all) / seconds(sum) : 1;
  std::vector<Nanoseconds> times;
  for (const Nanoseconds time : rough)
    times.push_back(Nanoseconds(std::llround(rest * static_cast<double>(at(high, time).count()))));
  return times;
}

/// How far off the GPU's time may be, a standard deviation in parts of it, by what it was concluded from; see
/// docs/colocation.md.
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

Result<ProcessDemand> demand_of(const ModelSource& source, const ProcessDemands& demands, ShareUnit unit) {
  const double whole = whole_gpu(unit);
  if (const ProcessDemand* const row = demands.find(source.minibatch, whole)) return *row;
  std::set<std::int64_t> there;
  for (const ProcessDemand& each : demands.rows) {
    if (each.alone.share == whole && each.alone.part.empty()) there.insert(each.alone.minibatch);
  }
  return fail(ErrorCode::kInvalidInput, "no row is of one process with minibatch {} on the whole GPU{}",
              source.minibatch,
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

}  // namespace

Result<ProfileOfTimes> profile_of_times(const ModelSource& source, const Model& model, const TimedSteps& steps) {
  const ProcessDemands demands = process_demands(steps.times, steps.copied);
  ProfileOfTimes result;
  COHORT_TRY(result.demand, demand_of(source, demands, steps.times.unit));
  result.host_time = demands.host_time;
  std::vector<const Op*> ops;
  std::vector<Nanoseconds> rough;
  for (const Op& op : model.ops) {
    if (!launches_kernel(op)) continue;
    ops.push_back(&op);
    const CallWork work = call_work_of(model, op, steps.precision);
    rough.push_back(rough_time(work, steps.gpu));
    result.least += std::max(kLeastKernel, roofline_time(work, steps.gpu));
  }
  if (ops.empty()) return fail(ErrorCode::kInvalidInput, "{} has no op that takes time", source.model);
  result.ops = ops.size();

  Trace& trace = result.trace;
  trace.info.kind = TraceKind::kProfile;
  trace.info.device = device_of(steps.gpu);
  trace.info.settings = provenance();
  write_source(source, trace.info.settings);
  trace.info.settings["precision"] = to_string(steps.precision);
  trace.info.settings["layout"] = to_string(steps.layout);
  trace.info.settings[std::string(kEstimatedFrom)] =
      fmt::format("times of whole steps (GPU work: {})", to_string(result.demand.origin));
  trace.info.settings[std::string(kEstimatedWithin)] = fmt::format("{}", deviation_of(result.demand.origin));
  trace.info.wall_times.push_back({std::string(kWallUntraced), {result.demand.alone.step}, 0});
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
  const std::vector<Nanoseconds> times = divided(result.demand.gpu_work, rough);
  for (std::size_t i = 0; i < ops.size(); ++i)
    add(ops[i]->name, signature_in(steps.precision, signature_of(model, *ops[i])), times[i]);
  for (const std::int64_t elements : {std::int64_t{1} << 10, std::int64_t{1} << 24}) {
    const double bytes = 2.0 * static_cast<double>(elements) * sizeof(float);
    const Nanoseconds time(std::llround(1e9 * bytes / steps.gpu.dram.per_second));
    add("copy", fmt::format("{}[{}]", kCopyPrefix, elements), kLeastKernel + time);
  }
  return result;
}

}  // namespace cohort
