#include "simulator/planner/plan_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "simulator/planner/attribution.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/plan_prediction.hpp"
#include "simulator/planner/uncertainty.hpp"

namespace cohort {
namespace {

using namespace std::chrono_literals;

BatchMemory memory_of(const MemoryUse& use, const PlanningCase& planning_case, const DeviceInfo& device) {
  BatchMemory memory;
  memory.weights = use.weights + use.parameters + use.optimizer;
  if (use.parameters.value > 0) {
    memory.optimizer = use.optimizer;
    memory.gradients = use.gradients;
  }
  memory.activations = use.activations;
  memory.workspace = use.workspace;
  memory.step = use.activations + use.workspace;
  memory.input = use.input;
  if (device.memory.value > 0) memory.device = device.memory;
  if (planning_case.gpu != nullptr) memory.device = planning_case.gpu->profile().memory;
  return memory;
}

void add_doubts(const PlanningCase& planning_case, const Prediction& prediction, const DeviceInfo& device,
                PlanReport& report) {
  const auto say = [&](bool holds, bool grave, std::string why) {
    if (holds) report.doubts.push_back({grave, std::move(why)});
  };
  const bool on_gpu = planning_case.gpu != nullptr;
  const std::size_t analytic = prediction.steps(CostOrigin::kAnalytic);
  const std::size_t interpolated = prediction.steps(CostOrigin::kInterpolated);
  std::size_t all = 0;
  for (const std::size_t count : prediction.origins) all += count;
  constexpr std::size_t kFew = 20;  // one op in so many leaves a prediction as it is
  say(analytic > 0, analytic * kFew > all,
      fmt::format("{} fused ops were never recorded: {}", analytic,
                  on_gpu ? "their members' parts are taken to run side by side, as far as they leave room"
                         : "width times the single op"));
  const CostTable& costs = *planning_case.costs;
  say(!costs.estimated_from().empty(), true,
      fmt::format("ops were not timed: the profile has {}, divided among them by what they compute",
                  costs.estimated_from()));
  say(!costs.lacking().empty(), false, fmt::format("the profile did not time: {}", costs.lacking()));
  say(costs.unexplained() > kMostUnexplained, true,
      fmt::format("the profile does not add up: a whole step and its ops differ by {:.0f}%; profile again on a quiet "
                  "machine",
                  100 * costs.unexplained()));
  constexpr double kUnsteady = 3 * kMostVariation;
  say(costs.variation() > kMostVariation, costs.variation() > kUnsteady,
      fmt::format("whole steps varied by {:.0f}% while they were profiled: the machine was busy, or shares its cores",
                  100 * costs.variation()));
  const auto& trip = costs.round_trip();
  if (trip && trip->varied())
    say(true, false,
        fmt::format("cores were moved while they were profiled: a round trip between two took {} to {}",
                    format_time(trip->usual), format_time(trip->longest)));
  say(interpolated > 0, false, fmt::format("{} ops are between recorded widths or sizes", interpolated));
  say(device.kind == "cuda" && !on_gpu, true,
      fmt::format("no figures of device \"{}\": streams do not slow each other, launches cost nothing", device.name));
  if (on_gpu) report.doubt_contention("what calls use of pipes and memory is taken from their shapes");
  constexpr Nanoseconds kShort = 100us;
  say(!on_gpu && report.step_time < kShort, false,
      "a step under 100 us varies from run to run by more than a prediction can follow");
  report.doubt_memory();
  report.sort_doubts();
}

Result<WorkspaceRules> compare_rules(const PlanningCase& planning_case, PlanEvaluator& evaluator,
                                     const PlanReport& report) {
  const auto way_of = [](const Prediction& prediction) {
    return WorkspaceRules::Way{prediction.step_time, prediction.memory.workspace};
  };
  WorkspaceRules rules;
  rules.limit = *report.plan.limits.workspace;
  rules.whole_batch = {report.step_time, report.memory.workspace.value_or(Bytes{})};
  Plan plan = report.plan;
  plan.resolved.reset();
  Plan free = plan;
  free.limits.workspace.reset();
  COHORT_TRY(const Evaluation unlimited, evaluator.evaluate(free, planning_case.models));
  rules.unlimited = way_of(unlimited.prediction);
  const Result<Prediction> shares = evaluator.with_equal_shares(plan, planning_case.models);
  if (shares) {
    rules.equal_shares = way_of(*shares);
  } else {
    rules.refused = shares.error().message;
  }
  return rules;
}

}  // namespace

class PlanReporter::Work {
 public:
  Work(const PlanningCase& planning_case, DeviceInfo device)
      : case_(planning_case), device_(std::move(device)), evaluator_(case_) {}

  Result<PlanReport> report(const Plan& plan, const CancelToken* cancel, const PlanCandidate* ranked = nullptr) {
    case_.base = &plan;
    COHORT_CHECK(check_case(case_));
    evaluator_.set_cancel(cancel);
    auto report = made(plan, ranked);
    evaluator_.set_cancel(nullptr);
    case_.base = nullptr;
    // A walk that was cut short remembers points that could not be.
    if (cancel != nullptr && cancel->cancelled()) {
      known_.clear();
      COHORT_CHECK(cancel->check());
    }
    return report;
  }

  /// What plans with the same baselines are held against from now on.
  void know(const Plan& plan, const BaselinePrediction& baseline) {
    auto made = std::make_unique<KnownBaseline>(case_, plan);
    made->baseline = baseline;
    add(plan, std::move(made));
  }

 private:
  /// What members take one after another, and the ways from there to plans of them.
  struct KnownBaseline {
    KnownBaseline(const PlanningCase& planning_case, const Plan& plan) : base(plan), own(planning_case) {
      own.base = &base;
    }
    Plan base;
    PlanningCase own;
    BaselinePrediction baseline;
    WalkPoints points;
    std::optional<GainWalk> walk;
  };

  /// `ranked`: what a search has found of the plan; may be null.
  Result<PlanReport> made(const Plan& plan, const PlanCandidate* ranked) {
    std::shared_ptr<const Program> program = ranked == nullptr ? nullptr : ranked->program;
    if (program == nullptr) {
      COHORT_TRY(LoweredPlan lowered, evaluator_.lowered(plan, case_.models));
      program = std::make_shared<const Program>(std::move(lowered.program));
    }
    COHORT_TRY(KnownBaseline* const known, baseline_of(plan));
    Plan with_baselines = plan;
    with_baselines.baselines = known->baseline.baselines;
    COHORT_TRY(PlanPrediction predicted, predict_lowered(evaluator_, case_, std::move(with_baselines), *program,
                                                         known->baseline.step_time, device_));
    const Prediction& prediction = predicted.run.prediction;
    PlanReport report = numbers_of(predicted);
    Attribution gain;
    if (ranked != nullptr && ranked->explained) {
      gain = ranked->attribution;
    } else {
      COHORT_TRY(const Nanoseconds bare, evaluator_.without_overheads(predicted.plan, *program));
      gain = known->walk->explain(predicted.plan, prediction.step_time, bare);
    }
    for (std::size_t i = 0; i < kGainCauses; ++i) {
      if (gain.saved[i] == Nanoseconds(0)) continue;
      report.gain.push_back({std::string(to_string(static_cast<GainCause>(i))), gain.saved[i]});
    }
    COHORT_TRY(const ContentionBracket bracket,
               contention_bracket(evaluator_.prediction_case(predicted.plan, *program), prediction));
    report.without_contention = bracket.without;
    report.kernels_in_turn = bracket.in_turn;
    add_doubts(case_, prediction, device_, report);
    report.facts = std::move(predicted.run.facts);
    report.plan = std::move(predicted.plan);
    if (report.plan.limits.workspace) {
      COHORT_TRY(report.workspace, compare_rules(case_, evaluator_, report));
    }
    report.trace = std::move(predicted.run.trace);
    return report;
  }

  PlanReport numbers_of(const PlanPrediction& predicted) const {
    const Prediction& prediction = predicted.run.prediction;
    PlanReport report;
    report.members = predicted.plan.members.size();
    report.baseline = predicted.baseline;
    report.step_time = prediction.step_time;
    report.speedup = predicted.speedup;
    report.interval = predicted.interval;
    report.samples_per_second = prediction.samples_per_second;
    report.p99_latency = prediction.p99_latency;
    report.lower_bound = prediction.lower_bound;
    report.upper_bound = prediction.upper_bound;
    report.binding = prediction.binding;
    report.memory = memory_of(prediction.memory, case_, device_);
    return report;
  }

  /// What the baseline of a plan depends on: what members read, and how each runs alone.
  static std::string key_of(const Plan& plan) {
    Plan key = plan;
    key.groups.clear();
    key.streams = key.launch_threads = 1;
    key.limits.memory.reset();
    key.resolved.reset();
    return write_plan(key);
  }

  KnownBaseline* add(const Plan& plan, std::unique_ptr<KnownBaseline> made) {
    constexpr std::size_t kMostKnown = 64;
    if (known_.size() > kMostKnown) known_.clear();
    made->walk.emplace(made->own, evaluator_, made->baseline, made->points);
    return (known_[key_of(plan)] = std::move(made)).get();
  }

  /// Of the plan's own baselines, or the best that are found.
  Result<KnownBaseline*> baseline_of(const Plan& plan) {
    if (const auto known = known_.find(key_of(plan)); known != known_.end()) return known->second.get();
    auto made = std::make_unique<KnownBaseline>(case_, plan);
    BaselinePrediction& baseline = made->baseline;
    if (plan.baselines.empty()) {
      COHORT_TRY(baseline, predict_baseline(case_, evaluator_.cancel()));
      made->base.baselines = baseline.baselines;
    } else {
      COHORT_TRY(const BaselineTimes times, baseline_times(evaluator_, case_, plan));
      baseline.step_time = times.step_time;
      baseline.without_overheads = times.without_overheads;
      baseline.baselines = plan.baselines;
    }
    return add(plan, std::move(made));
  }

  PlanningCase case_;  ///< its base is that of the report being made
  DeviceInfo device_;
  PlanEvaluator evaluator_;
  std::map<std::string, std::unique_ptr<KnownBaseline>> known_;  ///< by what of a plan it depends on
};

PlanReporter::PlanReporter(const PlanningCase& planning_case, DeviceInfo device)
    : work_(std::make_unique<Work>(planning_case, std::move(device))) {}
PlanReporter::~PlanReporter() = default;

Result<PlanReport> PlanReporter::report(const Plan& plan, const CancelToken* cancel) {
  return work_->report(plan, cancel);
}

Result<PlanReport> report_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device) {
  return PlanReporter(planning_case, device).report(plan);
}

Result<PlanReport> PlanReporter::report(const PlanningResult& result, std::size_t rank) {
  const PlanCandidate& candidate = result.ranked[rank];
  const bool same_case = candidate.planning_case == result.ranked.front().planning_case;
  if (same_case && candidate.plan.baselines == result.baseline.baselines) work_->know(candidate.plan, result.baseline);
  return work_->report(candidate.plan, nullptr, &candidate);
}

Result<PlanReport> report_ranked(const PlanningCase& planning_case, const PlanningResult& result, std::size_t rank,
                                 const DeviceInfo& device) {
  return PlanReporter(planning_case, device).report(result, rank);
}

}  // namespace cohort
