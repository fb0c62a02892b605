#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "executor/backend.hpp"
#include "training/overheads.hpp"
#include "training/prepared_sweep.hpp"
#include "training/sweep_parts.hpp"
#include "training/sweep_planner.hpp"

namespace cohort {

/// Some members of one network that train together.
struct BatchForecast {
  std::string network;  ///< "mlp, hidden 64"
  std::size_t members = 0;
  std::string strategy;
  std::optional<Nanoseconds> step_time;   ///< where there is a profile of the network
  std::optional<Nanoseconds> one_by_one;  ///< likewise
  MemoryUse memory;
  std::size_t divided = 0;                        ///< members that there were to divide
  std::vector<WeighedSize> weighed;               ///< sizes that it was chosen from
  std::optional<BatchOverheads> overheads;        ///< where they were probed
  std::optional<BatchOverheads> alone_overheads;  ///< of one member by itself
};

/// Epochs between two halvings.
struct RungForecast {
  std::int64_t first_epoch = 1;
  std::int64_t steps = 0;
  std::int64_t evaluations = 0;  ///< of each member
  std::size_t members = 0;
  Nanoseconds minibatch{};  ///< samples of one step made
  std::vector<BatchForecast> batches;
};

/// What a sweep would take.
struct SweepForecast {
  std::vector<RungForecast> rungs;
  std::vector<ModelSource> unprofiled;
  std::optional<SweepParts> together;    ///< absent where a profile is missing
  std::optional<SweepParts> one_by_one;  ///< each member in a model batch by itself, step by step with the others
};

/// Training steps as profiles predict them; all else from a short probe on the device. Members that halving drops are
/// taken evenly from all networks: which ones it will be is not known.
/// Errors: those of SweepPlanner::plan(), lower() and OverheadProbe.
Result<SweepForecast> forecast_sweep(const PreparedSweep& prepared, SweepPlanner& planner, const Backend& backend,
                                     OverheadProbe& probe);

/// For people. `device` is for the commands that make missing profiles.
std::string to_text(const SweepForecast& forecast, const PreparedSweep& prepared, const std::string& device);
nlohmann::ordered_json to_json(const SweepForecast& forecast, const PreparedSweep& prepared);

}  // namespace cohort
