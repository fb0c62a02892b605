#include "executor/run/run_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/rate.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

std::int64_t samples_of(const Plan& plan) {
  std::int64_t samples = 0;
  for (const Member& member : plan.members) samples += member.source.minibatch;
  return samples;
}

ordered_json to_json(const SubjectTimes& times) {
  ordered_json samples = ordered_json::array();
  for (const Nanoseconds sample : times.wall.samples) samples.push_back(sample.count());
  return {{"median_ns", times.median.count()},
          {"lower_quartile_ns", times.lower.count()},
          {"upper_quartile_ns", times.upper.count()},
          {"samples_ns", std::move(samples)},
          {"discarded", times.wall.discarded},
          {"disturbed", times.disturbed},
          {"core_round_trip_ns", times.round_trip.count()}};
}

ordered_json beside_json(const PlanRun::Times& times) {
  ordered_json json = ordered_json::array();
  for (const SubjectTimes& other : times.beside) {
    ordered_json one = to_json(other);
    one["file"] = other.wall.what;
    one["measured_speedup"] = speedup(times.baseline, other);
    json.push_back(std::move(one));
  }
  return json;
}

std::string row(std::string_view name, const SubjectTimes& times, std::int64_t samples_per_step) {
  const double per_second = static_cast<double>(samples_per_step) / seconds(times.median);
  return fmt::format("{:<9} {:>9} a step ({} to {}), {}, {} blocks, {} discarded{}\n", name, format_time(times.median),
                     format_time(times.lower), format_time(times.upper), format_rate(per_second),
                     times.wall.samples.size(), times.wall.discarded,
                     times.disturbed ? "; the machine was never quiet" : "");
}

/// Why kernels that were to be recorded are not there; null where they are, or nobody wanted them.
ordered_json not_recorded(const Trace& trace) {
  const auto reason = trace.info.settings.find(std::string(kNotRecorded));
  return reason != trace.info.settings.end() ? ordered_json(reason->second) : ordered_json(nullptr);
}

/// Each step that was traced, by its wall time.
ordered_json traced_steps(const Trace& trace) {
  ordered_json samples = ordered_json::array();
  const WallTimes* const traced = trace.info.wall("plan traced");
  for (std::size_t i = 0; traced != nullptr && i < traced->samples.size(); ++i)
    samples.push_back(traced->samples[i].count());
  return samples;
}

}  // namespace

ordered_json to_json(const FinishedRun& finished) {
  const PlanRun::Times& times = finished.times;
  ordered_json images = ordered_json::array();
  for (const BadImage& image : finished.run.bad_images())
    images.push_back({{"path", image.path}, {"reason", image.reason}, {"count", image.count}});
  return {{"plan", to_json(times.plan)},
          {"baseline", to_json(times.baseline)},
          {"measured_speedup", times.speedup()},
          {"beside", beside_json(times)},
          {"samples_per_step", samples_of(finished.plan)},
          {"memory_bytes", finished.run.program().memory.total().value},
          {"traced_samples_ns", traced_steps(finished.trace)},
          {"kernels_not_recorded", not_recorded(finished.trace)},
          {"bad_images", std::move(images)}};
}

std::string to_text(const FinishedRun& finished) {
  const Program& program = finished.run.program();
  const PlanRun::Times& times = finished.times;
  const std::int64_t samples = samples_of(finished.plan);
  std::string text = fmt::format("{} members, {} steps of one program, {}\n", finished.plan.members.size(),
                                 program.steps.size(), memory_text(program.memory));
  text += row("together", times.plan, samples) + row("one by one", times.baseline, samples);
  text += fmt::format("speedup   {:.2f}x measured\n", times.speedup());
  for (const SubjectTimes& other : times.beside) {
    text += row("beside", other, samples);
    text += fmt::format("speedup   {:.2f}x measured: {}\n", speedup(times.baseline, other), other.wall.what);
  }
  return text;
}

}  // namespace cohort
