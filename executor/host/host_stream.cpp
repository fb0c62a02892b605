#include "executor/host/host_stream.hpp"

#include <new>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort {

void FirstFailure::remember(StepId step, Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_ || step < step_) {
    step_ = step;
    error_ = std::move(error);
  }
  failed_.store(true, std::memory_order_relaxed);
}

std::optional<Error> FirstFailure::take() {
  const std::lock_guard lock(mutex_);
  failed_.store(false, std::memory_order_relaxed);
  return std::exchange(error_, std::nullopt);
}

HostStream::~HostStream() {
  if (!thread_.joinable()) return;
  posted_.stop();
  thread_.join();
}

void HostStream::start_thread() { thread_ = std::thread(&HostStream::thread_main, this); }

void HostStream::post(StreamCommand command) {
  if (thread_.joinable()) {
    posted_.post(std::move(command));
  } else {
    posted_.put(std::move(command));
  }
}

void HostStream::run_posted() {
  if (!cores_.empty()) move_to_core(cores_[0]);
  threads_.reset();  // another session may have used this thread since
  for (const StreamCommand& command : posted_.take()) execute(command);
}

void HostStream::thread_main() {
  // Helpers that a bound thread starts would inherit its one core.
  if (cores_.size() == 1) bind_to_core(cores_[0]);
  if (cores_.size() > 1) move_to_core(cores_[0]);
  while (posted_.wait(context_->turns, context_)) {
    for (const StreamCommand& command : posted_.take()) execute(command);
  }
}

void HostStream::execute(const StreamCommand& command) {
  if (const auto* work = std::get_if<StreamWork>(&command)) {
    execute(*work, nullptr);
    return;
  }
  const auto& replay = std::get<ReplayWork>(command);
  for (const StreamWork& work : *replay.work) execute(work, replay.first_tickets.get());
}

void HostStream::execute(const StreamWork& work, const std::vector<std::uint32_t>* first_tickets) {
  if (const auto* step = std::get_if<RunStep>(&work)) {
    run(*step);
  } else if (const auto* event = std::get_if<WaitEvent>(&work)) {
    const std::uint32_t first = first_tickets == nullptr ? 0 : (*first_tickets)[to_index(event->source)];
    context_->events[to_index(event->source)].wait(first + event->ticket);
  } else {
    context_->events[to_index(id_)].advance();
  }
}

void HostStream::run(const RunStep& work) {
  if (context_->failure.failed()) return;
  TaskSink* const sink = context_->sink;
  const auto remember = [&](ErrorCode code, const char* what) {
    context_->failure.remember(work.step,
                               Error{code, fmt::format("{}: {}", context_->program->step(work.step).task, what)});
  };
  if (sink != nullptr) sink->begin(work.step, id_);
  try {
    if (threads_ != work.threads) {
      context_->kernels->use_threads(work.threads, cores_);
      threads_ = work.threads;
    }
    work.kernel->run(*work.arguments);
  } catch (const std::bad_alloc&) {
    remember(ErrorCode::kDoesNotFit, "out of memory");
  } catch (const std::exception& error) {
    remember(ErrorCode::kDeviceMissing, error.what());
  }
  if (sink != nullptr) sink->end(work.step, id_);
}

}  // namespace cohort
