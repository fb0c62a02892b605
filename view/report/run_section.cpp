#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/statistics.hpp"
#include "view/chart/plan_charts.hpp"
#include "view/report/sections.hpp"
#include "view/report/timeline_figure.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostTasks = 20;
constexpr std::size_t kMostShown = 12;

std::string mark_of(std::optional<double> error) {
  constexpr double kLarge = 0.2;
  if (!error) return "faint";
  return std::abs(*error) > kLarge ? "bad" : "";
}

HtmlRow row_of(std::string name, const ComparedTask& task) {
  const auto error = task.relative_error();
  return {{std::move(name)},
          number_cell(format_time(task.predicted)),
          number_cell(format_time(task.measured)),
          number_cell(error_text(error), mark_of(error))};
}

void write_walls(HtmlWriter& html, const Comparison& comparison, const TraceInfo& measured) {
  std::vector<HtmlRow> rows;
  const auto add = [&](const char* name, const std::optional<ComparedTime>& time, const char* what) {
    if (!time) return;
    const WallTimes* wall = measured.wall(what);
    rows.push_back({{name},
                    number_cell(format_time(time->predicted)),
                    number_cell(format_time(time->measured)),
                    number_cell(error_text(time->relative_error()), mark_of(time->relative_error())),
                    {wall != nullptr ? wall_text(*wall) : "", false, "faint"}});
  };
  add("a step of the plan", comparison.plan, "plan");
  add("one after another", comparison.baseline, "baseline");
  if (comparison.predicted_speedup && comparison.measured_speedup) {
    rows.push_back({{"speedup"},
                    number_cell(ratio_text(*comparison.predicted_speedup)),
                    number_cell(ratio_text(*comparison.measured_speedup)),
                    number_cell(error_text(comparison.relative_error), mark_of(comparison.relative_error)),
                    {""}});
  }
  html.table("Wall times, from steps that ran without a trace.",
             {{""}, number_cell("predicted"), number_cell("measured"), number_cell("error"), {"measured in detail"}},
             rows);
}

void write_tasks(HtmlWriter& html, const Comparison& comparison) {
  html.chart(
      difference_chart(comparison.tasks, kMostShown),
      110 + 34 * static_cast<double>(std::min(kMostShown, comparison.tasks.size())),
      "The tasks whose predicted and measured time lie furthest apart, medians over the steps that were traced.");
  html.chart(error_histogram(comparison.tasks), 260,
             "How many tasks took how much less or more than predicted: bars on the left were predicted too short.");
  std::vector<HtmlRow> rows;
  for (const ComparedTask& task : comparison.tasks) {
    if (rows.size() == kMostTasks) break;
    HtmlRow row = row_of(task.name, task);
    row.push_back({task.group, false, "faint"});
    rows.push_back(std::move(row));
  }
  const HtmlRow headings = {
      {"task"}, number_cell("predicted"), number_cell("measured"), number_cell("error"), {"group"}};
  html.table(fmt::format("Largest differences first, {} of {} tasks.", rows.size(), comparison.tasks.size()), headings,
             rows);
  std::vector<HtmlRow> groups;
  for (const ComparedTask& group : comparison.groups)
    groups.push_back(row_of(group.name.empty() ? "without a group" : group.name, group));
  groups.push_back(row_of("all", comparison.all));
  html.table(
      "Sums over the tasks of each group. Groups run beside each other, so that they add up to more than a step.",
      {{"group"}, number_cell("predicted"), number_cell("measured"), number_cell("error")}, groups);
  const auto only = [&](const std::vector<std::string>& tasks, const char* where) {
    if (!tasks.empty())
      html.paragraph(
          fmt::format("Only {}: {} task{}, as {}.", where, tasks.size(), tasks.size() == 1 ? "" : "s", tasks.front()));
  };
  only(comparison.only_predicted, "predicted");
  only(comparison.only_measured, "measured");
}

void write_timelines(HtmlWriter& html, const Trace* predicted, const Trace* measured) {
  const TimelineFigure figure = plan_timeline(predicted, measured);
  if (figure.length() <= Nanoseconds{}) return;
  const Trace& any = *(predicted != nullptr ? predicted : measured);
  std::string says = fmt::format("Each row is a stream or worker, each box a task in the colour of its {}",
                                 phase_times(any).empty() ? "group" : "phase");
  says += predicted != nullptr && measured != nullptr
              ? "; predicted above measured, on one scale. Measured times in a trace hold what tracing adds to them."
              : ".";
  html.figure(draw(figure, kPageWidth), says);
}

void write_phases(HtmlWriter& html, const Trace* predicted, const Trace* measured) {
  using Times = std::vector<std::pair<std::string, Nanoseconds>>;
  const Times times = predicted != nullptr ? phase_times(*predicted) : Times();
  const Times of_run = measured != nullptr ? phase_times(*measured) : Times();
  std::vector<HtmlRow> rows;
  for (const auto& [phase, time] : times.empty() ? of_run : times) {
    const auto cell = [&, name = phase](const Times& from) {
      const auto found = std::find_if(from.begin(), from.end(), [&](const auto& each) { return each.first == name; });
      return number_cell(found != from.end() ? format_time(found->second) : "-");
    };
    rows.push_back({{phase}, cell(times), cell(of_run)});
  }
  if (rows.empty()) return;
  html.table("The phases of a training step: times of their tasks added up, which streams share.",
             {{"phase"}, number_cell("predicted"), number_cell("measured")}, rows);
}

}  // namespace

void write_run(HtmlWriter& html, const PlanSection& section, const RunSection& run) {
  const Trace* predicted = section.predicted != nullptr ? section.predicted->trace(TraceKind::kPredicted) : nullptr;
  const Trace* measured = run.file != nullptr ? run.file->trace(TraceKind::kMeasured) : nullptr;
  std::string title = measured == nullptr    ? "Predicted timeline"
                      : predicted == nullptr ? "Measured"
                                             : "Predicted against measured";
  if (section.runs.size() > 1 && run.file != nullptr) title += ": " + run.file->path.filename().string();
  html.open_section(title, 3);
  if (measured != nullptr && !run.comparison && predicted != nullptr)
    html.paragraph(fmt::format("They cannot be compared: {}.", run.not_compared));
  if (run.comparison) {
    write_walls(html, *run.comparison, measured->info);
  } else if (measured != nullptr) {
    std::vector<std::pair<std::string, std::string>> facts;
    for (const WallTimes& wall : measured->info.wall_times) facts.emplace_back(wall.what, wall_text(wall));
    html.facts(facts);
  }
  write_timelines(html, predicted, measured);
  write_phases(html, predicted, measured);
  if (run.comparison) write_tasks(html, *run.comparison);
  html.close_section();
}

}  // namespace cohort
