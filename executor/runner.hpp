#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "executor/issue.hpp"

namespace cohort {

/// Runs a Program step by step of the whole model batch. Not thread-safe.
class Runner {
 public:
  /// Writes and uploads the inputs of all slots.
  using FillInputs = std::function<Result<void>(Runner&)>;

  /// Loads the Program, runs it once to complete all set-up, resets the states, and captures the Program once per input
  /// slot if it is replayed as a graph. The first run reads what `fill` writes, since whether a step fails may depend
  /// on its input; without `fill` it reads zeros. Backend and Program must outlive the runner. Errors: those of
  /// Backend::load(), of `fill` and of the steps.
  static Result<std::unique_ptr<Runner>> create(Backend& backend, const Program& program,
                                                std::span<const Weights* const> weights, const FillInputs& fill = {});

  /// Uploads all inputs of `slot`; the next launch on it waits for them. Steps on another slot may be running.
  void upload(int slot);
  /// Submits every step on the input of `slot` and returns. Uploads and one wait() may follow before the next launch:
  /// two launches in flight would share the arena.
  void launch(int slot);
  /// Waits for all submitted work, including uploads. Errors: what failed, naming the task; uploads since the last
  /// wait() may then be missing.
  Result<void> wait();
  /// launch() and wait().
  Result<void> step(int slot);
  /// Time of `steps` steps one after another, on each slot in turn. Input stays on the device: nothing is uploaded.
  /// Errors: those of the steps; kInterrupted between steps once `cancel`, which may be null, is cancelled.
  Result<Nanoseconds> timed_steps(int steps, const TimeSource& now, const CancelToken* cancel = nullptr);

  /// Time of the first step from launch to end, including everything that devices defer until then.
  [[nodiscard]] Nanoseconds first_step() const { return first_step_; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] Session& session() { return *session_; }

 private:
  Runner(const Program& program, std::unique_ptr<Session> session);
  void issue(int slot);

  const Program* program_;
  std::unique_ptr<Session> session_;
  std::vector<IssueCommand> order_;
  std::vector<EventId> step_events_;  ///< by StepId, as recorded last
  std::vector<GraphId> graphs_;       ///< by slot; empty where steps are launched one by one
  struct Upload {
    int slot = 0;
    EventId done{};
  };
  std::vector<Upload> uploads_;  ///< since the last wait()
  Nanoseconds first_step_{};
  int next_slot_ = 0;  ///< of timed_steps()
};

}  // namespace cohort
