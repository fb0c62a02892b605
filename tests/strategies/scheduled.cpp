#include "tests/strategies/scheduled.hpp"

#include "simulator/schedule/stages.hpp"

namespace cohort::testing {

std::vector<Plan> scheduled_plans(const Batch& batch, int streams) {
  const Model& model = batch.loaded[0]->model;
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
  std::vector<Plan> plans;
  for (const OpSchedule& schedule :
       {stages(false), stages(true), schedule_list(graph, setting), schedule_opara(graph, setting),
        schedule_chains(graph, assign_least_syncs(graph), setting),
        schedule_chains(graph, assign_least_streams(graph), setting)}) {
    Plan& plan = plans.emplace_back(uniform_plan(batch.members, Strategy::kSerial, streams));
    plan.groups = schedule_groups(schedule, model, plan.groups[0].members, 2, "part-");
  }
  return plans;
}

}  // namespace cohort::testing
