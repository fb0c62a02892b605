#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planning/choose_members.hpp"
#include "planning/members.hpp"
#include "planning/profile_set.hpp"
#include "simulator/planner/learned_ratios.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// Which members to plan for, on which input, within which limits.
struct PlanningOptions {
  std::vector<std::filesystem::path> profiles;
  MemberChoice members;
  std::filesystem::path gpu_profile;           ///< a fitted profile of the GPU; the published figures unless given
  InputPlan input = InputPlan{{}, {}, {}, 0};  ///< decode_workers 0: as many as the profiled device's host has cores
  Limits limits;
  std::optional<Precision> precision;  ///< that of the profiles unless given
  std::optional<LaunchMode> launch;    ///< of a GPU's steps; kGraph is a usage error of another device's
  int launch_threads = 1;
};

/// Checks options before any file is read, so that a plan made with them is valid. Errors: kUsage naming the option.
Result<void> check_usage(const PlanningOptions& options);

/// Recorded profiles ready for planning: members loaded, costs and device known.
class PlanningInput {
 public:
  /// Errors: kInvalidInput naming the trace, option or member; kUsage for a limit or count that is wrong.
  static Result<std::unique_ptr<PlanningInput>> open(const PlanningOptions& options, const TraceReadOptions& read);
  /// For an existing plan.
  static Result<std::unique_ptr<PlanningInput>> open(const std::vector<std::filesystem::path>& profiles, Plan plan,
                                                     const std::filesystem::path& gpu_profile,
                                                     const TraceReadOptions& read);

  [[nodiscard]] const PlanningCase& planning_case() const { return cases_.front(); }
  /// One for each number of members to choose from, at each minibatch to choose from; else one. Where memory is limited
  /// the same again of members whose training steps recompute cheap activations (TrainingSpec::recompute), behind all
  /// others.
  [[nodiscard]] const std::vector<PlanningCase>& cases() const { return cases_; }
  [[nodiscard]] const ProfileSet& profiles() const { return *profiles_; }
  [[nodiscard]] const DeviceInfo& device() const { return profiles_->device(); }
  /// Of the first profile: what files are called.
  [[nodiscard]] const std::string& name() const { return profiles_->name(); }

 private:
  explicit PlanningInput(std::unique_ptr<ProfileSet> profiles) : profiles_(std::move(profiles)) {}
  Result<void> add_case(Plan base);
  Result<void> add_recomputing_case(Plan base);

  std::unique_ptr<ProfileSet> profiles_;
  std::deque<Plan> bases_;  ///< by case
  ModelStructures structures_;
  std::deque<std::vector<const Model*>> models_;            ///< likewise
  std::map<std::set<ModelSource>, LearnedRatios> learned_;  ///< by sources of members, each once; may be empty
  std::vector<PlanningCase> cases_;
};

/// The plan with the settings of `options`, without members and groups.
/// Errors: kUsage for what the profiled device or the recorded times do not allow.
Result<Plan> base_plan(const PlanningOptions& options, const ProfileSet& profiles);

}  // namespace cohort
