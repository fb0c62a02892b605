#include "training/hyperparameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/overloaded.hpp"

namespace cohort {
namespace {

constexpr double kMost = 1e30;  // fits float32
constexpr double kMostSeed = 9e15;

constexpr std::array kRanges = {
    ParameterRange{"learning_rate", 0, kMost, "above 0", false, true, false},
    ParameterRange{"momentum", 0, 1, "from 0 to below 1", false, false, true},
    ParameterRange{"weight_decay", 0, kMost, "0 or more", false, false, false},
    ParameterRange{"beta1", 0, 1, "from 0 to below 1", false, false, true},
    ParameterRange{"beta2", 0, 1, "from 0 to below 1", false, false, true},
    ParameterRange{"epsilon", 0, 1, "above 0, at most 1", false, true, false},
    ParameterRange{"clip", 0, kMost, "above 0", false, true, false},
    ParameterRange{"dropout", 0, 1, "from 0 to below 1", false, false, true},
    ParameterRange{"warmup", 0, 1e9, "epochs, 0 or more", false, false, false},
    ParameterRange{"seed", 0, kMostSeed, "a whole number from 0", true, false, false},
};

double number_of(const ParameterValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

void set_parameter(Hyperparameters& member, const std::string& name, const ParameterValue& value) {
  if (name.starts_with(kArgumentPrefix)) {
    member.arguments[name.substr(kArgumentPrefix.size())] = to_string(value);
  } else if (name == "schedule") {
    member.schedule = std::get<RateSchedule>(value);
  } else if (name == "seed") {
    member.seed = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
  } else if (name == "clip") {
    member.clip = number_of(value);
  } else if (name == "dropout") {
    member.dropout = number_of(value);
  } else {
    const std::array<std::pair<std::string_view, double*>, 7> numbers = {{{"learning_rate", &member.learning_rate},
                                                                          {"momentum", &member.momentum},
                                                                          {"weight_decay", &member.weight_decay},
                                                                          {"beta1", &member.beta1},
                                                                          {"beta2", &member.beta2},
                                                                          {"epsilon", &member.epsilon},
                                                                          {"warmup", &member.warmup}}};
    for (const auto& [known, field] : numbers) {
      if (name == known) *field = number_of(value);
    }
  }
}

}  // namespace

std::string to_string(const RateSchedule& schedule) {
  switch (schedule.kind) {
    case RateSchedule::Kind::kConstant:
      return "constant";
    case RateSchedule::Kind::kStep:
      return fmt::format("{} every {} epochs", schedule.factor, schedule.every);
    case RateSchedule::Kind::kCosine:
      return "cosine";
  }
  return {};
}

std::string to_string(const ParameterValue& value) {
  return std::visit(Overloaded{[](double number) { return fmt::format("{}", number); },
                               [](std::int64_t number) { return fmt::format("{}", number); },
                               [](const std::string& text) { return text; },
                               [](const RateSchedule& schedule) { return to_string(schedule); }},
                    value);
}

const ParameterRange* parameter_range(std::string_view name) {
  const auto* const found =
      std::find_if(kRanges.begin(), kRanges.end(), [&](const ParameterRange& range) { return range.name == name; });
  return found == kRanges.end() ? nullptr : found;
}

Hyperparameters with_point(Hyperparameters base, const Point& point) {
  for (const auto& [name, value] : point) set_parameter(base, name, value);
  return base;
}

double learning_rate_at(const Hyperparameters& member, std::int64_t step, const StepCounts& counts) {
  const auto warm = static_cast<std::int64_t>(std::llround(member.warmup * static_cast<double>(counts.per_epoch)));
  if (step < warm) return member.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warm);
  switch (member.schedule.kind) {
    case RateSchedule::Kind::kConstant:
      return member.learning_rate;
    case RateSchedule::Kind::kStep: {
      const std::int64_t drops = step / counts.per_epoch / member.schedule.every;
      return member.learning_rate * std::pow(member.schedule.factor, static_cast<double>(drops));
    }
    case RateSchedule::Kind::kCosine: {
      const double done =
          static_cast<double>(step - warm) / static_cast<double>(std::max<std::int64_t>(1, counts.all - warm));
      return member.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
    }
  }
  return member.learning_rate;
}

std::array<float, static_cast<std::size_t>(kSettingCount)> settings_at(const Hyperparameters& member, std::int64_t step,
                                                                       const StepCounts& counts) {
  std::array<float, static_cast<std::size_t>(kSettingCount)> settings{};
  const auto set = [&](Setting setting, double value) {
    settings[static_cast<std::size_t>(setting)] = static_cast<float>(value);
  };
  const auto updates = static_cast<double>(step + 1);
  set(Setting::kLearningRate, learning_rate_at(member, step, counts));
  set(Setting::kMomentum, member.momentum);
  set(Setting::kWeightDecay, member.weight_decay);
  set(Setting::kBeta1, member.beta1);
  set(Setting::kBeta2, member.beta2);
  set(Setting::kEpsilon, member.epsilon);
  // Of the numbers that the update is given: 1 - beta2 is so small that their rounding counts.
  const auto correction = [&](double beta) {
    return 1 - std::pow(static_cast<double>(static_cast<float>(beta)), updates);
  };
  set(Setting::kCorrection1, correction(member.beta1));
  set(Setting::kCorrection2, correction(member.beta2));
  set(Setting::kClipNorm, member.clip.value_or(std::numeric_limits<double>::infinity()));
  set(Setting::kDropoutRate, member.dropout.value_or(0));
  return settings;
}

}  // namespace cohort
