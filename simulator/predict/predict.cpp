#include "simulator/predict/predict.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/predict/step_bounds.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

constexpr std::string_view kTaskCategory = "task";
constexpr std::string_view kInputCategory = "input";

/// Further program steps of a timeline; none of a program with more steps than that, as its files take megabytes.
constexpr int kMoreIterations = 2;
constexpr std::size_t kMostShownOften = 10'000;

struct Simulated {
  ProgramGraph program_graph;
  Schedule schedule;
  BusiestThroughput busiest;  ///< of a GPU, over one program step
  std::optional<GpuWork> gpu;
};

Nanoseconds ended(const ProgramGraph& program_graph, const Schedule& schedule, int iteration) {
  return schedule.tasks[to_index(program_graph.ends[static_cast<std::size_t>(iteration)])].end;
}

/// The program steps after input and device have settled, up to iteration `last`.
TimeWindow window_to(int last, const ProgramGraph& program_graph, const Schedule& schedule) {
  return {ended(program_graph, schedule, program_graph.first_steady - 1), ended(program_graph, schedule, last)};
}

TimeWindow steady_window(const ProgramGraph& program_graph, const Schedule& schedule) {
  return window_to(program_graph.iterations - 1, program_graph, schedule);
}

Nanoseconds mean_step(const ProgramGraph& program_graph, const Schedule& schedule) {
  return steady_window(program_graph, schedule).length() / (program_graph.iterations - program_graph.first_steady);
}

Result<Simulated> run(const PredictionCase& prediction_case) {
  Simulated simulated;
  COHORT_TRY(simulated.program_graph, build_task_graph(prediction_case));
  const ProgramGraph& built = simulated.program_graph;
  SimulationOptions options{prediction_case.device};
  options.device.cores = host_cores(prediction_case);
  options.goal = built.ends.back();
  options.memory_use = built.memory_use;
  if (prediction_case.gpu != nullptr) {
    COHORT_TRY(options.gpu, prediction_case.gpu->work(*prediction_case.program, built.graph));
    simulated.busiest = busiest_throughput(*options.gpu, built.graph);
    simulated.busiest.time /= built.shown;
  }
  COHORT_TRY(simulated.schedule, simulate(built.graph, options));
  simulated.gpu = std::move(options.gpu);
  return simulated;
}

/// What was busy most over the steady iterations; of several, cores first, then in order of id.
Binding steady_binding(const PredictionCase& prediction_case, const Simulated& simulated,
                       const Prediction& prediction) {
  const ProgramGraph& program_graph = simulated.program_graph;
  const std::vector<TaskTimes>& times = simulated.schedule.tasks;
  const auto [begin, end] = steady_window(program_graph, simulated.schedule);
  if (end <= begin || prediction.step_time <= Nanoseconds(0)) return {"dependencies", 0};
  std::vector<Nanoseconds> busy(program_graph.graph.resources.size());
  double core_time = 0;
  double memory_time = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Task& task = program_graph.graph.tasks[i];
    const Nanoseconds overlap = std::min(end, times[i].end) - std::max(begin, times[i].start);
    if (overlap <= Nanoseconds(0)) continue;
    busy[to_index(task.resource)] += overlap;
    // Stretched by sharing or not, a task's work is what it is.
    const double part = seconds(overlap) / seconds(times[i].end - times[i].start);
    const double memory_use = program_graph.memory_use.empty() ? 0 : program_graph.memory_use[i];
    memory_time += part * seconds(task.duration) * memory_use;
    // What uses memory keeps its cores while it waits for it.
    core_time += (memory_use > 0 ? seconds(overlap) : part * seconds(task.duration)) * task.cores;
  }
  Binding binding{"cores", std::min(1.0, core_time / (seconds(end - begin) * host_cores(prediction_case)))};
  constexpr double kSame = 1e-9;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const double utilisation = seconds(busy[i]) / seconds(end - begin);
    if (utilisation > binding.utilisation + kSame) {
      binding = {program_graph.graph.resources[i].name, utilisation};
    }
  }
  // A throughput of the GPU, or of memory, that is used up binds before any core or stream that waits for it.
  constexpr double kUsedUp = 0.9;
  const double memory_busy = memory_time / seconds(end - begin);
  if (memory_busy >= kUsedUp) binding = {"memory bandwidth", memory_busy};
  const double used = seconds(simulated.busiest.time) / seconds(prediction.step_time);
  if (used >= kUsedUp) binding = {fmt::format("GPU {}", to_string(simulated.busiest.throughput)), used};
  constexpr double kBusy = 0.5;
  if (binding.utilisation < kBusy) binding.resource = "dependencies";
  return binding;
}

/// How long each member waits for its own results, over the steady iterations.
void add_latencies(const PredictionCase& prediction_case, const Simulated& simulated, Prediction& prediction) {
  const ProgramGraph& program_graph = simulated.program_graph;
  const Program& program = *prediction_case.program;
  const std::vector<TaskTimes>& times = simulated.schedule.tasks;
  const auto steady = static_cast<std::size_t>(program_graph.iterations - program_graph.first_steady);
  const auto first = static_cast<std::size_t>(program_graph.first_steady);
  const auto launched = [&](std::size_t i) { return times[to_index(program_graph.launches[first + i])].start; };
  std::vector<std::vector<Nanoseconds>> done(steady, std::vector<Nanoseconds>(program.member_count));
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Task& task = program_graph.graph.tasks[i];
    if (task.kind != TaskKind::kStep || !task.step || task.iteration < program_graph.first_steady) continue;
    const std::size_t now = static_cast<std::size_t>(task.iteration) - first;
    if (now >= steady) continue;
    for (const MemberId member : program.steps[*task.step].members) {
      Nanoseconds& latency = done[now][to_index(member)];
      latency = std::max(latency, times[i].end - launched(now));
    }
  }
  std::vector<Nanoseconds> all;
  prediction.member_latency.assign(program.member_count, Nanoseconds(0));
  for (std::size_t now = 0; now < steady; ++now) {
    for (std::size_t m = 0; m < program.member_count; ++m) prediction.member_latency[m] += done[now][m];
    all.insert(all.end(), done[now].begin(), done[now].end());
    prediction.launch_to_end += times[to_index(program_graph.ends[first + now])].end - launched(now);
  }
  for (Nanoseconds& latency : prediction.member_latency) latency /= static_cast<std::int64_t>(steady);
  prediction.launch_to_end /= static_cast<std::int64_t>(steady);
  if (all.empty()) return;
  const std::size_t rank = (all.size() * 99 + 99) / 100;  // counted from 1
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rank - 1), all.end());
  prediction.p99_latency = all[rank - 1];
}

Prediction summarize(const PredictionCase& prediction_case, const Simulated& simulated) {
  const ProgramGraph& program_graph = simulated.program_graph;
  Prediction prediction;
  prediction.step_time = mean_step(program_graph, simulated.schedule);
  std::int64_t samples = 0;
  for (const Member& member : prediction_case.plan->members) samples += member.source.minibatch;
  if (prediction.step_time > Nanoseconds(0)) {
    prediction.samples_per_second = static_cast<double>(samples) / seconds(prediction.step_time);
  }
  add_latencies(prediction_case, simulated, prediction);
  const StepBounds bounds = step_bounds(prediction_case, program_graph, simulated.busiest.time);
  prediction.lower_bound = bounds.lower;
  prediction.upper_bound = bounds.upper;
  // Kernels side by side on a GPU may take longer than in turn: then nothing is slower than the plan itself.
  if (prediction_case.gpu != nullptr) prediction.upper_bound = std::max(bounds.upper, prediction.step_time);
  prediction.binding = steady_binding(prediction_case, simulated, prediction);
  prediction.origins = program_graph.origins;
  prediction.memory = prediction_case.program->memory;
  return prediction;
}

void add_step_slice(const PredictionCase& prediction_case, const Task& task, const TaskTimes& times, TrackId track,
                    Trace& trace) {
  const Step& step = prediction_case.program->steps[*task.step];
  const std::string members = member_ranges(step.members);
  const std::vector<Group>& groups = prediction_case.plan->groups;
  const std::string_view group = step.group < groups.size() ? std::string_view(groups[step.group].name) : "";
  const std::array<Trace::NamedArg, 9> args{{{kTaskArg, std::string_view(step.task)},
                                             {"op", std::string_view(step.op)},
                                             {"members", std::string_view(members)},
                                             {"group", group},
                                             {kIterationArg, std::int64_t{task.iteration}},
                                             {"algorithm", std::string_view(step.cost.algorithm)},
                                             {"threads", std::int64_t{step.cost.threads}},
                                             {"slack_ns", std::int64_t{times.slack.count()}},
                                             {"phase", to_string(step.phase)}}};
  // Inference is all forward, which goes without saying.
  const std::size_t said = prediction_case.program->states.empty() ? args.size() - 1 : args.size();
  // A measured slice has the op alone; the host's work before it lies between slices.
  const Nanoseconds overhead = prediction_case.with_overheads ? prediction_case.device.step_overhead : Nanoseconds(0);
  const Nanoseconds start = std::min(times.start + overhead, times.end);
  trace.add_slice(track, step.op, kTaskCategory, start, times.end - start, std::span(args).first(said));
}

Trace trace_of(const PredictionCase& prediction_case, const Simulated& simulated, const DeviceInfo& device) {
  const TaskGraph& graph = simulated.program_graph.graph;
  Trace trace;
  trace.info.kind = TraceKind::kPredicted;
  trace.info.device = device;
  trace.info.plan = write_plan(*prediction_case.plan);
  if (const Nanoseconds trip = prediction_case.device.core_round_trip; trip > Nanoseconds(0))
    trace.info.device.settings[std::string(kRoundTripSetting)] = std::to_string(trip.count());
  std::vector<TrackId> tracks;
  std::map<LabelId, std::int64_t> copied;  // minibatches so far
  const std::string process = device.id.empty() ? "device" : device.id;
  for (const Resource& resource : graph.resources) {
    if (resource.kind == ResourceKind::kHostThread || resource.kind == ResourceKind::kDriverLock) {
      tracks.emplace_back();
      continue;
    }
    tracks.push_back(trace.add_track(resource.kind == ResourceKind::kStream ? process : "input", resource.name));
  }
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const TaskTimes& times = simulated.schedule.tasks[i];
    if (task.iteration >= simulated.program_graph.shown) continue;
    const TrackId track = tracks[to_index(task.resource)];
    if (task.kind == TaskKind::kStep) add_step_slice(prediction_case, task, times, track, trace);
    if (task.kind == TaskKind::kInput) {
      const std::array<Trace::NamedArg, 2> args{
          {{"minibatch", std::int64_t{task.iteration}}, {"pipeline", std::string_view(graph.label(TaskId(i)))}}};
      trace.add_slice(track, "decode", kInputCategory, times.start, times.end - times.start, args);
    }
    if (task.kind == TaskKind::kCopy) {
      const std::array<Trace::NamedArg, 2> args{
          {{"minibatch", copied[task.label]++}, {"pipeline", std::string_view(graph.label(TaskId(i)))}}};
      trace.add_slice(track, "copy", kInputCategory, times.start, times.end - times.start, args);
    }
  }
  return trace;
}

}  // namespace

Result<Prediction> predict(const PredictionCase& prediction_case) {
  COHORT_TRY(const Simulated simulated, run(prediction_case));
  return summarize(prediction_case, simulated);
}

Result<PredictedRun> predict_run(const PredictionCase& given, const DeviceInfo& device) {
  PredictionCase prediction_case = given;
  prediction_case.more_iterations = given.program->steps.size() > kMostShownOften ? 0 : kMoreIterations;
  COHORT_TRY(const Simulated simulated, run(prediction_case));
  const ProgramGraph& program_graph = simulated.program_graph;
  FactsScope scope;
  scope.window = window_to(program_graph.shown - 1, program_graph, simulated.schedule);
  scope.steps = program_graph.shown - program_graph.first_steady;
  scope.cores = prediction_case.gpu == nullptr ? prediction_case.device.cores : 0;
  scope.gpu = simulated.gpu ? &*simulated.gpu : nullptr;
  scope.memory_use = program_graph.memory_use;
  PredictedRun result{summarize(prediction_case, simulated), facts_of(program_graph.graph, simulated.schedule, scope),
                      trace_of(prediction_case, simulated, device)};
  result.trace.info.wall_times.push_back({"plan", {result.prediction.step_time}, 0});
  return result;
}

Result<ContentionBracket> contention_bracket(const PredictionCase& prediction_case, const Prediction& prediction) {
  ContentionBracket bracket{prediction.step_time, prediction.step_time};
  if (prediction_case.gpu == nullptr) return bracket;
  COHORT_TRY(ProgramGraph program_graph, build_task_graph(prediction_case));
  SimulationOptions options{prediction_case.device};
  options.device.cores = host_cores(prediction_case);
  COHORT_TRY(const Schedule free, simulate(program_graph.graph, options));
  bracket.without = std::max(mean_step(program_graph, free), std::min(prediction.lower_bound, prediction.step_time));
  // Launch order is a topological order, so that one stream can take all steps.
  std::optional<ResourceId> stream;
  for (Task& task : program_graph.graph.tasks) {
    if (task.kind != TaskKind::kStep) continue;
    if (!stream) stream = task.resource;
    task.resource = *stream;
  }
  COHORT_TRY(const Schedule in_turn, simulate(program_graph.graph, options));
  bracket.in_turn = mean_step(program_graph, in_turn);
  return bracket;
}

double speedup(const Prediction& baseline, const Prediction& plan) {
  if (plan.step_time <= Nanoseconds(0)) return 1;
  return seconds(baseline.step_time) / seconds(plan.step_time);
}

}  // namespace cohort
