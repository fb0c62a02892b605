#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {

/// Kernels and copies on the streams of one GPU. An item begins when the one before it on its stream has ended and its
/// own moment has come.
struct ScenarioItem {
  std::string name;
  std::variant<KernelDemand, CopyDemand> work;
  double not_before = 0;
};

struct Scenario {
  GpuProfile gpu;
  std::vector<std::vector<ScenarioItem>> streams;
};

struct ItemTimes {
  double start = 0;
  double end = 0;
};

/// By stream, then by position on it.
using ScenarioTimes = std::vector<std::vector<ItemTimes>>;

/// Runs the scenario on the engine under test.
ScenarioTimes run_engine(const Scenario& scenario);

/// The same with every SM and every block of its own, shared out exactly after every event: slow, and as plain as the
/// rules allow.
ScenarioTimes run_oracle(const Scenario& scenario);

double makespan_of(const ScenarioTimes& times);
/// "a 0-10\nb 10-15\n", whole nanoseconds, in order of stream and position.
std::string timeline_of(const Scenario& scenario, const ScenarioTimes& times);

/// Up to 8 kernels and 5,000 blocks in all on 8 or 132 SMs, of every kind the engine knows.
Scenario random_scenario(std::uint64_t seed);
/// Forty kernels on eight streams and 132 SMs, all out of step.
Scenario crowded_scenario(std::uint64_t seed);

}  // namespace cohort
