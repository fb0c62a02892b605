#include "view/chart/processes_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "view/chart/palette.hpp"

namespace cohort {
namespace {

using Rows = std::vector<const EqualProcesses*>;

bool same_case(const StepTime& a, const StepTime& b) { return a.share == b.share && a.part == b.part; }

/// The rows by what they are of: part of the GPU and of the step.
std::vector<Rows> by_case(std::span<const EqualProcesses> rows) {
  std::vector<Rows> cases;
  for (const EqualProcesses& row : rows) {
    auto known = std::find_if(cases.begin(), cases.end(), [&](const Rows& each) {
      return same_case(each.front()->demand.alone, row.demand.alone);
    });
    if (known == cases.end()) known = cases.insert(cases.end(), Rows{});
    known->push_back(&row);
  }
  return cases;
}

/// The minibatches to draw, ascending.
std::vector<std::int64_t> drawn_minibatches(const Rows& rows) {
  std::set<std::int64_t> sorted;
  for (const EqualProcesses* row : rows) sorted.insert(row->demand.alone.minibatch);
  std::vector<std::int64_t> all(sorted.begin(), sorted.end());
  if (all.size() <= kSeriesColours) return all;
  std::vector<std::int64_t> drawn;
  for (std::size_t i = 0; i < kSeriesColours; ++i) drawn.push_back(all[i * (all.size() - 1) / (kSeriesColours - 1)]);
  return drawn;
}

ChartPoint predicted_point(const EqualProcesses& row, bool with_range) {
  const Within& within = row.colocation.gain_within;
  ChartPoint point{.x = static_cast<double>(row.count), .y = row.colocation.gain};
  point.label = fmt::format("8 of 10 in {:.2f}x to {:.2f}x", within.low, within.high);
  if (with_range) point.range = ValueRange{within.low, within.high};
  return point;
}

/// What is predicted of one minibatch, and what was measured of it.
std::pair<ChartSeries, ChartSeries> series_of(const Rows& rows, std::int64_t minibatch, std::size_t colour,
                                              bool with_range) {
  ChartSeries predicted{.name = fmt::format("minibatch {}", minibatch), .colour = colour};
  ChartSeries measured{
      .name = fmt::format("minibatch {}, measured", minibatch), .kind = SeriesKind::kPoints, .colour = colour};
  predicted.points.push_back({.x = 1, .y = 1, .label = "alone"});
  for (const EqualProcesses* row : rows) {
    if (row->demand.alone.minibatch != minibatch || row->count < 2) continue;
    predicted.points.push_back(predicted_point(*row, with_range));
    if (row->measured && !row->measured->one_died)
      measured.points.push_back({.x = static_cast<double>(row->count), .y = row->measured->gain});
  }
  for (ChartSeries* series : {&predicted, &measured}) {
    std::sort(series->points.begin(), series->points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  }
  return {std::move(predicted), std::move(measured)};
}

Chart chart_of(const TimedModel& model, const Rows& rows) {
  const StepTime& alone = rows.front()->demand.alone;
  Chart chart;
  chart.title = fmt::format("{}: equal processes on one GPU", model.name);
  if (model.times.unit != ShareUnit::kAll) chart.title += ", " + share_text(model.times.unit, alone.share);
  if (!alone.part.empty()) chart.title += ", " + alone.part;
  chart.x = {.label = "processes", .scale = AxisScale::kLog2};
  chart.y = {.label = "gain over one after another", .unit = AxisUnit::kRatio, .from_zero = true};
  const std::vector<std::int64_t> minibatches = drawn_minibatches(rows);
  std::vector<ChartSeries> all_measured;
  for (std::size_t i = 0; i < minibatches.size(); ++i) {
    auto [predicted, measured] = series_of(rows, minibatches[i], i, minibatches.size() == 1);
    chart.series.push_back(std::move(predicted));
    if (!measured.points.empty()) all_measured.push_back(std::move(measured));
  }
  std::move(all_measured.begin(), all_measured.end(), std::back_inserter(chart.series));
  chart.limits = {{.value = 1, .label = "no gain"}};
  return chart;
}

}  // namespace

std::vector<Chart> processes_charts(const TimedModel& model, std::span<const EqualProcesses> rows) {
  std::vector<Chart> charts;
  for (const Rows& each : by_case(rows)) charts.push_back(chart_of(model, each));
  return charts;
}

}  // namespace cohort
