#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "executor/device_tracer.hpp"
#include "executor/measure.hpp"
#include "executor/run/batch_run.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Runs a plan and its baseline in turn: every member, one after another, each in the best single-model plan that is
/// known; and other plans of the same members with them.
class PlanRun {
 public:
  /// Errors: those of BatchRun::open(), for the plan and for the members alone.
  static Result<std::unique_ptr<PlanRun>> open(Backend& backend, const Plan& plan, const MemberModels& members,
                                               const CancelToken& cancel);

  /// Loads another plan of the same members, to be measured in turn with this one and its baseline, which is not the
  /// other's own where they read other input or compute in another precision.
  /// Errors: kInvalidInput where its members are others; those of BatchRun::open().
  Result<void> add_beside(std::string name, const Plan& other, const MemberModels& members);

  struct Times {
    SubjectTimes plan;
    SubjectTimes baseline;
    std::vector<SubjectTimes> beside;  ///< in the order in which they were added, by their names

    [[nodiscard]] double speedup() const { return cohort::speedup(baseline, plan); }
    /// Probed::round_trip while both were measured.
    [[nodiscard]] Nanoseconds round_trip() const { return std::max(plan.round_trip, baseline.round_trip); }
  };
  /// Interleaved wall times, without a trace.
  Result<Times> measure(MeasureOptions options);

  /// Traces some steps of the plan; wall times and the plan go with it, and what tracing cost: wall
  /// time "plan traced" beside "plan". With a tracer, which must not have been started, tasks last from their first
  /// kernel to their last as the device recorded them, and kernels, copies and calls stand beside them; where it
  /// fails, the trace is as without one, and kNotRecorded says why. Errors: those of the steps.
  Result<Trace> trace(const Times& times, int iterations, DeviceTracer* tracer = nullptr);

  /// Runs a step, and adds every member's outputs as `<folder>/<member>/<output>.npy`; those of the plan that was added
  /// second beside it as `<folder>/beside-2/...`. Before any other step they are the same in every run: input begins
  /// anew with the plan's seed.
  Result<void> add_outputs(const std::filesystem::path& folder, PendingFiles& files);

  [[nodiscard]] const Program& program() const { return plan_run_->program(); }
  [[nodiscard]] std::vector<BadImage> bad_images() const { return plan_run_->bad_images(); }

 private:
  /// All members in turn; or a member by itself, as often as there are members alike: of one model and one baseline.
  /// Their weights alone differ, and a device that has room for the plan has not always room for all of them once more.
  struct Alone {
    std::unique_ptr<BatchRun> run;
    int members = 0;
  };

  struct Beside {
    std::string name;
    std::unique_ptr<BatchRun> run;
  };

  PlanRun(Backend& backend, Plan plan, const CancelToken& cancel);
  [[nodiscard]] std::vector<std::string> group_names() const;
  Result<Nanoseconds> one_by_one(int steps);
  Result<void> add_outputs_of(BatchRun& run, const std::filesystem::path& folder, PendingFiles& files) const;
  Result<WallTimes> traced_steps(int iterations);
  Result<void> use_up_input();
  Result<Trace> trace_tasks(int iterations, WallTimes& traced);
  Result<Trace> trace_device(int iterations, WallTimes& traced, DeviceTracer& tracer);

  Backend& backend_;
  Plan plan_;
  const CancelToken& cancel_;
  StageSink stages_;
  std::unique_ptr<BatchRun> plan_run_;
  std::vector<Alone> alone_;
  std::vector<Beside> beside_;
};

}  // namespace cohort
