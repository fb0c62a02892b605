#include "simulator/costs/fit_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tracer/microbenchmark_record.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GpuProfile small_h100() {
  GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  const double part = 16.0 / gpu.sms;
  gpu.sms = 16;
  for (double* rate :
       {&gpu.fma.per_second, &gpu.tensor.per_second, &gpu.shared.per_second, &gpu.l2.per_second, &gpu.dram.per_second})
    *rate *= part;
  return gpu;
}

/// A recording as `cohort profile --beside` makes it, of ops whose demands are known.
class Recording {
 public:
  explicit Recording(const GpuProfile& gpu) : gpu_(gpu) { track_ = trace_.add_track("profile", "ops beside others"); }

  KernelDemand op(const std::string& signature, Throughput uses) {
    SoloRun solo;
    solo.time = std::chrono::microseconds(100);
    solo.utilisation[static_cast<std::size_t>(uses)] = 0.8;
    const auto demand = demand_of(kLaunch, solo, gpu_);
    EXPECT_TRUE(demand) << demand.error().message;
    const std::array<Trace::NamedArg, 8> args{{{"signature", std::string_view(signature)},
                                               {"strategy", std::string_view("serial")},
                                               {"algorithm", std::string_view("only")},
                                               {"width", std::int64_t{1}},
                                               {"grid", std::string_view("[32,1,1]")},
                                               {"block", std::string_view("[256,1,1]")},
                                               {"registers per thread", std::int64_t{kLaunch.registers}},
                                               {"shared memory", std::int64_t{0}}}};
    trace_.add_slice(track_, "kernel of " + signature, "kernel", Nanoseconds(0), solo.time, args);
    replicas(signature, *demand);
    beside_probes(signature, *demand);
    return *demand;
  }
  void pair(const std::string& a, const KernelDemand& demand_a, const std::string& b, const KernelDemand& demand_b) {
    const auto times = together({{demand_a, 1}, {demand_b, 1}});
    add(Microbenchmark::kPair, a, 1, times[0], b, times[1]);
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  static constexpr LaunchShape kLaunch{32, 256, 32, Bytes{0}, 1};

  std::vector<double> together(const std::vector<CoRunner>& runners) {
    const auto times = co_run_ns(runners, gpu_, 20);
    EXPECT_TRUE(times) << times.error().message;
    return *times;
  }
  void add(Microbenchmark benchmark, const std::string& kernel, int instances, double time,
           const std::string& partner = "", double partner_time = 0) {
    MicrobenchmarkRecord record;
    record.benchmark = benchmark;
    record.kernel = kernel;
    record.instances = instances;
    record.time = Nanoseconds(static_cast<std::int64_t>(time));
    record.partner = partner;
    record.partner_instances = partner.empty() ? 0 : 1;
    record.partner_time = Nanoseconds(static_cast<std::int64_t>(partner_time));
    add_microbenchmark_record(trace_, track_, Nanoseconds(0), record);
  }
  void replicas(const std::string& signature, const KernelDemand& demand) {
    for (const int instances : {1, 2, 4})
      add(Microbenchmark::kReplicas, signature, instances, together({{demand, instances}})[0]);
  }
  void beside_probes(const std::string& signature, const KernelDemand& demand) {
    for (const std::string name : {"copy", "fma"}) {
      MicrobenchmarkRecord probe;
      probe.benchmark = Microbenchmark::kReplicas;
      probe.kernel = name;
      probe.launch = {64, 256, 32, Bytes{0}, 1};
      probe.time = std::chrono::milliseconds(1);
      if (name == "copy") {
        probe.work.dram = Bytes{static_cast<std::int64_t>(0.9 * gpu_.dram.per_second * 1e-3)};
      } else {
        probe.work.fma = Flops{static_cast<std::int64_t>(0.9 * gpu_.fma.per_second * 1e-3)};
      }
      add_microbenchmark_record(trace_, track_, Nanoseconds(0), probe);
      SoloRun solo;
      solo.time = probe.time;
      solo.utilisation = utilisation_of(probe.work, probe.time, gpu_);
      const auto probe_demand = demand_of(probe.launch, solo, gpu_);
      ASSERT_TRUE(probe_demand) << probe_demand.error().message;
      const auto times = together({{demand, 1}, {*probe_demand, 1}});
      add(Microbenchmark::kPair, signature, 1, times[0], name, times[1]);
    }
  }

  GpuProfile gpu_;
  Trace trace_;
  TrackId track_{};
};

TEST(FitKernels, FindsWhatOpsUseAndPredictsThemBesideEachOther) {
  const GpuProfile gpu = small_h100();
  Recording recording(gpu);
  const KernelDemand memory = recording.op("Relu x[1]", Throughput::kDram);
  const KernelDemand arithmetic = recording.op("Gemm x[1]", Throughput::kIssue);
  recording.pair("Relu x[1]", memory, "Gemm x[1]", arithmetic);
  recording.pair("Gemm x[1]", arithmetic, "Gemm x[1]", arithmetic);

  const auto fits = fit_kernels(recording.trace(), gpu);
  ASSERT_TRUE(fits) << fits.error().message;
  ASSERT_EQ(fits->kernels.size(), 2U);
  EXPECT_EQ(fits->kernels[0].signature, "Relu x[1]");
  EXPECT_EQ(fits->kernels[0].launch.blocks, 32);
  EXPECT_EQ(fits->kernels[0].observations, 4U);
  EXPECT_NEAR(fits->kernels[0].fit.utilisation[static_cast<std::size_t>(Throughput::kDram)], 0.8, 0.1);
  EXPECT_NEAR(fits->kernels[1].fit.utilisation[static_cast<std::size_t>(Throughput::kIssue)], 0.8, 0.1);
  std::size_t held_out = 0;
  for (const FitResidual& residual : fits->residuals) {
    EXPECT_LT(std::abs(residual.relative_error()), 0.1) << residual.what;
    if (residual.held_out) ++held_out;
  }
  EXPECT_EQ(held_out, 4U) << "both sides of both pairs";
  EXPECT_TRUE(fits->left_out.empty());
}

TEST(FitKernels, LeavesOutWhatCannotBeFittedAndSaysWhy) {
  const GpuProfile gpu = small_h100();
  Trace trace;
  const TrackId track = trace.add_track("profile", "ops beside others");
  MicrobenchmarkRecord record;
  record.benchmark = Microbenchmark::kReplicas;
  record.kernel = "Gemm x[1]";
  record.time = Nanoseconds(1000);
  add_microbenchmark_record(trace, track, Nanoseconds(0), record);
  const auto fits = fit_kernels(trace, gpu);
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_THAT(fits->left_out, ElementsAre("Gemm x[1]: its kernels were not recorded"));
  const auto none = fit_kernels(Trace(), gpu);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--beside"));
}

}  // namespace
}  // namespace cohort
