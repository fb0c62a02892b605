#include "executor/cuda/session.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/program_check.hpp"

namespace cohort::cuda {
namespace {

/// Marks events of a capture; the rest is their position in it.
constexpr std::uint32_t kCaptured = 1U << 31U;
/// Times are floating-point milliseconds since the origin: kept near enough to be exact to 60 ns.
constexpr Nanoseconds kOriginAge = std::chrono::milliseconds(500);

bool reads_input(const Program& program, const Step& step) {
  return std::any_of(step.call.inputs.begin(), step.call.inputs.end(), [&](const Operand& operand) {
    const View* view = std::get_if<View>(&operand);
    return view != nullptr && program.buffer(view->buffer).kind == BufferKind::kInput;
  });
}

Result<void> check_free(const Program& program, Bytes free) {
  const Bytes total = memory_needed(program);
  if (total <= free) return {};
  const std::size_t fit = members_that_fit(program, free);
  const std::string members = fit > 0 ? fmt::format("{} of the {} members would fit", fit, program.member_count)
                                      : std::string("not one member would fit beside activations and workspace");
  return fail(ErrorCode::kDoesNotFit,
              "the model batch needs {} ({}), the device has {} free, {} too little; {}: take fewer members, a smaller "
              "minibatch, or limits.workspace_bytes in the plan",
              format_bytes(total), memory_parts(program.memory), format_bytes(free), format_bytes(total - free),
              members);
}

/// Says to whom the calls of a scope belong.
class WorkScope {
 public:
  WorkScope(DeviceApi& api, const WorkLabel& label, StreamHandle stream) : api_(api) { api.begin_work(label, stream); }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  ~WorkScope() { api_.end_work(); }

 private:
  DeviceApi& api_;
};

Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights, DeviceApi& api,
                                      const CallFactory& factory, TimeSource now) {
  COHORT_CHECK(check_free(program, api.free_memory()));
  CudaSession::Parts parts;
  parts.memory = std::make_unique<ProgramMemory>(program, api);
  parts.weights = std::make_unique<ChunkedWeights>(api, program.memory.weights);
  for (const Step& step : program.steps) {
    COHORT_TRY(const auto values, gather_weights(step, weights));
    const auto bound = [&]() -> Result<void> {
      try {
        const CallChoice choice{step.cost.algorithm, program.launch_thread_of(step.stream),
                                static_cast<int>(to_index(step.stream))};
        COHORT_TRY(auto prepared, factory.prepare(step.call, choice, values, *parts.weights));
        auto& by_slot = parts.by_slot.emplace_back();
        const int slots = reads_input(program, step) ? program.input_buffers : 1;
        for (int slot = 0; slot < slots; ++slot) by_slot.push_back(prepared->bind(parts.memory->arguments(step, slot)));
        parts.prepared.push_back(std::move(prepared));
        return {};
      } catch (const OutOfDeviceMemory&) {
        throw;
      } catch (const DeviceError& error) {
        return fail(ErrorCode::kDeviceMissing, "{}", error.what());
      }
    }();
    if (!bound) return in_context(step.task, bound.error());
  }
  auto session = std::make_unique<CudaSession>(program, api, std::move(parts), std::move(now));
  COHORT_CHECK(write_first_states(*session, program, weights));
  return session;
}

/// Tells a sink what is being given, also where that fails.
class Giving {
 public:
  Giving(TaskSink* sink, StepId step, StreamId stream) : sink_(sink), step_(step), stream_(stream) {
    if (sink_ != nullptr) sink_->giving(step_, stream_);
  }
  Giving(const Giving&) = delete;
  Giving& operator=(const Giving&) = delete;
  ~Giving() {
    if (sink_ != nullptr) sink_->given(step_, stream_);
  }

 private:
  TaskSink* sink_;
  StepId step_;
  StreamId stream_;
};

}  // namespace

Result<std::unique_ptr<Session>> make_session(const Program& program, std::span<const Weights* const> weights,
                                              DeviceApi& api, const CallFactory& factory, TimeSource now) {
  COHORT_CHECK(check_program(program));
  if (weights.size() != program.member_count) {
    return fail(ErrorCode::kInvalidInput, "the program has {} members, but weights are given for {}",
                program.member_count, weights.size());
  }
  try {
    return load(program, weights, api, factory, std::move(now));
  } catch (const OutOfDeviceMemory& error) {
    return fail(ErrorCode::kDoesNotFit, "{}; the model batch needs {} in all", error.what(),
                format_bytes(memory_needed(program)));
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "{}", error.what());
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kDoesNotFit, "no thread for each of {} launch threads: {}", program.launch_threads,
                error.what());
  }
}

CudaSession::CudaSession(const Program& program, DeviceApi& api, Parts parts, TimeSource now)
    : program_(&program), api_(&api), now_(std::move(now)), parts_(std::move(parts)) {
  const auto count = static_cast<std::size_t>(program.streams) + 1;  // and one for uploads
  for (std::size_t i = 0; i < count; ++i) streams_.push_back(api_->create_stream());
  busy_.resize(count);
  behind_graph_.resize(count);
  pending_waits_.resize(count);
  join_event_ = api_->create_event(EventUse::kOrder);
  if (program.launch_threads > 1)
    threads_ = std::make_unique<LaunchThreads>(program, api, [this](const StreamCall& call) { give_now(call); });
}

CudaSession::~CudaSession() {
  threads_.reset();
  for (const StreamHandle stream : streams_) {
    try {
      api_->synchronize(stream);
    } catch (const DeviceError&) {
      // Nobody will see the results; what failed was reported, or nobody asked.
    }
  }
  for (const Graph& graph : graphs_) {
    if (graph.plain) api_->destroy(*graph.plain);
    if (graph.timed) api_->destroy(*graph.timed);
    if (graph.watched) api_->destroy(*graph.watched);
  }
  for (const EventHandle event : order_events_) api_->destroy(event);
  for (const EventHandle event : capture_events_) api_->destroy(event);
  if (!timings_.empty()) api_->destroy(origin_);
  for (const Timing& timing : timings_) {
    api_->destroy(timing.begin);
    api_->destroy(timing.end);
  }
  api_->destroy(join_event_);
  for (const StreamHandle stream : streams_) api_->destroy(stream);
}

template <class Work>
void CudaSession::guarded(std::string_view what, Work&& work) {
  if (error_) return;
  try {
    work();
  } catch (const DeviceError& error) {
    error_ = Error{ErrorCode::kDeviceMissing, fmt::format("{}: {}", what, error.what())};
  }
}

BoundCall& CudaSession::bound(const LaunchStep& work) const {
  const auto& slots = parts_.by_slot[to_index(work.step)];
  return *slots[slots.size() == 1 ? 0 : static_cast<std::size_t>(work.slot)];
}

EventHandle CudaSession::pooled(std::vector<EventHandle>& pool, std::size_t position) {
  while (pool.size() <= position) pool.push_back(api_->create_event(EventUse::kOrder));
  return pool[position];
}

void CudaSession::touch(StreamId stream) {
  const std::size_t index = to_index(stream);
  busy_[index] = 1;
  if (std::exchange(behind_graph_[index], char{0}) != 0) {
    const auto recorded = give({StreamId{0}, GiveRecord{join_event_}});
    give({stream, GiveWait{join_event_}}, recorded);
  }
  for (const std::size_t event : pending_waits_[index]) wait_for_order(stream, event);
  pending_waits_[index].clear();
}

std::optional<LaunchThreads::Ticket> CudaSession::give(const StreamCall& call,
                                                       std::optional<LaunchThreads::Ticket> after) {
  if (threads_ != nullptr) return threads_->post(call, after);
  give_now(call);
  return std::nullopt;
}

void CudaSession::give_now(const StreamCall& call) {
  const StreamHandle on = handle(call.stream);
  if (const auto* const step = std::get_if<GiveStep>(&call.what)) {
    give_step({step->step, step->slot}, call.stream, step->timed);
  } else if (const auto* const recorded = std::get_if<GiveRecord>(&call.what)) {
    api_->record(recorded->event, on);
  } else if (const auto* const wait = std::get_if<GiveWait>(&call.what)) {
    api_->wait(on, wait->event);
  } else {
    const auto& upload = std::get<GiveUpload>(call.what);
    const ProgramInput& input = program_->inputs[upload.input];
    const WorkScope scope(*api_, {input.name.c_str(), std::nullopt, upload.input, upload.slot}, on);
    api_->upload(parts_.memory->at(input.buffer, upload.slot), parts_.memory->pinned(input.buffer, upload.slot),
                 program_->buffer(input.buffer).size, on);
  }
}

void CudaSession::record_order(std::size_t event, StreamId stream) {
  const EventHandle handle = pooled(order_events_, event);
  recorded_.resize(order_events_.size());
  recorded_[event] = give({stream, GiveRecord{handle}});
}

void CudaSession::wait_for_order(StreamId stream, std::size_t event) {
  give({stream, GiveWait{order_events_[event]}}, recorded_[event]);
}

/// Until launch threads have given everything.
void CudaSession::collect_failure() {
  if (threads_ == nullptr) return;
  std::optional<Error> failure = threads_->drain();
  if (failure && !error_) error_ = std::move(failure);
}

void CudaSession::wait_on_first(std::size_t event) {
  if (std::find(waited_.begin(), waited_.end(), event) != waited_.end()) return;
  waited_.push_back(event);
  wait_for_order(StreamId{0}, event);
}

void CudaSession::give_step(const LaunchStep& work, StreamId stream, bool timed) {
  const StreamHandle on = handle(stream);
  if (timed) api_->record_time(timings_[to_index(work.step)].begin, on);
  const std::string& task = program_->step(work.step).task;
  try {
    const Giving giving(sink_, work.step, stream);
    const WorkScope scope(*api_, {task.c_str(), work.step, std::nullopt, work.slot}, on);
    bound(work).launch(on);
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}: {}", task, error.what()));
  }
  if (timed) {
    Timing& timing = timings_[to_index(work.step)];
    api_->record_time(timing.end, on);
    timing.stream = stream;
  }
}

void CudaSession::launch(StepId step, StreamId stream, int slot) {
  if (open_) {
    open_->commands.push_back({stream, LaunchStep{step, slot}});
    return;
  }
  guarded("launch", [&] {
    const bool timed = timed_;
    if (timed && timings_[to_index(step)].pending) {
      wait_for_all();
      read_timings();
    }
    touch(stream);
    give({stream, GiveStep{step, slot, timed}});
    if (timed) timings_[to_index(step)].pending = true;
  });
}

EventId CudaSession::record(StreamId stream) {
  if (open_) {
    open_->commands.push_back({stream, RecordEvent{open_->events}});
    return static_cast<EventId>(kCaptured | static_cast<std::uint32_t>(open_->events++));
  }
  const std::size_t position = events_used_++;
  guarded("record", [&] {
    touch(stream);
    record_order(position, stream);
  });
  return static_cast<EventId>((first_event_ + static_cast<std::uint32_t>(position)) & ~kCaptured);
}

void CudaSession::wait(StreamId stream, EventId event) {
  const auto id = static_cast<std::uint32_t>(event);
  if (open_) {
    if ((id & kCaptured) != 0) open_->commands.push_back({stream, WaitEvent{id & ~kCaptured}});
    return;
  }
  const std::size_t position = (id - first_event_) & ~kCaptured;
  if ((id & kCaptured) != 0 || position >= events_used_) return;  // reached before the last synchronize()
  guarded("wait", [&] {
    if (to_index(stream) > 0) {
      pending_waits_[to_index(stream)].push_back(position);
    } else {
      touch(stream);
      wait_on_first(position);
    }
  });
}

void CudaSession::begin_capture() {
  collect_failure();
  open_ = Graph{};
}

GraphId CudaSession::end_capture() {
  Graph graph = std::move(*open_);
  open_.reset();
  guarded("capture", [&] { graph.plain = capture(graph, false); });
  graphs_.push_back(std::move(graph));
  return static_cast<GraphId>(static_cast<std::uint32_t>(graphs_.size() - 1));
}

GraphHandle CudaSession::capture(const Graph& graph, bool timed) {
  // Nothing is created once the capture is open: its events, the fork and a join for each stream.
  pooled(capture_events_, graph.events + streams_.size());
  api_->begin_capture(streams_[0]);
  try {
    give_captured(graph, timed);
  } catch (const DeviceError&) {
    try {
      api_->destroy(api_->end_capture(streams_[0]));  // or the stream stays unusable
    } catch (const DeviceError&) {
      // The first failure is the one to tell.
    }
    throw;
  }
  return api_->end_capture(streams_[0]);
}

void CudaSession::give_captured(const Graph& graph, bool timed) {
  std::set<StreamId> others;
  for (const Command& command : graph.commands) {
    if (to_index(command.stream) > 0) others.insert(command.stream);
  }
  std::size_t next = graph.events;  // events of the capture's own
  if (!others.empty()) {
    const EventHandle fork = pooled(capture_events_, next++);
    api_->record(fork, streams_[0]);
    for (const StreamId stream : others) api_->wait(handle(stream), fork);
  }
  for (const Command& command : graph.commands) {
    if (const auto* const step = std::get_if<LaunchStep>(&command.what)) {
      give_step(*step, command.stream, timed);
    } else if (const auto* const recorded = std::get_if<RecordEvent>(&command.what)) {
      api_->record(pooled(capture_events_, recorded->event), handle(command.stream));
    } else {
      api_->wait(handle(command.stream), pooled(capture_events_, std::get<WaitEvent>(command.what).event));
    }
  }
  for (const StreamId stream : others) {
    const EventHandle join = pooled(capture_events_, next++);
    api_->record(join, handle(stream));
    api_->wait(streams_[0], join);
  }
}

void CudaSession::launch(GraphId id) {
  Graph& graph = graphs_[to_index(id)];
  collect_failure();
  guarded("launch of a graph", [&] {
    const bool timed = timed_;
    const bool watched = sink_ != nullptr && !timed;
    if (timed) {
      if (std::any_of(timings_.begin(), timings_.end(), [](const Timing& timing) { return timing.pending; })) {
        wait_for_all();
        read_timings();
      }
      if (!graph.timed) graph.timed = capture(graph, true);
    }
    if (watched && !graph.watched) graph.watched = capture(graph, false);
    const std::optional<GraphHandle>& launched = timed ? graph.timed : watched ? graph.watched : graph.plain;
    if (!launched) throw DeviceError("it was not captured, as a call failed before");
    for (std::size_t i = 1; i < static_cast<std::size_t>(program_->streams); ++i) {
      if (std::exchange(busy_[i], char{0}) != 0) {
        const std::size_t event = events_used_++;
        record_order(event, static_cast<StreamId>(static_cast<std::uint32_t>(i)));
        wait_for_order(StreamId{0}, event);
      }
      behind_graph_[i] = 1;
      for (const std::size_t event : pending_waits_[i]) wait_on_first(event);
      pending_waits_[i].clear();
    }
    touch(StreamId{0});
    collect_failure();
    if (error_) return;
    api_->launch(*launched, streams_[0]);
    if (!timed) return;
    for (const Command& command : graph.commands) {
      if (const auto* const step = std::get_if<LaunchStep>(&command.what))
        timings_[to_index(step->step)].pending = true;
    }
  });
}

void CudaSession::wait_for_all() {
  collect_failure();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (std::exchange(busy_[i], char{0}) != 0) api_->synchronize(streams_[i]);
    behind_graph_[i] = 0;
  }
}

Result<void> CudaSession::synchronize() {
  collect_failure();
  // What was given before a failure runs all the same, and reads its input.
  std::optional<Error> failure = std::exchange(error_, std::nullopt);
  guarded("synchronize", [&] {
    wait_for_all();
    if (!timed_ || failure) return;
    read_timings();
    if (now_() - origin_time_ > kOriginAge) set_origin();
  });
  if (failure) error_ = std::move(failure);
  first_event_ = (first_event_ + static_cast<std::uint32_t>(events_used_)) & ~kCaptured;
  events_used_ = 0;
  waited_.clear();
  for (auto& waits : pending_waits_) waits.clear();
  if (std::optional<Error> error = std::exchange(error_, std::nullopt)) {
    for (Timing& timing : timings_) timing.pending = false;
    return tl::unexpected<Error>(*std::move(error));
  }
  return {};
}

void CudaSession::upload(std::size_t input_index, int slot, StreamId stream) {
  guarded("upload", [&] {
    touch(stream);
    give({stream, GiveUpload{input_index, slot}});
  });
}

void CudaSession::set_sink(TaskSink* sink) {
  forget_watched();
  sink_ = sink;
  timed_ = sink != nullptr && sink->needs_times();
  if (!timed_) return;
  guarded("set_sink", [&] {
    if (timings_.empty()) {
      origin_ = api_->create_event(EventUse::kTiming);
      for (std::size_t i = 0; i < program_->steps.size(); ++i)
        timings_.push_back({api_->create_event(EventUse::kTiming), api_->create_event(EventUse::kTiming), {}, false});
    }
    set_origin();
  });
  if (!error_) return;
  sink_ = nullptr;
  timed_ = false;
}

void CudaSession::forget_watched() noexcept {
  for (Graph& graph : graphs_) {
    if (graph.watched) api_->destroy(*graph.watched);
    graph.watched.reset();
  }
}

/// Only while nothing runs.
void CudaSession::set_origin() {
  api_->record_time(origin_, streams_[0]);
  api_->synchronize(streams_[0]);
  origin_time_ = now_();
}

void CudaSession::read_timings() {
  for (std::size_t i = 0; i < timings_.size(); ++i) {
    Timing& timing = timings_[i];
    if (!std::exchange(timing.pending, false)) continue;
    const Nanoseconds begin = origin_time_ + api_->elapsed(origin_, timing.begin);
    const Nanoseconds end = begin + api_->elapsed(timing.begin, timing.end);
    if (sink_ != nullptr) sink_->ran(static_cast<StepId>(static_cast<std::uint32_t>(i)), timing.stream, begin, end);
  }
}

}  // namespace cohort::cuda
