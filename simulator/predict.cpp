#include "simulator/predict.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/plan/launches.hpp"

namespace cohort {
namespace {

constexpr std::string_view kTaskCategory = "task";
constexpr std::string_view kInputCategory = "input";

struct Simulated {
  ProgramGraph program_graph;
  Schedule schedule;
};

Result<Simulated> run(const PredictionCase& prediction_case) {
  COHORT_TRY(ProgramGraph program_graph, build_task_graph(prediction_case));
  COHORT_TRY(Schedule schedule, simulate(program_graph.graph, {prediction_case.device}));
  return Simulated{std::move(program_graph), std::move(schedule)};
}

/// Length of the longest chain of steps within one iteration, every core free.
Nanoseconds longest_chain(const TaskGraph& graph, int iteration) {
  const auto counts = [&](const Task& task) { return task.iteration == iteration && task.kind != TaskKind::kInput; };
  std::vector<Nanoseconds> start(graph.tasks.size());
  std::vector<std::vector<const Edge*>> outgoing(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    if (counts(graph.task(edge.from)) && counts(graph.task(edge.to))) outgoing[to_index(edge.from)].push_back(&edge);
  }
  std::vector<Nanoseconds> free(graph.resources.size());
  Nanoseconds longest{};
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {  // within an iteration, ids ascend along edges and queues
    if (!counts(graph.tasks[i])) continue;
    Nanoseconds& resource_free = free[to_index(graph.tasks[i].resource)];
    const Nanoseconds end = std::max(start[i], resource_free) + graph.tasks[i].duration;
    resource_free = end;
    longest = std::max(longest, end);
    for (const Edge* edge : outgoing[i]) {
      start[to_index(edge->to)] = std::max(start[to_index(edge->to)], end + edge->delay);
    }
  }
  return longest;
}

/// Bounds of one program step: its own tasks and the input of one minibatch.
void add_bounds(const PredictionCase& prediction_case, const Simulated& simulated, Prediction& prediction) {
  const TaskGraph& graph = simulated.program_graph.graph;
  const int iteration = simulated.program_graph.first_steady;
  std::int64_t core_time = 0;
  Nanoseconds input{};
  for (const Task& task : graph.tasks) {
    if (task.iteration != iteration) continue;
    prediction.serial_sum += task.duration;
    core_time += task.duration.count() * task.cores;
    if (task.kind == TaskKind::kInput) input += task.duration;
  }
  prediction.lower_bound =
      std::max({Nanoseconds(core_time / prediction_case.device.cores),
                input / std::max(1, prediction_case.plan->input.decode_workers), longest_chain(graph, iteration)});
}

/// What was busy most over the steady iterations; of several, cores first, then in order of id.
Binding steady_binding(const PredictionCase& prediction_case, const Simulated& simulated,
                       const Prediction& prediction) {
  const ProgramGraph& program_graph = simulated.program_graph;
  const std::vector<TaskTimes>& times = simulated.schedule.tasks;
  const auto ended = [&](int iteration) {
    return times[to_index(program_graph.ends[static_cast<std::size_t>(iteration)])].end;
  };
  const Nanoseconds begin = ended(program_graph.first_steady - 1);
  const Nanoseconds end = ended(program_graph.iterations - 1);
  if (end <= begin || prediction.step_time <= Nanoseconds(0)) return {"dependencies", 0};
  std::vector<Nanoseconds> busy(program_graph.graph.resources.size());
  double core_time = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Task& task = program_graph.graph.tasks[i];
    const Nanoseconds overlap = std::min(end, times[i].end) - std::max(begin, times[i].start);
    if (overlap <= Nanoseconds(0)) continue;
    busy[to_index(task.resource)] += overlap;
    // Stretched by sharing or not, a task's work is what it is.
    const double part = seconds(overlap) / seconds(times[i].end - times[i].start);
    core_time += part * seconds(task.duration) * task.cores;
  }
  Binding binding{"cores", core_time / (seconds(end - begin) * prediction_case.device.cores)};
  constexpr double kSame = 1e-9;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const double utilisation = seconds(busy[i]) / seconds(end - begin);
    if (utilisation > binding.utilisation + kSame) {
      binding = {program_graph.graph.resources[i].name, utilisation};
    }
  }
  constexpr double kBusy = 0.5;
  if (binding.utilisation < kBusy) binding.resource = "dependencies";
  return binding;
}

Prediction summarize(const PredictionCase& prediction_case, const Simulated& simulated) {
  const ProgramGraph& program_graph = simulated.program_graph;
  const auto ended = [&](int iteration) {
    return simulated.schedule.tasks[to_index(program_graph.ends[static_cast<std::size_t>(iteration)])].end;
  };
  Prediction prediction;
  prediction.step_time = (ended(program_graph.iterations - 1) - ended(program_graph.first_steady - 1)) /
                         (program_graph.iterations - program_graph.first_steady);
  std::int64_t samples = 0;
  for (const Member& member : prediction_case.plan->members) samples += member.source.minibatch;
  if (prediction.step_time > Nanoseconds(0)) {
    prediction.samples_per_second = static_cast<double>(samples) / seconds(prediction.step_time);
  }
  add_bounds(prediction_case, simulated, prediction);
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
  const std::array<Trace::NamedArg, 7> args{{{kTaskArg, std::string_view(step.task)},
                                             {"op", std::string_view(step.op)},
                                             {"members", std::string_view(members)},
                                             {"group", group},
                                             {kIterationArg, std::int64_t{task.iteration}},
                                             {"algorithm", std::string_view(step.cost.algorithm)},
                                             {"threads", std::int64_t{step.cost.threads}}}};
  // A measured slice has the op alone; the host's work before it lies between slices.
  const Nanoseconds overhead = prediction_case.with_overheads ? prediction_case.device.step_overhead : Nanoseconds(0);
  const Nanoseconds start = std::min(times.start + overhead, times.end);
  trace.add_slice(track, step.op, kTaskCategory, start, times.end - start, args);
}

Trace trace_of(const PredictionCase& prediction_case, const Simulated& simulated, const DeviceInfo& device) {
  const TaskGraph& graph = simulated.program_graph.graph;
  Trace trace;
  trace.info.kind = TraceKind::kPredicted;
  trace.info.device = device;
  trace.info.plan = write_plan(*prediction_case.plan);
  std::vector<TrackId> tracks;
  const std::string process = device.id.empty() ? "device" : device.id;
  for (const Resource& resource : graph.resources) {
    if (resource.kind == ResourceKind::kHostThread) {
      tracks.emplace_back();
      continue;
    }
    tracks.push_back(trace.add_track(resource.kind == ResourceKind::kStream ? process : "input", resource.name));
  }
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const TaskTimes& times = simulated.schedule.tasks[i];
    if (task.iteration >= simulated.program_graph.iterations) continue;
    const TrackId track = tracks[to_index(task.resource)];
    if (task.kind == TaskKind::kStep) add_step_slice(prediction_case, task, times, track, trace);
    if (task.kind == TaskKind::kInput) {
      const std::array<Trace::NamedArg, 2> args{
          {{"minibatch", std::int64_t{task.iteration}}, {"pipeline", std::string_view(graph.label(TaskId(i)))}}};
      trace.add_slice(track, "decode", kInputCategory, times.start, times.end - times.start, args);
    }
  }
  return trace;
}

}  // namespace

Result<Prediction> predict(const PredictionCase& prediction_case) {
  COHORT_TRY(const Simulated simulated, run(prediction_case));
  return summarize(prediction_case, simulated);
}

Result<PredictedRun> predict_run(const PredictionCase& prediction_case, const DeviceInfo& device) {
  COHORT_TRY(const Simulated simulated, run(prediction_case));
  PredictedRun result{summarize(prediction_case, simulated), trace_of(prediction_case, simulated, device)};
  result.trace.info.wall_times.push_back({"plan", {result.prediction.step_time}, 0});
  return result;
}

double speedup(const Prediction& baseline, const Prediction& plan) {
  if (plan.step_time <= Nanoseconds(0)) return 1;
  return seconds(baseline.step_time) / seconds(plan.step_time);
}

Result<SpeedupPrediction> predict_speedup(const PredictionCase& plan, const PredictionCase& baseline) {
  SpeedupPrediction result;
  COHORT_TRY(result.plan, predict(plan));
  COHORT_TRY(result.baseline, predict(baseline));
  result.speedup = speedup(result.baseline, result.plan);
  return result;
}

}  // namespace cohort
