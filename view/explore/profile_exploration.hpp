#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "planning/members.hpp"
#include "planning/profile_set.hpp"
#include "simulator/planner/learned_ratios.hpp"
#include "simulator/planner/plan_report.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {

/// Members to plan for, and what the planner is told of them.
struct MemberCase {
  Plan base;  ///< of these members
  std::vector<const Model*> models;
  std::shared_ptr<const LearnedRatios> learned;  ///< from plans that were run; null: from none
  std::optional<GpuDemands> demands;             ///< for one at a time
  PlanningCase planning_case;                    ///< points to the above
};

/// Members that were asked about, and what was found of plans of them.
struct ExploredMembers {
  std::unique_ptr<MemberCase> members;
  std::unique_ptr<PlanReporter> reporter;
};

/// An exploration of profiled models.
class ProfileExploration final : public Exploration {
 public:
  /// `measured`: traces of plans that were run.
  static Result<std::unique_ptr<Exploration>> open(std::vector<NamedTrace> profiles, std::vector<NamedTrace> measured,
                                                   const ExploreOptions& options);

  [[nodiscard]] ExploreSettings initial_settings() const override;
  [[nodiscard]] ExploreSettings with_models(ExploreSettings settings, std::vector<int> models) const override;
  [[nodiscard]] std::vector<SettingsProblem> problems(const ExploreSettings& settings) const override;
  [[nodiscard]] Result<Plan> plan_of(const ExploreSettings& settings) const override;
  [[nodiscard]] Result<ExploreSettings> settings_of(const Plan& plan) const override;
  Result<ExploreAnswer> predict(const ExploreSettings& settings, const CancelToken& cancel) override;
  Result<Recommendation> recommend(const ExploreSettings& settings, const RecommendOptions& options,
                                   const CancelToken& cancel, const ExploreProgress& progress) override;
  Result<Scaling> scaling(const ExploreSettings& settings, const std::vector<int>& models, const CancelToken& cancel,
                          const ExploreProgress& progress) override;

 private:
  ProfileExploration(std::unique_ptr<ProfileSet> profiles, std::vector<NamedTrace> measured);
  void find_models();
  void find_ops(const std::vector<const Model*>& models);
  void time_ops();
  [[nodiscard]] const std::vector<ModelSource>& sources_at(std::optional<std::int64_t> minibatch) const;
  [[nodiscard]] std::vector<Member> members_of(const ExploreSettings& settings) const;
  /// The plan that says all but how members run, with what a search may choose left to it.
  [[nodiscard]] Result<Plan> searched_base(const ExploreSettings& settings) const;
  /// Groups that fuse all runs of ops that the strategy is for, and one of the rest, one member after another.
  [[nodiscard]] std::vector<ExploreGroup> fused_groups(const std::vector<const Model*>& models,
                                                       Strategy strategy) const;
  struct Followed;
  [[nodiscard]] std::vector<Followed> followed(const ExploreSettings& settings,
                                               const std::vector<const Model*>& models) const;
  Result<void> scale_to(int models, const ExploreSettings& settings, const CancelToken& cancel, Scaling& scaling);
  void add_measured(const ExploreSettings& settings, Scaling& scaling) const;
  [[nodiscard]] ExploreCandidate candidate_of(const PlanCandidate& candidate, Nanoseconds baseline) const;
  [[nodiscard]] ExploreCandidate candidate_of(const ParetoPoint& point, Nanoseconds baseline) const;
  [[nodiscard]] Recommendation recommendation_of(PlanningResult result, bool chooses) const;
  /// A case of its own: any number of them may be used at a time.
  Result<std::unique_ptr<MemberCase>> case_of(Plan base);
  Result<std::shared_ptr<const LearnedRatios>> learned_for(const PlanningCase& planning_case);
  Result<ExploredMembers*> explored(const Plan& plan);

  std::unique_ptr<ProfileSet> profiles_;
  std::vector<NamedTrace> measured_;
  ModelStructures structures_;
  std::vector<std::vector<ModelSource>> by_minibatch_;  ///< the models, at each minibatch to choose from
  std::mutex learning_;
  /// By sources of members, each once; guarded by the above.
  std::map<std::set<ModelSource>, std::shared_ptr<const LearnedRatios>> learned_;
  std::mutex predicting_;
  std::vector<ExploredMembers> known_;  ///< used last first; guarded by the above
};

}  // namespace cohort
