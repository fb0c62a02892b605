#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/cost_table.hpp"
#include "simulator/device_profile.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/predict.hpp"

namespace cohort {

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
};

struct PlanCandidate {
  std::string name;  ///< "concurrent x2 + strided batch (fc1, fc2)"
  Plan plan;         ///< with baselines and `resolved`
  Prediction prediction;
  double speedup = 1;
  Attribution attribution;  ///< of the first PlannerOptions::most_explained only
  std::string explanation;  ///< one line: why it wins or loses
};

struct RefusedCandidate {
  std::string name;
  std::string reason;
};

struct PlannerOptions {
  std::size_t most_simulated = 80;  ///< candidates; the rest is judged by a sum over its ops
  std::size_t most_explained = 12;
  const CancelToken* cancel = nullptr;
};

struct PlanningResult {
  BaselinePrediction baseline;
  std::vector<PlanCandidate> ranked;  ///< fastest first; never empty
  std::vector<RefusedCandidate> refused;
};

/// Looks for the fastest way to run a model batch: serial (each op on the threads that suit it, on
/// one, on all), concurrent on 2 to all cores, fused forms of the runs of ops that have them, alone
/// and together with each of the former, and what is best op by op. Every choice follows recorded
/// costs.
/// Errors: those of the cost table for an op that was not profiled; kDoesNotFit where no candidate
/// keeps the limits; kInterrupted.
Result<PlanningResult> plan_model_batch(const PlanningCase& planning_case, const PlannerOptions& options = {});

/// The best single-model plans of all members, and what they take.
Result<BaselinePrediction> predict_baseline(const PlanningCase& planning_case);

/// What a given plan does. Without `resolved` its algorithms are chosen by recorded cost, without
/// `baselines` the best ones are looked for; the plan returned has both. The trace holds wall times
/// "plan" and "baseline".
/// Errors: those of lower() and of the cost table.
struct PlanPrediction {
  Plan plan;
  PredictedRun run;
  Nanoseconds baseline{};
  double speedup = 1;
};
Result<PlanPrediction> predict_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device);

/// A ranked table for people.
std::string print(const PlanningResult& result, std::size_t most_rows = 10);

}  // namespace cohort
