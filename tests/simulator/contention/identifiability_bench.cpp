// contention_identifiability [KERNELS MIXES]: makes kernels of known demands, measures them with the oracle under 3%
// noise, fits their demands to what each plan of measurements shows, and predicts mixes that were not measured.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tests/simulator/contention/corpus.hpp"

namespace {

using namespace cohort;

constexpr double kNoise = 0.03;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

struct Errors {
  std::string what;
  std::vector<double> of_speedup;
};

void report(const Errors& errors) {
  fmt::print("| {} | {:.1f}% | {:.1f}% | {:.1f}% |\n", errors.what, quantile(errors.of_speedup, 0.5) * 100,
             quantile(errors.of_speedup, 0.9) * 100, quantile(errors.of_speedup, 1) * 100);
}

Errors engine_errors(const std::string& what, const std::vector<Mix>& mixes, const std::vector<KernelDemand>& demands,
                     const std::vector<double>& true_ns, const GpuProfile& gpu) {
  Errors errors{what, {}};
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    errors.of_speedup.push_back(
        std::abs(true_ns[i] / makespan_of(run_engine(scenario_of(mixes[i], demands, gpu))) - 1));
  }
  return errors;
}

/// Demands as op shapes give them: each utilisation off by a normal error of 30%.
std::vector<KernelDemand> from_shapes(const std::vector<CorpusKernel>& corpus, const GpuProfile& gpu) {
  Random random(98);
  std::vector<KernelDemand> demands;
  for (const CorpusKernel& kernel : corpus) {
    SoloRun solo;
    solo.time = kernel.solo;
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      solo.utilisation[k] = std::clamp(kernel.utilisation[k] * noisy(0.3, random), 0.0, 1.0);
    }
    demands.push_back(demand_of(kernel.launch, solo, gpu).value_or(kernel.truth));
  }
  return demands;
}

/// Fits a corpus under one plan; prints how well the demands come back.
std::vector<KernelDemand> fit_corpus(const std::string& name, const MeasurementPlan& plan,
                                     const std::vector<CorpusKernel>& corpus, const GpuProfile& gpu) {
  Random random(99);
  std::vector<KernelDemand> fitted;
  std::vector<double> off;
  int found = 0;
  int bound = 0;
  double residual = 0;
  for (const CorpusKernel& kernel : corpus) {
    const auto observations = observe(kernel, plan, gpu, kNoise, random);
    const auto fit = fit_demand(kernel.launch, kernel.solo, observations, gpu);
    if (!fit) {
      fmt::print("{}\n", fit.error().message);
      continue;
    }
    fitted.push_back(fit->kernel);
    residual += fit->residual / static_cast<double>(corpus.size());
    const auto most = std::max_element(kernel.utilisation.begin(), kernel.utilisation.end());
    if (*most < 0.3) continue;
    const auto k = static_cast<std::size_t>(most - kernel.utilisation.begin());
    const auto guess = std::max_element(fit->utilisation.begin(), fit->utilisation.end()) - fit->utilisation.begin();
    ++bound;
    found += guess == static_cast<std::ptrdiff_t>(k) ? 1 : 0;
    off.push_back(std::abs(fit->utilisation[k] - kernel.utilisation[k]));
  }
  fmt::print("| {} | {} of {} | {:.2f} | {:.2f} | {:.1f}% |\n", name, found, bound, quantile(off, 0.5),
             quantile(off, 0.9), residual * 100);
  return fitted;
}

}  // namespace

int main(int argc, char** argv) {
  const int kernels = argc > 1 ? std::atoi(argv[1]) : 21;
  const int count = argc > 2 ? std::atoi(argv[2]) : 60;
  const GpuProfile gpu = small_h100();
  const std::vector<CorpusKernel> corpus = make_corpus(1, kernels, gpu);
  const std::vector<Mix> mixes = make_mixes(2, count, corpus);
  std::vector<KernelDemand> truth;
  for (const CorpusKernel& kernel : corpus) truth.push_back(kernel.truth);
  std::vector<double> true_ns;
  for (const Mix& mix : mixes) true_ns.push_back(makespan_of(run_oracle(scenario_of(mix, truth, gpu))));

  fmt::print(
      "| measured | throughput used most found | median error of its utilisation | 90th percentile | residual |\n"
      "|---|---|---|---|---|\n");
  const auto none = fit_corpus("time alone", {false, false}, corpus, gpu);
  const auto replicas = fit_corpus("beside itself (2, 4)", {true, false}, corpus, gpu);
  const auto probes = fit_corpus("beside probes", {false, true}, corpus, gpu);
  const auto both = fit_corpus("both", {true, true}, corpus, gpu);

  Errors no_contention{"no contention", {}};
  Errors capacity{"min(N, capacity / work)", {}};
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    const MixSpeedups naive = naive_speedups(mixes[i], corpus, gpu);
    const double speedup = naive.serial_ns / true_ns[i];
    no_contention.of_speedup.push_back(std::abs(naive.no_contention / speedup - 1));
    capacity.of_speedup.push_back(std::abs(naive.capacity / speedup - 1));
  }
  fmt::print("\n| model | median error of speedup | 90th percentile | worst |\n|---|---|---|---|\n");
  report(no_contention);
  report(capacity);
  report(engine_errors("engine, time alone", mixes, none, true_ns, gpu));
  report(engine_errors("engine, op shapes 30% off", mixes, from_shapes(corpus, gpu), true_ns, gpu));
  report(engine_errors("engine, beside itself", mixes, replicas, true_ns, gpu));
  report(engine_errors("engine, beside probes", mixes, probes, true_ns, gpu));
  report(engine_errors("engine, both", mixes, both, true_ns, gpu));
  report(engine_errors("engine, true demands", mixes, truth, true_ns, gpu));
  return 0;
}
