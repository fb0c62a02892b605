#include "simulator/planner/input_settings.hpp"

namespace cohort {
namespace {

constexpr int kMostBuffers = 4;  // minibatches in flight; a steady pipeline gains nothing from more

/// That can decode: as many as the base's workers on a GPU's host, whose own cores run no ops.
int host_cores(const PlanningCase& planning_case) {
  return planning_case.gpu == nullptr ? planning_case.device.cores : planning_case.base->input.decode_workers;
}

}  // namespace

std::vector<InputSetting> input_settings(const PlanningCase& planning_case, const PlannerOptions& options) {
  const InputSetting base = input_setting(*planning_case.base);
  std::vector<InputSetting> settings{base};
  if (planning_case.base->input.source != InputSource::kFolder) return settings;
  std::vector<int> all_workers{base.decode_workers};
  if (options.search_decode_workers) {
    all_workers.clear();
    for (int workers = 1; workers < host_cores(planning_case); workers *= 2) all_workers.push_back(workers);
    all_workers.push_back(host_cores(planning_case));
  }
  const int least_buffers = options.search_buffers ? 1 : base.buffers;
  const int most_buffers = options.search_buffers ? kMostBuffers : base.buffers;
  for (const int workers : all_workers) {
    for (int buffers = least_buffers; buffers <= most_buffers; ++buffers) {
      if (const InputSetting setting{workers, buffers}; setting != base) settings.push_back(setting);
    }
  }
  return settings;
}

std::vector<InputSetting> changed_input_settings(const InputSetting& setting, const PlanningCase& planning_case,
                                                 const PlannerOptions& options) {
  std::vector<InputSetting> changed = input_settings(planning_case, options);
  std::erase_if(changed, [&](const InputSetting& other) {
    const bool same_workers = other.decode_workers == setting.decode_workers;
    const bool same_buffers = other.buffers == setting.buffers;
    return same_workers == same_buffers;
  });
  return changed;
}

Result<BaselinePrediction> best_baseline(const PlanningCase& planning_case, const PlannerOptions& options) {
  COHORT_TRY(BaselinePrediction best, predict_baseline(planning_case, options.cancel));
  for (const InputSetting& setting : input_settings(planning_case, options)) {
    Plan base = *planning_case.base;
    if (setting == input_setting(base)) continue;
    set_input_setting(setting, base);
    PlanningCase own = planning_case;
    own.base = &base;
    auto other = predict_baseline(own, options.cancel);
    if (other && other->step_time < best.step_time) best = *std::move(other);
  }
  return best;
}

}  // namespace cohort
