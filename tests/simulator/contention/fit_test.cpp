#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/contention/fit_profile.hpp"
#include "tests/simulator/contention/corpus.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {
namespace {

using namespace literals;

constexpr int kFitRepetitions = 5;

double ns(Nanoseconds time) { return static_cast<double>(time.count()); }

/// A device that differs from the published one in everything that can be fitted.
GpuProfile true_gpu() {
  GpuProfile gpu = small_h100();
  gpu.dram.per_second *= 0.9;
  gpu.sm_port.per_second *= 0.4;
  gpu.l2.per_second *= 0.6;
  gpu.fma.per_second *= 0.95;
  gpu.to_device.per_second *= 0.8;
  gpu.launch = {
      Nanoseconds(3000), Nanoseconds(9000), Nanoseconds(4000), Nanoseconds(7000),
      Nanoseconds(300),  Nanoseconds(900),  Nanoseconds(1500), Nanoseconds(2000),
  };
  gpu.head_of_line = false;
  gpu.resident_grids = 64;
  gpu.slowdown = {0.3, 0, 0, 0, 0, 0.6};
  return gpu;
}

/// Records what a device of `gpu` shows: launch costs by their definition, the rest as the oracle runs it.
class Recording {
 public:
  Recording(const GpuProfile& gpu, double noise) : gpu_(gpu), noise_(noise), random_(5) {
    track_ = trace_.add_track("device", "microbenchmarks");
    trace_.info.device.name = "a device";
  }

  void add(const MicrobenchmarkRecord& record, bool held_out = false) {
    for (int i = 0; i < kFitRepetitions; ++i) {
      MicrobenchmarkRecord off = record;
      for (Nanoseconds* time : {&off.time, &off.partner_time, &off.host_time}) {
        *time = Nanoseconds(std::llround(ns(*time) * noisy(noise_, random_)));
      }
      const SliceId id = add_microbenchmark_record(trace_, track_, Nanoseconds(0), off);
      if (held_out) {
        Args& args = trace_.args[to_index(*trace_.slices[to_index(id)].args)];
        args.emplace_back(trace_.strings.intern("held out"), std::int64_t{1});
      }
    }
  }

  void launches() {
    for (const int count : kEmptyKernelLaunches) {
      MicrobenchmarkRecord record = record_of(Microbenchmark::kEmptyKernels, "empty");
      record.launches = count;
      record.host_time = gpu_.launch.call * count;
      record.time = gpu_.launch.kernel_fixed * count + gpu_.launch.gap * (count - 1);
      add(record);
    }
    for (const int chains : {1, 8}) {
      for (const int count : {10, 100, 1000}) {
        MicrobenchmarkRecord record = record_of(Microbenchmark::kEmptyGraph, "empty");
        record.instances = chains;
        record.launches = count;
        record.host_time = graph_launch_time(gpu_.launch, count, chains);
        record.time = (gpu_.launch.kernel_fixed * count + gpu_.launch.graph_gap * (count - chains)) / chains;
        add(record);
      }
    }
    MicrobenchmarkRecord latency = record_of(Microbenchmark::kLaunchLatency, "empty");
    latency.time = gpu_.launch.latency + gpu_.launch.kernel_fixed;
    add(latency);
    for (const std::int64_t mebibytes : {1, 8, 64}) {
      MicrobenchmarkRecord transfer = record_of(Microbenchmark::kTransfer, "transfer");
      transfer.direction = CopyDirection::kHostToDevice;
      transfer.bytes = Bytes{mebibytes << 20};
      transfer.time = gpu_.launch.copy_latency +
                      nanoseconds(static_cast<double>(transfer.bytes.value) / gpu_.to_device.per_second * 1e9);
      add(transfer);
    }
  }

  /// On a host that launches more slowly than the device runs empty kernels: on their own, and all given beforehand.
  void slow_launches() {
    for (const std::string partner : {"", "spin"}) {
      for (const int count : kEmptyKernelLaunches) {
        MicrobenchmarkRecord record = record_of(Microbenchmark::kEmptyKernels, "empty");
        record.launches = count;
        record.partner = partner;
        const Nanoseconds each = gpu_.launch.kernel_fixed + gpu_.launch.gap;
        record.host_time = partner.empty() ? gpu_.launch.call * count : Nanoseconds(0);
        record.time = (partner.empty() ? std::max(each, gpu_.launch.call) : each) * count;
        add(record);
      }
    }
  }

  /// Graphs in which chains wait for each other.
  void crossing_graph(int nodes, Nanoseconds host_time) {
    const std::array<Trace::NamedArg, 3> args{{{kGraphChainsArg, std::int64_t{8}},
                                               {kGraphNodesArg, std::int64_t{nodes}},
                                               {kGraphHostTimeArg, host_time.count()}}};
    trace_.add_slice(track_, kCrossingGraphRecord, "calibration", Nanoseconds(0), Nanoseconds(1000), args);
  }

  /// What the events around a spin kernel take beyond it.
  void add_to_spins(Nanoseconds more) { beyond_spin_ = more; }

  DeviceInfo& device() { return trace_.info.device; }

  /// Each thread's own part of a launch runs beside the others', the lock does not.
  void threaded_launches() {
    constexpr std::int64_t kLaunches = 1000;
    for (const std::int64_t threads : {1, 2, 4, 8}) {
      const Nanoseconds each = std::max(gpu_.launch.call, gpu_.launch.lock * threads);
      const std::array<Trace::NamedArg, 2> args{{{kLaunchThreadsArg, threads}, {kLaunchesOfThreadArg, kLaunches}}};
      for (int i = 0; i < kFitRepetitions; ++i) {
        const double time = ns(each) * static_cast<double>(kLaunches) * noisy(noise_, random_);
        trace_.add_slice(track_, kThreadedLaunchesRecord, "calibration", Nanoseconds(0), nanoseconds(time), args);
      }
    }
  }

  void throughputs() {
    for (const int blocks : {1, 2, 4, 8, 16}) {
      MicrobenchmarkRecord record = record_of(Microbenchmark::kCopySweep, "copy");
      record.launch = {blocks, 1024, 32, Bytes{120 * 1024}, 1};
      record.work.dram = Bytes{100'000'000};
      const double rate = std::min(gpu_.dram.per_second, blocks * gpu_.sm_port.per_second);
      record.time = gpu_.launch.kernel_fixed + nanoseconds(1e8 / rate * 1e9);
      add(record);
    }
    MicrobenchmarkRecord chain = record_of(Microbenchmark::kChain, "fma");
    chain.launch = {gpu_.sms, 1024, 32, Bytes{0}, 1};
    for (const double part : {0.25, 0.5, 1.0}) {
      chain.launch.threads = static_cast<int>(1024 * part);
      chain.work.fma = Flops{1'000'000'000};
      chain.time = gpu_.launch.kernel_fixed + nanoseconds(1e9 / (part * gpu_.fma.per_second) * 1e9);
      add(chain);
    }
    chain.kernel = "l2";
    chain.work = {};
    chain.work.l2 = Bytes{1'000'000'000};
    chain.time = gpu_.launch.kernel_fixed + nanoseconds(1e9 / gpu_.l2.per_second * 1e9);
    add(chain);
  }

  void spins() {
    const LaunchShape tiny = {1, 32, 32, Bytes{0}, 1};
    const LaunchShape large = {gpu_.sms, 512, 32, Bytes{200 * 1024}, 1};
    spin("spin", tiny, 1, 0);
    spin("spin", tiny, 129, 0);
    spin("spin", tiny, 256, 0);
    spin("spin", {std::int64_t{gpu_.sms} * 3, 512, 32, Bytes{0}, 1}, 2, 0);
    spin("spin full", large, 1, 0);
    spin("spin", tiny, 1, 2);
  }

  /// Two copies, or two fma kernels, each on half of every SM, at `part` of the throughput alone.
  void pair(const std::string& kernel, double part, bool held_out) {
    MicrobenchmarkRecord alone = record_of(Microbenchmark::kReplicas, kernel);
    alone.launch = {std::int64_t{gpu_.sms} * 4, 256, 32, Bytes{0}, 1};
    alone.time = Nanoseconds(200'000);
    const double length = seconds(alone.time);
    if (kernel == "copy") {
      alone.work.dram = Bytes{static_cast<std::int64_t>(part * gpu_.dram.per_second * length)};
    } else {
      alone.work.fma = Flops{static_cast<std::int64_t>(part * gpu_.fma.per_second * length)};
    }
    add(alone);
    add(alone);
    SoloRun solo;
    solo.time = alone.time;
    solo.utilisation = utilisation_of(alone.work, alone.time, gpu_);
    const KernelDemand demand = demand_of(alone.launch, solo, gpu_).value_or(KernelDemand{});
    const Scenario scenario{gpu_, {{{"a", demand, 0}}, {{"b", demand, 0}}}};
    const ScenarioTimes times = run_oracle(scenario);
    MicrobenchmarkRecord record = alone;
    record.benchmark = Microbenchmark::kPair;
    record.partner = kernel;
    record.partner_instances = 1;
    record.time = nanoseconds(times[0][0].end);
    record.partner_time = nanoseconds(times[1][0].end);
    add(record, held_out);
  }

  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  static MicrobenchmarkRecord record_of(Microbenchmark benchmark, const std::string& kernel) {
    MicrobenchmarkRecord record;
    record.benchmark = benchmark;
    record.kernel = kernel;
    record.launch = {1, 32, 32, Bytes{0}, 1};
    return record;
  }
  static Nanoseconds nanoseconds(double time) { return Nanoseconds(std::llround(time)); }

  KernelDemand spin_demand(const LaunchShape& launch, Nanoseconds block_time) const {
    const Occupancy held = occupancy(launch, gpu_.sm).value_or(Occupancy{});
    KernelDemand kernel;
    kernel.blocks = launch.blocks;
    kernel.block = held.block;
    kernel.blocks_per_sm = held.blocks_per_sm;
    kernel.floor_ns = ns(block_time);
    kernel.fixed_ns = ns(gpu_.launch.kernel_fixed);
    return kernel;
  }

  void spin(const std::string& kernel, const LaunchShape& launch, int instances, int partners) {
    MicrobenchmarkRecord record = record_of(Microbenchmark::kSpin, kernel);
    record.launch = launch;
    record.instances = instances;
    record.block_time = Nanoseconds(100'000);
    Scenario scenario{gpu_, {}};
    const LaunchShape full = {gpu_.sms, 512, 32, Bytes{200 * 1024}, 1};
    for (int i = 0; i < partners; ++i) {
      scenario.streams.push_back({{"p", spin_demand(full, record.block_time), 0}});
    }
    for (int i = 0; i < instances; ++i) {
      scenario.streams.push_back({{"k", spin_demand(launch, record.block_time), 0}});
    }
    const ScenarioTimes times = run_oracle(scenario);
    double end = 0;
    for (auto stream = times.end() - instances; stream != times.end(); ++stream) end = std::max(end, (*stream)[0].end);
    record.time = nanoseconds(end) + beyond_spin_;
    if (partners > 0) {
      record.partner = "spin full";
      record.partner_instances = partners;
    }
    add(record);
  }

  GpuProfile gpu_;
  Nanoseconds beyond_spin_{};
  double noise_;
  Random random_;
  Trace trace_;
  TrackId track_{};
};

GpuFit fit_of(const Recording& recording) {
  const Result<GpuFit> fit = fit_gpu_profile(recording.trace(), small_h100());
  EXPECT_TRUE(fit) << fit.error().message;
  return fit.value_or(GpuFit{});
}

class FitProfile : public testing::TestWithParam<double> {
 protected:
  /// What the medians of five repetitions leave of the noise, with room.
  [[nodiscard]] double off() const { return 0.001 + 2 * GetParam(); }
};

TEST_P(FitProfile, FindsTheLaunchCosts) {
  Recording recording(true_gpu(), GetParam());
  recording.launches();
  recording.spins();
  const LaunchCosts launch = fit_of(recording).profile.launch;
  const LaunchCosts truth = true_gpu().launch;
  EXPECT_NEAR(ns(launch.call) / ns(truth.call), 1, off());
  EXPECT_NEAR(ns(launch.graph_node) / ns(truth.graph_node), 1, off());
  // Small parts of long times take over their errors: the fixed part is 1.5 of a spin's 101.5 us.
  const double spin_error = GetParam() * 101'500;
  EXPECT_NEAR(ns(launch.kernel_fixed), ns(truth.kernel_fixed), 2 + spin_error);
  EXPECT_NEAR(ns(launch.gap + launch.kernel_fixed), ns(truth.gap + truth.kernel_fixed), 5500 * off());
  EXPECT_NEAR(ns(launch.graph_gap + launch.kernel_fixed), ns(truth.graph_gap + truth.kernel_fixed), 2400 * off());
  EXPECT_NEAR(ns(launch.latency), ns(truth.latency), 10'500 * off() + spin_error);
  EXPECT_NEAR(fit_of(recording).profile.to_device.per_second / true_gpu().to_device.per_second, 1, off());
}

TEST_P(FitProfile, FindsHowLongALaunchHoldsTheLock) {
  GpuProfile truth = true_gpu();
  truth.launch.lock = truth.launch.call * 3 / 10;
  Recording recording(truth, GetParam());
  recording.launches();
  recording.threaded_launches();
  const LaunchCosts launch = fit_of(recording).profile.launch;
  EXPECT_NEAR(ns(launch.lock) / ns(truth.launch.lock), 1, off());
  Recording without(truth, GetParam());
  without.launches();
  const GpuFit fit = fit_of(without);
  EXPECT_EQ(fit.profile.launch.lock, fit.profile.launch.call);
  EXPECT_NE(std::find(fit.kept.begin(), fit.kept.end(), "launch.lock_ns"), fit.kept.end());
}

TEST_P(FitProfile, FindsTheGapOfKernelsThatAreLaunchedMoreSlowlyThanTheyRun) {
  GpuProfile truth = true_gpu();
  truth.launch.call = 9_us;
  Recording recording(truth, GetParam());
  recording.spins();
  recording.slow_launches();
  const LaunchCosts launch = fit_of(recording).profile.launch;
  EXPECT_NEAR(ns(launch.call) / 9000, 1, off());
  const Nanoseconds each = truth.launch.gap + truth.launch.kernel_fixed;
  EXPECT_NEAR(ns(launch.gap + launch.kernel_fixed), ns(each), ns(each) * off());
}

TEST_P(FitProfile, LaunchesOfChainsAndOfBranchesCostDifferently) {
  GpuProfile truth = true_gpu();
  truth.launch.graph_chain_node = 2_ns;
  truth.launch.graph_stream = 800_ns;
  Recording recording(truth, GetParam());
  recording.launches();
  recording.crossing_graph(512, graph_launch_time(truth.launch, 512, 8) * 2);
  const GpuFit fit = fit_of(recording);
  EXPECT_NEAR(ns(fit.profile.launch.graph_node) / ns(truth.launch.graph_node), 1, off());
  // Of a launch of 1000 nodes.
  EXPECT_NEAR(ns(fit.profile.launch.graph_chain_node), 2,
              1 + ns(graph_launch_time(truth.launch, 1000, 1)) * off() / 1000);
  EXPECT_NEAR(ns(fit.profile.launch.graph_call) / ns(truth.launch.graph_call), 1, off());
  EXPECT_NEAR(ns(fit.profile.launch.graph_stream) / 800, 1, 0.01 + 30 * off());
  const auto crossing = std::find_if(fit.residuals.begin(), fit.residuals.end(), [](const FitResidual& residual) {
    return residual.what == "launch of empty graph, 512 nodes in 8 chains that cross";
  });
  ASSERT_NE(crossing, fit.residuals.end());
  EXPECT_TRUE(crossing->held_out);
  EXPECT_NEAR(crossing->relative_error(), -0.5, off());
}

TEST_P(FitProfile, NoKernelsFixedPartIsLongerThanAnEmptyOneTakesInAGraph) {
  Recording recording(true_gpu(), GetParam());
  recording.launches();
  recording.add_to_spins(20_us);
  recording.spins();
  const LaunchCosts launch = fit_of(recording).profile.launch;
  const double node = ns(true_gpu().launch.kernel_fixed + true_gpu().launch.graph_gap);
  EXPECT_NEAR(ns(launch.kernel_fixed), node, 1 + node * off());
  EXPECT_EQ(launch.graph_gap, 0_ns);
}

TEST_P(FitProfile, FindsTheRates) {
  Recording recording(true_gpu(), GetParam());
  recording.throughputs();
  const GpuProfile fitted = fit_of(recording).profile;
  const GpuProfile truth = true_gpu();
  EXPECT_NEAR(fitted.dram.per_second / truth.dram.per_second, 1, 0.02 + off());
  EXPECT_NEAR(fitted.sm_port.per_second / truth.sm_port.per_second, 1, 0.02 + off());
  EXPECT_NEAR(fitted.fma.per_second / truth.fma.per_second, 1, 0.02 + off());
  EXPECT_NEAR(fitted.l2.per_second / truth.l2.per_second, 1, 0.02 + off());
  EXPECT_EQ(fitted.tensor, small_h100().tensor);
}

TEST_P(FitProfile, FindsTheDispatchRuleAndTheCapOfGrids) {
  Recording recording(true_gpu(), GetParam());
  recording.spins();
  const GpuProfile fitted = fit_of(recording).profile;
  EXPECT_FALSE(fitted.head_of_line);
  EXPECT_EQ(fitted.resident_grids, 64);
}

TEST_P(FitProfile, FindsTheSlowdownBelowSaturationAndTestsItOnPairsHeldOut) {
  GpuProfile truth = true_gpu();
  truth.launch.kernel_fixed = small_h100().launch.kernel_fixed;
  Recording recording(truth, GetParam());
  recording.throughputs();
  recording.pair("copy", 0.45, false);
  recording.pair("copy", 0.3, true);
  recording.pair("fma", 0.4, false);
  const GpuFit fit = fit_of(recording);
  EXPECT_NEAR(fit.profile.slowdown[static_cast<std::size_t>(Throughput::kDram)], 0.6, 0.02 + 5 * GetParam());
  EXPECT_NEAR(fit.profile.slowdown[static_cast<std::size_t>(Throughput::kIssue)], 0.3, 0.02 + 5 * GetParam());
  int held_out = 0;
  for (const FitResidual& residual : fit.residuals) {
    EXPECT_LE(std::abs(residual.relative_error()), 0.01 + 2 * off()) << residual.what;
    held_out += residual.held_out ? 1 : 0;
  }
  EXPECT_EQ(held_out, 2);
}

TEST_P(FitProfile, PairsThatUseAThroughputUpTellNothingOfTheSlowdownBefore) {
  Recording recording(true_gpu(), GetParam());
  recording.throughputs();
  recording.pair("fma", 0.7, false);
  const GpuFit fit = fit_of(recording);
  EXPECT_EQ(fit.profile.slowdown[static_cast<std::size_t>(Throughput::kIssue)],
            small_h100().slowdown[static_cast<std::size_t>(Throughput::kIssue)]);
  EXPECT_NE(std::find(fit.kept.begin(), fit.kept.end(), "slowdown.issue"), fit.kept.end());
}

INSTANTIATE_TEST_SUITE_P(Noise, FitProfile, testing::Values(0.0, 0.03));

TEST(FitProfileErrors, NamesWhatNoRecordDetermines) {
  Recording recording(true_gpu(), 0);
  recording.throughputs();
  const GpuFit fit = fit_of(recording);
  for (const char* field : {"launch.call_ns", "launch.kernel_fixed_ns", "head_of_line", "resident_grids",
                            "tensor_flops_per_second", "to_device_bytes_per_second", "slowdown.dram"}) {
    EXPECT_NE(std::find(fit.kept.begin(), fit.kept.end(), field), fit.kept.end()) << field;
  }
  EXPECT_EQ(std::find(fit.kept.begin(), fit.kept.end(), "dram_bytes_per_second"), fit.kept.end());
  EXPECT_EQ(fit.profile.device, "a device");
}

TEST(FitProfileDevice, TakesItsMakeUpFromTheDeviceItself) {
  Recording recording(true_gpu(), 0);
  recording.throughputs();
  recording.device().kind = "cuda";
  recording.device().cores = 7;
  recording.device().memory = Bytes{12345};
  recording.device().settings[std::string(kLastCacheSetting)] = "6789";
  const GpuProfile fitted = fit_of(recording).profile;
  EXPECT_EQ(fitted.sms, 7);
  EXPECT_EQ(fitted.memory, Bytes{12345});
  EXPECT_EQ(fitted.l2_size, Bytes{6789});
}

TEST(FitProfileErrors, RefusesATraceWithoutMicrobenchmarks) {
  const Result<GpuFit> fit = fit_gpu_profile(Trace{}, small_h100());
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("microbenchmark"), std::string::npos);
}

// The whole experiment is the program contention_identifiability; here two kernels of it.
TEST(FitDemand, FindsDemandsFromProbesUnderNoise) {
  const GpuProfile gpu = small_h100();
  const std::vector<CorpusKernel> corpus = make_corpus(1, 2, gpu);
  Random random(7);
  for (const CorpusKernel& kernel : corpus) {
    const auto observations = observe(kernel, {false, true}, gpu, 0.03, random);
    const Result<DemandFit> fit = fit_demand(kernel.launch, kernel.solo, observations, gpu);
    ASSERT_TRUE(fit) << fit.error().message;
    const auto most = std::max_element(kernel.utilisation.begin(), kernel.utilisation.end());
    const auto k = static_cast<std::size_t>(most - kernel.utilisation.begin());
    const auto found = std::max_element(fit->utilisation.begin(), fit->utilisation.end());
    EXPECT_EQ(found - fit->utilisation.begin(), most - kernel.utilisation.begin()) << kernel.kind;
    EXPECT_NEAR(fit->utilisation[k], *most, 0.25) << kernel.kind;  // in the experiment a tenth are off by 0.20 or more
    EXPECT_LE(fit->residual, 0.09) << kernel.kind;
  }
}

TEST(FitDemand, BeatsModelsWithoutContentionAndOfCapacityAlone) {
  const GpuProfile gpu = small_h100();
  const std::vector<CorpusKernel> corpus = make_corpus(1, 3, gpu);
  Random random(8);
  std::vector<KernelDemand> truth;
  std::vector<KernelDemand> fitted;
  for (const CorpusKernel& kernel : corpus) {
    truth.push_back(kernel.truth);
    const auto fit = fit_demand(kernel.launch, kernel.solo, observe(kernel, {true, true}, gpu, 0.03, random), gpu);
    ASSERT_TRUE(fit) << fit.error().message;
    fitted.push_back(fit->kernel);
  }
  double engine = 0;
  double no_contention = 0;
  double capacity = 0;
  for (const Mix& mix : make_mixes(2, 12, corpus)) {
    const MixSpeedups naive = naive_speedups(mix, corpus, gpu);
    const double speedup = naive.serial_ns / makespan_of(run_oracle(scenario_of(mix, truth, gpu)));
    const double predicted = naive.serial_ns / makespan_of(run_engine(scenario_of(mix, fitted, gpu)));
    engine += std::abs(predicted / speedup - 1);
    no_contention += std::abs(naive.no_contention / speedup - 1);
    capacity += std::abs(naive.capacity / speedup - 1);
  }
  EXPECT_LT(engine, capacity / 2);
  EXPECT_LT(engine, no_contention / 2);
}

}  // namespace
}  // namespace cohort
