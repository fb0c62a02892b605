#include "executor/recording/fake_gpu.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "executor/clock.hpp"
#include "executor/cuda/own/host_kernels.hpp"
#include "executor/cuda/session.hpp"
#include "executor/device_error.hpp"

namespace cohort {
namespace {

constexpr std::align_val_t kAlignment{256};

bool knows(const VectorClock& clock, const VectorClock& other) {
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (clock[i] < other[i]) return false;
  }
  return true;
}

void merge(VectorClock& clock, const VectorClock& other) {
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

FakeGpu::~FakeGpu() {
  for (const auto& [block, size] : blocks_) ::operator delete(block, kAlignment);
}

void FakeGpu::watch(const Program& program) {
  program_ = &program;
  checker_ = std::make_unique<HazardChecker>(program);
  created_streams_ = 0;
  times_.assign(static_cast<std::size_t>(program.streams) + 1, Nanoseconds(0));
  required_.clear();
  givers_.clear();
  host_.assign(times_.size(), 0);
}

std::vector<std::string> FakeGpu::violations() const {
  std::vector<std::string> all = violations_;
  if (checker_) all.insert(all.end(), checker_->violations().begin(), checker_->violations().end());
  return all;
}

void FakeGpu::before_each_call(std::function<void(StreamId)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

/// Calls of several threads come one after another, in no order but that of the streams and events.
std::unique_lock<std::recursive_mutex> FakeGpu::begin_call(std::optional<cuda::StreamHandle> stream) {
  std::unique_lock lock(mutex_);
  if (hook_ && stream) {
    const std::function<void(StreamId)> hook = hook_;
    const StreamId id = stream_id(index_of(*stream));
    lock.unlock();
    hook(id);
    lock.lock();
  }
  return lock;
}

void FakeGpu::use() {
  const auto call = begin_call();
  users_.insert(std::this_thread::get_id());
}

void FakeGpu::set_up(std::string_view what) {
  if (setup_forbidden_) report(fmt::format("{} in the steady state", what));
  if (capture_ && what != "capture") report(fmt::format("{} during a capture", what));
}

std::size_t FakeGpu::index_of(cuda::StreamHandle stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) throw DeviceError("the stream does not exist");
  return found->second;
}

FakeGpu::Event& FakeGpu::event_of(cuda::EventHandle event) {
  const auto found = events_.find(event);
  if (found == events_.end()) throw DeviceError("the event does not exist");
  return found->second;
}

std::string FakeGpu::name_of(const cuda::WorkLabel& label) const {
  if (label.step) return program_->step(*label.step).task;
  return label.input ? fmt::format("upload {} into {}", *label.input, label.slot) : "work of nobody";
}

// ---- Memory

std::byte* FakeGpu::allocate(Bytes size) {
  const auto call = begin_call();
  set_up("memory is taken");
  auto* const block = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(size.value), kAlignment));
  std::memset(block, 0x5a, static_cast<std::size_t>(size.value));
  blocks_[block] = static_cast<std::size_t>(size.value);
  return block;
}

void FakeGpu::release(std::byte* block) noexcept {
  const auto call = begin_call();
  if (blocks_.erase(block) == 0) {
    report("a block is released that does not exist");
  } else {
    ::operator delete(block, kAlignment);
  }
}

void FakeGpu::copy_to_device(std::byte* to, std::span<const std::byte> from) {
  const auto call = begin_call();
  set_up("a copy that waits");
  std::copy_n(from.data(), from.size(), to);  // of nothing, too, which has no address
}

void FakeGpu::copy_to_host(std::span<std::byte> to, const std::byte* from) {
  const auto call = begin_call();
  if (capture_) report("a copy that waits during a capture");
  std::copy_n(from, to.size(), to.data());
}

void FakeGpu::clear(std::byte* block, Bytes size) {
  const auto call = begin_call();
  set_up("memory is cleared");
  std::memset(block, 0, static_cast<std::size_t>(size.value));
}

// ---- Streams and events

cuda::StreamHandle FakeGpu::create_stream() {
  const auto call = begin_call();
  set_up("a stream is created");
  const auto handle = static_cast<cuda::StreamHandle>(next_handle_++);
  streams_[handle] = created_streams_++;
  return handle;
}

void FakeGpu::destroy(cuda::StreamHandle stream) noexcept {
  const auto call = begin_call();
  streams_.erase(stream);
}

cuda::EventHandle FakeGpu::create_event(cuda::EventUse use) {
  const auto call = begin_call();
  set_up("an event is created");
  const auto handle = static_cast<cuda::EventHandle>(next_handle_++);
  events_[handle].use = use;
  return handle;
}

void FakeGpu::destroy(cuda::EventHandle event) noexcept {
  const auto call = begin_call();
  events_.erase(event);
}

void FakeGpu::record(cuda::EventHandle event, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  event_of(event);
  give({Command::Kind::kRecord, index_of(stream), {}, {}, event});
}

void FakeGpu::record_time(cuda::EventHandle event, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  if (event_of(event).use != cuda::EventUse::kTiming) throw DeviceError("the event keeps no time");
  give({Command::Kind::kRecordTime, index_of(stream), {}, {}, event});
}

void FakeGpu::wait(cuda::StreamHandle stream, cuda::EventHandle event) {
  const auto call = begin_call(stream);
  event_of(event);
  const std::size_t index = index_of(stream);
  if (capture_ && capture_->events.contains(event)) capture_->joined.insert(index);
  give({Command::Kind::kWait, index, {}, {}, event});
}

void FakeGpu::synchronize(cuda::StreamHandle stream) {
  const auto call = begin_call();
  if (capture_) report("the host waits during a capture");
  const std::size_t index = index_of(stream);
  log_.push_back(fmt::format("synchronize {}", index));
  givers_.erase(index);
  for (std::string& violation : host_reads_.end(stream_id(index))) report(std::move(violation));
  if (!checker_) return;
  // What the host gives from now on comes after what it has waited for.
  merge(host_, checker_->clock(stream_id(index)));
  bool all = true;
  for (std::size_t i = 0; i < host_.size(); ++i) all = all && knows(host_, checker_->clock(stream_id(i)));
  if (all) checker_->synchronize();
  required_.erase(index);
}

Nanoseconds FakeGpu::elapsed(cuda::EventHandle from, cuda::EventHandle to) {
  const auto call = begin_call();
  return event_of(to).time - event_of(from).time;
}

void FakeGpu::upload(std::byte* to, const std::byte* from, Bytes size, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  if (!blocks_.contains(to) || blocks_[to] < static_cast<std::size_t>(size.value))
    report("an upload goes beyond its block");
  const auto work = work_.find(std::this_thread::get_id());
  host_reads_.begin(name_of(work == work_.end() ? cuda::WorkLabel{} : work->second.first), stream_id(index_of(stream)),
                    {from, static_cast<std::size_t>(size.value)});
  give({Command::Kind::kCompute,
        index_of(stream),
        [to, from, size] { std::memcpy(to, from, static_cast<std::size_t>(size.value)); },
        {},
        {}});
}

// ---- Work

void FakeGpu::begin_work(const cuda::WorkLabel& label, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  const std::thread::id thread = std::this_thread::get_id();
  const std::size_t index = index_of(stream);
  if (!users_.contains(thread)) report("work is begun by a thread that has not made the device its own");
  if (!work_.try_emplace(thread, label, index).second) report("work is begun inside other work");
  if (!capture_ && givers_.try_emplace(index, thread).first->second != thread)
    report(fmt::format("stream {} is given work by two threads", index));
  give({Command::Kind::kAccess, index, {}, label, {}});
}

void FakeGpu::end_work() noexcept {
  const auto call = begin_call();
  work_.erase(std::this_thread::get_id());
}

void FakeGpu::launch(const cuda::own::KernelArguments& kernel, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  const std::size_t index = index_of(stream);
  const auto work = work_.find(std::this_thread::get_id());
  if (work == work_.end() || work->second.second != index)
    report("a kernel is given to another stream than its step's");
  if (work != work_.end() && fail_at_ && work->second.first.step == fail_at_)
    throw DeviceError("launch_kernel: injected failure");
  give({Command::Kind::kCompute, index, [kernel] { cuda::own::run_on_host(kernel); }, {}, {}});
}

void FakeGpu::give(Command command) {
  if (capture_) {
    collect(std::move(command));
  } else {
    execute(command);
  }
}

/// Notes a command of an open capture.
void FakeGpu::collect(Command command) {
  Capture& capture = *capture_;
  const std::size_t stream = command.stream;
  if (!capture.joined.contains(stream)) {
    throw DeviceError(fmt::format("stream {} is not part of the capture", stream));
  }
  VectorClock& clock = capture.clocks[stream];
  switch (command.kind) {
    case Command::Kind::kRecord:
      capture.events[command.event] = clock;
      event_of(command.event).capture = capture.number;
      break;
    case Command::Kind::kWait: {
      const auto found = capture.events.find(command.event);
      if (found == capture.events.end()) throw DeviceError("a capture waits for an event from outside");
      merge(clock, found->second);
      break;
    }
    default:
      ++clock[stream];
  }
  capture.commands.push_back(std::move(command));
}

void FakeGpu::execute(const Command& command) {
  const std::size_t stream = command.stream;
  switch (command.kind) {
    case Command::Kind::kCompute:
      command.compute();
      times_[stream] += kKernelTime;
      return;
    case Command::Kind::kAccess:
      log_.push_back(fmt::format("{} on {}", name_of(command.label), stream));
      if (!checker_) return;
      check_behind_graph(stream);
      checker_->wait(stream_id(stream), host_);
      if (command.label.step) checker_->run(*command.label.step, stream_id(stream), command.label.slot);
      if (command.label.input) checker_->upload(*command.label.input, command.label.slot, stream_id(stream));
      return;
    case Command::Kind::kRecord: {
      Event& event = event_of(command.event);
      log_.push_back(fmt::format("record on {}", stream));
      if (checker_) event.clock = checker_->clock(stream_id(stream));
      if (!replaying_) event.capture.reset();
      event.time = times_[stream];
      return;
    }
    case Command::Kind::kRecordTime:
      event_of(command.event).time = times_[stream];
      return;
    case Command::Kind::kWait: {
      const Event& event = event_of(command.event);
      if (event.capture && !replaying_) throw DeviceError("a stream waits for an event of a capture");
      if (!event.clock) report(fmt::format("stream {} waits for an event that was never recorded", stream));
      log_.push_back(fmt::format("wait on {}", stream));
      if (checker_ && event.clock) checker_->wait(stream_id(stream), *event.clock);
      times_[stream] = std::max(times_[stream], event.time);
      return;
    }
  }
}

// ---- Graphs

void FakeGpu::begin_capture(cuda::StreamHandle origin) {
  const auto call = begin_call();
  set_up("capture");
  if (capture_) throw DeviceError("a capture is open already");
  capture_ = Capture{};
  capture_->number = ++captures_;
  capture_->origin = index_of(origin);
  capture_->joined = {capture_->origin};
  capture_->clocks.assign(created_streams_, VectorClock(created_streams_, 0));
}

cuda::GraphHandle FakeGpu::end_capture(cuda::StreamHandle origin) {
  const auto call = begin_call();
  if (!capture_) throw DeviceError("no capture is open");
  const Capture capture = *std::exchange(capture_, std::nullopt);
  if (index_of(origin) != capture.origin) throw DeviceError("a capture ends on another stream than it began on");
  for (const std::size_t stream : capture.joined) {
    if (knows(capture.clocks[capture.origin], capture.clocks[stream])) continue;
    throw DeviceError(fmt::format("stream {} was forked into the capture and not joined", stream));
  }
  const auto handle = static_cast<cuda::GraphHandle>(next_handle_++);
  graphs_[handle] = {capture.origin, capture.joined, capture.commands};
  return handle;
}

void FakeGpu::destroy(cuda::GraphHandle graph) noexcept {
  const auto call = begin_call();
  graphs_.erase(graph);
}

/// A graph comes after earlier work of the stream it is launched on, and of no other.
void FakeGpu::check_before_graph(const Graph& graph) {
  for (const std::size_t stream : graph.streams) {
    if (knows(checker_->clock(stream_id(graph.origin)), checker_->clock(stream_id(stream)))) continue;
    report(fmt::format("a graph is launched that is not ordered after earlier work of stream {}", stream));
  }
}

/// Later work of another stream comes after a graph only where it waits for it.
void FakeGpu::check_behind_graph(std::size_t stream) {
  const auto found = required_.find(stream);
  if (replaying_ || found == required_.end()) return;
  if (checker_->clock(stream_id(stream))[found->second.origin] >= found->second.tick) {
    required_.erase(found);
    return;
  }
  report(fmt::format("work of stream {} is not ordered after the graph before it", stream));
}

void FakeGpu::launch(cuda::GraphHandle id, cuda::StreamHandle stream) {
  const auto call = begin_call(stream);
  if (capture_) throw DeviceError("a graph is launched during a capture");
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) throw DeviceError("the graph does not exist");
  const Graph& graph = found->second;
  if (index_of(stream) != graph.origin) report("a graph is launched on another stream than it was captured from");
  log_.push_back(fmt::format("graph on {}", graph.origin));
  checker_->wait(stream_id(graph.origin), host_);
  check_before_graph(graph);
  replaying_ = true;
  for (const Command& command : graph.commands) execute(command);
  replaying_ = false;
  const VectorClock& end = checker_->clock(stream_id(graph.origin));
  for (const std::size_t used : graph.streams) {
    if (used != graph.origin) required_[used] = {graph.origin, end[graph.origin]};
  }
}

// ---- Backend

FakeGpuBackend::FakeGpuBackend() : calls_(cuda::make_own_calls(gpu_)) {
  info_.id = "fake-gpu:0";
  info_.kind = "fake-gpu";
  info_.name = "GPU in host memory";
  info_.cores = 1;
}

Result<std::unique_ptr<Session>> FakeGpuBackend::load(const Program& program, std::span<const Weights* const> weights) {
  gpu_.use();
  gpu_.watch(program);
  return cuda::make_session(program, weights, gpu_, *calls_, steady_now);
}

}  // namespace cohort
