#include "simulator/contention/gpu_engine.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/contention/scenario.hpp"

namespace cohort {
namespace {

constexpr std::size_t kIssueAt = static_cast<std::size_t>(Throughput::kIssue);
constexpr std::size_t kDramAt = static_cast<std::size_t>(Throughput::kDram);

/// Four SMs of a V100.
GpuProfile four_sms() {
  GpuProfile gpu = *published_gpu_profile("Tesla V100-SXM2-32GB");
  gpu.sms = 4;
  return gpu;
}

/// Blocks that have an SM to themselves.
KernelDemand whole_sm_kernel(std::int64_t blocks, double block_ns) {
  KernelDemand kernel;
  kernel.blocks = blocks;
  kernel.block = {1024, 32768, Bytes{96 * 1024}};
  kernel.blocks_per_sm = 1;
  kernel.floor_ns = block_ns;
  return kernel;
}

/// Blocks of which an SM holds two.
KernelDemand half_sm_kernel(std::int64_t blocks, double block_ns) {
  KernelDemand kernel;
  kernel.blocks = blocks;
  kernel.block = {1024, 16384, Bytes{0}};
  kernel.blocks_per_sm = 2;
  kernel.floor_ns = block_ns;
  return kernel;
}

/// One block of a warp.
KernelDemand tiny_kernel(double block_ns) {
  KernelDemand kernel;
  kernel.block = {32, 512, Bytes{0}};
  kernel.blocks_per_sm = 32;
  kernel.floor_ns = block_ns;
  return kernel;
}

ScenarioItem item(std::string name, const KernelDemand& kernel, double not_before = 0) {
  return {std::move(name), kernel, not_before};
}

/// The timeline that engine and oracle agree on.
std::string timeline_on(const GpuProfile& gpu, std::vector<std::vector<ScenarioItem>> streams) {
  const Scenario scenario{gpu, std::move(streams)};
  const std::string timeline = timeline_of(scenario, run_engine(scenario));
  EXPECT_EQ(timeline, timeline_of(scenario, run_oracle(scenario)));
  return timeline;
}

TEST(GpuEngine, RunsTwoKernelsThatFitSideBySide) {
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", half_sm_kernel(4, 1000))}, {item("b", half_sm_kernel(4, 1500))}}),
            "a 0-1000\nb 0-1500\n");
}

TEST(GpuEngine, RunsTwoKernelsThatDoNotFitOneAfterTheOther) {
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", whole_sm_kernel(4, 1000))}, {item("b", whole_sm_kernel(4, 1500))}}),
            "a 0-1000\nb 1000-2500\n");
}

TEST(GpuEngine, FillsATailWaveFromAnotherStream) {
  // SM 0 | a | a | b |      b's first two blocks run beside a's last two, its third after.
  // SM 1 | a | a |
  // SM 2 | a | b |
  // SM 3 | a | b |
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", whole_sm_kernel(6, 1000))}, {item("b", whole_sm_kernel(3, 1000))}}),
            "a 0-2000\nb 1000-3000\n");
}

TEST(GpuEngine, RunsCopiesBesideComputeAndOfOneDirectionInOrder) {
  const CopyDemand in{CopyDirection::kHostToDevice, 5000, 50};
  const CopyDemand out{CopyDirection::kDeviceToHost, 2000, 20};
  const std::vector<std::vector<ScenarioItem>> streams = {
      {item("k", whole_sm_kernel(8, 1000))}, {{"in0", in, 0}}, {{"in1", in, 0}}, {{"out", out, 0}}};
  GpuProfile gpu = four_sms();
  EXPECT_EQ(timeline_on(gpu, streams), "k 0-2000\nin0 0-5000\nin1 5000-10000\nout 0-2000\n");
  gpu.copy_engines = 1;
  EXPECT_EQ(timeline_on(gpu, streams), "k 0-2000\nin0 0-5000\nin1 5000-10000\nout 10000-12000\n");
}

TEST(GpuEngine, SlowsACopyThatSharesDramWithAKernel) {
  KernelDemand kernel = whole_sm_kernel(4, 1000);
  kernel.work_ns[kDramAt] = 250;  // four blocks take all of it
  // 1.25 of DRAM asked: both at 0.8 until the kernel ends at 1250; the copy has 1000 of 2000 ns left then.
  EXPECT_EQ(timeline_on(four_sms(),
                        {{item("k", kernel)}, {{"copy", CopyDemand{CopyDirection::kHostToDevice, 2000, 500}, 0}}}),
            "k 0-1250\ncopy 0-2250\n");
}

TEST(GpuEngine, EndsACopyThatTakesNoTimeAndStopsNobody) {
  KernelDemand kernel = half_sm_kernel(8, 1000);
  kernel.work_ns[kDramAt] = 100;
  const CopyDemand copy{CopyDirection::kHostToDevice, 0, 0};
  const Scenario scenario{four_sms(), {{item("k", kernel)}, {{"copy", copy, 0}}}};
  EXPECT_EQ(timeline_of(scenario, run_engine(scenario)), "k 0-1000\ncopy 0-0\n");
}

TEST(GpuEngine, HalvesTheRatesOfTwoBandwidthBoundKernels) {
  KernelDemand kernel = half_sm_kernel(4, 1000);
  kernel.work_ns[kDramAt] = 250;
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", kernel)}, {item("b", kernel)}}), "a 0-2000\nb 0-2000\n");
}

TEST(GpuEngine, SharesAnSmsPipesAmongItsBlocksOnly) {
  KernelDemand bound = half_sm_kernel(2, 1000);  // on SMs 0 and 1
  bound.work_ns[kIssueAt] = 1000;
  KernelDemand other = half_sm_kernel(3, 1000);  // most free room first: SMs 2 and 3, then the lowest, beside a
  other.work_ns[kIssueAt] = 500;
  // SM 0: its pipes are asked for 1.5 times what they do, so both blocks run at 2/3; those on other SMs end at 1000.
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", bound)}, {item("b", other)}}), "a 0-1500\nb 0-1500\n");
}

TEST(GpuEngine, StretchesLatencyBelowSaturation) {
  GpuProfile gpu = four_sms();
  gpu.slowdown[kDramAt] = 0.5;
  KernelDemand kernel = half_sm_kernel(4, 1000);
  kernel.work_ns[kDramAt] = 100;  // 40% of DRAM each
  // Each sees a load of 0.4: 1 + 0.5 * 0.16 times as long.
  EXPECT_EQ(timeline_on(gpu, {{item("a", kernel)}, {item("b", kernel)}}), "a 0-1080\nb 0-1080\n");
  EXPECT_EQ(timeline_on(gpu, {{item("a", kernel)}}), "a 0-1000\n");
}

TEST(GpuEngine, HoldsLaterKernelsBehindOneThatWaitsForRoom) {
  GpuProfile gpu = four_sms();
  const std::vector<std::vector<ScenarioItem>> streams = {
      {item("a", whole_sm_kernel(3, 1000))}, {item("b", whole_sm_kernel(2, 1000))}, {item("c", tiny_kernel(100))}};
  EXPECT_EQ(timeline_on(gpu, streams), "a 0-1000\nb 0-2000\nc 1000-1100\n");
  gpu.head_of_line = false;
  EXPECT_EQ(timeline_on(gpu, streams), "a 0-1000\nb 0-2000\nc 0-100\n");
}

TEST(GpuEngine, PlacesHigherPrioritiesFirst) {
  KernelDemand urgent = whole_sm_kernel(4, 500);
  urgent.priority = 1;
  // The urgent kernel takes the SMs that the first wave leaves; running blocks stay.
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", whole_sm_kernel(12, 1000))}, {item("urgent", urgent, 1500)}}),
            "a 0-3500\nurgent 2000-2500\n");
}

TEST(GpuEngine, LeavesSmsIdleWhereLaunchesComeSlowly) {
  EXPECT_EQ(timeline_on(four_sms(), {{item("k0", whole_sm_kernel(4, 1000)), item("k1", whole_sm_kernel(4, 1000), 5000),
                                      item("k2", whole_sm_kernel(4, 1000), 10000)}}),
            "k0 0-1000\nk1 5000-6000\nk2 10000-11000\n");
}

TEST(GpuEngine, LeavesSmsIdleWhereOneThreadFeedsTwoStreamsSlowly) {
  const auto fed = [](double block_ns) {
    const KernelDemand kernel = whole_sm_kernel(4, block_ns);
    return timeline_on(four_sms(), {{item("k0", kernel), item("k2", kernel, 10000)},
                                    {item("k1", kernel, 5000), item("k3", kernel, 15000)}});
  };
  EXPECT_EQ(fed(1000), "k0 0-1000\nk2 10000-11000\nk1 5000-6000\nk3 15000-16000\n");
  EXPECT_EQ(fed(6000), "k0 0-6000\nk2 12000-18000\nk1 6000-12000\nk3 18000-24000\n");
}

TEST(GpuEngine, HoldsThe129thGrid) {
  GpuProfile gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  std::vector<std::vector<ScenarioItem>> streams;
  std::string expected;
  for (int i = 0; i < 129; ++i) {
    streams.push_back({item("k" + std::to_string(i), tiny_kernel(1000))});
    expected += "k" + std::to_string(i) + (i < 128 ? " 0-1000\n" : " 1000-2000\n");
  }
  EXPECT_EQ(timeline_on(gpu, streams), expected);
}

TEST(GpuEngine, SharesOutTheWorkOfAPersistentKernel) {
  KernelDemand persistent = whole_sm_kernel(4, 3000);
  persistent.persistent = true;
  // Its first two blocks do alone, until 1000, what all four would do until 500; then four of them share the rest.
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", whole_sm_kernel(2, 1000))}, {item("p", persistent)}}),
            "a 0-1000\np 0-3500\n");
}

TEST(GpuEngine, DrivesDataOutOfL2WhereFootprintsDoNotFit) {
  KernelDemand kernel = half_sm_kernel(4, 1000);
  kernel.work_ns[kDramAt] = 50;
  kernel.cold_dram_ns = 500;
  kernel.footprint = Bytes{4 << 20};  // of 6 MiB of L2: two ask for a third more than it holds
  // DRAM work a block: 50 + (1/3) * 450 = 200, asked 4 * 0.2 * 2 = 1.6 of one DRAM.
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", kernel)}}), "a 0-1000\n");
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", kernel)}, {item("b", kernel)}}), "a 0-1600\nb 0-1600\n");
}

TEST(GpuEngine, CountsAKernelsStartAndEndWithoutBlocks) {
  KernelDemand kernel = whole_sm_kernel(4, 1000);
  kernel.fixed_ns = 300;
  EXPECT_EQ(timeline_on(four_sms(), {{item("a", kernel), item("b", kernel)}, {item("c", kernel)}}),
            "a 0-1300\nb 2000-3300\nc 1000-2300\n");
}

TEST(GpuEngine, RefusesABlockThatFitsNoSm) {
  GpuEngine engine(four_sms());
  KernelDemand kernel = whole_sm_kernel(1, 1000);
  kernel.block.shared_memory = Bytes{97 * 1024};
  const Result<void> started = engine.start_kernel(kernel, 0);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("99328 bytes"), std::string::npos) << started.error().message;
}

}  // namespace
}  // namespace cohort
