#include "simulator/planner/learned_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cohort {
namespace {

/// A measurement further from what costs say was of something else.
constexpr double kMostRatio = 4;
/// How fast plans that are less alike learn less: at a distance of 1, as of twice the members, half.
constexpr double kFade = 0.7;
/// What a ratio of 1 weighs beside what was learned, so that a distant likeness changes little.
constexpr double kDoubt = 0.15;

constexpr double kOtherSharing = 0.5;
constexpr double kOtherLaunch = 1;
/// From other ops fused to all of them.
constexpr double kOtherStrategies = 2;

bool learns_from(const Plan& plan) { return plan.input.source != InputSource::kFolder; }

/// Members that compute each by itself take as long with shared as with separate input where none is read. Ops that are
/// fused may not: their calls differ.
InputSharing sharing_of(const Plan& plan) {
  const bool is_apart = std::all_of(plan.groups.begin(), plan.groups.end(), [](const Group& group) {
    return group.strategy == Strategy::kSerial || group.strategy == Strategy::kConcurrent;
  });
  return is_apart && plan.input.source == InputSource::kGenerated ? InputSharing::kSeparate : plan.input.sharing;
}

/// What of a plan decides how long it takes, where its algorithms are chosen by cost.
std::string bare_text(Plan plan) {
  plan.input.sharing = sharing_of(plan);
  plan.resolved.reset();
  plan.baselines.clear();
  plan.limits = Limits{};
  return write_plan(plan);
}

/// The ratio of ops with which a step is predicted as measured, from what it is predicted to take with a ratio of 1,
/// and with measured over predicted: the host's part does not grow with its ops.
double ratio_for(Nanoseconds measured, Nanoseconds with_one, Nanoseconds with_quotient) {
  const double wanted = seconds(measured) / seconds(with_one) - 1;
  const double changed = seconds(with_quotient) / seconds(with_one) - 1;
  const bool follows = std::abs(changed) > std::abs(wanted) / kMostRatio && (changed > 0) == (wanted > 0);
  if (!follows) return 1 + wanted;
  // Where the host's part alone takes longer than was measured, no ratio leads there.
  return std::max(1 + wanted * wanted / changed, 1 / kMostRatio);
}

}  // namespace

Result<LearnedRatios> LearnedRatios::from(const PlanningCase& planning_case, std::span<const CheckedPlan> checked) {
  LearnedRatios ratios;
  std::map<ModelSource, const Model*> models;
  for (std::size_t i = 0; i < planning_case.models.size(); ++i) {
    const Model* const model = planning_case.models[i];
    models.emplace(planning_case.base->members[i].source, model);
    ratios.ops_.emplace(planning_case.base->members[i].source, model->ops.size());
  }
  for (const CheckedPlan& each : checked) {
    if (!learns_from(each.plan)) continue;
    const auto is_here = [&](const Member& member) { return models.contains(member.source); };
    if (!std::all_of(each.plan.members.begin(), each.plan.members.end(), is_here)) continue;
    std::vector<const Model*> of_members;
    for (const Member& member : each.plan.members) of_members.push_back(models.at(member.source));
    PlanningCase own = planning_case;
    own.base = &each.plan;
    own.models = of_members;
    own.learned = nullptr;
    COHORT_TRY(const PlanPrediction first, predict_plan(own, each.plan, DeviceInfo{}));
    const Plan in_turn = in_turn_plan(first.plan);
    const double step_ratio = seconds(each.step) / seconds(first.run.prediction.step_time);
    const double baseline_ratio = seconds(each.baseline) / seconds(first.baseline);
    LearnedRatios trial;
    trial.ops_ = ratios.ops_;
    trial.add(each.plan, step_ratio);
    trial.add(in_turn, baseline_ratio);
    own.learned = &trial;
    COHORT_TRY(const PlanPrediction second, predict_plan(own, first.plan, DeviceInfo{}));
    ratios.add(each.plan, ratio_for(each.step, first.run.prediction.step_time, second.run.prediction.step_time));
    ratios.add(in_turn, ratio_for(each.baseline, first.baseline, second.baseline));
  }
  return ratios;
}

void LearnedRatios::add(const Plan& plan, double ratio) {
  if (!(ratio > 0)) return;
  ratio = std::clamp(ratio, 1 / kMostRatio, kMostRatio);
  Known known{features_of(plan), bare_text(plan), std::log(ratio)};
  // Plans that were checked together share one measurement of their members one after another.
  const auto same = [&](const Known& other) { return other.text == known.text && other.log_ratio == known.log_ratio; };
  if (std::any_of(known_.begin(), known_.end(), same)) return;
  known_.push_back(std::move(known));
  least_ = std::min(least_, ratio);
}

LearnedRatios::Features LearnedRatios::features_of(const Plan& plan) const {
  Features features;
  for (const Member& member : plan.members) ++features.members[member.source];
  features.log_members = std::log2(static_cast<double>(plan.members.size()));
  features.log_streams = std::log2(static_cast<double>(plan.streams));
  features.launch_threads = plan.launch_threads;
  features.graph = plan.launch == LaunchMode::kGraph;
  features.shared_input = sharing_of(plan) == InputSharing::kShared;
  double all = 0;
  std::vector<double> left(plan.members.size());  // ops that no group has named yet
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const auto found = ops_.find(plan.members[i].source);
    left[i] = found == ops_.end() ? 1 : static_cast<double>(found->second);
    all += left[i];
  }
  const auto part_of = [&](Strategy strategy) -> double& {
    return features.by_strategy[static_cast<std::size_t>(strategy)];
  };
  for (const Group& group : plan.groups) {
    for (const std::uint32_t member : group.members) {
      const auto named = static_cast<double>(group.ops.size());
      part_of(group.strategy) += named;
      left[member] -= named;
    }
  }
  for (const Group& group : plan.groups) {
    if (!group.ops.empty()) continue;
    for (const std::uint32_t member : group.members) part_of(group.strategy) += std::max(0.0, left[member]);
  }
  for (double& part : features.by_strategy) part /= std::max(1.0, all);
  return features;
}

double LearnedRatios::distance(const Features& a, const Features& b) {
  double sum = std::abs(a.log_members - b.log_members) + std::abs(a.log_streams - b.log_streams);
  for (std::size_t i = 0; i < a.by_strategy.size(); ++i)
    sum += kOtherStrategies / 2 * std::abs(a.by_strategy[i] - b.by_strategy[i]);
  if (a.shared_input != b.shared_input) sum += kOtherSharing;
  if (a.graph != b.graph || a.launch_threads != b.launch_threads) sum += kOtherLaunch;
  return sum;
}

bool LearnedRatios::was_run(const Plan& plan) const {
  if (known_.empty()) return false;
  const std::string text = bare_text(plan);
  return std::any_of(known_.begin(), known_.end(), [&](const Known& known) { return known.text == text; });
}

double LearnedRatios::of(const Plan& plan) const {
  if (known_.empty() || !learns_from(plan)) return 1;
  const Features features = features_of(plan);
  const auto same_models = [&](const Known& known) {
    return std::equal(known.features.members.begin(), known.features.members.end(), features.members.begin(),
                      features.members.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  };
  const std::string text = bare_text(plan);
  double weights = kDoubt;
  double sum = 0;
  double run_sum = 0;
  int runs = 0;
  for (const Known& known : known_) {
    if (!same_models(known)) continue;
    if (known.text == text) {
      run_sum += known.log_ratio;
      ++runs;
    }
    const double weight = std::exp(-kFade * distance(features, known.features));
    weights += weight;
    sum += weight * known.log_ratio;
  }
  return std::exp(runs > 0 ? run_sum / runs : sum / weights);
}

}  // namespace cohort
