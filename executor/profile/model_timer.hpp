#pragma once

#include <optional>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/profile.hpp"
#include "executor/profile/time_budget.hpp"
#include "models/model.hpp"
#include "simulator/plan/lower.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Wall time of the whole model, with and without the sink of measured runs in turn, so that drift meets both alike.
class ModelTimer {
 public:
  /// All must outlive this.
  ModelTimer(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options, const CancelToken& cancel)
      : backend_(backend), loaded_(loaded), options_(options), cancel_(cancel) {}

  /// Some more samples of both, in the ways that `choose` picks; no more once they are enough. Errors: those of lower()
  /// and of the device; kInterrupted.
  Result<void> pass(const ChooseAlternative& choose, const std::optional<TimeBudget>& budget = {});
  /// Samples of each so far.
  [[nodiscard]] std::size_t count() const { return untraced_.samples.size(); }
  /// Forgets all but the first `kept` of each.
  void forget(std::size_t kept = 0);
  /// Whether no more samples than there are should be taken: a step takes long, and the budget is spent.
  [[nodiscard]] bool is_enough(const TimeBudget& budget) const;
  /// By how much the sink seems to change a step, in parts of it: more than a sink can, where the machine was
  /// disturbed.
  [[nodiscard]] double perturbation() const;

  void write(Trace& trace) &&;

 private:
  Backend& backend_;
  const LoadedModel& loaded_;
  const ProfileOptions& options_;
  const CancelToken& cancel_;
  WallTimes untraced_{std::string(kWallUntraced), {}, 0};
  WallTimes traced_{std::string(kWallTraced), {}, 0};
};

}  // namespace cohort
