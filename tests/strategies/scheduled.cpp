#include "tests/strategies/scheduled.hpp"

#include "simulator/plan/fuse.hpp"
#include "simulator/schedule/op_schedule.hpp"
#include "simulator/schedule/stages.hpp"

namespace cohort::testing {
namespace {

std::vector<OpSchedule> schedules_of(const Model& model, int streams) {
  OpGraph graph = op_graph(model);
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const Nanoseconds time(1000 + graph.demand[op].value / 10);
    graph.times[op] = {time, time * 11 / 10, std::nullopt};
    if (op % 8 == 0) graph.times[op].wide = time * 6 / 10;
  }
  const StreamSetting setting{static_cast<std::uint32_t>(streams), Nanoseconds(2000)};
  const auto stages = [&](bool barriers) {
    StageOptions options;
    options.barriers = barriers;
    return schedule_stages(graph, setting, core_stage_cost(graph, setting), options).schedule;
  };
  return {stages(false),
          stages(true),
          schedule_list(graph, setting),
          schedule_opara(graph, setting),
          schedule_chains(graph, assign_least_syncs(graph), setting),
          schedule_chains(graph, assign_least_streams(graph), setting)};
}

/// By op: how members compute convolutions and products together.
std::vector<std::optional<Strategy>> fused_ops(const Batch& batch) {
  const Model& model = batch.loaded[0]->model;
  std::vector<std::optional<Strategy>> fused;
  for (const Op& op : model.ops) {
    const bool convolution = std::holds_alternative<Convolution>(op.attributes);
    const Strategy strategy = convolution ? Strategy::kGroupedConvolution : Strategy::kStridedBatch;
    const bool meant = convolution || std::holds_alternative<Gemm>(op.attributes);
    const bool can = meant && fuse(model, op, strategy, static_cast<int>(batch.members.size()), false);
    fused.push_back(can ? std::optional(strategy) : std::nullopt);
  }
  return fused;
}

Plan plan_of(const Batch& batch, const OpSchedule& schedule, int streams, ScheduleGroupOptions options) {
  Plan plan = uniform_plan(batch.members, Strategy::kSerial, streams);
  options.cores = 2;
  options.prefix = "part-";
  plan.groups = schedule_groups(schedule, batch.loaded[0]->model, plan.groups[0].members, options);
  return plan;
}

}  // namespace

std::vector<Plan> scheduled_plans(const Batch& batch, int streams) {
  std::vector<Plan> plans;
  for (const OpSchedule& schedule : schedules_of(batch.loaded[0]->model, streams))
    plans.push_back(plan_of(batch, schedule, streams, {}));
  return plans;
}

std::vector<Plan> fused_scheduled_plans(const Batch& batch, int streams) {
  std::vector<Plan> plans;
  for (const OpSchedule& schedule : schedules_of(batch.loaded[0]->model, streams)) {
    if (!schedule.barriers) plans.push_back(plan_of(batch, schedule, streams, {.fused = fused_ops(batch)}));
  }
  return plans;
}

}  // namespace cohort::testing
