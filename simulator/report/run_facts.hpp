#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/simulate.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {

/// One task of a critical path.
struct PathStep {
  std::string name;
  std::string resource;
  TaskKind kind = TaskKind::kStep;
  std::int32_t member = 0;
  Nanoseconds start{};
  Nanoseconds own{};   ///< from its start until it ends or the next of the path starts
  Nanoseconds wait{};  ///< from its end until the next one may start: latencies and gaps
  Nanoseconds held{};  ///< from then until it does: the device, a lock or an engine is busy with others
};

/// PathPart::what of time in which nothing that was recorded runs.
inline constexpr std::string_view kLatenciesAndGaps = "latencies and gaps";

/// A part of a critical path, by cause.
struct PathPart {
  std::string what;
  Nanoseconds time{};
};

/// All tasks of one name.
struct NamedTasks {
  std::string name;
  TaskKind kind = TaskKind::kStep;
  std::size_t count = 0;
  Nanoseconds time{};     ///< sum of their lengths in the schedule
  Nanoseconds on_path{};  ///< part of the critical path
  Nanoseconds slack{};    ///< the least of theirs
};

/// Where the time of a schedule goes.
struct RunFacts {
  int steps = 1;                     ///< number of program steps that the rest is about
  double device_busy = 0;            ///< part of the time in which any device work runs
  std::optional<double> sm_busy;     ///< mean part of the SMs that kernels' blocks fill; where kernels run
  std::optional<double> cores_busy;  ///< mean part of a CPU's cores that tasks keep busy, waiting helpers aside
  std::vector<PathStep> path;        ///< in order of time
  std::vector<PathPart> parts;       ///< of the path, most first; they add up to the time
  std::vector<NamedTasks> tasks;     ///< by part of the path, then time, most first; names as tie
};

/// The part of a schedule that facts are about.
struct FactsScope {
  std::optional<TimeWindow> window;  ///< default: all; a path that began before is cut off there
  int steps = 1;                     ///< program steps in it
  int cores = 0;                     ///< of the CPU that tasks share; 0: they share none
  const GpuWork* gpu = nullptr;      ///< what steps of a Program ask of a GPU; recorded kernels say it themselves
  std::span<const double> memory_use = {};  ///< by TaskId, as SimulationOptions has it: what uses memory keeps its
                                            ///< cores while it waits for it; empty: nothing does
};

/// Device work are kernels, copies and memsets, and the steps of a Program.
/// Complexity: O(tasks log tasks).
RunFacts facts_of(const TaskGraph& graph, const Schedule& schedule, const FactsScope& scope = {});

}  // namespace cohort
