#include "simulator/what_if/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/parallel.hpp"
#include "simulator/colocation/colocate.hpp"
#include "simulator/engine/flat_run.hpp"
#include "simulator/transform/steady_copies.hpp"
#include "simulator/what_if/recorded_memory.hpp"
#include "simulator/what_if/timeline_trace.hpp"
#include "simulator/what_if/what_if_doubts.hpp"
#include "simulator/what_if/what_if_graphs.hpp"

namespace cohort {
namespace {

/// Rounds of all members' steps that are simulated, an even number: with input made ahead, where the first half fills
/// the buffers, and where the recorded host ran ahead of the device, so that one round alone would count its beginning
/// and end as well.
constexpr int kBufferedRounds = 8;
constexpr int kRoundsAhead = 4;

/// A timeline of more has the first rounds alone: files of many members would take gigabytes.
constexpr std::size_t kMostShownTasks = 200'000;

/// Whether a step is still on the device when the host goes on with the next one.
bool runs_ahead(const TraceGraph& graph) {
  constexpr int kPart = 50;  // of the step; less is the latency of its last launches
  Nanoseconds end{};
  for (const auto& times : graph.recorded) end = std::max(end, times ? times->end : Nanoseconds(0));
  return graph.counts.behind_host > end / kPart;
}

int rounds_of(const WhatIfCase& what_if_case, const WhatIf& what_if) {
  if (what_if.buffers) return kBufferedRounds;
  const bool ahead = std::any_of(what_if_case.graphs.begin(), what_if_case.graphs.end(), runs_ahead);
  return ahead ? kRoundsAhead : 1;
}

/// Streams with kernels, of the GPU that has most.
std::size_t most_streams(const TaskGraph& graph) {
  std::map<std::int32_t, std::set<ResourceId>> streams;
  for (const Task& task : graph.tasks) {
    if (task.kind == TaskKind::kKernel) streams[graph.resources[to_index(task.resource)].device].insert(task.resource);
  }
  std::size_t most = 0;
  for (const auto& [device, of_device] : streams) most = std::max(most, of_device.size());
  return most;
}

/// Of all kernels of a GPU, of the GPU that has most.
Nanoseconds longest_kernel_time(const TaskGraph& graph) {
  std::map<std::int32_t, Nanoseconds> times;
  Nanoseconds longest{};
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    Nanoseconds& of_device = times[graph.resources[to_index(task.resource)].device];
    of_device += task.duration;
    longest = std::max(longest, of_device);
  }
  return longest;
}

Nanoseconds sum_of(const std::vector<Nanoseconds>& times) {
  return std::accumulate(times.begin(), times.end(), Nanoseconds(0));
}

std::string described(const DeviceInfo& device) {
  if (device.name.empty()) return device.kind.empty() ? "a CPU" : device.kind;
  return fmt::format("\"{}\"", device.name);
}

class Predictor {
 public:
  Predictor(const WhatIfCase& what_if_case, const WhatIf& what_if, const CancelToken* cancel, std::size_t threads)
      : case_(what_if_case),
        what_if_(what_if),
        cancel_(cancel),
        threads_(threads),
        graphs_(what_if_case, what_if),
        steps_(rounds_of(what_if_case, what_if)) {}

  Result<WhatIfPrediction> run() {
    if (what_if_.gpu && graphs_.on_host()) {
      return fail(ErrorCode::kUsage, "--device-profile: {} was recorded on {}, which is not a GPU", case_.name_of(0),
                  described(case_.traces.front()->info.device));
    }
    if (what_if_.processes != Processes::kOne) COHORT_CHECK(check_processes());
    WhatIfPrediction result;
    result.members = what_if_.members(case_.graphs.size());
    COHORT_TRY(const std::vector<Nanoseconds> as_traced, alone());
    graphs_.note_changes(&result.changes);
    COHORT_CHECK(graphs_.change_minibatch());
    graphs_.note_changes(nullptr);
    COHORT_TRY(alone_, alone());
    result.single = sum_of(alone_);
    if (what_if_.minibatch) {
      const Nanoseconds traced = sum_of(as_traced);
      MinibatchGain gain{*what_if_.recorded_minibatch, *what_if_.minibatch, traced, 1};
      gain.more_samples = static_cast<double>(gain.wanted) / gain.recorded * seconds(traced) / seconds(result.single);
      result.minibatch = gain;
    }
    if (result.members > 1 || what_if_.buffers) COHORT_CHECK(graphs_.find_times_alone());
    WhatIfStage stage;
    COHORT_TRY(result.baseline, time_of(stage));
    COHORT_CHECK(walk(stage, result));
    COHORT_CHECK(finish(stage, result));
    result.memory = memory_of(stage);
    add_doubts({case_, what_if_, graphs_, alone_, streams_}, result);
    return result;
  }

 private:
  /// All members as they run at one stage.
  struct Simulated {
    WhatIfStage stage;
    TaskGraph graph;
    Schedule schedule;
    WhatIfGraphs::Changes changes;
  };

  /// Members can be told apart by process.
  [[nodiscard]] Result<void> check_processes() const {
    if (graphs_.on_host()) {
      return fail(ErrorCode::kUsage, "--processes {}: {} was recorded on {}, which is not a GPU",
                  to_string(what_if_.processes), case_.name_of(0), described(case_.traces.front()->info.device));
    }
    if (what_if_.processes != Processes::kTimeSlicing) return {};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      const std::size_t streams = most_streams(case_.graphs[i].graph);
      if (streams < 2) continue;
      return fail(ErrorCode::kNegativeAnswer,
                  "time slicing: {} has kernels on {} streams, and which of them run beside each other in a time slice "
                  "is not modelled",
                  case_.name_of(i), streams);
    }
    return {};
  }

  [[nodiscard]] Result<void> check_cancelled() const { return cancel_ == nullptr ? Result<void>() : cancel_->check(); }

  /// By trace: one step of it.
  Result<std::vector<Nanoseconds>> alone() {
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_CHECK(check_cancelled());
      COHORT_TRY(const std::vector<TaskTimes> schedule, simulate_times(graphs_.step(i), SimulationOptions{}));
      times.push_back(makespan_of(schedule));
    }
    return times;
  }

  /// Switches one part on after another; what time each saves is its part of the gain.
  Result<void> walk(WhatIfStage& stage, WhatIfPrediction& result) {
    Nanoseconds last = result.baseline;
    const auto go = [&](std::string_view cause, bool WhatIfStage::*part, bool wanted) -> Result<void> {
      if (!wanted) return {};
      stage.*part = true;
      COHORT_TRY(const Nanoseconds time, time_of(stage));
      result.gain.push_back({std::string(cause), last - time});
      last = time;
      return {};
    };
    const bool several = result.members > 1;
    const bool alike = what_if_.most_models() > 1;  // members of one trace, which can share and be fused
    COHORT_CHECK(go("faster tasks", &WhatIfStage::retimed, what_if_.retimes()));
    COHORT_CHECK(go("launch removal", &WhatIfStage::graphs, what_if_.graphs));
    COHORT_CHECK(go("sharing", &WhatIfStage::shared, what_if_.shared_input && alike));
    COHORT_CHECK(go("overlap", &WhatIfStage::together, several || what_if_.buffers.has_value()));
    COHORT_CHECK(go("fusion", &WhatIfStage::fused, what_if_.fuse != FuseChoice::kNone && alike));
    if (stage.fused && what_if_.fuse == FuseChoice::kAuto && result.gain.back().gain <= Nanoseconds(0)) {
      stage.fused = false;
      result.unfused = -result.gain.back().gain;
      last -= *result.unfused;
      result.gain.pop_back();
    }
    result.step_time = last;
    return {};
  }

  Result<void> finish(const WhatIfStage& stage, WhatIfPrediction& result) {
    if (!last_ || last_->stage != stage) {
      last_.reset();
      COHORT_TRY(last_, simulate_all(stage));
    }
    auto& [of_stage, graph, schedule, changes] = *last_;
    result.changes.insert(result.changes.end(), changes.begin(), changes.end());
    if (result.unfused) result.changes.emplace_back("fuse: nothing, as it does not pay", Change{});
    streams_ = most_streams(graph);
    result.longest_path = schedule.longest_path / steps_;
    result.device_time = schedule.device_time / steps_;
    result.lower_bound = schedule.lower_bound / steps_;
    if (what_if_.processes == Processes::kTimeSlicing)
      result.lower_bound = std::max(result.lower_bound, longest_kernel_time(graph) / steps_);
    if (steps_ > 1)
      result.lower_bound = std::min(result.lower_bound, result.step_time);  // the first steps fill buffers
    result.binding = schedule.binding;
    WhatIfStage alone = stage;
    alone.together = alone.fused = alone.shared = false;
    COHORT_TRY(const Nanoseconds in_turn, one_by_one(alone));
    result.upper_bound = std::max(in_turn, result.step_time);  // what was recorded side by side may be slowed again
    if (result.step_time > Nanoseconds(0)) {
      result.speedup = seconds(result.baseline) / seconds(result.step_time);
      result.steps_per_second = static_cast<double>(result.members) / seconds(result.step_time);
    }
    FactsScope scope;
    scope.steps = steps_;
    scope.cores = graphs_.on_host() ? graphs_.cores() : 0;
    result.facts = facts_of(graph, schedule, scope);
    // Where blocks fill the SMs, kernels wait for room, whatever throughput is left.
    if (constexpr double kFull = 0.9; result.facts.sm_busy.value_or(0) > std::max(kFull, result.binding.utilisation)) {
      result.binding = {"room on the multiprocessors", *result.facts.sm_busy};
    }
    result.trace = timeline_trace(graph, schedule.tasks, case_.traces.front()->info.device, shown_rounds(graph));
    result.trace.info.wall_times.push_back({"plan", {result.step_time}, 0});
    COHORT_CHECK(check_cancelled());
    return try_contention(graph, schedule, stage, result);
  }

  /// Absent: all.
  [[nodiscard]] std::optional<int> shown_rounds(const TaskGraph& graph) const {
    // Iterations of a CPU's tasks are as they were recorded.
    if (graphs_.on_host() || graph.tasks.size() <= kMostShownTasks) return std::nullopt;
    const std::size_t in_round = graph.tasks.size() / static_cast<std::size_t>(steps_) + 1;
    return static_cast<int>(std::max<std::size_t>(1, kMostShownTasks / in_round));
  }

  /// How much depends on the model of contention: the same graph without any, and with kernels of a GPU one at a time,
  /// which `graph` is changed to.
  Result<void> try_contention(TaskGraph& graph, const Schedule& schedule, const WhatIfStage& stage,
                              WhatIfPrediction& result) const {
    result.without_contention = result.kernels_in_turn = result.step_time;
    if (!stage.together || graphs_.on_host() || schedule.makespan <= Nanoseconds(0)) return {};
    const auto as_step_time = [&](const std::vector<TaskTimes>& times) {
      const double part = seconds(makespan_of(times)) / seconds(schedule.makespan);
      return Nanoseconds(std::llround(static_cast<double>(result.step_time.count()) * part));
    };
    COHORT_TRY(const std::vector<TaskTimes> free, run_flat(graph));
    result.without_contention = std::max(as_step_time(free), result.lower_bound);
    hold_turns(graph);
    COHORT_TRY(const std::vector<TaskTimes> ordered, run_flat(graph));
    result.kernels_in_turn = as_step_time(ordered);
    return {};
  }

  Result<Nanoseconds> time_of(const WhatIfStage& stage) {
    COHORT_CHECK(check_cancelled());
    if (stage.together) return time_together(stage);
    COHORT_TRY(const Nanoseconds all, time_in_turn(stage, steps_));
    if (steps_ == 1) return all;
    COHORT_TRY(const Nanoseconds first_half, time_in_turn(stage, steps_ / 2));
    return (all - first_half) / (steps_ / 2);
  }

  /// Keeps what it simulated.
  Result<Nanoseconds> time_together(const WhatIfStage& stage) {
    last_.reset();
    if (steps_ == 1) {
      COHORT_TRY(last_, simulate_all(stage));
      return last_->schedule.makespan;
    }
    std::vector<RecordedTasks> parts;
    COHORT_TRY(const TaskGraph half, graphs_.whole(stage, steps_ / 2, parts));
    Result<Simulated> all;
    Result<std::vector<TaskTimes>> first_half;
    parallel_for(2, threads_, [&](std::size_t /*worker*/, std::size_t i) {
      if (i == 0) all = simulate_all(stage);
      if (i == 1) first_half = times_of(half, stage, parts);
    });
    if (!first_half) return tl::unexpected<Error>(std::move(first_half).error());
    COHORT_TRY(last_, std::move(all));
    return (last_->schedule.makespan - makespan_of(*first_half)) / (steps_ / 2);
  }

  Result<Nanoseconds> time_in_turn(const WhatIfStage& stage, int steps) {
    Nanoseconds sum{};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_TRY(const Nanoseconds time, in_turn(i, stage, steps));
      sum += time;
    }
    return sum;
  }

  /// All members of a trace, one after another: of many only the first few, where these tell the others' times.
  Result<Nanoseconds> in_turn(std::size_t index, const WhatIfStage& stage, int steps) {
    const int members = what_if_.models_of(index);
    for (int few = 3; !graphs_.on_host() && !stage.shared && few * 4 <= members; few *= 3) {
      COHORT_TRY(const TaskGraph graph, graphs_.members_of(index, stage, steps, few));
      COHORT_TRY(const std::vector<TaskTimes> times, times_of(graph, stage, {}));
      if (const auto makespan = makespan_of_copies(graph, times, few, members)) return *makespan;
    }
    COHORT_TRY(const TaskGraph graph, graphs_.members_of(index, stage, steps, members));
    COHORT_TRY(const std::vector<TaskTimes> times, times_of(graph, stage, {}));
    return makespan_of(times);
  }

  Result<std::vector<TaskTimes>> times_of(const TaskGraph& graph, const WhatIfStage& stage,
                                          std::span<const RecordedTasks> parts) const {
    COHORT_CHECK(check_cancelled());
    COHORT_TRY(const SimulationOptions options, graphs_.options(graph, stage, parts));
    return simulate_times(graph, options);
  }

  /// All rounds of all members of all traces.
  Result<Simulated> simulate_all(const WhatIfStage& stage) {
    Simulated simulated;
    simulated.stage = stage;
    std::vector<RecordedTasks> parts;
    graphs_.note_changes(&simulated.changes);
    Result<TaskGraph> graph = graphs_.whole(stage, steps_, parts);
    graphs_.note_changes(nullptr);
    if (!graph) return tl::unexpected<Error>(std::move(graph).error());
    simulated.graph = *std::move(graph);
    COHORT_CHECK(check_cancelled());
    COHORT_TRY(const SimulationOptions options, graphs_.options(simulated.graph, stage, parts));
    COHORT_TRY(simulated.schedule, simulate(simulated.graph, options));
    return simulated;
  }

  Result<Nanoseconds> one_by_one(const WhatIfStage& stage) {
    Nanoseconds sum{};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_TRY(const TaskGraph graph, graphs_.one(i, stage, 1));
      COHORT_TRY(const std::vector<TaskTimes> times, simulate_times(graph, SimulationOptions{}));
      sum += makespan_of(times) * what_if_.models_of(i);
    }
    return sum;
  }

  /// Members keep their weights each. What a step needs beside them is used again by the next member of the same
  /// streams; members that are fused have theirs at the same time.
  [[nodiscard]] BatchMemory memory_of(const WhatIfStage& stage) const {
    BatchMemory memory;
    if (graphs_.gpu() && graphs_.unknown_devices().empty()) memory.device = graphs_.gpu()->memory;
    for (std::size_t i = 0; i < case_.traces.size(); ++i) {
      const auto recorded = recorded_memory(*case_.traces[i], case_.window_of(i));
      if (!recorded) {
        BatchMemory unknown;
        unknown.device = memory.device;
        unknown.unknown = fmt::format("{}the trace records no allocations (PyTorch's profile_memory=True does)",
                                      case_.traces.size() > 1 ? fmt::format("trace {}: ", i + 1) : "");
        return unknown;
      }
      const std::int64_t members = what_if_.models_of(i);
      std::int64_t at_a_time = 1;
      if (stage.together) at_a_time = std::min(members, std::int64_t{what_if_.streams.value_or(what_if_.models_of(i))});
      if (stage.fused) at_a_time = members;
      memory.weights = memory.weights.value_or(Bytes{}) + recorded->kept * members;
      const Bytes step = recorded->step * at_a_time;
      // Traces run beside each other, or one after another.
      const Bytes before = memory.step.value_or(Bytes{});
      memory.step = stage.together ? before + step : std::max(before, step);
    }
    if (what_if_.minibatch && memory.step) {
      memory.step = Bytes{
          std::llround(static_cast<double>(memory.step->value) * *what_if_.minibatch / *what_if_.recorded_minibatch)};
    }
    return memory;
  }

  const WhatIfCase& case_;
  const WhatIf& what_if_;
  const CancelToken* cancel_;
  std::size_t threads_;
  WhatIfGraphs graphs_;
  int steps_ = 1;
  std::vector<Nanoseconds> alone_;  ///< by trace: one step, with the minibatch asked for, on an idle device
  std::optional<Simulated> last_;   ///< what was simulated last, over all steps
  std::size_t streams_ = 0;         ///< with kernels, of all members together, on one GPU
};

/// Kernels' times are of the device that they were recorded on, and members share one.
Result<void> check_same_device(const WhatIfCase& what_if_case) {
  const DeviceInfo& first = what_if_case.traces.front()->info.device;
  const auto differ = [](const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; };
  const auto check_one = [&](const std::string& file, const DeviceInfo& device) -> Result<void> {
    if (!differ(first.name, device.name) && !differ(first.kind, device.kind)) return {};
    const auto called = [](const DeviceInfo& of) { return of.name.empty() ? of.kind : of.name; };
    return fail(ErrorCode::kInvalidInput,
                "{} was recorded on \"{}\", {} on \"{}\": what runs together runs on one device; record both on the "
                "same one, or simulate each alone",
                file, called(device), what_if_case.name_of(0), called(first));
  };
  for (std::size_t i = 1; i < what_if_case.traces.size(); ++i) {
    COHORT_CHECK(check_one(what_if_case.name_of(i), what_if_case.traces[i]->info.device));
  }
  const auto& second = what_if_case.second;
  if (!second) return {};
  return check_one(second->name.empty() ? "the second trace" : second->name, second->trace->info.device);
}

Result<void> check_shared(const WhatIf& what_if, std::size_t members) {
  if (what_if.processes == Processes::kOne) return {};
  if (what_if.processes == Processes::kMps && members > kMostMpsClients)
    return fail(ErrorCode::kUsage, "--processes mps: {} members; an MPS server has at most {} clients", members,
                kMostMpsClients);
  const auto refuse = [&](std::string_view option) {
    return fail(ErrorCode::kUsage, "--processes {} and {}: processes share no streams, threads, input or kernels",
                to_string(what_if.processes), option);
  };
  if (what_if.streams) return refuse("--streams");
  if (what_if.launch_threads > 1) return refuse("--launch-threads");
  if (what_if.shared_input) return refuse("--input shared");
  if (what_if.fuse != FuseChoice::kNone) return refuse("--fuse");
  return {};
}

Result<void> check(const WhatIfCase& what_if_case, const WhatIf& what_if) {
  if (what_if_case.graphs.empty()) return fail(ErrorCode::kUsage, "no trace");
  COHORT_CHECK(check_one_or_each("--models", what_if.models.size(), what_if_case.graphs.size(), "trace"));
  std::vector<std::pair<const char*, int>> numbers;
  for (const int models : what_if.models) numbers.emplace_back("--models", models);
  numbers.insert(numbers.end(), {{"--streams", what_if.streams.value_or(1)},
                                 {"--launch-threads", what_if.launch_threads},
                                 {"--buffers", what_if.buffers.value_or(1)},
                                 {"--minibatch", what_if.minibatch.value_or(1)},
                                 {"--recorded-minibatch", what_if.recorded_minibatch.value_or(1)}});
  constexpr int kMost = 4096;
  for (const auto& [name, number] : numbers) {
    if (number < 1 || number > kMost) return fail(ErrorCode::kUsage, "{} {}: 1 to {}", name, number, kMost);
  }
  if (what_if.minibatch && !what_if.recorded_minibatch) {
    return fail(ErrorCode::kUsage, "--minibatch {}: the trace does not say its own; give --recorded-minibatch",
                *what_if.minibatch);
  }
  if (what_if_case.second && what_if_case.graphs.size() != 1) {
    return fail(ErrorCode::kUsage, "two recorded minibatches: exactly two traces, of one model");
  }
  COHORT_CHECK(check_shared(what_if, what_if.members(what_if_case.graphs.size())));
  COHORT_CHECK(check_same_device(what_if_case));
  if (!(what_if.copy_speed > 0)) return fail(ErrorCode::kUsage, "--copy-speed {}: positive", what_if.copy_speed);
  if (!(what_if.interconnect_speed > 0)) {
    return fail(ErrorCode::kUsage, "--interconnect-speed {}: positive", what_if.interconnect_speed);
  }
  for (const auto& [pattern, times] : what_if.scale) {
    if (!(times > 0)) return fail(ErrorCode::kUsage, "--scale {}={}: positive", pattern, times);
  }
  return {};
}

}  // namespace

Result<WhatIfPrediction> predict_what_if(const WhatIfCase& what_if_case, const WhatIf& what_if,
                                         const CancelToken* cancel, std::size_t threads) {
  COHORT_CHECK(check(what_if_case, what_if));
  return Predictor(what_if_case, what_if, cancel, threads).run();
}

}  // namespace cohort
