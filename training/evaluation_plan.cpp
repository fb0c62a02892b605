#include "training/evaluation_plan.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace cohort {
namespace {

/// Without the ops that the evaluation does not have.
Group kept_part(const Group& group, const std::set<std::string>& ops) {
  Group kept = group;
  kept.ops.clear();
  kept.op_streams.clear();
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    if (ops.count(group.ops[i]) == 0) continue;
    kept.ops.push_back(group.ops[i]);
    if (!group.op_streams.empty()) kept.op_streams.push_back(group.op_streams[i]);
  }
  return kept;
}

/// Nothing waits for a group that is not there.
void drop_missing_order(std::vector<Group>& groups) {
  std::set<std::string> names;
  for (const Group& group : groups) names.insert(group.name);
  for (Group& group : groups)
    std::erase_if(group.after, [&](const std::string& name) { return names.count(name) == 0; });
}

}  // namespace

Plan evaluation_plan(const Plan& training, const Model& evaluation) {
  std::set<std::string> ops;
  for (const Op& op : evaluation.ops) ops.insert(op.name);
  Plan plan = training;
  plan.groups.clear();
  plan.baselines.clear();
  plan.resolved.reset();
  plan.limits = {};
  std::set<std::string> grouped;
  bool takes_rest = false;
  for (const Group& group : training.groups) {
    Group kept = kept_part(group, ops);
    if (!group.ops.empty() && kept.ops.empty()) continue;
    takes_rest |= group.ops.empty();
    grouped.insert(kept.ops.begin(), kept.ops.end());
    plan.groups.push_back(std::move(kept));
  }
  drop_missing_order(plan.groups);
  const bool all = std::includes(grouped.begin(), grouped.end(), ops.begin(), ops.end());
  if (!takes_rest && !all) {
    Group rest = plain_evaluation_plan(training).groups.front();
    rest.name = "evaluation";
    plan.groups.push_back(std::move(rest));
  }
  return plan;
}

Plan plain_evaluation_plan(const Plan& training) {
  Plan plan = uniform_plan(training.members, training.streams > 1 ? Strategy::kConcurrent : Strategy::kSerial,
                           training.streams);
  plan.device = training.device;
  plan.layout = training.layout;
  return plan;
}

}  // namespace cohort
