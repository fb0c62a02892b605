#include "simulator/report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/statistics.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

constexpr std::string_view kGroupArg = "group";

struct TaskTime {
  std::string group;
  Nanoseconds time{};
};
using TaskTimesByName = std::map<std::string, TaskTime, std::less<>>;

Result<TaskTimesByName> task_times(const Trace& trace, TraceKind kind) {
  if (trace.info.kind != kind) {
    return fail(ErrorCode::kInvalidInput, "a {} trace is needed, this is a {} one", to_string(kind),
                to_string(trace.info.kind));
  }
  std::map<std::string, std::pair<std::string, std::vector<Nanoseconds>>, std::less<>> samples;
  for (const Slice& slice : trace.slices) {
    const auto task = trace.text_arg(slice, kTaskArg);
    if (!task) continue;
    auto found = samples.find(*task);
    if (found == samples.end()) found = samples.try_emplace(std::string(*task)).first;
    if (found->second.first.empty()) found->second.first = group_of(trace, slice);
    found->second.second.push_back(slice.duration);
  }
  if (samples.empty()) {
    return fail(ErrorCode::kInvalidInput, "the {} trace has no slice with a \"{}\" argument", to_string(kind),
                kTaskArg);
  }
  TaskTimesByName times;
  for (auto& [task, sample] : samples) times[task] = {std::move(sample.first), median(std::move(sample.second))};
  return times;
}

std::optional<double> relative(double predicted, double measured) {
  if (measured == 0) return std::nullopt;
  return (predicted - measured) / measured;
}

std::optional<double> relative(Nanoseconds predicted, Nanoseconds measured) {
  return relative(static_cast<double>(predicted.count()), static_cast<double>(measured.count()));
}

std::optional<Nanoseconds> median_wall(const Trace& trace, std::string_view what) {
  const WallTimes* wall = trace.info.wall(what);
  if (wall == nullptr || wall->samples.empty()) return std::nullopt;
  return median(wall->samples);
}

std::optional<ComparedTime> wall_of(const Trace& predicted, const Trace& measured, std::string_view what) {
  const std::optional<Nanoseconds> p = median_wall(predicted, what);
  const std::optional<Nanoseconds> m = median_wall(measured, what);
  if (!p || !m) return std::nullopt;
  return ComparedTime{*p, *m};
}

std::optional<double> speedup(const Trace& trace) {
  const std::optional<Nanoseconds> baseline = median_wall(trace, "baseline");
  const std::optional<Nanoseconds> plan = median_wall(trace, "plan");
  if (!baseline || !plan || *plan == Nanoseconds(0)) return std::nullopt;
  return static_cast<double>(baseline->count()) / static_cast<double>(plan->count());
}

void largest_difference_first(std::vector<ComparedTask>& rows) {
  const auto difference = [](const ComparedTask& row) { return std::abs((row.predicted - row.measured).count()); };
  std::sort(rows.begin(), rows.end(), [&](const ComparedTask& a, const ComparedTask& b) {
    return std::tuple(-difference(a), a.name) < std::tuple(-difference(b), b.name);
  });
}

std::string percent(std::optional<double> error) { return error ? fmt::format("{:+.1f}%", *error * 100) : "-"; }

std::string row(const ComparedTask& task, std::size_t width) {
  return fmt::format("{:<{}} {:>10} {:>10} {:>8}\n", task.name, width, format_time(task.predicted),
                     format_time(task.measured), percent(task.relative_error()));
}

std::size_t name_width(std::string_view title, const std::vector<ComparedTask>& rows, std::size_t shown) {
  std::size_t width = title.size();
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, rows[i].name.size());
  return width;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  const auto last = names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size()));
  std::string text = fmt::format("{}", fmt::join(names.begin(), last, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string header(std::string_view title, std::size_t width) {
  return fmt::format("{:<{}} {:>10} {:>10} {:>8}\n", title, width, "predicted", "measured", "error");
}

/// What a plan runs and how, without what is chosen or found anew from time to time.
Plan way_of(Plan plan) {
  for (Member& member : plan.members) member.source.model = std::filesystem::path(member.source.model).filename();
  plan.input.path = std::filesystem::path(plan.input.path).filename();
  plan.limits = {};
  plan.baselines.clear();
  plan.resolved.reset();
  return plan;
}

}  // namespace

std::optional<double> ComparedTask::relative_error() const { return relative(predicted, measured); }
std::optional<double> ComparedTime::relative_error() const { return relative(predicted, measured); }

std::optional<double> ComparedSpeedup::relative_error() const {
  if (!predicted || !measured) return std::nullopt;
  return relative(*predicted, *measured);
}

const WallTimes* mostly_disturbed(const Trace& trace) {
  const WallTimes* const plan = trace.info.wall("plan");
  return plan != nullptr && mostly_disturbed(plan->discarded, plan->samples.size()) ? plan : nullptr;
}

std::string group_of(const Trace& trace, const Slice& task) {
  if (const auto name = trace.text_arg(task, kGroupArg)) return std::string(*name);
  if (const auto position = trace.integer_arg(task, kGroupArg)) return fmt::format("{}", *position);
  return "";
}

ComparedSpeedup compare_speedup(const Trace& predicted, const Trace& measured) {
  return {wall_of(predicted, measured, "plan"), wall_of(predicted, measured, "baseline"), speedup(predicted),
          speedup(measured)};
}

Result<Comparison> compare(const Trace& predicted, const Trace& measured) {
  COHORT_TRY(const TaskTimesByName p, task_times(predicted, TraceKind::kPredicted));
  COHORT_TRY(const TaskTimesByName m, task_times(measured, TraceKind::kMeasured));
  Comparison comparison;
  comparison.all.name = "all";
  std::map<std::string, ComparedTask> groups;
  for (const auto& [task, times] : p) {
    const auto found = m.find(task);
    if (found == m.end()) {
      comparison.only_predicted.push_back(task);
      continue;
    }
    comparison.tasks.push_back({task, times.group, times.time, found->second.time});
    ComparedTask& group = groups[times.group];
    group.name = group.group = times.group;
    for (ComparedTask* sum : {&group, &comparison.all}) {
      sum->predicted += times.time;
      sum->measured += found->second.time;
    }
  }
  for (const auto& [task, times] : m) {
    if (!p.contains(task)) comparison.only_measured.push_back(task);
  }
  if (comparison.tasks.empty()) {
    return fail(
        ErrorCode::kInvalidInput,
        "the traces have no task in common (\"{}\" was predicted, \"{}\" measured); they are of different plans",
        p.begin()->first, m.begin()->first);
  }
  for (auto& [name, group] : groups) comparison.groups.push_back(std::move(group));
  largest_difference_first(comparison.tasks);
  largest_difference_first(comparison.groups);

  const ComparedSpeedup speedup = compare_speedup(predicted, measured);
  comparison.plan = speedup.plan;
  comparison.baseline = speedup.baseline;
  if (speedup.predicted && speedup.measured) {
    comparison.predicted_speedup = speedup.predicted;
    comparison.measured_speedup = speedup.measured;
  }
  comparison.relative_error = speedup.relative_error();
  comparison.different_plans = different_plans(predicted, measured);
  if (predicted.info.device.name != measured.info.device.name && !predicted.info.device.name.empty() &&
      !measured.info.device.name.empty()) {
    comparison.predicted_on = predicted.info.device.name;
    comparison.measured_on = measured.info.device.name;
  }
  if (const WallTimes* const plan = measured.info.wall("plan"); plan != nullptr) {
    comparison.disturbed = plan->discarded;
    comparison.wall_times = plan->discarded + static_cast<int>(plan->samples.size());
  }
  return comparison;
}

bool different_plans(const Trace& a, const Trace& b) {
  if (a.info.plan.empty() || b.info.plan.empty() || a.info.plan == b.info.plan) return false;
  const Result<Plan> plan_of_a = parse_plan(a.info.plan), plan_of_b = parse_plan(b.info.plan);
  return !plan_of_a || !plan_of_b || way_of(*plan_of_a) != way_of(*plan_of_b);
}

std::string print(const Comparison& comparison, const CompareText& options) {
  const std::size_t shown = std::min(options.most_tasks, comparison.tasks.size());
  std::size_t width = name_width("task", comparison.tasks, shown);
  const bool some_alone = !comparison.only_predicted.empty() || !comparison.only_measured.empty();
  std::string text;
  if (comparison.different_plans)
    text += fmt::format("The traces are of different plans: {}speedups are of different things.\n",
                        some_alone ? "only tasks that both have are compared, and " : "");
  if (!comparison.predicted_on.empty())
    text += fmt::format("The traces are of different devices: predicted for {}, measured on {}.\n",
                        comparison.predicted_on, comparison.measured_on);
  if (mostly_disturbed(comparison.disturbed, static_cast<std::size_t>(comparison.wall_times - comparison.disturbed)))
    text += fmt::format(
        "Other programs kept the machine busy: {} of {} wall times of the plan were left out; measure again when it is "
        "quiet.\n",
        comparison.disturbed, comparison.wall_times);
  text += header("task", width);
  for (std::size_t i = 0; i < shown; ++i) text += row(comparison.tasks[i], width);
  if (shown < comparison.tasks.size()) text += fmt::format("... and {} more\n", comparison.tasks.size() - shown);

  width = name_width("group", comparison.groups, comparison.groups.size());
  text += "\n" + header("group", width);
  for (const ComparedTask& group : comparison.groups) text += row(group, width);
  text += row(comparison.all, width);

  if (comparison.plan || comparison.baseline) {
    constexpr std::string_view kTitle = "wall time";
    text += "\n" + header(kTitle, kTitle.size());
    const auto wall = [&](std::string name, const std::optional<ComparedTime>& time) {
      if (time) text += row({std::move(name), "", time->predicted, time->measured}, kTitle.size());
    };
    wall("plan", comparison.plan);
    wall("baseline", comparison.baseline);
    if (comparison.predicted_speedup && comparison.measured_speedup) {
      text += fmt::format("{:<{}} {:>9.2f}x {:>9.2f}x {:>8}\n", "speedup", kTitle.size(), *comparison.predicted_speedup,
                          *comparison.measured_speedup, percent(comparison.relative_error));
    }
  }
  if (!comparison.only_predicted.empty())
    text += fmt::format("predicted but not measured: {}\n", first_names(comparison.only_predicted));
  if (!comparison.only_measured.empty())
    text += fmt::format("measured but not predicted: {}\n", first_names(comparison.only_measured));
  return text;
}

}  // namespace cohort
