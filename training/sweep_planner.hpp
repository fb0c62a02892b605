#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/program.hpp"
#include "training/network.hpp"

namespace cohort {

/// A number of members that a model batch could have, with the fastest plan for it.
struct WeighedSize {
  std::size_t members = 0;
  bool recomputes = false;  ///< cheap activations, where that takes less memory
  Nanoseconds step_time{};  ///< of the model batch
  Bytes memory;             ///< likewise

  /// A step of so many members in model batches of this size.
  [[nodiscard]] double step_of(std::size_t all) const {
    return static_cast<double>(step_time.count()) * static_cast<double>(all) / static_cast<double>(members);
  }
};

/// What a planned model batch is predicted to take.
struct PlanForecast {
  std::string name;  ///< "concurrent x2 + strided batch (fc1, fc2)"
  Nanoseconds step_time{};
  Nanoseconds one_by_one{};  ///< a step of each member, one after another
  MemoryUse memory;
  std::size_t divided = 0;           ///< members that there were to divide
  std::vector<WeighedSize> weighed;  ///< the sizes that fit the limits, this one among them, by members
};

/// How some members of one network train together.
struct PlannedBatch {
  Plan plan;                             ///< with so many members
  std::optional<PlanForecast> forecast;  ///< where there is a profile of the network
};

struct SweepPlannerOptions {
  std::vector<std::filesystem::path> profiles;  ///< of training steps (cohort profile MODEL --train OPTIMIZER)
  Limits limits;
  InputSharing sharing = InputSharing::kShared;
  std::optional<std::int64_t> most_together;
  const CancelToken* cancel = nullptr;
};

/// Divides members of a network into model batches. With a profile of its training step: of the sizes 1, 2, 4, ... and
/// all that fit the limits, the one with which an epoch is predicted to take least, of several within kAsGood of it the
/// largest, each with its fastest plan. Without: all together, members side by side on the device's cores.
class SweepPlanner {
 public:
  /// `device` must outlive this. Errors: kInvalidInput naming a file that is no profile of a training step on this
  /// device.
  static Result<SweepPlanner> open(const DeviceInfo& device, SweepPlannerOptions options);

  /// A profile that was made since. Errors: as above.
  Result<void> add_profile(const std::filesystem::path& file);
  [[nodiscard]] bool has_profile(const ModelSource& source) const { return profiles_.contains(source); }

  /// Those of the model batches that a resumed sweep goes on with.
  void set_limits(const Limits& limits) { options_.limits = limits; }
  /// Null: planning is not interrupted any more.
  void set_cancel(const CancelToken* cancel) { options_.cancel = cancel; }

  /// Errors: kDoesNotFit where not even one member fits the limits; kInterrupted.
  Result<std::vector<PlannedBatch>> plan(const TrainedNetwork& network, std::size_t members);

 private:
  SweepPlanner(const DeviceInfo& device, SweepPlannerOptions options)
      : device_(&device), options_(std::move(options)) {}
  [[nodiscard]] PlannedBatch usual(const ModelSource& source, std::size_t members) const;
  Result<PlannedBatch> planned(const ModelSource& source, std::size_t members);

  const DeviceInfo* device_;
  SweepPlannerOptions options_;
  std::map<ModelSource, std::filesystem::path> profiles_;
  std::map<std::pair<ModelSource, std::size_t>, PlannedBatch> known_;  ///< by source and members to divide
};

/// The command line that makes the profile of a training step.
std::string profile_command_of(const ModelSource& source, const std::string& device);

}  // namespace cohort
