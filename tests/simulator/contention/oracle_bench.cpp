// contention_oracle CASES [FIRST]: how far the engine's makespans are from the oracle's on random scenarios, what
// either costs, and how many kernels the engine simulates in a second of processor time.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
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

/// Streams of kernels of 16 to 136 times `scale` blocks on 132 SMs, one after another on each. They share DRAM; where
/// they are large, the SMs' own pipes too.
void report_rate(int streams, int scale) {
  const int kernels = 100'000 / scale;
  const cohort::GpuProfile gpu = *cohort::published_gpu_profile("NVIDIA H100 80GB HBM3");
  std::vector<cohort::KernelDemand> kinds;
  for (int i = 0; i < 7; ++i) {
    cohort::SoloRun solo;
    solo.time = cohort::Nanoseconds(4000 + 1700 * i);
    solo.utilisation = {0.1, 0, 0.1, 0, 0.2, 0.05 + 0.05 * i};
    kinds.push_back(cohort::demand_of({scale * (16 + 20 * i), 256, 32, cohort::Bytes{8192}, 1}, solo, gpu).value());
  }
  cohort::GpuEngine engine(gpu);
  const auto start = [&](int kind, std::uint32_t stream) {
    return engine.start_kernel(kinds[static_cast<std::size_t>(kind) % kinds.size()], stream).has_value();
  };
  const std::clock_t begin = std::clock();
  int started = 0;
  for (; started < streams; ++started) start(started, static_cast<std::uint32_t>(started));
  while (const auto next = engine.next_event()) {
    engine.advance(*next);
    for (const cohort::GpuEvent& event : engine.take_events()) {
      if (event.kind == cohort::GpuEvent::Kind::kEnded && started < kernels) start(started++, event.token);
    }
  }
  const double time = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print("{} streams, {} to {} blocks: {:.2f} M kernels/s\n", streams, 16 * scale, 136 * scale,
             kernels / time / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const Outcome random = compare(first, cases, cohort::random_scenario);
  report("random", cases, random);
  const std::uint64_t crowds = std::max<std::uint64_t>(1, cases / 100);
  report("out of step", crowds, compare(first, crowds, cohort::crowded_scenario));
  for (const int scale : {1, 20}) {
    for (const int streams : {1, 2, 4, 8, 16}) report_rate(streams, scale);
  }
  return random.over == 0 ? 0 : 1;
}
