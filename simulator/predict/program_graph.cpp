#include "simulator/predict/program_graph.hpp"

#include <algorithm>
#include <numeric>

#include "simulator/costs/step_cost.hpp"
#include "simulator/plan/image_inputs.hpp"
#include "simulator/predict/launch_order.hpp"

namespace cohort {
namespace {

constexpr int kSteadyIterationsWithInput = 6;

/// Neighbours that slow a step by less than this say nothing of memory: repeated recordings differ by as much.
constexpr double kLeastSlowdown = 1.05;

/// A step as a task on cores.
struct HostStep {
  Nanoseconds time{};     ///< while nothing beside it uses memory
  double memory_use = 0;  ///< part of the memory's bandwidth that it then keeps busy
};

/// k + 1 equal steps side by side that take s times as long as one ask for s times the bandwidth there is: each for
/// s / (k + 1). Slower than one after another (s > k + 1) is more than sharing explains: then each has all of it.
HostStep host_step(const StepCost& cost, Nanoseconds overhead) {
  const Nanoseconds alone = cost.alone.time + overhead;
  const Nanoseconds beside = cost.beside + overhead;
  if (alone <= Nanoseconds(0) || seconds(beside) < kLeastSlowdown * seconds(alone)) return {beside, 0};
  const int side_by_side = cost.neighbours + 1;
  const double use = seconds(beside) / (seconds(alone) * side_by_side);
  if (use > 1) return {beside / side_by_side, 1};
  return {alone, use};
}

/// Adds the tasks of one program step after another.
class GraphBuilder {
 public:
  GraphBuilder(const PredictionCase& prediction_case, const std::vector<StepCost>& costs, Nanoseconds image_time)
      : plan_(*prediction_case.plan),
        program_(*prediction_case.program),
        device_(prediction_case.device),
        costs_(costs),
        image_time_(image_time),
        more_iterations_(prediction_case.more_iterations) {
    if (prediction_case.gpu != nullptr) {
      gpu_ = &prediction_case.gpu->profile();
      launch_costs_ = gpu_->launch;
    }
    if (!prediction_case.with_overheads) {
      device_.step_overhead = device_.launch_overhead = device_.handoff_latency = Nanoseconds(0);
      if (launch_costs_) launch_costs_ = LaunchCosts{};
    }
    if (prediction_case.gpu != nullptr) {
      for (const Step& step : program_.steps) kernels_.push_back(prediction_case.gpu->kernels(step));
    }
    if (launch_costs_ && launch_costs_->call > Nanoseconds(0) && program_.launch_threads > 1) {
      launch_order_ = order_of_launch_threads(program_, *launch_costs_, kernels_);
    }
    first_.resize(static_cast<std::size_t>(program_.streams));
    last_.resize(first_.size());
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const std::size_t stream = to_index(program_.steps[i].stream);
      if (!first_[stream]) first_[stream] = i;
      last_[stream] = i;
    }
  }

  ProgramGraph build() {
    const bool has_input = image_time_ > Nanoseconds(0) && !program_.inputs.empty();
    uploads_ = has_input && gpu_ != nullptr;
    copies_ahead_ = uploads_ && program_.input_buffers > 1 ? 1 : 0;
    result_.first_steady = has_input ? program_.input_buffers + copies_ahead_ + 1 : 1;
    result_.iterations = result_.first_steady + (has_input ? kSteadyIterationsWithInput : 1);
    result_.shown = result_.iterations + (has_input ? 0 : more_iterations_);
    for (const StepCost& cost : costs_) ++result_.origins[static_cast<std::size_t>(cost.alone.origin)];
    add_resources(has_input);
    // Input goes on being made beside the last iterations, as it would in a longer run.
    const int minibatches = has_input ? result_.iterations + program_.input_buffers + copies_ahead_ : 0;
    for (int i = 0; i < minibatches; ++i) add_input(i);
    for (int i = 0; i < result_.shown; ++i) add_iteration(i);
    if (!result_.memory_use.empty()) result_.memory_use.resize(result_.graph.tasks.size());
    return std::move(result_);
  }

 private:
  void add_resources(bool has_input) {
    TaskGraph& graph = result_.graph;
    for (int i = 0; i < program_.streams; ++i) {
      streams_.push_back(graph.add_resource(fmt::format("stream {}", i), ResourceKind::kStream));
    }
    for (const Step& step : program_.steps) step_labels_.push_back(graph.add_label(step.task));
    host_ = graph.add_resource("host", ResourceKind::kHostThread);
    for (int i = 0; !launch_order_.empty() && i < program_.launch_threads; ++i) {
      launch_threads_.push_back(graph.add_resource(fmt::format("launch thread {}", i), ResourceKind::kHostThread));
    }
    if (!launch_order_.empty()) lock_ = graph.add_resource("driver lock", ResourceKind::kDriverLock);
    launch_label_ = graph.add_label("launch");
    wait_label_ = graph.add_label("wait");
    if (!has_input) return;
    for (int i = 0; i < plan_.input.decode_workers; ++i) {
      workers_.push_back(graph.add_resource(fmt::format("decode worker {}", i), ResourceKind::kDecodeWorker));
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      input_labels_.push_back(graph.add_label(fmt::format("input {}", i)));
    }
    if (!uploads_) return;
    copy_engine_ = graph.add_resource("copies to the device", ResourceKind::kCopyEngine);
    upload_label_ = graph.add_label("upload");
  }

  /// One task per worker and pipeline that has images to make.
  void add_input(int minibatch) {
    std::vector<TaskId>& tasks = inputs_.emplace_back();
    std::size_t pipeline = 0;
    for (const ProgramInput& input : program_.inputs) {
      if (!takes_images(input)) continue;
      const LabelId label = input_labels_[pipeline++];
      const std::int64_t images = input.shape.empty() ? 1 : input.shape[0];
      const auto workers = static_cast<std::int64_t>(workers_.size());
      std::vector<std::int64_t> share(workers_.size(), images / workers);
      for (std::int64_t i = 0; i < images % workers; ++i) ++share[next_worker_++ % workers_.size()];
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        if (share[w] == 0) continue;
        Task task;
        task.label = label;
        task.kind = TaskKind::kInput;
        task.resource = workers_[w];
        task.duration = image_time_ * share[w];
        task.position = input_position_++;
        task.iteration = minibatch;
        tasks.push_back(result_.graph.add_task(task));
      }
    }
  }

  TaskId add_host_task(LabelId label, int iteration, Nanoseconds duration) {
    return add_host_task(label, iteration, duration, host_);
  }
  TaskId add_host_task(LabelId label, int iteration, Nanoseconds duration, ResourceId resource) {
    Task task;
    task.label = label;
    task.kind = TaskKind::kLaunch;
    task.resource = resource;
    task.cores = duration > Nanoseconds(0) ? 1 : 0;
    task.duration = duration;
    task.position = host_position_++;
    task.iteration = iteration;
    return result_.graph.add_task(task);
  }

  TaskId add_step(std::uint32_t index, int iteration) {
    const Step& step = program_.steps[index];
    Task task;
    task.label = step_labels_[index];
    task.resource = streams_[to_index(step.stream)];
    task.duration = costs_[index].alone.time;
    task.cores = 0;
    double memory_use = 0;
    if (!launch_costs_) {
      const HostStep on_cores = host_step(costs_[index], device_.step_overhead);
      task.cores = step.cost.threads;
      task.duration = on_cores.time;
      memory_use = on_cores.memory_use;
    }
    task.position = static_cast<std::int64_t>(iteration) * static_cast<std::int64_t>(program_.steps.size()) + index;
    task.iteration = iteration;
    task.step = index;
    const TaskId id = result_.graph.add_task(task);
    if (memory_use > 0) {
      result_.memory_use.resize(to_index(id));
      result_.memory_use.push_back(memory_use);
    }
    return id;
  }

  /// A call, and how long after its start what it launches may start.
  struct GpuLaunch {
    TaskId task{};
    Nanoseconds latency{};
  };

  [[nodiscard]] std::int64_t used_streams() const {
    return std::count_if(first_.begin(), first_.end(), [](const auto& first) { return first.has_value(); });
  }

  /// From the end of a launch call to the start of what it launches, on an idle stream.
  [[nodiscard]] Nanoseconds latency_behind_call() const {
    return std::max(Nanoseconds(0), launch_costs_->latency - launch_costs_->call);
  }

  /// A thread's own work, then the part of a call in which it holds the driver's lock.
  struct ThreadCall {
    TaskId first{};
    GpuLaunch locked;
  };
  ThreadCall add_thread_call(LabelId label, int iteration, std::size_t thread, int kernels = 1) {
    const LaunchCosts& costs = *launch_costs_;
    const Nanoseconds own = (costs.call - costs.lock) * kernels;
    const TaskId first = add_host_task(label, iteration, own, launch_threads_[thread]);
    const TaskId locked = add_host_task(label, iteration, costs.lock * kernels, *lock_);
    result_.graph.add_edge(first, locked, EdgeKind::kProgramOrder);
    return {first, {locked, std::max(Nanoseconds(0), costs.latency - (costs.call - costs.lock))}};
  }

  /// Of each input of a minibatch: the host gives the copy, which takes it as long as a launch, and the device makes
  /// it. The host has all pipelines' images by then, and has launched the steps that run meanwhile.
  std::vector<TaskId> add_upload(int minibatch, int iteration, std::optional<TaskId> launch = {}) {
    TaskGraph& graph = result_.graph;
    std::vector<TaskId> copies;
    for (std::size_t p = 0; p < program_.inputs.size(); ++p) {
      ThreadCall call;
      if (launch_order_.empty()) {
        call.first = add_host_task(upload_label_, iteration, launch_costs_->call);
        call.locked = {call.first, launch_costs_->latency};
      } else {
        const auto stream = static_cast<StreamId>(static_cast<std::uint32_t>(program_.streams));
        call = add_thread_call(upload_label_, iteration, static_cast<std::size_t>(program_.launch_thread_of(stream)));
        if (launch) graph.add_edge(*launch, call.first, EdgeKind::kProgramOrder);
      }
      for (const TaskId input : inputs_[static_cast<std::size_t>(minibatch)]) {
        if (p == 0) graph.add_edge(input, call.first, EdgeKind::kEvent);
      }
      Task task;
      task.label = input_labels_[p];
      task.kind = TaskKind::kCopy;
      task.resource = copy_engine_;
      task.cores = 0;
      task.duration = upload_time(*gpu_, program_.buffer(program_.inputs[p].buffer).size);
      task.position = upload_position_++;
      task.iteration = iteration;
      copies.push_back(graph.add_task(task));
      graph.add_edge(call.locked.task, copies.back(), EdgeKind::kLaunch, call.locked.latency, Anchor::kStart);
    }
    return copies;
  }

  /// The host's launches of one program step: of each of its steps, or of all as one graph. What a kernel waits for is
  /// the call that launches it.
  std::vector<GpuLaunch> add_gpu_launches(int iteration) {
    const LaunchCosts& costs = *launch_costs_;
    if (program_.launch == LaunchMode::kGraph) {
      const auto nodes = std::accumulate(kernels_.begin(), kernels_.end(), std::int64_t{0});
      const Nanoseconds call = graph_launch_time(costs, nodes, std::max<std::int64_t>(1, used_streams()));
      return {{add_host_task(launch_label_, iteration, call), costs.latency}};
    }
    if (!launch_order_.empty()) return add_threads_launches(iteration);
    std::vector<GpuLaunch> launches;
    for (const int kernels : kernels_) {
      launches.push_back({add_host_task(launch_label_, iteration, costs.call * kernels), costs.latency});
    }
    if (launches.empty()) launches.push_back({add_host_task(launch_label_, iteration, Nanoseconds(0)), costs.latency});
    return launches;
  }

  /// Each call is a thread's own work, then the part in which it holds the driver's lock:
  ///
  ///     launch thread 0  |a|     |c|
  ///     launch thread 1  |b|         |d|
  ///     driver lock        |a  |b  |c  |d  |
  std::vector<GpuLaunch> add_threads_launches(int iteration) {
    TaskGraph& graph = result_.graph;
    const TaskId begin = add_host_task(launch_label_, iteration, Nanoseconds(0));
    result_.launches.push_back(begin);
    std::vector<GpuLaunch> launches(program_.steps.size());
    std::vector<TaskId> before(launch_threads_.size(), begin);
    for (const std::uint32_t step : launch_order_) {
      const auto thread = static_cast<std::size_t>(program_.launch_thread_of(program_.steps[step].stream));
      const ThreadCall call = add_thread_call(launch_label_, iteration, thread, kernels_[step]);
      graph.add_edge(before[thread], call.first, EdgeKind::kProgramOrder);
      for (const StepId from : program_.steps[step].dependencies) {
        const auto other = static_cast<std::size_t>(program_.launch_thread_of(program_.step(from).stream));
        if (other != thread) graph.add_edge(launches[to_index(from)].task, call.first, EdgeKind::kProgramOrder);
      }
      before[thread] = call.locked.task;
      launches[step] = call.locked;
    }
    return launches;
  }

  void add_gpu_edges(const std::vector<GpuLaunch>& launches, const std::vector<TaskId>& steps) {
    TaskGraph& graph = result_.graph;
    const LaunchCosts& costs = *launch_costs_;
    const bool captured = program_.launch == LaunchMode::kGraph;
    const Nanoseconds gap = captured ? costs.graph_gap : costs.gap;
    std::vector<std::optional<std::uint32_t>> before(static_cast<std::size_t>(program_.streams));
    std::int64_t streams_behind = used_streams();
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      std::optional<std::uint32_t>& last = before[to_index(program_.steps[i].stream)];
      if (!captured) {
        graph.add_edge(launches[i].task, steps[i], EdgeKind::kLaunch, launches[i].latency, Anchor::kStart);
      } else if (!last) {
        // The last stream starts when the call ends, each before it that much earlier.
        const Nanoseconds begun = graph.task(launches.front().task).duration - costs.graph_stream * --streams_behind;
        graph.add_edge(launches.front().task, steps[i], EdgeKind::kLaunch, begun + latency_behind_call(),
                       Anchor::kStart);
      }
      if (last) graph.add_edge(steps[*last], steps[i], EdgeKind::kStreamOrder, gap);
      last = i;
      for (const StepId from : program_.steps[i].dependencies) {
        graph.add_edge(steps[to_index(from)], steps[i], EdgeKind::kEvent, gap);
      }
    }
  }

  void add_host_edges(TaskId launch, const std::vector<TaskId>& steps, TaskId end) {
    TaskGraph& graph = result_.graph;
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      for (const StepId from : program_.steps[i].dependencies) {
        const bool crosses = program_.step(from).stream != program_.steps[i].stream;
        graph.add_edge(steps[to_index(from)], steps[i], EdgeKind::kEvent,
                       crosses ? device_.handoff_latency : Nanoseconds(0));
      }
    }
    for (std::size_t s = 0; s < first_.size(); ++s) {
      if (!first_[s]) continue;
      // Stream 0 is the host thread's own; the others are woken and waited for.
      const Nanoseconds handoff = s == 0 ? Nanoseconds(0) : device_.handoff_latency;
      graph.add_edge(launch, steps[*first_[s]], EdgeKind::kLaunch, handoff);
      graph.add_edge(steps[*last_[s]], end, EdgeKind::kStreamOrder, handoff);
    }
  }

  /// Every stream waits for the copies before its first step.
  void add_copy_edges(const std::vector<TaskId>& copies, const std::vector<TaskId>& steps) {
    const Nanoseconds gap = program_.launch == LaunchMode::kGraph ? launch_costs_->graph_gap : launch_costs_->gap;
    for (const auto& first : first_) {
      for (const TaskId copy : copies) {
        if (first) result_.graph.add_edge(copy, steps[*first], EdgeKind::kEvent, gap);
      }
    }
  }

  /// What the launch waits for, and the buffers that are free once `end` has been waited for: of what was copied
  /// until then, or of what the steps have read.
  void add_buffer_edges(int iteration, std::optional<TaskId> launch, TaskId end) {
    TaskGraph& graph = result_.graph;
    const auto now = static_cast<std::size_t>(iteration);
    const auto ahead = static_cast<std::size_t>(copies_ahead_);
    const auto buffers = static_cast<std::size_t>(program_.input_buffers);
    for (std::size_t i = 0; launch && i < inputs_[now].size(); ++i) {
      graph.add_edge(inputs_[now][i], *launch, EdgeKind::kEvent);
    }
    for (std::size_t freed = now == 0 ? 0 : now + ahead; freed <= now + ahead; ++freed) {
      for (const TaskId input : inputs_[freed + buffers]) graph.add_edge(end, input, EdgeKind::kBuffer);
    }
  }

  void add_iteration(int iteration) {
    TaskGraph& graph = result_.graph;
    // Else it has been copied beside the steps before, and waited for.
    const bool uploads_now = uploads_ && (copies_ahead_ == 0 || iteration == 0);
    std::vector<TaskId> copies;
    if (uploads_now) copies = add_upload(iteration, iteration);
    const bool graph_replay = program_.launch == LaunchMode::kGraph;
    const auto calls = graph_replay ? std::int64_t{0} : static_cast<std::int64_t>(program_.steps.size());
    std::vector<GpuLaunch> launches;
    if (launch_costs_) {
      launches = add_gpu_launches(iteration);
    } else {
      launches = {{add_host_task(launch_label_, iteration, device_.launch_overhead * calls), Nanoseconds(0)}};
    }
    const auto now = static_cast<std::size_t>(iteration);
    if (result_.launches.size() == now) result_.launches.push_back(launches.front().task);
    const TaskId launch = result_.launches.back();
    std::vector<TaskId> steps;
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) steps.push_back(add_step(i, iteration));
    if (uploads_now) add_copy_edges(copies, steps);
    if (copies_ahead_ > 0) copies = add_upload(iteration + 1, iteration, launch);
    const TaskId end = add_host_task(wait_label_, iteration, Nanoseconds(0));
    result_.ends.push_back(end);
    if (launch_costs_) {
      add_gpu_edges(launches, steps);
      for (const auto& last : last_) {
        if (!last) continue;
        graph.add_edge(steps[*last], end, EdgeKind::kStreamOrder);
        // A step's last kernel runs no sooner than it is launched.
        if (!graph_replay) graph.add_edge(launches[*last].task, end, EdgeKind::kLaunch, latency_behind_call());
      }
    } else {
      add_host_edges(launch, steps, end);
    }
    for (const TaskId copy : copies) graph.add_edge(copy, end, EdgeKind::kSynchronisation);
    if (inputs_.empty()) return;
    add_buffer_edges(iteration, !uploads_ || uploads_now ? std::optional(launch) : std::nullopt, end);
  }

  const Plan& plan_;
  const Program& program_;
  DeviceProfile device_;
  std::optional<LaunchCosts> launch_costs_;  ///< of a GPU
  const std::vector<StepCost>& costs_;
  Nanoseconds image_time_;
  int more_iterations_;
  ProgramGraph result_;
  std::vector<std::optional<std::uint32_t>> first_, last_;  ///< by stream: its first and last step
  const GpuProfile* gpu_ = nullptr;
  bool uploads_ = false;  ///< images are copied to the device
  int copies_ahead_ = 0;  ///< minibatches whose copy is given before the step in front of theirs is waited for
  std::vector<LabelId> step_labels_, input_labels_;
  LabelId launch_label_{}, wait_label_{}, upload_label_{};
  std::vector<ResourceId> streams_, workers_;
  ResourceId copy_engine_{};
  ResourceId host_{};
  std::vector<int> kernels_;                 ///< by step, on a GPU: that it launches
  std::vector<std::uint32_t> launch_order_;  ///< steps, where several threads launch them
  std::vector<ResourceId> launch_threads_;
  std::optional<ResourceId> lock_;
  std::vector<std::vector<TaskId>> inputs_;  ///< by minibatch
  std::size_t next_worker_ = 0;
  std::int64_t input_position_ = 0;
  std::int64_t upload_position_ = 0;
  std::int64_t host_position_ = 0;
};

/// What one worker takes for one image; zero where the input is there already.
Result<Nanoseconds> image_time(const PredictionCase& prediction_case) {
  if (prediction_case.plan->input.source != InputSource::kFolder) return Nanoseconds(0);
  const CostTable& costs = *prediction_case.costs;
  const auto decode = costs.stage(kInputDecodeRecord);
  if (!decode) {
    return fail(ErrorCode::kInvalidInput,
                "the plan decodes images, but no profile holds \"{}\"; profile with the image folder (cohort profile "
                "--data FOLDER)",
                kInputDecodeRecord);
  }
  return *decode + costs.stage(kInputReadRecord).value_or(Nanoseconds(0)) +
         costs.stage(kInputResizeRecord).value_or(Nanoseconds(0));
}

/// On a GPU the blocks of several ops in one launch run side by side; the cost table, which knows no device, has those
/// that were not recorded one after another.
Result<void> put_side_by_side(const PredictionCase& prediction_case, std::vector<StepCost>& costs) {
  const Program& program = *prediction_case.program;
  const CostContext context{footprint_of(program), 0};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Step& step = program.steps[i];
    if (costs[i].alone.origin != CostOrigin::kAnalytic) continue;
    std::vector<GpuDemands::Part> parts;
    if (step.call.parts.empty()) {
      if (step.cost.width < 2) continue;
      const CostKey key{step.cost.signature, Strategy::kSerial, 1, step.cost.threads, ""};
      const auto cost = prediction_case.costs->cost(key, context);
      if (!cost) return in_context(step.task, cost.error());
      parts.push_back(
          {cost->time, part_of(work_of(step.call), step.cost.width), static_cast<std::size_t>(step.cost.width)});
    }
    for (const OpCall& part : parts_of(step.call)) {
      const CostKey key{part.signature, Strategy::kSerial, 1, step.cost.threads, step.cost.alone};
      const auto cost = prediction_case.costs->cost(key, context);
      if (!cost) return in_context(step.task, cost.error());
      parts.push_back({cost->time, work_of(part)});
    }
    costs[i].alone.time = prediction_case.gpu->together(parts);
  }
  return {};
}

void scale(std::vector<StepCost>& costs, double by) {
  const auto scaled = [&](Nanoseconds time) {
    return Nanoseconds(std::llround(static_cast<double>(time.count()) * by));
  };
  for (StepCost& cost : costs) {
    cost.alone.time = scaled(cost.alone.time);
    cost.beside = scaled(cost.beside);
  }
}

}  // namespace

Result<ProgramGraph> build_task_graph(const PredictionCase& prediction_case) {
  COHORT_TRY(const Nanoseconds per_image, image_time(prediction_case));
  COHORT_TRY(std::vector<StepCost> costs,
             step_costs(*prediction_case.program, *prediction_case.costs, prediction_case.device.cores));
  if (prediction_case.gpu != nullptr) COHORT_CHECK(put_side_by_side(prediction_case, costs));
  if (prediction_case.op_scale != 1) scale(costs, prediction_case.op_scale);
  return GraphBuilder(prediction_case, costs, per_image).build();
}

}  // namespace cohort
