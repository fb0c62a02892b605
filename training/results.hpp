#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/units.hpp"
#include "training/member.hpp"

namespace cohort {

/// With epochs of milliseconds most of the time would go into files.
inline constexpr Nanoseconds kBetweenResults = std::chrono::seconds(1);

/// What took the time of a sweep, as far as it was trained in this run.
struct SweepTimes {
  Nanoseconds steps{};       ///< training steps, waiting for their input included
  Nanoseconds input{};       ///< of them waiting for samples to be decoded, varied and copied
  Nanoseconds input_work{};  ///< what making samples took, over all workers; most of it beside steps
  Nanoseconds evaluation{};  ///< with states read and written
  Nanoseconds checkpoints{};
  Nanoseconds results{};     ///< results and finished models written
  Nanoseconds loading{};     ///< plans made, lowered and loaded
  std::int64_t samples = 0;  ///< trained on, over all members

  [[nodiscard]] double samples_per_second() const {
    return steps.count() > 0 ? static_cast<double>(samples) / seconds(steps) : 0;
  }
};

/// A row for each member, in their order: rank, outcome, hyperparameters and what it reached. The same whenever a
/// sweep is interrupted and resumed.
std::string results_csv(const std::vector<SweepMember>& members, Metric metric);

/// The same with every epoch; numbers that are none are null.
nlohmann::ordered_json results_json(const std::vector<SweepMember>& members, Metric metric);
nlohmann::ordered_json to_json(const SweepTimes& times);

/// The best few and how the others ended, for people.
std::string results_text(const std::vector<SweepMember>& members, Metric metric, std::size_t most_rows);

/// "97.2%" or "0.0312".
std::string metric_text(Metric metric, double value);

}  // namespace cohort
