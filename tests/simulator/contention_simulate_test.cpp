#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/engine/simulate.hpp"
#include "tests/simulator/graph_text.hpp"

namespace cohort {
namespace {

GpuProfile four_sms() {
  GpuProfile gpu = *published_gpu_profile("Tesla V100-SXM2-32GB");
  gpu.sms = 4;
  return gpu;
}

/// One block on each SM, two of which fit side by side; `dram` is the part of all of DRAM that the kernel keeps busy.
KernelDemand kernel_of(Nanoseconds time, double dram) {
  KernelDemand kernel;
  kernel.blocks = 4;
  kernel.block = {1024, 16384, Bytes{0}};
  kernel.blocks_per_sm = 2;
  kernel.floor_ns = static_cast<double>(time.count());
  kernel.work_ns[static_cast<std::size_t>(Throughput::kDram)] = dram * kernel.floor_ns / 4;
  return kernel;
}

/// Puts the tasks of streams whose names begin with 's' on the GPU, and makes edges from the host launches.
struct OnGpu {
  TaskGraph graph;
  SimulationOptions options;
};

OnGpu on_gpu(std::string_view text, const GpuProfile& gpu, double dram) {
  OnGpu result{graph_from(text), {}};
  result.options.device.cores = 2;
  result.options.gpu.emplace();
  GpuWork& work = *result.options.gpu;
  work.profile = gpu;
  work.tasks.resize(result.graph.tasks.size());
  for (std::size_t i = 0; i < result.graph.tasks.size(); ++i) {
    const Task& task = result.graph.tasks[i];
    if (result.graph.resources[to_index(task.resource)].name.front() != 's') continue;
    work.tasks[i] = KernelTask{static_cast<std::uint32_t>(work.kernels.size())};
    work.kernels.push_back(kernel_of(task.duration, dram));
  }
  for (Edge& edge : result.graph.edges) {
    const Task& from = result.graph.task(edge.from);
    if (result.graph.resources[to_index(from.resource)].name == "host") edge.kind = EdgeKind::kLaunch;
  }
  return result;
}

std::string timeline_on(const OnGpu& run) {
  const Result<Schedule> schedule = simulate(run.graph, run.options);
  return schedule ? timeline(run.graph, *schedule) : schedule.error().message;
}

TEST(ContentionSimulate, LetsKernelsOfTwoStreamsShareDram) {
  EXPECT_EQ(timeline_on(on_gpu(R"(s0: a 1000, b 500
                                  s1: c 1000)",
                               four_sms(), 1)),
            "a 0-2000\nb 2000-2500\nc 0-2000\n");
}

TEST(ContentionSimulate, BoundsKernelsOfTwoGpusByTheBusierOne) {
  OnGpu run = on_gpu(R"(s0: a 1000, b 500
                        s1: c 1000)",
                     four_sms(), 1);
  run.graph.resources[to_index(run.graph.tasks.back().resource)].device = 1;
  EXPECT_EQ(timeline_on(run), "a 0-1000\nb 1000-1500\nc 0-1000\n");
  const Result<Schedule> schedule = simulate(run.graph, run.options);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(schedule->device_time, Nanoseconds(1500));
  EXPECT_EQ(schedule->lower_bound, Nanoseconds(1500));
}

TEST(ContentionSimulate, RunsWhatFitsSideBySideAtFullRate) {
  EXPECT_EQ(timeline_on(on_gpu(R"(s0: a 1000, b 500
                                  s1: c 1000
                                  s2: d 400)",
                               four_sms(), 0.2)),
            "a 0-1000\nb 1000-1500\nc 0-1000\nd 1000-1400\n");
}

TEST(ContentionSimulate, KeepsTasksOnCoresApartFromTheGpu) {
  const std::string_view text = R"(s0: k 1000
                                   worker w0: d0 600
                                   worker w1: d1 900x2)";
  EXPECT_EQ(timeline_on(on_gpu(text, four_sms(), 1)), "k 0-1000\nd0 0-900\nd1 0-1200\n");
}

// Three launches of 5 us each feed kernels of 1 us: the GPU waits for the host, however many streams there are.
TEST(ContentionSimulate, IsHeldUpByLaunchesAndHelpedByAGraph) {
  const std::string_view streams = R"(host: l0 5000x0, l1 5000x0, l2 5000x0
                                      s0: k0 1000
                                      s1: k1 1000
                                      s2: k2 1000
                                      l0 -> k0
                                      l1 -> k1
                                      l2 -> k2)";
  EXPECT_EQ(timeline_on(on_gpu(streams, four_sms(), 0)),
            "l0 0-5000\nl1 5000-10000\nl2 10000-15000\nk0 5000-6000\nk1 10000-11000\nk2 15000-16000\n");
  const std::string_view graph = R"(host: l 6000x0
                                    s0: k0 1000
                                    s1: k1 1000
                                    s2: k2 1000
                                    l -> k0
                                    l -> k1
                                    l -> k2)";
  EXPECT_EQ(timeline_on(on_gpu(graph, four_sms(), 0)), "l 0-6000\nk0 6000-7000\nk1 6000-7000\nk2 7000-8000\n");
}

// One thread feeds two streams in turn, a launch every 3 us, with kernels of 1 us and of 5 us:
//   host | l0 | l1 | l2 | l3 |          | l0 | l1 | l2 | l3 |
//   s0         k0        k2                  |  k0  |     k2      |
//   s1              k1        k3                  |    k1    |     k3   |
// Short ones leave the SMs idle as on one stream; long ones overlap and share DRAM until the last is alone.
TEST(ContentionSimulate, FeedsTwoStreamsFromOneThread) {
  const auto text = [](int kernel_ns) {
    const std::string kernels = fmt::format("s0: k0 {0}, k2 {0}\n s1: k1 {0}, k3 {0}\n", kernel_ns);
    return "host: l0 3000x0, l1 3000x0, l2 3000x0, l3 3000x0\n" + kernels + "l0 -> k0\n l1 -> k1\n l2 -> k2\n l3 -> k3";
  };
  const std::string launches = "l0 0-3000\nl1 3000-6000\nl2 6000-9000\nl3 9000-12000\n";
  EXPECT_EQ(timeline_on(on_gpu(text(1000), four_sms(), 1)),
            launches + "k0 3000-4000\nk2 9000-10000\nk1 6000-7000\nk3 12000-13000\n");
  // From 6000 on two kernels have half of DRAM each; what is left of k3 at 20000 has all of it.
  EXPECT_EQ(timeline_on(on_gpu(text(5000), four_sms(), 1)),
            launches + "k0 3000-10000\nk2 10000-20000\nk1 6000-16000\nk3 16000-23000\n");
}

TEST(ContentionSimulate, MakesFalseDependenciesOfStreamsThatShareAConnection) {
  // Launched in the order a, b, c. b waits for a on its stream; c, behind b on the only connection, waits with it.
  const std::string_view text = R"(host: la 10x0, lb 10x0, lc 10x0
                                   s0: a 1000, b 1000
                                   s1: c 1000
                                   la -> a
                                   lb -> b
                                   lc -> c)";
  GpuProfile gpu = four_sms();
  EXPECT_EQ(timeline_on(on_gpu(text, gpu, 0)), "la 0-10\nlb 10-20\nlc 20-30\na 10-1010\nb 1010-2010\nc 30-1030\n");
  gpu.connections = 1;
  EXPECT_EQ(timeline_on(on_gpu(text, gpu, 0)), "la 0-10\nlb 10-20\nlc 20-30\na 10-1010\nb 1010-2010\nc 1010-2010\n");
}

TEST(ContentionSimulate, CountsStartAnchoredEdgesFromTheFirstBlock) {
  EXPECT_EQ(timeline_on(on_gpu(R"(s0: a 1000
                                  s1: b 1000
                                  s2: c 1000
                                  worker w: d 10
                                  ^c -> d)",
                               four_sms(), 0)),
            "a 0-1000\nb 0-1000\nc 1000-2000\nd 1000-1010\n");
}

TEST(ContentionSimulate, BoundsByTheWorkOfTheBusiestThroughputAndNamesIt) {
  const OnGpu run = on_gpu(R"(s0: a 1000
                              s1: b 1000)",
                           four_sms(), 0.8);
  const Result<Schedule> schedule = simulate(run.graph, run.options);
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_EQ(schedule->lower_bound, Nanoseconds(1600));
  EXPECT_EQ(schedule->makespan, Nanoseconds(1600));
  EXPECT_EQ(schedule->binding.resource, "GPU dram");
}

TEST(ContentionSimulate, RunsCopiesOnTheirEngines) {
  OnGpu run = on_gpu(R"(s0: in0 700, k0 1000
                        s1: in1 700, k1 1000)",
                     four_sms(), 0);
  run.options.gpu->copies = {{CopyDirection::kHostToDevice, 700, 0}};
  run.options.gpu->tasks[0] = run.options.gpu->tasks[2] = CopyTask{0};
  EXPECT_EQ(timeline_on(run), "in0 0-700\nk0 700-1700\nin1 700-1400\nk1 1400-2400\n");
}

TEST(ContentionSimulate, SharesTheHostsMemoryAmongTasksOnCores) {
  // a and b ask for 1.6 of the memory until both end at 1600; c uses none of it.
  OnGpu run{graph_from(R"(s0: a 1000
                          s1: b 1000
                          s2: c 1000)"),
            {}};
  run.options.device.cores = 4;
  run.options.memory_use = {0.8, 0.8, 0};
  EXPECT_EQ(timeline_on(run), "a 0-1600\nb 0-1600\nc 0-1000\n");
  // On two cores all three get 2/3 of one. a and b still ask for 1.07 of the memory: 0.625 each, before and after.
  run.options.device.cores = 2;
  EXPECT_EQ(timeline_on(run), "a 0-1600\nb 0-1600\nc 0-1500\n");
  run.options.memory_use = {0.8, 2, 0};
  EXPECT_NE(timeline_on(run).find("task b: memory use is 2"), std::string::npos);
  run.options.memory_use = {0.8};
  EXPECT_NE(timeline_on(run).find("memory use is given for 1 tasks of 3"), std::string::npos);
}

TEST(ContentionSimulate, NamesTheTaskWhoseKernelFitsNoSm) {
  OnGpu run = on_gpu("s0: a 1000", four_sms(), 0);
  run.options.gpu->kernels[0].block.threads = 4096;
  EXPECT_NE(timeline_on(run).find("task a: a kernel of 4 blocks (4096 threads"), std::string::npos);
  run.options.gpu->tasks[0] = KernelTask{7};
  EXPECT_EQ(timeline_on(run), "task a: kernel 7 of 1");
  run.options.gpu->tasks.clear();
  EXPECT_EQ(timeline_on(run), "GPU work is given for 0 tasks of 1");
}

}  // namespace
}  // namespace cohort
