#include "tests/simulator/contention/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr int kRepetitions = 3;

/// What the calibration has probes of (kProbes in calibrate/benchmarks.hpp): no kernel uses up an SM's port alone.
constexpr std::array<Throughput, 5> kProbed = {Throughput::kDram, Throughput::kL2, Throughput::kIssue,
                                               Throughput::kTensor, Throughput::kShared};

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random.uniform());
}

KernelDemand demand(const LaunchShape& launch, Nanoseconds time, const std::array<double, kThroughputs>& utilisation,
                    const GpuProfile& gpu) {
  SoloRun solo;
  solo.time = time;
  solo.utilisation = utilisation;
  const Result<KernelDemand> kernel = demand_of(launch, solo, gpu);
  EXPECT_TRUE(kernel) << kernel.error().message;
  return kernel.value_or(KernelDemand{});
}

/// Uses one throughput nearly up and leaves half of every SM's threads.
KernelDemand probe_of(Throughput throughput, const GpuProfile& gpu) {
  std::array<double, kThroughputs> utilisation{};
  utilisation[static_cast<std::size_t>(throughput)] = 0.9;
  return demand({std::int64_t{gpu.sms} * 4, 256, 32, Bytes{0}, 1}, Nanoseconds(20'000), utilisation, gpu);
}

struct Runner {
  const KernelDemand* kernel;
  double solo;
  int instances;
};

/// Mean time of the first repetitions of each runner while all of them go on.
std::vector<double> oracle_co_run(const std::vector<Runner>& runners, const GpuProfile& gpu) {
  double longest = 0;
  int streams = 0;
  for (const Runner& runner : runners) {
    longest = std::max(longest, runner.solo);
    streams += runner.instances;
  }
  Scenario scenario{gpu, {}};
  for (const Runner& runner : runners) {
    const int chain = kRepetitions + static_cast<int>(std::ceil(kRepetitions * streams * longest / runner.solo));
    for (int i = 0; i < runner.instances; ++i) {
      scenario.streams.emplace_back(static_cast<std::size_t>(chain), ScenarioItem{"k", *runner.kernel, 0});
    }
  }
  const ScenarioTimes times = run_oracle(scenario);
  std::vector<double> means;
  std::size_t stream = 0;
  for (const Runner& runner : runners) {
    double sum = 0;
    for (int i = 0; i < runner.instances; ++i) sum += times[stream++][kRepetitions - 1].end / kRepetitions;
    means.push_back(sum / runner.instances);
  }
  return means;
}

}  // namespace

double noisy(double noise, Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return 1 + noise * sum;
}

GpuProfile small_h100() {
  GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  const double part = 16.0 / gpu.sms;
  gpu.sms = 16;
  for (double* rate : {&gpu.fma.per_second, &gpu.tensor.per_second, &gpu.shared.per_second, &gpu.l2.per_second,
                       &gpu.dram.per_second}) {
    *rate *= part;
  }
  gpu.slowdown = {0.3, 0.2, 0.2, 0.3, 0.5, 0.6};
  return gpu;
}

std::vector<CorpusKernel> make_corpus(std::uint64_t seed, int count, const GpuProfile& gpu) {
  constexpr std::array<std::pair<const char*, std::size_t>, 7> kKinds = {
      {{"dram", 5}, {"issue", 0}, {"latency", kThroughputs}, {"tensor", 1}, {"l2", 4}, {"shared", 2}, {"mixed", 6}}};
  Random random(seed);
  std::vector<CorpusKernel> corpus;
  for (int i = 0; i < count; ++i) {
    CorpusKernel kernel;
    const auto& [kind, most] = kKinds[static_cast<std::size_t>(i) % kKinds.size()];
    kernel.kind = kind;
    kernel.launch.threads = 128 << random.below(2);
    kernel.launch.registers = 32 + static_cast<int>(random.below(64));
    kernel.launch.shared_memory = Bytes{static_cast<std::int64_t>(random.below(32 * 1024))};
    kernel.launch.blocks = 8 + static_cast<std::int64_t>(random.below(random.below(2) == 0 ? 24 : 300));
    kernel.solo = Nanoseconds(8'000 + static_cast<std::int64_t>(random.below(24'000)));
    for (double& part : kernel.utilisation) part = random.below(2) == 0 ? uniform(random, 0, 0.2) : 0;
    if (most < kThroughputs) kernel.utilisation[most] = uniform(random, 0.5, 0.9);
    if (kernel.kind == "mixed") {
      kernel.utilisation[0] = uniform(random, 0.3, 0.6);
      kernel.utilisation[5] = uniform(random, 0.3, 0.6);
    }
    kernel.truth = demand(kernel.launch, kernel.solo, kernel.utilisation, gpu);
    corpus.push_back(kernel);
  }
  return corpus;
}

std::vector<CoRunObservation> observe(const CorpusKernel& kernel, const MeasurementPlan& plan, const GpuProfile& gpu,
                                      double noise, Random& random) {
  std::vector<CoRunObservation> observations;
  const auto solo = static_cast<double>(kernel.solo.count());
  for (int instances = 2; plan.replicas && instances <= 4; instances *= 2) {
    const double time = oracle_co_run({{&kernel.truth, solo, instances}}, gpu)[0];
    observations.push_back({instances, std::nullopt, time * noisy(noise, random), 0});
  }
  for (const Throughput probed : kProbed) {
    if (!plan.probes) break;
    const KernelDemand probe = probe_of(probed, gpu);
    const std::vector<double> times = oracle_co_run({{&kernel.truth, solo, 1}, {&probe, 20'000, 1}}, gpu);
    observations.push_back({1, CoRunner{probe, 1}, times[0] * noisy(noise, random), times[1] * noisy(noise, random)});
  }
  return observations;
}

std::vector<Mix> make_mixes(std::uint64_t seed, int count, const std::vector<CorpusKernel>& corpus) {
  Random random(seed);
  std::vector<Mix> mixes;
  for (int i = 0; i < count; ++i) {
    Mix mix;
    const std::uint64_t width = 2 + random.below(3);
    for (std::uint64_t k = 0; k < width; ++k) {
      mix.kernels.push_back(random.below(corpus.size()));
      constexpr double kLength = 150'000;
      const auto solo = static_cast<double>(corpus[mix.kernels.back()].solo.count());
      mix.repetitions.push_back(std::max(1, static_cast<int>(kLength / solo)));
    }
    mixes.push_back(mix);
  }
  return mixes;
}

Scenario scenario_of(const Mix& mix, const std::vector<KernelDemand>& demands, const GpuProfile& gpu) {
  Scenario scenario{gpu, {}};
  for (std::size_t i = 0; i < mix.kernels.size(); ++i) {
    scenario.streams.emplace_back(static_cast<std::size_t>(mix.repetitions[i]),
                                  ScenarioItem{"k", demands[mix.kernels[i]], 0});
  }
  return scenario;
}

MixSpeedups naive_speedups(const Mix& mix, const std::vector<CorpusKernel>& corpus, const GpuProfile& gpu) {
  MixSpeedups result;
  double longest = 0;
  double work = 0;
  for (std::size_t i = 0; i < mix.kernels.size(); ++i) {
    const CorpusKernel& kernel = corpus[mix.kernels[i]];
    const double length = static_cast<double>(kernel.solo.count()) * mix.repetitions[i];
    const double filled = static_cast<double>(kernel.truth.blocks) / (kernel.truth.blocks_per_sm * gpu.sms);
    result.serial_ns += length;
    longest = std::max(longest, length);
    work += length * std::min(1.0, filled);
  }
  result.no_contention = result.serial_ns / longest;
  result.capacity = std::min(static_cast<double>(mix.kernels.size()), result.serial_ns / std::max(work, longest));
  return result;
}

}  // namespace cohort
