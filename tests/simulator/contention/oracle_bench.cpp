// contention_oracle CASES [FIRST]: how far the engine's makespans are from the oracle's on random scenarios, and what
// either costs.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/simulator/contention/scenario.hpp"

namespace {

struct Outcome {
  double worst = 0;
  double sum = 0;
  std::uint64_t worst_seed = 0;
  std::uint64_t over = 0;  ///< cases more than 1% apart
  std::chrono::duration<double> engine{};
  std::chrono::duration<double> oracle{};
};

Outcome compare(std::uint64_t first, std::uint64_t cases, const std::function<cohort::Scenario(std::uint64_t)>& make) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    const cohort::Scenario scenario = make(seed);
    const auto begin = Clock::now();
    const double engine = makespan_of(cohort::run_engine(scenario));
    const auto middle = Clock::now();
    const double oracle = makespan_of(cohort::run_oracle(scenario));
    outcome.engine += middle - begin;
    outcome.oracle += Clock::now() - middle;
    const double apart = std::abs(engine / oracle - 1);
    outcome.sum += apart;
    outcome.over += apart > 0.01 ? 1 : 0;
    if (apart > outcome.worst) {
      outcome.worst = apart;
      outcome.worst_seed = seed;
    }
  }
  return outcome;
}

void report(const std::string& what, std::uint64_t cases, const Outcome& outcome) {
  fmt::print("{}: {} cases, worst {:.3g}% (seed {}), mean {:.3g}%, {} over 1%; engine {:.2f} s, oracle {:.2f} s\n",
             what, cases, outcome.worst * 100, outcome.worst_seed, outcome.sum / static_cast<double>(cases) * 100,
             outcome.over, outcome.engine.count(), outcome.oracle.count());
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const Outcome random = compare(first, cases, cohort::random_scenario);
  report("random", cases, random);
  const std::uint64_t crowds = std::max<std::uint64_t>(1, cases / 100);
  report("out of step", crowds, compare(first, crowds, cohort::crowded_scenario));
  return random.over == 0 ? 0 : 1;
}
