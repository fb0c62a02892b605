#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/report/compare.hpp"
#include "simulator/report/run_report.hpp"
#include "view/chart/chart.hpp"

namespace cohort {

/// One plan of many, as a Pareto chart shows it.
struct ParetoEntry {
  std::string name;
  Nanoseconds step_time{};
  double samples_per_second = 0;       ///< or of what ParetoView::counted says
  std::optional<Nanoseconds> latency;  ///< p99 of a member's step; absent where it was not simulated
  std::optional<Bytes> memory;         ///< absent where it is not known
  std::optional<double> speedup;
  bool chosen = false;
};

/// The ranked candidates, best first, then the planner's points of time against memory that are not among them; the
/// first is the chosen one.
std::vector<ParetoEntry> pareto_entries(const PlanningResult& result);

struct ParetoView {
  enum class Across { kMemory, kLatency };
  enum class Up { kThroughput, kStepTime };
  Across across = Across::kMemory;
  Up up = Up::kThroughput;
  std::string counted = "samples";  ///< "steps" of a recorded trace
  std::optional<Bytes> memory_limit = std::nullopt;
  std::optional<Bytes> device_memory = std::nullopt;
  std::optional<Nanoseconds> latency_limit = std::nullopt;
};

/// Series 0 has a point for each entry, in their order, but for those whose memory or latency
/// is not known; their
/// ChartPoint::label is the entry's name. Series 1 is the front: what no other beats in both.
Chart pareto_chart(std::span<const ParetoEntry> entries, const ParetoView& view = {});

/// What one number of models gains.
struct ScalingPoint {
  int models = 1;
  double speedup = 1;
  std::optional<ValueRange> range = std::nullopt;  ///< bounds, an interval, or the spread of a measurement
  std::string label = {};
  bool highlight = false;
};

/// One strategy's speedup by number of models, ascending.
struct ScalingCurve {
  std::string name;
  std::vector<ScalingPoint> points;
  bool measured = false;  ///< points with whiskers rather than a line with a band
};

/// Predicted speedups as lines, measured ones as points on top of them. One series a curve, in their order.
Chart scaling_chart(std::span<const ScalingCurve> curves);

/// Where one plan's gain comes from.
struct PlanGain {
  std::string name;
  std::vector<GainPart> parts;
};
/// Stacked bars, one a plan; what costs goes below zero.
Chart gain_chart(std::span<const PlanGain> plans);
/// As the planner attributes it. Causes of no part are left out.
std::vector<GainPart> gain_parts(const Attribution& attribution);

struct NamedMemory {
  std::string name;
  BatchMemory memory;
};
/// One bar a plan, against what it may take and what the device has (that of the first plan that knows it).
Chart memory_chart(std::span<const NamedMemory> plans, std::optional<Bytes> limit);

/// Predicted and measured time of the tasks that differ most, of at most `most`.
Chart difference_chart(std::span<const ComparedTask> tasks, std::size_t most = 12);

/// How many tasks are off by how much: (predicted - measured) / measured. What is off by more than twice the
/// measurement stands in the last bar.
Chart error_histogram(std::span<const ComparedTask> tasks);

}  // namespace cohort
