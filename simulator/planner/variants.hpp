#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulator/plan/member_classes.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/planner/branches.hpp"
#include "simulator/planner/choose.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Ops of one class of members that run fused.
struct FusedRun {
  std::size_t member_class = 0;
  Strategy strategy = Strategy::kStridedBatch;
  std::vector<std::size_t> ops;  ///< positions in the class's model, ascending

  friend bool operator==(const FusedRun&, const FusedRun&) = default;
};

/// How ops run that are not fused.
enum class RestKind {
  kSerialBest,
  kSerialOneThread,
  kSerialAllCores,
  kConcurrent,  ///< members on streams
  kBranches,    ///< ops of each member, and what is fused, on streams as Variant::branches schedules them
};

/// One point of the search: what becomes a Plan.
struct Variant {
  std::vector<FusedRun> fused;
  RestKind rest = RestKind::kSerialBest;
  int streams = 1;  ///< of concurrent ops; of branches, of each set
  InputSharing sharing = InputSharing::kShared;
  LaunchMode launch = LaunchMode::kGraph;
  InputSetting input;
  BranchSchedule branches = BranchSchedule::kStages;
  /// Ops, by name, that all members have in different shapes, each as one launch.
  std::vector<std::string> grouped = {};
  int launch_threads = 1;   ///< at most; one where launches are captured or there is one stream
  int multiprocessors = 0;  ///< number that products of concurrent members are tuned for; 0: all
  int branch_sets = 1;      ///< sets of streams over which members are spread, if their branches run side by side

  friend bool operator==(const Variant&, const Variant&) = default;
};

inline constexpr std::array kFusedStrategies = {Strategy::kDenseConvolution, Strategy::kStridedBatch,
                                                Strategy::kGroupedConvolution, Strategy::kGroupedGemm};

/// "strided batch"
std::string_view words(Strategy strategy);

/// Makes and describes the variants of one set of members.
class VariantMaker {
 public:
  VariantMaker(const PlanningCase& planning_case, CallTimes& times, Bytes footprint);

  /// All variants worth considering, each once. `refused` gets the strategies that are for an op of the models and that
  /// none can use.
  std::vector<Variant> variants(std::vector<RefusedCandidate>& refused);
  /// Every assignment of a strategy to every op, with every way of running the rest.
  /// Errors: kInvalidInput where there are more than `most`.
  [[nodiscard]] Result<std::vector<Variant>> all_variants(std::size_t most) const;
  /// The variants that differ in the strategy of one op; none if there are too many ops.
  [[nodiscard]] std::vector<Variant> one_op_changed(const Variant& variant) const;
  /// The variants that run branches of members and of fused ops side by side, in every way, with the same bound(); none
  /// if there are no branches.
  [[nodiscard]] std::vector<Variant> branches_changed(const Variant& variant) const;
  /// The variants that differ in the number of launching host threads; none if one is the only choice, or if launches
  /// hold the driver's lock for their whole length, so that more threads gain nothing.
  [[nodiscard]] std::vector<Variant> launch_threads_changed(const Variant& variant) const;
  /// The variants whose concurrent members' products are tuned for another part of the GPU's multiprocessors; none if
  /// no profile has such times.
  [[nodiscard]] std::vector<Variant> multiprocessors_changed(const Variant& variant) const;
  /// The variant, in which nothing is fused yet, with the ops fused that match `patterns` (matches_pattern()), each by
  /// the fastest recorded strategy that applies. Of a pattern with '*' those stay alone that nothing can fuse. Errors:
  /// kNegativeAnswer naming the pattern that matches no op, or the op that cannot be fused, and why. `left_alone` gets
  /// the names of those that stay alone, each once.
  [[nodiscard]] Result<Variant> with_fused(Variant rest, const std::vector<std::string>& patterns,
                                           std::vector<std::string>& left_alone);
  /// Variants of one in which nothing is fused, each once: with every op fused whose recorded times are faster so; with
  /// all that each set of strategies can fuse; with each op alone by its fastest recorded strategy, equal names
  /// together, the most promising if there are many; and likewise with each run of neighbours that a strategy can fuse.
  [[nodiscard]] std::vector<Variant> fusions(const Variant& rest);
  /// The variants with one fused run less; then, most promising first, those with one more run that a strategy can
  /// fuse, or with one op changed as in one_op_changed().
  [[nodiscard]] std::vector<Variant> fusion_changed(const Variant& variant);
  /// Whether it has fused runs, but streams for all of their members.
  [[nodiscard]] bool fuses_nothing(const Variant& variant) const;
  /// The plan of a variant, without baselines and `resolved`.
  [[nodiscard]] Plan plan_of(const Variant& variant);
  /// Sorts by the sum over ops, most promising first; ties keep their order.
  void sort_by_promise(std::vector<Variant>& variants);
  /// "concurrent x2 + strided batch (fc1, fc2)"; where a strategy has many runs, the first and the last op of them.
  [[nodiscard]] std::string name_of(const Variant& variant) const;
  /// Sum over ops, with streams side by side: good enough to discard hopeless variants.
  [[nodiscard]] Nanoseconds estimate(const Variant& variant);
  /// Lower bound of the variant's step, as long as ops do not run faster in a program than alone. O(classes x ops).
  [[nodiscard]] Nanoseconds bound(const Variant& variant);

  [[nodiscard]] const std::vector<MemberClass>& classes() const { return classes_; }

 private:
  using Runs = std::vector<FusedRun>;
  using Wish = std::vector<std::optional<Strategy>>;                              ///< of a class: by op
  using Wishes = std::vector<std::vector<std::vector<std::optional<Strategy>>>>;  ///< by class and op: what is possible

  /// Whether each member of a run has a stream of its own, so that nothing is run together.
  [[nodiscard]] bool is_split(const FusedRun& run, const Variant& variant) const;
  /// Whether its members read the op's first input from one buffer.
  [[nodiscard]] bool shares_input(std::size_t member_class, std::size_t op) const;
  [[nodiscard]] bool can_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const;
  /// Whether the search fuses it by itself.
  [[nodiscard]] bool may_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] bool is_core(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] Wishes possible_wishes() const;
  [[nodiscard]] Runs runs_of(const std::vector<Wish>& wish) const;
  [[nodiscard]] Runs runs_for(const std::vector<Strategy>& strategies) const;
  [[nodiscard]] std::vector<Runs> maximal_runs() const;
  [[nodiscard]] Runs greedy_runs(RestKind rest, int streams);
  [[nodiscard]] std::vector<Wish> wish_of(const Runs& runs) const;
  [[nodiscard]] Runs single_runs(const Variant& variant);
  [[nodiscard]] std::vector<Runs> ops_alone(int streams);
  [[nodiscard]] std::optional<Strategy> fastest_alone(std::size_t member_class, std::size_t op, int streams);
  /// The cost of running a named op in some way.
  struct Choice {
    bool follows_any = false;  ///< else only what is fused in the same way
    bool recorded = true;
    Nanoseconds time{};
  };
  [[nodiscard]] std::optional<Choice> choice_of(std::size_t member_class, std::size_t op, bool named,
                                                std::optional<Strategy> strategy, int streams);
  [[nodiscard]] Result<Wish> fastest_wish(std::size_t member_class, const std::vector<std::string>& patterns,
                                          int streams, std::vector<std::size_t>& left_alone);
  [[nodiscard]] bool fusion_is_recorded(std::size_t member_class, std::size_t op, Strategy strategy, int streams);
  /// Why no op can use it; absent where one can, and where the models have none that it is for.
  [[nodiscard]] std::optional<std::string> why_unused(Strategy strategy) const;
  [[nodiscard]] std::string why_not_fused(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] Error why_not_fused(std::size_t member_class, std::size_t op,
                                    const std::vector<std::string>& patterns) const;
  [[nodiscard]] std::vector<int> stream_counts() const;
  [[nodiscard]] std::vector<LaunchMode> launch_modes() const;
  [[nodiscard]] std::vector<Variant> rests() const;
  [[nodiscard]] std::vector<int> branch_stream_counts() const;
  void add_branches(std::vector<Variant>& variants) const;
  [[nodiscard]] bool can_group(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] std::vector<std::string> groupable_ops() const;
  [[nodiscard]] std::set<std::size_t> ops_together(const Variant& variant, std::size_t member_class) const;
  [[nodiscard]] std::vector<std::vector<std::size_t>> grouped_places(const Variant& variant) const;
  /// A number of members of a class, with one op each, in a launch of several.
  struct LaunchPart {
    std::size_t member_class = 0;
    std::size_t op = 0;
    std::size_t members = 0;
  };
  using LaunchParts = std::vector<LaunchPart>;
  [[nodiscard]] CostKey launch_key(const LaunchParts& parts) const;
  [[nodiscard]] bool is_recorded(const CostKey& key);
  [[nodiscard]] Nanoseconds launch_time(const LaunchParts& parts);
  [[nodiscard]] Nanoseconds side_by_side(const LaunchParts& parts);
  [[nodiscard]] Nanoseconds longest_part(const LaunchParts& parts);
  [[nodiscard]] Nanoseconds least_launch_time(const LaunchParts& parts);
  [[nodiscard]] LaunchParts grouped_parts(const std::vector<std::vector<std::size_t>>& places, std::size_t i) const;
  [[nodiscard]] Nanoseconds grouped_time(const Variant& variant);
  [[nodiscard]] OpTime fused_op_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams);
  [[nodiscard]] BranchRequest branch_request(const Variant& variant);
  [[nodiscard]] Nanoseconds branches_estimate(const Variant& variant);
  [[nodiscard]] Nanoseconds branches_bound(const Variant& variant);
  [[nodiscard]] bool covers_all(const Runs& runs) const;
  [[nodiscard]] Nanoseconds op_time(std::size_t member_class, std::size_t op, RestKind rest, int streams);
  [[nodiscard]] Nanoseconds fused_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams);
  /// Of a call: its time alone, and that times the cores it uses.
  struct LeastTimes {
    Nanoseconds alone{};
    Nanoseconds core_time{};
  };
  struct LeastCalls {
    LeastTimes each;
    std::int64_t count = 0;
  };
  [[nodiscard]] LeastCalls least_calls(std::size_t member_class, std::size_t op, std::optional<Strategy> fused,
                                       const Variant& variant);
  [[nodiscard]] std::optional<Nanoseconds> least_time(const CostKey& key);
  [[nodiscard]] LeastTimes least_times(CostKey key, RestKind rest, int streams);
  [[nodiscard]] LeastTimes least_fused_times(std::size_t member_class, std::size_t op, Strategy strategy, int width,
                                             int streams);
  void add_fused_groups(const FusedRun& run, Plan& plan) const;
  [[nodiscard]] std::vector<Nanoseconds> rest_times(const Variant& variant);
  [[nodiscard]] std::vector<std::uint32_t> balanced_streams(const Variant& variant,
                                                            const std::vector<std::uint32_t>& members);

  const PlanningCase& case_;
  CallTimes& times_;
  Bytes footprint_;
  std::vector<MemberClass> classes_;
  BranchScheduler branches_;
};

}  // namespace cohort
