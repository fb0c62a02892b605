#include "executor/trace_sink.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cohort {
namespace {

constexpr std::string_view kTaskCategory = "task";
constexpr std::string_view kInputCategory = "input";

std::optional<Nanoseconds> earlier(std::optional<Nanoseconds> a, std::optional<Nanoseconds> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

SliceId add_task_slice(Trace& trace, TrackId track, const TaskRun& run) {
  const Step& step = *run.step;
  const std::string members = member_ranges(step.members);
  const std::array<Trace::NamedArg, 8> args{{{kTaskArg, std::string_view(step.task)},
                                             {"op", std::string_view(step.op)},
                                             {"members", std::string_view(members)},
                                             {"group", run.group},
                                             {kIterationArg, run.iteration},
                                             {"algorithm", std::string_view(step.cost.algorithm)},
                                             {"threads", std::int64_t{step.cost.threads}},
                                             {"phase", to_string(step.phase)}}};
  // Inference is all forward, which goes without saying.
  const std::size_t said = run.trains ? args.size() : args.size() - 1;
  return trace.add_slice(track, step.op, kTaskCategory, run.start, run.duration, std::span(args).first(said));
}

TraceSink::TraceSink(const Program& program, std::vector<std::string> group_names, int iterations, TimeSource now)
    : program_(&program),
      group_names_(std::move(group_names)),
      now_(std::move(now)),
      streams_(static_cast<std::size_t>(program.streams)) {
  for (const Step& step : program.steps) ++streams_[to_index(step.stream)].steps;
  for (Stream& stream : streams_) stream.records.resize(stream.steps * static_cast<std::size_t>(iterations));
}

void TraceSink::begin(StepId step, StreamId stream) noexcept {
  Stream& mine = streams_[to_index(stream)];
  if (mine.count == mine.records.size()) return;
  mine.records[mine.count].step = step;
  mine.records[mine.count].start = now_();
}

void TraceSink::end(StepId /*step*/, StreamId stream) noexcept {
  Stream& mine = streams_[to_index(stream)];
  if (mine.count == mine.records.size()) {
    ++mine.dropped;
    return;
  }
  mine.records[mine.count++].end = now_();
}

void TraceSink::ran(StepId step, StreamId stream, Nanoseconds begun, Nanoseconds ended) noexcept {
  Stream& mine = streams_[to_index(stream)];
  if (mine.count == mine.records.size()) {
    ++mine.dropped;
    return;
  }
  mine.records[mine.count++] = {step, begun, ended};
}

std::optional<Nanoseconds> TraceSink::first() const {
  std::optional<Nanoseconds> first;
  for (const Stream& stream : streams_) {
    if (stream.count > 0) first = earlier(first, stream.records.front().start);
  }
  return first;
}

void TraceSink::add_to(Trace& trace, Nanoseconds origin) const {
  const std::string process = trace.info.device.id.empty() ? "device" : trace.info.device.id;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = streams_[s];
    const TrackId track = trace.add_track(process, fmt::format("stream {}", s));
    for (std::size_t i = 0; i < stream.count; ++i) {
      const Record& record = stream.records[i];
      const Step& step = program_->step(record.step);
      const std::string_view group =
          step.group < group_names_.size() ? std::string_view(group_names_[step.group]) : std::string_view();
      add_task_slice(trace, track,
                     {&step, group, static_cast<std::int64_t>(i / stream.steps), record.start - origin,
                      record.end - record.start, !program_->states.empty()});
    }
    if (stream.dropped > 0) trace.info.dropped["steps beyond the room taken beforehand"] += stream.dropped;
  }
}

StageSink::StageSink(int workers, std::size_t stages, TimeSource now)
    : now_(std::move(now)), workers_(static_cast<std::size_t>(workers)) {
  for (Worker& worker : workers_) worker.records.resize(stages);
}

void StageSink::begin(InputStage stage, const InputWork& work) noexcept {
  Worker& mine = workers_[static_cast<std::size_t>(work.worker)];
  mine.open = on_.load(std::memory_order_relaxed);
  const std::size_t next = mine.ended.load(std::memory_order_relaxed);
  if (!mine.open || next == mine.records.size()) return;
  Record& record = mine.records[next];
  record.stage = stage;
  record.work = work;
  record.start = now_();
}

void StageSink::end(InputStage /*stage*/, const InputWork& work) noexcept {
  Worker& mine = workers_[static_cast<std::size_t>(work.worker)];
  if (!mine.open) return;
  mine.open = false;
  const std::size_t next = mine.ended.load(std::memory_order_relaxed);
  if (next == mine.records.size()) {
    mine.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  mine.records[next].end = now_();
  mine.ended.store(next + 1, std::memory_order_release);
}

std::optional<Nanoseconds> StageSink::first() const {
  std::optional<Nanoseconds> first;
  for (const Worker& worker : workers_) {
    if (worker.ended.load(std::memory_order_acquire) > 0) first = earlier(first, worker.records.front().start);
  }
  return first;
}

void StageSink::add_to(Trace& trace, Nanoseconds origin) const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const Worker& worker = workers_[w];
    const TrackId track = trace.add_track("input", fmt::format("decode worker {}", w));
    const std::size_t ended = worker.ended.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < ended; ++i) {
      const Record& record = worker.records[i];
      const std::array<Trace::NamedArg, 3> args{{{"minibatch", record.work.minibatch},
                                                 {"place", std::int64_t{record.work.place}},
                                                 {"pipeline", std::int64_t{record.work.pipeline}}}};
      trace.add_slice(track, to_string(record.stage), kInputCategory, record.start - origin, record.end - record.start,
                      args);
    }
    const std::int64_t dropped = worker.dropped.load(std::memory_order_relaxed);
    if (dropped > 0) trace.info.dropped["input stages beyond the room taken beforehand"] += dropped;
  }
}

Trace measured_trace(const TraceSink& tasks, const StageSink* stages, const DeviceInfo& device) {
  Trace trace;
  trace.info.kind = TraceKind::kMeasured;
  trace.info.device = device;
  const Nanoseconds origin =
      earlier(tasks.first(), stages == nullptr ? std::nullopt : stages->first()).value_or(Nanoseconds(0));
  tasks.add_to(trace, origin);
  if (stages != nullptr) stages->add_to(trace, origin);
  return trace;
}

}  // namespace cohort
