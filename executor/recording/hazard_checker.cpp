#include "executor/recording/hazard_checker.hpp"

#include <algorithm>
#include <numeric>

#include "executor/recording/view_overlap.hpp"

namespace cohort {
namespace {

bool may_share(const std::optional<View>& a, const std::optional<View>& b) { return !a || !b || may_overlap(*a, *b); }

}  // namespace

HazardChecker::HazardChecker(const Program& program) : program_(&program), launches_(program.steps.size()) {
  Writers writers(program.buffers.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto id = static_cast<StepId>(static_cast<std::uint32_t>(i));
    touches_.push_back(touches_of(program.steps[i], writers));
    for (const View& view : program.steps[i].call.outputs) writers[to_index(view.buffer)].push_back({id, view});
  }
  find_sharers();
  for (const Buffer& buffer : program.buffers) {
    const bool per_slot = buffer.kind == BufferKind::kInput;
    held_.emplace_back(static_cast<std::size_t>(per_slot ? program.input_buffers : 1));
  }
  const auto streams = static_cast<std::size_t>(program.streams) + 1;
  clocks_.assign(streams, VectorClock(streams, 0));
}

std::vector<HazardChecker::Touch> HazardChecker::touches_of(const Step& step, const Writers& writers) {
  std::vector<Touch> touches;
  for (const Operand& operand : step.call.inputs) {
    const View* view = std::get_if<View>(&operand);
    if (view == nullptr) continue;
    Touch& touch = touches.emplace_back(Touch{view->buffer, *view, false, {}});
    for (const auto& [writer, written] : writers[to_index(view->buffer)]) {
      if (may_overlap(written, *view)) touch.writers.push_back(writer);
    }
  }
  for (const View& view : step.call.outputs) touches.push_back({view.buffer, view, true, {}});
  if (step.workspace) touches.push_back({*step.workspace, std::nullopt, true, {}});
  return touches;
}

void HazardChecker::find_sharers() {
  const std::vector<Buffer>& buffers = program_->buffers;
  sharers_.resize(buffers.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    if (in_arena(buffers[i]) && buffers[i].size.value > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return buffers[a].offset < buffers[b].offset; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Bytes end = buffers[order[i]].offset + buffers[order[i]].size;
    for (std::size_t j = i + 1; j < order.size() && buffers[order[j]].offset < end; ++j) {
      sharers_[order[i]].push_back(static_cast<BufferId>(order[j]));
      sharers_[order[j]].push_back(static_cast<BufferId>(order[i]));
    }
  }
}

HazardChecker::Instance& HazardChecker::instance(BufferId buffer, int slot) {
  std::vector<Instance>& copies = held_[to_index(buffer)];
  return copies[copies.size() == 1 ? 0 : static_cast<std::size_t>(slot)];
}

void HazardChecker::run(StepId step, StreamId stream, int slot) {
  const std::uint64_t tick = ++clocks_[to_index(stream)][to_index(stream)];
  check_dependencies(step, stream);
  for (const Touch& touch : touches_[to_index(step)]) {
    Instance& held = instance(touch.buffer, slot);
    if (!touch.writes) check_contents(step, touch, held);
    check_races(touch, {stream, tick, step, touch.view, touch.writes}, slot);
  }
  for (const Touch& touch : touches_[to_index(step)]) {
    Instance& held = instance(touch.buffer, slot);
    keep({stream, tick, step, touch.view, touch.writes}, held);
    if (!touch.writes) continue;
    held.written.insert(step);
    held.overwritten.reset();
    for (const BufferId sharer : sharers_[to_index(touch.buffer)]) {
      Instance& lost = instance(sharer, slot);
      lost.written.clear();
      lost.overwritten = step;
    }
  }
  launches_[to_index(step)] = Launch{stream, tick};
}

void HazardChecker::upload(std::size_t input_index, int slot, StreamId stream) {
  const std::uint64_t tick = ++clocks_[to_index(stream)][to_index(stream)];
  const Touch touch{program_->inputs[input_index].buffer, std::nullopt, true, {}};
  const Access access{stream, tick, std::nullopt, std::nullopt, true};
  Instance& held = instance(touch.buffer, slot);
  check_races(touch, access, slot);
  keep(access, held);
  held.uploaded = true;
}

void HazardChecker::wait(StreamId stream, const VectorClock& event) {
  VectorClock& clock = clocks_[to_index(stream)];
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], event[i]);
}

void HazardChecker::synchronize() {
  VectorClock all(clocks_.size(), 0);
  for (std::size_t i = 0; i < clocks_.size(); ++i) all[i] = clocks_[i][i];
  for (VectorClock& clock : clocks_) clock = all;
  for (std::vector<Instance>& copies : held_) {
    for (Instance& held : copies) held.accesses.clear();
  }
}

bool HazardChecker::is_before(const Access& earlier, StreamId stream) const {
  return clock(stream)[to_index(earlier.stream)] >= earlier.tick;
}

void HazardChecker::check_dependencies(StepId step, StreamId stream) {
  for (const StepId dependency : program_->step(step).dependencies) {
    const std::optional<Launch>& launch = launches_[to_index(dependency)];
    const std::string& task = program_->step(step).task;
    const std::string& before = program_->step(dependency).task;
    if (!launch) {
      report(fmt::format("\"{}\" is launched before its dependency \"{}\"", task, before));
    } else if (clock(stream)[to_index(launch->stream)] < launch->tick) {
      report(fmt::format("\"{}\" on stream {} is not ordered after its dependency \"{}\" on stream {}", task,
                         to_index(stream), before, to_index(launch->stream)));
    }
  }
}

void HazardChecker::check_contents(StepId step, const Touch& touch, Instance& held) {
  const Buffer& buffer = program_->buffer(touch.buffer);
  const std::string& task = program_->step(step).task;
  if (buffer.kind == BufferKind::kInput) {
    if (!held.uploaded) report(fmt::format("\"{}\" reads input \"{}\", which was not uploaded", task, buffer.name));
    return;
  }
  if (buffer.kind == BufferKind::kState) return;  // what the last step, or loading, left in it
  if (touch.writers.empty()) {
    report(fmt::format("\"{}\" reads \"{}\", which no step before it writes", task, buffer.name));
  }
  for (const StepId writer : touch.writers) {
    if (held.written.count(writer) != 0) continue;
    if (held.overwritten) {
      report(fmt::format("\"{}\" reads \"{}\" of \"{}\", which \"{}\" has overwritten", task, buffer.name,
                         program_->step(writer).task, program_->step(*held.overwritten).task));
    } else {
      report(fmt::format("\"{}\" reads \"{}\", which \"{}\" has not written", task, buffer.name,
                         program_->step(writer).task));
    }
  }
}

void HazardChecker::check_races(const Touch& touch, const Access& access, int slot) {
  const std::string& buffer = program_->buffer(touch.buffer).name;
  const char* const verb = access.writes ? "writes" : "reads";
  for (const Access& earlier : instance(touch.buffer, slot).accesses) {
    if (!(earlier.writes || access.writes) || is_before(earlier, access.stream)) continue;
    if (!may_share(earlier.view, access.view)) continue;
    report(fmt::format("{} {} \"{}\" while {} may still {} it", who(access), verb, buffer, who(earlier),
                       earlier.writes ? "write" : "read"));
  }
  for (const BufferId sharer : sharers_[to_index(touch.buffer)]) {
    for (const Access& earlier : instance(sharer, slot).accesses) {
      if (!(earlier.writes || access.writes) || is_before(earlier, access.stream)) continue;
      report(fmt::format("{} {} \"{}\" while {} may still {} \"{}\", which shares its bytes", who(access), verb, buffer,
                         who(earlier), earlier.writes ? "write" : "read", program_->buffer(sharer).name));
    }
  }
}

void HazardChecker::keep(const Access& access, Instance& held) {
  for (Access& earlier : held.accesses) {
    // A stream's later access comes after its earlier one, so who is after the later is after both.
    if (earlier.stream == access.stream && earlier.writes == access.writes && earlier.view == access.view) {
      earlier = access;
      return;
    }
  }
  held.accesses.push_back(access);
}

std::string HazardChecker::who(const Access& access) const {
  if (!access.step) return fmt::format("the upload on stream {}", to_index(access.stream));
  return fmt::format("\"{}\" on stream {}", program_->step(*access.step).task, to_index(access.stream));
}

void HazardChecker::report(std::string violation) {
  if (reported_.insert(violation).second) violations_.push_back(std::move(violation));
}

}  // namespace cohort
