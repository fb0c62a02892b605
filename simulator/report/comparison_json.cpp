#include "simulator/report/comparison_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const ComparedTask& task) {
  return {{"name", task.name},
          {"group", task.group},
          {"predicted_ns", task.predicted.count()},
          {"measured_ns", task.measured.count()},
          {"relative_error", optional_json(task.relative_error())}};
}

ordered_json to_json(const std::optional<ComparedTime>& time) {
  if (!time) return nullptr;
  return {{"predicted_ns", time->predicted.count()},
          {"measured_ns", time->measured.count()},
          {"relative_error", optional_json(time->relative_error())}};
}

}  // namespace

ordered_json to_json(const Comparison& comparison) {
  ordered_json tasks = ordered_json::array();
  for (const ComparedTask& task : comparison.tasks) tasks.push_back(to_json(task));
  ordered_json groups = ordered_json::array();
  for (const ComparedTask& group : comparison.groups) groups.push_back(to_json(group));
  return {{"predicted_speedup", optional_json(comparison.predicted_speedup)},
          {"measured_speedup", optional_json(comparison.measured_speedup)},
          {"relative_error", optional_json(comparison.relative_error)},
          {"plan", to_json(comparison.plan)},
          {"baseline", to_json(comparison.baseline)},
          {"groups", std::move(groups)},
          {"tasks", std::move(tasks)},
          {"only_predicted", comparison.only_predicted},
          {"only_measured", comparison.only_measured},
          {"different_plans", comparison.different_plans},
          {"disturbed", comparison.disturbed},
          {"wall_times", comparison.wall_times}};
}

}  // namespace cohort
