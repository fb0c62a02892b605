#include "simulator/report/prediction_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const BatchMemory& memory) {
  const auto bytes = [](const std::optional<Bytes>& value) {
    return value ? ordered_json(value->value) : ordered_json();
  };
  ordered_json json = {
      {"weights_bytes", bytes(memory.weights)},     {"activations_bytes", bytes(memory.activations)},
      {"workspace_bytes", bytes(memory.workspace)}, {"activations_and_workspace_bytes", bytes(memory.step)},
      {"input_bytes", bytes(memory.input)},         {"total_bytes", bytes(memory.total())},
      {"device_bytes", bytes(memory.device)},       {"unknown", memory.unknown}};
  if (memory.optimizer) json["optimizer_bytes"] = bytes(memory.optimizer);
  if (memory.gradients) json["gradients_bytes"] = bytes(memory.gradients);
  return json;
}

/// The causes that every gain may have, whether or not this one has, and others that it has.
ordered_json to_json(const std::vector<GainPart>& gain) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < kGainCauses; ++i) json[key_of(to_string(static_cast<GainCause>(i))) + "_ns"] = 0;
  for (const GainPart& part : gain) json[key_of(part.cause) + "_ns"] = part.gain.count();
  return json;
}

void add_facts(const RunFacts& facts, ordered_json& json) {
  ordered_json parts = ordered_json::object();
  for (const PathPart& part : facts.parts) parts[key_of(part.what) + "_ns"] = part.time.count();
  ordered_json path = ordered_json::array();
  for (const PathStep& step : facts.path) {
    path.push_back({{"task", step.name},
                    {"kind", to_string(step.kind)},
                    {"on", step.resource},
                    {"member", step.member},
                    {"start_ns", step.start.count()},
                    {"own_ns", step.own.count()},
                    {"wait_ns", step.wait.count()},
                    {"held_ns", step.held.count()}});
  }
  ordered_json tasks = ordered_json::array();
  for (const NamedTasks& task : facts.tasks) {
    tasks.push_back({{"task", task.name},
                     {"kind", to_string(task.kind)},
                     {"count", task.count},
                     {"time_ns", task.time.count()},
                     {"on_critical_path_ns", task.on_path.count()},
                     {"least_slack_ns", task.slack.count()}});
  }
  const auto part = [](const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(); };
  json["device_busy"] = facts.device_busy;
  json["sm_busy"] = part(facts.sm_busy);
  json["cores_busy"] = part(facts.cores_busy);
  json["critical_path_steps"] = facts.steps;
  json["critical_path_parts"] = std::move(parts);
  json["critical_path"] = std::move(path);
  json["tasks"] = std::move(tasks);
}

ordered_json to_json(const WorkspaceRules& rules) {
  const auto way = [](const WorkspaceRules::Way& each) {
    return ordered_json{{"predicted_ns", each.step_time.count()}, {"workspace_bytes", each.workspace.value}};
  };
  return {{"limit_bytes", rules.limit.value},
          {"whole_batch", way(rules.whole_batch)},
          {"equal_shares", rules.equal_shares ? way(*rules.equal_shares) : ordered_json()},
          {"equal_shares_refused", rules.refused},
          {"unlimited", way(rules.unlimited)}};
}

}  // namespace

std::string key_of(std::string_view words) {
  std::string key(words);
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

ordered_json to_json(const RunReport& report) {
  ordered_json because = ordered_json::array();
  for (const Doubt& doubt : report.doubts) because.push_back({{"grave", doubt.grave}, {"why", doubt.why}});
  ordered_json json = {{"members", report.members},
                       {"baseline_ns", report.baseline.count()},
                       {"predicted_ns", report.step_time.count()},
                       {"predicted_speedup", report.speedup},
                       {"lower_bound_ns", report.lower_bound.count()},
                       {"upper_bound_ns", report.upper_bound.count()},
                       {"without_contention_ns", report.without_contention.count()},
                       {"kernels_in_turn_ns", report.kernels_in_turn.count()},
                       {"binding", report.binding.resource},
                       {"binding_utilisation", report.binding.utilisation},
                       {"gain", to_json(report.gain)},
                       {"memory", to_json(report.memory)},
                       {"confidence", to_string(report.confidence())},
                       {"because", std::move(because)}};
  if (report.unfused) json["fusing_would_cost_ns"] = report.unfused->count();
  add_facts(report.facts, json);
  return json;
}

ordered_json to_json(const PlanReport& report) {
  ordered_json json = to_json(static_cast<const RunReport&>(report));
  json["samples_per_second"] = report.samples_per_second;
  if (report.workspace) json["workspace_rules"] = to_json(*report.workspace);
  return json;
}

ordered_json to_json(const WhatIfPrediction& prediction) {
  ordered_json json = to_json(static_cast<const RunReport&>(prediction));
  json["traced_step_ns"] = prediction.single.count();
  json["steps_per_second"] = prediction.steps_per_second;
  json["longest_path_ns"] = prediction.longest_path.count();
  json["device_time_ns"] = prediction.device_time.count();
  ordered_json& changes = json["changes"] = ordered_json::array();
  for (const auto& [what, change] : prediction.changes) {
    changes.push_back({{"what", what},
                       {"tasks_added", change.tasks_added},
                       {"tasks_removed", change.tasks_removed},
                       {"tasks_changed", change.tasks_changed},
                       {"edges_added", change.edges_added},
                       {"edges_removed", change.edges_removed}});
  }
  if (prediction.minibatch) {
    json["minibatch"] = {{"recorded", prediction.minibatch->recorded},
                         {"wanted", prediction.minibatch->wanted},
                         {"traced_step_ns", prediction.minibatch->traced.count()},
                         {"samples_per_second_ratio", prediction.minibatch->more_samples}};
  }
  return json;
}

}  // namespace cohort
