#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "models/op_training.hpp"

namespace cohort {

/// How a learning rate changes over a training.
struct RateSchedule {
  enum class Kind {
    kConstant,
    kStep,    ///< times `factor` after every `every` epochs
    kCosine,  ///< from the whole rate to zero in half a cosine. Source: Loshchilov & Hutter, arXiv:1608.03983
  };
  Kind kind = Kind::kConstant;
  std::int64_t every = 1;
  double factor = 0.1;

  friend bool operator==(const RateSchedule&, const RateSchedule&) = default;
};
/// "constant", "cosine", "0.1 every 10 epochs".
std::string to_string(const RateSchedule& schedule);

/// One value of a hyperparameter.
using ParameterValue = std::variant<double, std::int64_t, std::string, RateSchedule>;
/// As results show it: the shortest text that reads back as the same number.
std::string to_string(const ParameterValue& value);

/// Hyperparameters by name, in the order of the sweep file; arguments of the network as "arguments.hidden".
using Point = std::vector<std::pair<std::string, ParameterValue>>;

/// What a network's argument is called among hyperparameters.
inline constexpr std::string_view kArgumentPrefix = "arguments.";

/// One member's. PyTorch's defaults.
struct Hyperparameters {
  double learning_rate = 0.001;
  double momentum = 0.9;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::optional<double> clip;     ///< largest gradient norm
  std::optional<double> dropout;  ///< instead of the network's own rates
  RateSchedule schedule;
  double warmup = 0;       ///< epochs in which the rate rises from nearly zero
  std::uint64_t seed = 0;  ///< of first weights and dropout
  std::map<std::string, std::string> arguments;

  friend bool operator==(const Hyperparameters&, const Hyperparameters&) = default;
};

/// Names of hyperparameters in sweep files, and the values they may have.
struct ParameterRange {
  std::string_view name;
  double least = 0;
  double most = 0;
  std::string_view allowed;  ///< "above 0", for messages
  bool whole = false;
  bool open_below = false;  ///< `least` itself is none
  bool open_above = false;
};
/// Null where there is no such number; "schedule" and arguments are none.
const ParameterRange* parameter_range(std::string_view name);

/// `point` on top of `base`. Names and values must have been checked: those of a sweep have been.
Hyperparameters with_point(Hyperparameters base, const Point& point);

/// How many steps there are.
struct StepCounts {
  std::int64_t per_epoch = 1;
  std::int64_t all = 1;
};

/// The learning rate of a step, counted from 0.
double learning_rate_at(const Hyperparameters& member, std::int64_t step, const StepCounts& counts);

/// What a member's Update and Dropout are given at a step, counted from 0; by Setting.
std::array<float, static_cast<std::size_t>(kSettingCount)> settings_at(const Hyperparameters& member, std::int64_t step,
                                                                       const StepCounts& counts);

}  // namespace cohort
