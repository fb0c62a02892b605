#include "planning/given_way.hpp"

#include <utility>

#include "simulator/planner/fuse_ops.hpp"

namespace cohort {
namespace {

Result<GivenPlan> fused_plan(const PlanningCase& planning_case, const GivenWay& way, const CancelToken& cancel) {
  const bool on_streams = way.strategy == Strategy::kConcurrent;
  const RestKind rest = on_streams ? RestKind::kConcurrent : RestKind::kSerialBest;
  const int streams = on_streams ? way.streams : 1;
  GivenPlan fused;
  if (way.fuse.choice == FuseChoice::kAuto) {
    COHORT_TRY(FusionChoice choice, choose_fusion(planning_case, rest, streams, &cancel));
    fused.nothing_fused = !choice.fuses && !choice.would_cost;
    fused.unfused = choice.would_cost;
    fused.plan = std::move(choice.plan);
  } else {
    auto plan = plan_with_fused_ops(planning_case, rest, streams, way.fuse.names, &fused.left_alone);
    if (!plan) return in_context("--fuse", plan.error());
    fused.plan = *std::move(plan);
  }
  COHORT_CHECK(validate(fused.plan));
  return fused;
}

}  // namespace

Result<GivenPlan> plan_given_way(const PlanningCase& planning_case, const GivenWay& way, const CancelToken& cancel) {
  const Plan& base = *planning_case.base;
  if (const auto most = planning_case.catalog->most_streams(); most && way.streams > *most)
    return fail(ErrorCode::kUsage, "--streams {}: at most {}, the cores of the profiled {}", way.streams, *most,
                base.device);
  if (way.streams > 1 && way.strategy != Strategy::kConcurrent)
    return fail(ErrorCode::kUsage, "--streams {}: --strategy {} runs on one stream; give --strategy concurrent",
                way.streams, to_string(way.strategy));
  if (base.launch_threads > way.streams)
    return fail(ErrorCode::kUsage, "--launch-threads {}: at most one per stream; --streams is {}", base.launch_threads,
                way.streams);
  if (way.fuse.choice != FuseChoice::kNone && base.members.size() > 1) return fused_plan(planning_case, way, cancel);
  GivenPlan given;
  Plan plan = uniform_plan(base.members, way.strategy, way.streams);
  given.plan = base;
  given.plan.groups = std::move(plan.groups);
  given.plan.streams = plan.streams;
  COHORT_CHECK(validate(given.plan));
  return given;
}

}  // namespace cohort
