#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "simulator/choose.hpp"
#include "simulator/member_classes.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/planner.hpp"

namespace cohort {

/// Ops of one class of members that run fused.
struct FusedRun {
  std::size_t member_class = 0;
  Strategy strategy = Strategy::kStridedBatch;
  std::vector<std::size_t> ops;  ///< positions in the class's model, ascending

  friend bool operator==(const FusedRun&, const FusedRun&) = default;
};

/// How ops run that are not fused.
enum class RestKind { kSerialBest, kSerialOneThread, kSerialAllCores, kConcurrent };

/// One point of the search: what becomes a Plan.
struct Variant {
  std::vector<FusedRun> fused;
  RestKind rest = RestKind::kSerialBest;
  int streams = 1;  ///< of concurrent ops
  InputSharing sharing = InputSharing::kShared;

  friend bool operator==(const Variant&, const Variant&) = default;
};

/// Makes variants and tells what they are, for one set of members.
class VariantMaker {
 public:
  VariantMaker(const PlanningCase& planning_case, CallTimes& times, Bytes footprint);

  /// All variants worth a look, each once. `refused` is told of strategies that no op can take.
  std::vector<Variant> variants(std::vector<RefusedCandidate>& refused);
  /// The plan of a variant, without baselines and `resolved`.
  [[nodiscard]] Plan plan_of(const Variant& variant);
  /// "concurrent x2 + strided batch (fc1, fc2)"
  [[nodiscard]] std::string name_of(const Variant& variant) const;
  /// Sum over ops, streams side by side: good for telling the hopeless from the promising.
  [[nodiscard]] Nanoseconds estimate(const Variant& variant);

  [[nodiscard]] const std::vector<MemberClass>& classes() const { return classes_; }

 private:
  using Runs = std::vector<FusedRun>;

  [[nodiscard]] bool can_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] bool is_core(std::size_t member_class, std::size_t op, Strategy strategy) const;
  [[nodiscard]] Runs runs_of(const std::vector<std::vector<std::optional<Strategy>>>& wish) const;
  [[nodiscard]] Runs runs_for(const std::vector<Strategy>& strategies) const;
  [[nodiscard]] Runs greedy_runs(RestKind rest, int streams);
  [[nodiscard]] std::vector<int> stream_counts() const;
  [[nodiscard]] bool covers_all(const Runs& runs) const;
  [[nodiscard]] Nanoseconds op_time(std::size_t member_class, std::size_t op, RestKind rest, int streams);
  [[nodiscard]] Nanoseconds fused_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams);
  void add_fused_groups(const FusedRun& run, Plan& plan) const;
  [[nodiscard]] std::vector<Nanoseconds> rest_times(const Variant& variant);
  [[nodiscard]] std::vector<std::uint32_t> balanced_streams(const Variant& variant,
                                                            const std::vector<std::uint32_t>& members);

  const PlanningCase& case_;
  CallTimes& times_;
  Bytes footprint_;
  std::vector<MemberClass> classes_;
};

}  // namespace cohort
