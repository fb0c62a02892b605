#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "executor/backend.hpp"
#include "executor/runner.hpp"
#include "simulator/plan/plan.hpp"
#include "training/member.hpp"
#include "training/minibatches.hpp"
#include "training/network.hpp"

namespace cohort {

/// Members of one network on a device, as one Program: their training steps, or their evaluation.
class MemberBatch {
 public:
  /// `members` as many as the plan's, in their order; their states go to the device. Network and members must outlive
  /// this, and stay where they are.
  /// Errors: those of lower() and Runner::create().
  static Result<std::unique_ptr<MemberBatch>> train(Backend& backend, const TrainedNetwork& network, const Plan& plan,
                                                    std::vector<SweepMember*> members);
  /// For outputs(), as members that train by `plan` are evaluated (evaluation_plan()). Errors: likewise.
  static Result<std::unique_ptr<MemberBatch>> evaluation(Backend& backend, const TrainedNetwork& network,
                                                         const Plan& plan, std::vector<SweepMember*> members);

  /// Gives a step of every member to the device and returns. `minibatch` holds samples for all members, or for each of
  /// them those of `streams`, positions in Minibatch::samples. The step is counted from 0.
  Result<void> launch(const Minibatch& minibatch, std::span<const std::size_t> streams, std::int64_t step,
                      const StepCounts& counts);
  /// Waits for it. Returns the members' losses. Errors: what went wrong in the step.
  Result<std::vector<float>> losses();
  /// launch() and losses() without the step: what goes into the device's memory, and what comes out of it.
  Result<void> write_inputs(const Minibatch& minibatch, std::span<const std::size_t> streams, std::int64_t step,
                            const StepCounts& counts);
  Result<std::vector<float>> read_losses();

  /// The first output of every member for an evaluation's samples. Errors: what went wrong in the step.
  Result<std::vector<std::vector<float>>> outputs(const Minibatch& minibatch);

  /// Into the members. Errors: the device's.
  Result<void> read_states();
  /// From the members. Errors: the device's.
  Result<void> write_states();

  [[nodiscard]] const std::vector<SweepMember*>& members() const { return members_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  MemberBatch(const TrainedNetwork& network, Plan plan, std::vector<SweepMember*> members)
      : network_(&network), plan_(std::move(plan)), members_(std::move(members)) {}
  Result<void> open(Backend& backend, const LoadedModel& loaded);
  [[nodiscard]] std::vector<float>& state_of(const ProgramState& state) const;
  Result<void> write_samples(const Minibatch& minibatch, std::span<const std::size_t> streams);
  void write_settings(std::size_t input, std::int64_t step, const StepCounts& counts);

  const TrainedNetwork* network_;
  Plan plan_;
  std::vector<SweepMember*> members_;
  Program program_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::size_t> first_outputs_;  ///< by member, in Program::outputs
  std::string samples_name_;                ///< the model's input that takes them
  int slot_ = 0;
};

}  // namespace cohort
