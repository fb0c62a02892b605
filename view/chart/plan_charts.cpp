#include "view/chart/plan_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace cohort {
namespace {

double as_number(Nanoseconds time) { return static_cast<double>(time.count()); }
double as_number(Bytes bytes) { return static_cast<double>(bytes.value); }

/// Values that lie further apart than this are told apart on a logarithmic axis only.
constexpr double kWide = 20;

AxisScale scale_for(std::span<const ChartPoint> points, double ChartPoint::*value, AxisScale logarithmic) {
  double low = 0;
  double high = 0;
  for (const ChartPoint& point : points) {
    if (point.*value <= 0) return AxisScale::kLinear;
    low = low == 0 ? point.*value : std::min(low, point.*value);
    high = std::max(high, point.*value);
  }
  return high > kWide * low ? logarithmic : AxisScale::kLinear;
}

/// The points that none beats in both directions, ascending in x.
std::vector<ChartPoint> front_of(std::vector<ChartPoint> points, bool most_is_best) {
  const auto better = [most_is_best](double a, double b) { return most_is_best ? a > b : a < b; };
  std::stable_sort(points.begin(), points.end(),
                   [&](const ChartPoint& a, const ChartPoint& b) { return a.x != b.x ? a.x < b.x : better(a.y, b.y); });
  std::vector<ChartPoint> front;
  for (ChartPoint& point : points) {
    if (!front.empty() && !better(point.y, front.back().y)) continue;
    point.highlight = false;
    front.push_back(std::move(point));
  }
  return front;
}

void add_limit(Chart& chart, ChartLimit::Axis axis, std::string_view what, std::optional<Bytes> bytes) {
  if (bytes) chart.limits.push_back({axis, as_number(*bytes), fmt::format("{} {}", what, format_bytes(*bytes))});
}

void add_limit(Chart& chart, ChartLimit::Axis axis, std::string_view what, std::optional<Nanoseconds> time) {
  if (time) chart.limits.push_back({axis, as_number(*time), fmt::format("{} {}", what, format_time(*time))});
}

/// A width at which errors make a histogram of some 20 bars at most.
double bin_width(double low, double high) {
  constexpr std::array kWidths = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5};
  for (const double width : kWidths) {
    if ((high - low) / width <= 20) return width;
  }
  return kWidths.back();
}

}  // namespace

std::vector<ParetoEntry> pareto_entries(const PlanningResult& result) {
  std::vector<ParetoEntry> entries;
  for (const PlanCandidate& candidate : result.ranked) {
    const Prediction& prediction = candidate.prediction;
    entries.push_back({candidate.name, prediction.step_time, prediction.samples_per_second, prediction.p99_latency,
                       prediction.memory.total(), candidate.speedup, entries.empty()});
  }
  if (entries.empty()) return entries;
  const double samples = entries.front().samples_per_second * seconds(entries.front().step_time);  // of a step
  for (const ParetoPoint& point : result.pareto) {
    const Bytes memory = point.memory.total();
    const bool known = std::any_of(entries.begin(), entries.end(), [&](const ParetoEntry& entry) {
      return entry.step_time == point.step_time && entry.memory == memory;
    });
    if (known || point.step_time <= Nanoseconds{}) continue;
    entries.push_back({point.name, point.step_time, samples / seconds(point.step_time), std::nullopt, memory,
                       as_number(result.baseline.step_time) / as_number(point.step_time), false});
  }
  return entries;
}

Chart pareto_chart(std::span<const ParetoEntry> entries, const ParetoView& view) {
  const bool by_memory = view.across == ParetoView::Across::kMemory;
  const bool throughput = view.up == ParetoView::Up::kThroughput;
  Chart chart;
  chart.title = fmt::format("{} against {}", throughput ? "Throughput" : "Step time", by_memory ? "memory" : "latency");
  chart.x = {.label = by_memory ? "memory" : "p99 latency of a member's step",
             .unit = by_memory ? AxisUnit::kBytes : AxisUnit::kTime};
  chart.y = {.label = throughput ? view.counted + " a second" : "step time",
             .unit = throughput ? AxisUnit::kRate : AxisUnit::kTime};
  chart.if_empty = "No plan has been looked for. Open a profile and let the planner recommend one.";
  ChartSeries plans{.name = "plans", .kind = SeriesKind::kPoints};
  for (const ParetoEntry& entry : entries) {
    if (by_memory ? !entry.memory : !entry.latency) continue;
    plans.points.push_back({.x = by_memory ? as_number(*entry.memory) : as_number(*entry.latency),
                            .y = throughput ? entry.samples_per_second : as_number(entry.step_time),
                            .label = entry.name,
                            .highlight = entry.chosen});
  }
  chart.x.scale = scale_for(plans.points, &ChartPoint::x, by_memory ? AxisScale::kLog2 : AxisScale::kLog10);
  chart.y.scale = scale_for(plans.points, &ChartPoint::y, AxisScale::kLog10);
  ChartSeries front{.name = by_memory ? "best for their memory" : "best for their latency",
                    .kind = SeriesKind::kStepped,
                    .points = front_of(plans.points, throughput)};
  chart.series = {std::move(plans), std::move(front)};
  if (by_memory) {
    add_limit(chart, ChartLimit::Axis::kX, "limit", view.memory_limit);
    add_limit(chart, ChartLimit::Axis::kX, "device", view.device_memory);
  } else {
    add_limit(chart, ChartLimit::Axis::kX, "limit", view.latency_limit);
  }
  return chart;
}

Chart scaling_chart(std::span<const ScalingCurve> curves) {
  Chart chart;
  chart.title = "Speedup against number of models";
  chart.x = {.label = "models", .scale = AxisScale::kLog2};
  chart.y = {.label = "speedup over one after another", .unit = AxisUnit::kRatio, .from_zero = true};
  chart.if_empty = "Nothing has been predicted for other numbers of models. Open a profile, or a trace of one model.";
  for (const ScalingCurve& curve : curves) {
    ChartSeries series{.name = curve.name, .kind = curve.measured ? SeriesKind::kPoints : SeriesKind::kLine};
    for (const ScalingPoint& point : curve.points) {
      series.points.push_back({.x = static_cast<double>(point.models),
                               .y = point.speedup,
                               .range = point.range,
                               .label = point.label,
                               .highlight = point.highlight});
    }
    chart.series.push_back(std::move(series));
  }
  chart.limits = {{.value = 1, .label = "no gain"}};
  return chart;
}

Chart gain_chart(std::span<const PlanGain> plans) {
  Chart chart;
  chart.title = "Where the gain comes from";
  chart.lying = true;
  chart.y = {.label = "time saved a step", .unit = AxisUnit::kTime};
  chart.if_empty = "No gain has been attributed: predict a plan first.";
  std::map<std::string, std::size_t> series_of;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    chart.x.categories.push_back(plans[i].name);
    for (const GainPart& part : plans[i].parts) {
      const auto [known, added] = series_of.try_emplace(part.cause, chart.series.size());
      if (added) chart.series.push_back({.name = part.cause, .kind = SeriesKind::kStackedBars});
      chart.series[known->second].points.push_back({.x = static_cast<double>(i), .y = as_number(part.gain)});
    }
  }
  return chart;
}

std::vector<GainPart> gain_parts(const Attribution& attribution) {
  std::vector<GainPart> parts;
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    if (attribution.saved[i] != Nanoseconds{})
      parts.push_back({std::string(to_string(static_cast<GainCause>(i))), attribution.saved[i]});
  }
  return parts;
}

Chart memory_chart(std::span<const NamedMemory> plans, std::optional<Bytes> limit) {
  Chart chart;
  chart.title = "Memory";
  chart.lying = true;
  chart.y.unit = AxisUnit::kBytes;
  chart.if_empty = "Nothing is known of the memory this takes.";
  constexpr std::array<std::string_view, 6> kParts = {"weights",   "optimizer", "activations",
                                                      "workspace", "input",     "activations and workspace"};
  for (const std::string_view part : kParts)
    chart.series.push_back({.name = std::string(part), .kind = SeriesKind::kStackedBars});
  std::optional<Bytes> device;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const BatchMemory& memory = plans[i].memory;
    chart.x.categories.push_back(plans[i].name);
    const bool apart = memory.activations && memory.workspace;
    std::optional<Bytes> weights = memory.weights;
    if (weights && memory.optimizer) weights = *weights - *memory.optimizer;
    std::size_t part = 0;  // in the order of kParts
    const auto add = [&](std::optional<Bytes> size) {
      if (size) chart.series[part].points.push_back({.x = static_cast<double>(i), .y = as_number(*size)});
      ++part;
    };
    add(weights);
    add(memory.optimizer);
    add(apart ? memory.activations : std::nullopt);
    add(apart ? memory.workspace : std::nullopt);
    add(memory.input);
    add(apart ? std::nullopt : memory.step);
    if (!device) device = memory.device;
  }
  std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
  add_limit(chart, ChartLimit::Axis::kY, "limit", limit);
  add_limit(chart, ChartLimit::Axis::kY, "device", device);
  return chart;
}

Chart difference_chart(std::span<const ComparedTask> tasks, std::size_t most) {
  Chart chart;
  chart.title = "Predicted against measured, largest differences first";
  chart.lying = true;
  chart.y = {.label = "time", .unit = AxisUnit::kTime};
  chart.if_empty = "No task is in both a predicted and a measured trace. Run the plan: cohort run PLAN";
  chart.series = {{.name = "predicted", .kind = SeriesKind::kBars}, {.name = "measured", .kind = SeriesKind::kBars}};
  for (const ComparedTask& task : tasks.first(std::min(most, tasks.size()))) {
    const auto x = static_cast<double>(chart.x.categories.size());
    const auto error = task.relative_error();
    const std::string label = error ? fmt::format("off by {:+.1f}%", 100 * *error) : std::string("not measured");
    chart.x.categories.push_back(task.name);
    chart.series[0].points.push_back({.x = x, .y = as_number(task.predicted), .label = label});
    chart.series[1].points.push_back({.x = x, .y = as_number(task.measured), .label = label});
  }
  return chart;
}

Chart error_histogram(std::span<const ComparedTask> tasks) {
  constexpr double kMost = 2;
  Chart chart;
  chart.title = "How far tasks are off";
  chart.x = {.label = "(predicted - measured) / measured", .unit = AxisUnit::kFraction};
  chart.y = {.label = "tasks"};
  chart.if_empty = "No task is in both a predicted and a measured trace. Run the plan: cohort run PLAN";
  std::vector<double> errors;
  for (const ComparedTask& task : tasks) {
    if (const auto error = task.relative_error()) errors.push_back(std::min(*error, kMost));
  }
  if (errors.empty()) return chart;
  const auto [low, high] = std::minmax_element(errors.begin(), errors.end());
  const double width = bin_width(std::min(*low, 0.0), std::max(*high, 0.0));
  // Bins have their middle at whole numbers of widths, so that one of them is "as predicted".
  std::map<long, std::size_t> bins;
  for (const double error : errors) ++bins[std::lround(error / width)];
  ChartSeries series{.kind = SeriesKind::kBars};
  for (const auto& [bin, count] : bins) {
    const double middle = static_cast<double>(bin) * width;
    series.points.push_back({.x = middle,
                             .y = static_cast<double>(count),
                             .label = fmt::format("{:+.4g}% to {:+.4g}%{}", 100 * (middle - width / 2),
                                                  100 * (middle + width / 2), middle >= kMost ? ", or more" : "")});
  }
  chart.series = {std::move(series)};
  chart.limits = {{.axis = ChartLimit::Axis::kX, .value = 0, .label = "as predicted"}};
  return chart;
}

}  // namespace cohort
