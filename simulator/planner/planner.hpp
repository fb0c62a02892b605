#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/engine/device_profile.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/planner/objective.hpp"
#include "simulator/predict/predict.hpp"

namespace cohort {

class LearnedRatios;

/// What to plan for. All must outlive the call.
struct PlanningCase {
  /// Members, input, limits, layout, launch mode and device; its groups, streams and baselines are
  /// what is looked for. Where its input is read and shared, separate input is tried as well;
  /// where it is separate, it stays so.
  const Plan* base = nullptr;
  std::span<const Model* const> models;  ///< by member; members of equal structure may share one
  const CostTable* costs = nullptr;
  DeviceProfile device;
  const OpCatalog* catalog = nullptr;
  GpuDemands* gpu = nullptr;               ///< where the device is a GPU whose figures are known
  const LearnedRatios* learned = nullptr;  ///< from plans that were run; null: recorded costs alone count
};

/// What makes a plan faster than its baseline.
enum class GainCause {
  kSharing,          ///< input made once for all members
  kLaunchRemoval,    ///< host work around fewer, or captured, launches
  kOverlap,          ///< members, and input, side by side
  kFusion,           ///< ops of several members in one call
  kAlgorithmChoice,  ///< other algorithms or threads for the same calls
};
std::string_view to_string(GainCause cause);
inline constexpr std::size_t kGainCauses = 5;

/// Time saved per program step by cause, negative where it costs; adds up to the whole difference.
struct Attribution {
  std::array<Nanoseconds, kGainCauses> saved{};

  [[nodiscard]] Nanoseconds& of(GainCause cause) { return saved[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] Nanoseconds of(GainCause cause) const { return saved[static_cast<std::size_t>(cause)]; }
  friend bool operator==(const Attribution&, const Attribution&) = default;
};

/// Members one after another, each alone in the best single-model plan.
struct BaselinePrediction {
  Nanoseconds step_time{};          ///< one step of every member
  Nanoseconds without_overheads{};  ///< the same without the host's part
  std::vector<Baseline> baselines;  ///< as plans keep them
  std::vector<Nanoseconds> alone;   ///< by member: one step of it
};

/// The name of the candidate that is the baseline, ranked with the others.
inline constexpr std::string_view kOneAfterAnother = "one after another";

/// Where 8 of 10 measured speedups lie (simulator/planner/uncertainty.hpp).
struct SpeedupInterval {
  double low = 1;
  double high = 1;

  friend bool operator==(const SpeedupInterval&, const SpeedupInterval&) = default;
};

struct PlanCandidate {
  std::string name;  ///< "concurrent x2 + strided batch (fc1, fc2)"
  Plan plan;         ///< with baselines and `resolved`
  Prediction prediction;
  double speedup = 1;
  SpeedupInterval interval;  ///< of the speedup
  double least_gain = 1;     ///< of member_gains()
  bool explained = false;    ///< the first PlannerOptions::most_explained are
  Attribution attribution;   ///< of explained ones
  bool limited = false;      ///< its fastest ways do not fit the limits: workspace is handed out over the whole batch
  /// Of explained limited ones: the step time with each member getting the same part of the limit, as in ModelBatch's
  /// paper; absent where it does not fit that way.
  std::optional<Nanoseconds> equal_shares;
  std::string explanation;                 ///< one line: why it wins or loses
  std::shared_ptr<const Program> program;  ///< the plan lowered; of the best alone
  std::size_t planning_case = 0;           ///< of plan_best_of()
};

struct RefusedCandidate {
  std::string name;
  std::string reason;
};

/// What was not simulated, and the least step time that it could have.
struct ScreenedCandidate {
  std::string name;
  Nanoseconds bound{};
  bool cannot_win = false;  ///< the bound is no better than what was found; else there were more promising ones
};

/// A plan that no other beats in both time and memory.
struct ParetoPoint {
  std::string name;
  Plan plan;  ///< with baselines and `resolved`
  Nanoseconds step_time{};
  MemoryUse memory;
};

struct PlannerOptions {
  Objective objective = Objective::kThroughput;
  std::optional<Nanoseconds> latency_limit = std::nullopt;  ///< of Prediction::p99_latency
  /// Candidates in order of a sum over their ops. Up to the first number all are simulated, then those whose bound is
  /// below the best so far, up to the second one.
  std::size_t least_simulated = 50;
  std::size_t most_simulated = 200;
  std::size_t most_explained = 12;
  bool pareto = false;  ///< also look for what takes more time and less memory
  /// Where images are decoded: also look for other settings than the base's, with which the best plans are found first.
  bool search_decode_workers = false;
  bool search_buffers = false;
  /// On a GPU, also look for the number of host threads that launch; else as the base says.
  bool search_launch_threads = false;
  /// Of the objective: what has no chance to cost less is left out once `least_simulated` have been simulated.
  std::optional<double> cost_to_beat = std::nullopt;
  int threads = 0;  ///< that predict candidates; 0: one for each core of this machine
  const CancelToken* cancel = nullptr;
  /// Told after each candidate how many have been simulated, and of how many at most.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

/// One of several cases: its members one after another, and the best that was found for it.
struct CaseOutcome {
  std::string name;  ///< "16 members", "minibatch 16", "16 members, minibatch 16, recomputing": what cases differ in
  std::size_t members = 0;
  std::optional<std::int64_t> minibatch;   ///< of each member; absent where they differ
  Nanoseconds baseline{};                  ///< one step of every member
  double baseline_samples_per_second = 0;  ///< over all members
  std::size_t best = 0;                    ///< in PlanningResult::ranked
};

struct PlanningResult {
  BaselinePrediction baseline;  ///< of the first candidate's case
  Objective objective = Objective::kThroughput;
  std::vector<PlanCandidate> ranked;  ///< best first; never empty
  std::vector<ScreenedCandidate> screened;
  std::vector<RefusedCandidate> refused;
  std::vector<ParetoPoint> pareto;  ///< fastest first; where asked for
  std::vector<CaseOutcome> cases;   ///< of plan_best_of(), in their order: those that have a plan
  bool interrupted = false;         ///< cancelled once something had been found: more might have been
};

/// Looks for the best way to run a model batch by the objective: serial (each op on the threads that suit it, on
/// one, on all), concurrent on 2 to all cores, fused forms of the runs of ops that have them, alone
/// and together with each of the former, and what is best op by op. Every choice follows recorded
/// costs.
/// Errors: those of the cost table for an op that was not profiled; kDoesNotFit where no candidate
/// keeps the limits; kInterrupted where nothing has been found before it was cancelled.
Result<PlanningResult> plan_model_batch(const PlanningCase& planning_case, const PlannerOptions& options = {});

/// What counts as no difference between cases: runs of one plan differ by more.
inline constexpr double kAsGood = 0.02;

/// Looks for the best plan over several cases: the same members at another minibatch each, another number of them,
/// with activations kept or recomputed, or several of these. With throughput as objective candidates are ranked by
/// samples a second over all members, by other objectives as in plan_model_batch(), where the least minibatch, or one
/// member, mostly wins unless a limit or the samples a second count. The first is the one with the fewest samples a
/// step, of several the one with the fewest members, of those that are within kAsGood of the best: what saturates takes
/// more memory and time for nothing. What other cases promise rules out plans of the later ones. Where members do not
/// fit into memory, as many or more of them at their minibatch or a larger one are not looked at. Speedup and gains are
/// against the candidate's own members one after another at its own minibatch. Pareto points are those of the first
/// candidate's case. Errors: those of plan_model_batch() for the first case that was looked at, where none of them has
/// a plan.
Result<PlanningResult> plan_best_of(std::span<const PlanningCase> cases, const PlannerOptions& options = {});

/// The best single-model plans of all members, and what they take. `cancel` may be null.
Result<BaselinePrediction> predict_baseline(const PlanningCase& planning_case, const CancelToken* cancel = nullptr);

/// What a given plan does. Without `resolved` its algorithms are chosen by recorded cost, without
/// `baselines` the best ones are looked for; the plan returned has both. The trace holds wall times
/// "plan" and "baseline".
/// Errors: those of lower() and of the cost table.
struct PlanPrediction {
  Plan plan;
  PredictedRun run;
  Nanoseconds baseline{};
  double speedup = 1;
  SpeedupInterval interval;
};
Result<PlanPrediction> predict_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device);

/// "cores busy 95%"
std::string binding_text(const Prediction& prediction);

/// A ranked table for people.
std::string print(const PlanningResult& result, std::size_t most_rows = 10);

/// Time against memory, for people.
std::string print_pareto(const PlanningResult& result);

/// Why each candidate is where it is: its bounds, what binds it, where its gain comes from, what it lost to the best;
/// then what was screened out and by which bound.
std::string explain(const PlanningResult& result, std::size_t most_rows = 10);

/// How much more the best saves than a candidate, by cause, the largest difference first; adds up to the difference of
/// their step times. Both must have been explained.
struct LostGain {
  GainCause cause{};
  Nanoseconds less{};  ///< negative where the candidate saves more
};
std::vector<LostGain> lost_to(const PlanCandidate& best, const PlanCandidate& candidate);

}  // namespace cohort
