#include "executor/runner.hpp"

#include "executor/program_check.hpp"

namespace cohort {

Result<std::unique_ptr<Runner>> Runner::create(Backend& backend, const Program& program,
                                               std::span<const Weights* const> weights, const FillInputs& fill) {
  COHORT_TRY(std::unique_ptr<Session> session, backend.load(program, weights));
  std::unique_ptr<Runner> runner(new Runner(program, std::move(session)));
  for (int slot = 0; !fill && slot < program.input_buffers; ++slot) runner->upload(slot);
  if (fill) COHORT_CHECK(fill(*runner));
  const Nanoseconds begin = steady_now();
  COHORT_CHECK(runner->step(0));
  runner->first_step_ = steady_now() - begin;
  COHORT_CHECK(write_first_states(*runner->session_, program, weights));
  if (program.launch == LaunchMode::kSingle) return runner;
  for (int slot = 0; slot < program.input_buffers; ++slot) {
    runner->session_->begin_capture();
    runner->issue(slot);
    runner->graphs_.push_back(runner->session_->end_capture());
  }
  return runner;
}

Runner::Runner(const Program& program, std::unique_ptr<Session> session)
    : program_(&program),
      session_(std::move(session)),
      order_(issue_order(program)),
      step_events_(program.steps.size()) {}

void Runner::upload(int slot) {
  const StreamId stream = upload_stream(*program_);
  for (std::size_t i = 0; i < program_->inputs.size(); ++i) session_->upload(i, slot, stream);
  uploads_.push_back({slot, session_->record(stream)});
}

void Runner::launch(int slot) {
  for (const Upload& upload : uploads_) {
    for (int i = 0; upload.slot == slot && i < program_->streams; ++i) {
      session_->wait(static_cast<StreamId>(static_cast<std::uint32_t>(i)), upload.done);
    }
  }
  if (graphs_.empty()) {
    issue(slot);
  } else {
    session_->launch(graphs_[static_cast<std::size_t>(slot)]);
  }
}

Result<void> Runner::wait() {
  uploads_.clear();
  return session_->synchronize();
}

Result<void> Runner::step(int slot) {
  launch(slot);
  return wait();
}

Result<Nanoseconds> Runner::timed_steps(int steps, const TimeSource& now, const CancelToken* cancel) {
  const Nanoseconds start = now();
  for (int i = 0; i < steps; ++i) {
    if (cancel != nullptr) COHORT_CHECK(cancel->check());  // a load: nothing beside a step
    COHORT_CHECK(step(next_slot_));
    next_slot_ = (next_slot_ + 1) % program_->input_buffers;
  }
  return now() - start;
}

void Runner::issue(int slot) {
  for (const IssueCommand& command : order_) {
    switch (command.kind) {
      case IssueCommand::Kind::kLaunch:
        session_->launch(command.step, command.stream, slot);
        break;
      case IssueCommand::Kind::kRecord:
        step_events_[to_index(command.step)] = session_->record(command.stream);
        break;
      case IssueCommand::Kind::kWait:
        session_->wait(command.stream, step_events_[to_index(command.step)]);
        break;
    }
  }
}

}  // namespace cohort
