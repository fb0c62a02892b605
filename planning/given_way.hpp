#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// Which ops members compute together.
struct FuseRequest {
  FuseChoice choice = FuseChoice::kNone;
  std::vector<std::string> names;  ///< of kNamed: as given, '*' for any text
};

/// One way for all members of a model batch.
struct GivenWay {
  Strategy strategy = Strategy::kSerial;  ///< of all ops; where ops are fused kSerial or kConcurrent, of the rest
  int streams = 1;                        ///< of concurrent members
  FuseRequest fuse;
};

/// The plan of a way.
struct GivenPlan {
  Plan plan;
  bool nothing_fused = false;          ///< FuseChoice::kAuto was asked for, and no op can be fused
  std::optional<Nanoseconds> unfused;  ///< as in RunReport
  /// Ops that a name with '*' asks for and that nothing can fuse, each once.
  std::vector<std::string> left_alone = {};
};

/// The case's members as `way` says; all else is as the case's base. Nothing is fused where there is one member.
/// Errors: kUsage for more streams than the device has, or fewer than threads that launch; those of
/// plan_with_fused_ops() and choose_fusion(); kInvalidInput of validate().
Result<GivenPlan> plan_given_way(const PlanningCase& planning_case, const GivenWay& way, const CancelToken& cancel);

}  // namespace cohort
