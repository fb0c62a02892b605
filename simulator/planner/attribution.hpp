#pragma once

#include <map>
#include <optional>
#include <string>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

/// Splits the difference between a baseline and a variant by walking from one to the other:
///
///     members alone -> together, in turn -> input shared -> ops fused -> the rest concurrent -> own algorithms
///                   overlap             sharing        fusion       overlap              algorithm choice
///
/// What steps, launches and hand-offs cost the host is left out of the walk; how it differs between
/// both ends is launch removal. The parts add up to the whole.
class AttributionWalk {
 public:
  AttributionWalk(const PlanningCase& planning_case, PlanEvaluator& evaluator, VariantMaker& maker,
                  const BaselinePrediction& baseline);

  /// The times are the variant's own step time, with and without the host's part.
  Attribution explain(const Variant& variant, Nanoseconds with_overheads, Nanoseconds without_overheads);

 private:
  /// Step time of a variant with the baseline's algorithms; remembered. Absent where it does not
  /// fit: then the walk steps over it.
  std::optional<Nanoseconds> time_of(const Variant& variant);

  const PlanningCase& case_;
  PlanEvaluator& evaluator_;
  VariantMaker& maker_;
  const BaselinePrediction& baseline_;
  PreferredWays preferred_;
  std::map<std::string, std::optional<Nanoseconds>> known_;  ///< by plan's fingerprint
};

}  // namespace cohort
