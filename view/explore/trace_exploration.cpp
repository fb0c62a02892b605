#include "view/explore/trace_exploration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planning/gpu_figures.hpp"
#include "simulator/what_if/recorded_memory.hpp"
#include "view/explore/check_settings.hpp"

namespace cohort {
namespace {

constexpr int kMostStreams = 4096;
constexpr std::string_view kShapes = "Input Dims";  ///< PyTorch's name for shapes of an op's inputs

/// "qwen" of "traces/qwen.json.gz".
std::string short_name(std::filesystem::path file) {
  file = file.filename();
  while (file.has_extension() && file.stem() != file) file.replace_extension();
  return file.string();
}

}  // namespace

TraceExploration::TraceExploration(std::unique_ptr<TraceCase> traces, std::optional<GpuProfile> figures)
    : traces_(std::move(traces)), figures_(std::move(figures)) {
  find_facts();
  find_ops();
}

Result<std::unique_ptr<Exploration>> TraceExploration::open(std::vector<NamedTrace> traces,
                                                            const ExploreOptions& options, const CancelToken& cancel) {
  TraceCase::Steps steps{options.steps};
  if (steps.by_trace.empty()) steps.by_trace.resize(traces.size());
  if (steps.by_trace.size() == 1) steps.by_trace.resize(traces.size(), options.steps.front());
  if (steps.by_trace.size() != traces.size())
    return fail(ErrorCode::kUsage, "{} steps for {} traces; one for all, or one for each", options.steps.size(),
                traces.size());
  COHORT_TRY(auto figures, gpu_figures(options.gpu_profile));
  COHORT_TRY(auto made, TraceCase::of(std::move(traces), steps, &cancel));
  return std::unique_ptr<Exploration>(new TraceExploration(std::move(made), std::move(figures)));
}

void TraceExploration::find_facts() {
  const std::vector<NamedTrace>& traces = traces_->traces();
  const WhatIfCase& what_if_case = traces_->what_if_case();
  const auto has = [&](auto holds) {
    return std::any_of(what_if_case.graphs.begin(), what_if_case.graphs.end(), [&](const TraceGraph& of_trace) {
      const std::vector<Task>& tasks = of_trace.graph.tasks;
      return std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) { return holds(task.kind); });
    });
  };
  facts_.kind = ExploreFacts::Kind::kTraces;
  facts_.name = short_name(traces.front().file);
  facts_.device = traces.front().trace->info.device;
  facts_.launches = facts_.on_gpu = has(is_device_work);
  facts_.most_streams = kMostStreams;
  facts_.most_launch_threads = facts_.launches ? kMostLaunchThreads : 1;
  facts_.shares_input = facts_.reads_input = has([](TaskKind kind) { return kind == TaskKind::kCopy; });
  facts_.any_minibatch = true;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = *traces[i].trace;
    facts_.models.push_back({short_name(traces[i].file), {traces[i].file}, std::nullopt});
    facts_.any_minibatch = facts_.any_minibatch && trace.strings.find(kShapes).has_value();
    facts_.limits_memory = facts_.limits_memory && recorded_memory(trace, what_if_case.window_of(i)).has_value();
  }
  if (facts_.device.memory.value > 0) facts_.device_memory = facts_.device.memory;
  const auto figures = figures_ ? figures_ : published_gpu_profile(facts_.device.name);
  if (figures) facts_.device_memory = figures->memory;
}

/// What takes time on the device; of a CPU's trace its tasks.
void TraceExploration::find_ops() {
  struct Found {
    std::size_t count = 0;
    Nanoseconds time{};
    std::set<std::size_t> traces;
  };
  std::map<std::pair<std::string, TaskKind>, Found> found;
  const std::vector<TraceGraph>& graphs = traces_->what_if_case().graphs;
  for (std::size_t trace = 0; trace < graphs.size(); ++trace) {
    const TaskGraph& graph = graphs[trace].graph;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      const Task& task = graph.tasks[i];
      if (facts_.launches ? !is_device_work(task.kind) : task.kind != TaskKind::kStep) continue;
      Found& of_name = found[{graph.label(TaskId(i)), task.kind}];
      ++of_name.count;
      of_name.time += task.duration;
      of_name.traces.insert(trace);
    }
  }
  for (const auto& [key, each] : found) {
    facts_.ops.push_back(
        {key.first, std::string(to_string(key.second)), each.traces.size(), each.count, each.time, {}});
  }
  std::stable_sort(facts_.ops.begin(), facts_.ops.end(),
                   [](const ExploredOp& a, const ExploredOp& b) { return a.time > b.time; });
}

ExploreSettings TraceExploration::initial_settings() const {
  ExploreSettings settings;
  settings.shared_input = false;  // as it was traced
  return settings;
}

ExploreSettings TraceExploration::with_models(ExploreSettings settings, std::vector<int> models) const {
  if (check_counts(models, facts_).empty()) settings.models = std::move(models);
  return settings;
}

std::vector<SettingsProblem> TraceExploration::problems(const ExploreSettings& settings) const {
  std::vector<SettingsProblem> found = check_settings(settings, facts_);
  if (settings.limits.memory && !facts_.limits_memory)
    found.push_back({"memory limit", "the trace recorded no allocations, so the members' memory is not known"});
  if (settings.minibatch && !settings.recorded_minibatch)
    found.push_back({"recorded_minibatch", "the trace does not say its minibatch; say what it was recorded with"});
  return found;
}

Result<Plan> TraceExploration::plan_of(const ExploreSettings& /*settings*/) const {
  return fail(ErrorCode::kUsage, "{} is the trace of a run of another program; there is no plan of it",
              traces_->traces().front().file.string());
}

Result<ExploreSettings> TraceExploration::settings_of(const Plan& /*plan*/) const {
  return fail(ErrorCode::kUsage, "{} is the trace of a run; a plan needs profiles of its models",
              traces_->traces().front().file.string());
}

Result<WhatIf> TraceExploration::what_if_of(const ExploreSettings& settings) const {
  if (const auto found = problems(settings); !found.empty())
    return fail(ErrorCode::kUsage, "{}: {}", found.front().field, found.front().why);
  WhatIf what_if;
  what_if.models = settings.models;
  what_if.processes = settings.processes;
  if (what_if.processes == Processes::kOne) {
    if (what_if.most_models() > 1) what_if.streams = settings.streams;
    what_if.launch_threads = settings.launch_threads;
  }
  what_if.fuse = settings.fuse;
  what_if.fused = settings.fused;
  what_if.graphs = settings.graphs;
  what_if.shared_input = settings.shared_input;
  what_if.buffers = settings.buffers;
  what_if.scale = settings.scale;
  what_if.mixed_precision = settings.mixed_precision;
  what_if.copy_speed = settings.copy_speed;
  what_if.interconnect_speed = settings.interconnect_speed;
  what_if.gpu = figures_;
  if (settings.minibatch) {
    what_if.minibatch = static_cast<int>(*settings.minibatch);
    what_if.recorded_minibatch = settings.recorded_minibatch;
  }
  return what_if;
}

/// What a search may have changed.
std::string way_in_words(const WhatIf& what_if) {
  std::string words = "each on streams of its own";
  if (what_if.processes == Processes::kMps) words = "each a process of its own, under MPS";
  if (what_if.streams) words = fmt::format("{} stream{}", *what_if.streams, *what_if.streams == 1 ? "" : "s");
  if (what_if.graphs) words += ", one graph launch a step";
  if (what_if.launch_threads > 1) words += fmt::format(", {} launch threads", what_if.launch_threads);
  if (what_if.fuse == FuseChoice::kAuto) words += ", fused where it pays";
  return words;
}

ExploreSettings TraceExploration::settings_with(ExploreSettings settings, const WhatIf& what_if) const {
  settings.models = what_if.models;
  settings.streams = what_if.streams.value_or(what_if.most_models());
  settings.graphs = what_if.graphs;
  settings.launch_threads = what_if.launch_threads;
  settings.processes = what_if.processes;
  settings.fuse = what_if.fuse;
  settings.fused = what_if.fused;
  return settings;
}

Result<WhatIfPrediction> TraceExploration::predicted(const ExploreSettings& settings, const CancelToken& cancel) const {
  COHORT_TRY(const WhatIf what_if, what_if_of(settings));
  COHORT_TRY(WhatIfPrediction prediction, predict_what_if(traces_->what_if_case(), what_if, &cancel));
  const auto limit = settings.limits.memory;
  const auto needed = prediction.memory.total();
  if (limit && needed && *needed > *limit)
    return fail(ErrorCode::kDoesNotFit, "memory limit: {} members need {}, the limit is {}", prediction.members,
                format_bytes(*needed), format_bytes(*limit));
  return prediction;
}

Result<ExploreAnswer> TraceExploration::predict(const ExploreSettings& settings, const CancelToken& cancel) {
  COHORT_CHECK(cancel.check());
  const std::scoped_lock lock(predicting_);
  COHORT_TRY(WhatIfPrediction prediction, predicted(settings, cancel));
  ExploreAnswer answer;
  answer.trace = std::make_shared<const Trace>(std::exchange(prediction.trace, Trace()));
  answer.per_second = prediction.steps_per_second;
  answer.counted = "steps";
  answer.memory_limit = settings.limits.memory;
  answer.changes = std::move(prediction.changes);
  answer.minibatch = prediction.minibatch;
  answer.report = std::move(static_cast<RunReport&>(prediction));
  return answer;
}

}  // namespace cohort
