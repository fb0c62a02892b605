#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/planner/plan_report.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/report/run_report.hpp"
#include "simulator/what_if/rank_what_ifs.hpp"
#include "view/explore/explore_settings.hpp"

namespace cohort {

/// What settings are predicted to do.
struct ExploreAnswer {
  RunReport report;                    ///< its trace is the one below
  std::shared_ptr<const Trace> trace;  ///< the predicted timeline; never null
  std::optional<SpeedupInterval> interval;
  double per_second = 0;
  std::string_view counted;                ///< what `per_second` counts: "samples", or "steps" of a trace
  std::optional<Nanoseconds> p99_latency;  ///< until a member's results are there
  std::optional<Bytes> memory_limit;
  // Of profiles.
  std::optional<Plan> plan;  ///< with baselines and algorithms: what a run takes
  std::optional<WorkspaceRules> workspace;
  // Of traces of runs.
  std::vector<std::pair<std::string, Change>> changes;
  std::optional<MinibatchGain> minibatch;
};

/// One way that was found.
struct ExploreCandidate {
  std::string name;
  Nanoseconds step{};
  Nanoseconds baseline{};  ///< its members one after another
  double speedup = 1;
  std::optional<SpeedupInterval> interval;
  double per_second = 0;
  std::optional<Nanoseconds> p99_latency;
  std::optional<Bytes> memory;
  Nanoseconds lower_bound{}, upper_bound{};
  std::vector<GainPart> gain;  ///< empty where it was not explained
  std::string explanation;     ///< one line
  bool is_baseline = false;    ///< one after another
  ExploreSettings settings;    ///< predict() of them gives the same
};

struct RefusedWay {
  std::string name;
  std::string reason;
};

/// The planner's answer, for profiles and traces alike.
struct Recommendation {
  /// Best first, then, from `ranked` on, plans of less memory that take more time.
  std::vector<ExploreCandidate> candidates;
  std::size_t ranked = 0;
  std::vector<RefusedWay> refused;
  /// Positions of candidates that no other beats in both: step time and memory, fastest first; throughput and latency,
  /// most throughput first. Those without a memory or latency stand in neither.
  std::vector<std::size_t> time_memory, throughput_latency;
  bool interrupted = false;                           ///< cancelled once something had been found: more might have been
  std::variant<PlanningResult, WhatIfRanking> found;  ///< all of it, for reports
};

/// One number of models, run in one way.
struct ScaledPoint {
  int models = 1;  ///< of each
  std::size_t members = 1;
  Nanoseconds step{};
  Nanoseconds baseline{};
  double speedup = 1;
  double least = 1, most = 1;  ///< by the bounds of the step; of a measurement by its quartiles
  std::optional<SpeedupInterval> interval;
  double per_second = 0;
  std::optional<Bytes> memory;
  std::string name;                         ///< of the planner's choice: which way; of a measurement: its file
  std::optional<ExploreSettings> settings;  ///< absent of a measurement
};

/// One way of running the models, by their number.
struct ScaledWay {
  std::string name;  ///< "one after another", "concurrent", "strided batch", "the planner's choice", "measured"
  bool measured = false;
  std::vector<ScaledPoint> points;   ///< by number of models, ascending
  std::vector<std::string> missing;  ///< "64 models: does not fit ..."
};

struct Scaling {
  std::vector<ScaledWay> ways;  ///< those that have any point
  bool interrupted = false;
};

}  // namespace cohort
