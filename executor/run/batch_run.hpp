#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "executor/feeder.hpp"
#include "executor/runner.hpp"
#include "executor/trace_sink.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Models and weights of a plan's members, in their order; members of equal structure share a Model.
struct MemberModels {
  std::vector<const Model*> models;
  std::vector<const Weights*> weights;
};

/// What a run needs beyond its plan. All must outlive it.
struct BatchRunOptions {
  StageSink* stages = nullptr;  ///< told of the input's stages; null: nobody is
  const CancelToken* cancel = nullptr;
};

/// A plan lowered and loaded on a device, its input open: made-up values, arrays, or a folder of JPEGs
/// decoded ahead of the steps.
class BatchRun {
 public:
  /// Errors: those of lower(), Runner::create() and of the input; kInvalidInput for a plan that was
  /// resolved on another device.
  static Result<std::unique_ptr<BatchRun>> open(Backend& backend, const Plan& plan, const MemberModels& members,
                                                const BatchRunOptions& options);

  /// One step of the whole model batch on its next input.
  Result<void> step();
  /// Time of `steps` steps of a run in progress. Errors: those of the steps; kInterrupted between two once cancelled.
  Result<Nanoseconds> timed_steps(int steps, const TimeSource& now);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] Runner& runner() { return *runner_; }
  /// Images that could not be decoded so far; empty where the input is not a folder.
  [[nodiscard]] std::vector<BadImage> bad_images() const;

 private:
  BatchRun(Program program, const CancelToken* cancel) : program_(std::move(program)), cancel_(cancel) {}
  Result<void> open_folder(const Plan& plan, const BatchRunOptions& options);

  Program program_;
  const CancelToken* cancel_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Feeder> feeder_;  ///< null unless the input is a folder
};

}  // namespace cohort
