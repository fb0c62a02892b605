// Launch shapes that a profile recorded, and what planning makes of them.

#include "simulator/costs/recorded_launches.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "simulator/costs/recorded_gpu_work.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

struct Kernel {
  const char* signature;
  const char* strategy;
  const char* algorithm;
  std::int64_t width;
  const char* grid;
  std::int64_t nanoseconds;
  std::int64_t launch = 1;
};

Trace recorded(std::span<const Kernel> kernels) {
  Trace trace;
  trace.info.kind = TraceKind::kProfile;
  const TrackId track = trace.add_track("profile", "kernels of ops alone");
  for (const Kernel& kernel : kernels) {
    const std::array<Trace::NamedArg, 9> args{{{"signature", std::string_view(kernel.signature)},
                                               {"strategy", std::string_view(kernel.strategy)},
                                               {"width", kernel.width},
                                               {"algorithm", std::string_view(kernel.algorithm)},
                                               {"grid", std::string_view(kernel.grid)},
                                               {"block", std::string_view("[128,1,1]")},
                                               {"registers per thread", std::int64_t{96}},
                                               {"shared memory", std::int64_t{49152}},
                                               {"correlation", kernel.launch}}};
    trace.add_slice(track, "kernel", "kernel", Nanoseconds(0), Nanoseconds(kernel.nanoseconds), args);
  }
  return trace;
}

CostKey key(std::string signature, Strategy strategy, int width, std::string algorithm) {
  return {std::move(signature), strategy, width, 1, std::move(algorithm)};
}

constexpr std::array<Kernel, 4> kKernels{{{"Gemm a", "serial", "lt:1", 1, "[7,2,1]", 900},
                                          {"Gemm a", "serial", "lt:1", 1, "[3,1,1]", 100},
                                          {"Gemm a", "serial", "own:dot", 1, "[40,1,1]", 2000},
                                          {"Gemm a", "strided_batch", "lt:1", 4, "[7,2,4]", 3000}}};

TEST(RecordedLaunches, AreThoseOfTheKernelThatTakesMostOfTheCallsTime) {
  const Trace trace = recorded(kKernels);
  const RecordedLaunches launches(std::array<const Trace*, 1>{&trace});
  const auto found = launches.find(key("Gemm a", Strategy::kSerial, 1, "lt:1"));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (LaunchShape{14, 128, 96, Bytes{49152}, 1}));
  EXPECT_EQ(launches.find(key("Gemm a", Strategy::kSerial, 1, ""))->blocks, 40) << "of any algorithm";
  EXPECT_FALSE(launches.find(key("Gemm a", Strategy::kSerial, 1, "lt:2")));
  EXPECT_FALSE(launches.find(key("Gemm b", Strategy::kSerial, 1, "lt:1")));
}

TEST(RecordedLaunches, OfOtherWidthsHaveBlocksInProportion) {
  const Trace trace = recorded(kKernels);
  const RecordedLaunches launches(std::array<const Trace*, 1>{&trace});
  EXPECT_EQ(launches.find(key("Gemm a", Strategy::kStridedBatch, 4, "lt:1"))->blocks, 56);
  EXPECT_EQ(launches.find(key("Gemm a", Strategy::kStridedBatch, 16, "lt:1"))->blocks, 224);
  EXPECT_EQ(launches.find(key("Gemm a", Strategy::kStridedBatch, 3, "lt:1"))->blocks, 42);
}

TEST(RecordedLaunches, CountTheKernelsOfACall) {
  std::vector<Kernel> kernels(kKernels.begin(), kKernels.end());
  for (const std::int64_t launch : {5, 6}) {  // two calls
    for (int i = 0; i < 4; ++i)
      kernels.push_back({"Convolution a", "grouped_convolution", "cudnn:1", 4, "[8,1,1]", 500, launch});
    for (int i = 0; i < 40; ++i) kernels.push_back({"Lstm a", "strided_batch", "own:steps", 4, "[8,1,1]", 50, launch});
  }
  const Trace trace = recorded(kernels);
  const RecordedLaunches launches(std::array<const Trace*, 1>{&trace});
  EXPECT_EQ(launches.kernels(key("Gemm a", Strategy::kSerial, 1, "lt:1")), 2);
  EXPECT_EQ(launches.kernels(key("Gemm a", Strategy::kSerial, 1, "own:dot")), 1);
  EXPECT_EQ(launches.kernels(key("Gemm b", Strategy::kSerial, 1, "lt:1")), 1) << "not recorded";
  EXPECT_EQ(launches.kernels(key("Convolution a", Strategy::kGroupedConvolution, 4, "cudnn:1")), 4);
  EXPECT_EQ(launches.kernels(key("Convolution a", Strategy::kGroupedConvolution, 16, "cudnn:1")), 16) << "one a member";
  EXPECT_EQ(launches.kernels(key("Lstm a", Strategy::kStridedBatch, 16, "own:steps")), 40) << "of all members";
}

TEST(RecordedLaunches, SurviveTheTracesFile) {
  const auto read = parse_trace(trace_to_json(recorded(kKernels)));
  ASSERT_TRUE(read) << read.error().message;
  const RecordedLaunches launches(std::array<const Trace*, 1>{&*read});
  EXPECT_EQ(launches.find(key("Gemm a", Strategy::kSerial, 1, "lt:1")), (LaunchShape{14, 128, 96, Bytes{49152}, 1}));
}

TEST(RecordedLaunches, DecideWhatRunsBesideAKernelWhereTheyAreThere) {
  Program program;
  Step& step = program.steps.emplace_back();
  step.call.attributes = Gemm{};
  step.call.inputs = {View{BufferId(0), 0, {2, 64}, {64, 1}}, WeightView{{}, {128, 64}}};
  step.call.outputs = {View{BufferId(1), 0, {2, 128}, {128, 1}}};
  step.cost = key("Gemm a", Strategy::kSerial, 1, "lt:1");
  TaskGraph graph;
  Task task;
  task.resource = graph.add_resource("stream 0", ResourceKind::kStream);
  task.label = graph.add_label("gemm");
  task.duration = std::chrono::microseconds(10);
  task.step = 0;
  graph.add_task(task);
  const GpuProfile gpu = *published_gpu_profile("NVIDIA H200");
  const auto blocks_of = [&](GpuDemands demands) {
    const auto work = demands.work(program, graph);
    EXPECT_TRUE(work) << work.error().message;
    return work->kernels.front().blocks;
  };
  const Trace trace = recorded(kKernels);
  EXPECT_EQ(blocks_of(GpuDemands(gpu)), 1) << "a guess from the shape of the output";
  EXPECT_EQ(blocks_of(GpuDemands(gpu, RecordedLaunches(std::array<const Trace*, 1>{&trace}))), 14);
}

TEST(RecordedGpuWork, KnowsWhereCopiesGoByTheNamesOfSeveralTracers) {
  for (const char* name : {"Memcpy HtoD (Pinned -> Device)", "CopyHostToDevice", "MemcpyH2D"}) {
    EXPECT_EQ(recorded_copy_direction(name), CopyDirection::kHostToDevice) << name;
  }
  for (const char* name : {"Memcpy DtoH (Device -> Pinned)", "CopyDeviceToHost", "MemcpyD2H"}) {
    EXPECT_EQ(recorded_copy_direction(name), CopyDirection::kDeviceToHost) << name;
  }
  for (const char* name : {"Memcpy DtoD (Device -> Device)", "CopyDeviceToDevice", "MemcpyD2D"}) {
    EXPECT_EQ(recorded_copy_direction(name), CopyDirection::kDeviceToDevice) << name;
  }
  EXPECT_EQ(recorded_copy_direction("Memcpy PtoP (Device -> Device)"), std::nullopt);
  for (const char* name :
       {"Memcpy PtoP (Device -> Device)", "Memcpy PtoP", "hipMemcpyPeer", "CopyPeerToPeer", "MemcpyP2P"})
    EXPECT_TRUE(is_peer_copy(name)) << name;
  for (const char* name : {"Memcpy DtoD (Device -> Device)", "CopyDeviceToDevice", "Memcpy HtoD (Pinned -> Device)"})
    EXPECT_FALSE(is_peer_copy(name)) << name;
}

TEST(RecordedGpuWork, HasCopiesOnTheirEnginesWithTheDramOfTheirBytes) {
  const GpuProfile gpu = *published_gpu_profile("NVIDIA H200");
  Trace trace;
  TaskGraph graph;
  Task task;
  task.resource = graph.add_resource("stream 0", ResourceKind::kStream);
  task.kind = TaskKind::kCopy;
  task.duration = std::chrono::microseconds(100);
  const TrackId track = trace.add_track("GPU 0", "stream 0");
  const std::array<Trace::NamedArg, 1> bytes{{{"bytes", std::int64_t{1'000'000}}}};
  for (const char* name : {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)",
                           "Memcpy DtoD (Device -> Device)", "Memcpy PtoP (Device -> Device)"}) {
    task.label = graph.add_label(name);
    task.step = static_cast<std::uint32_t>(trace.slices.size());
    graph.add_task(task);
    trace.add_slice(track, name, "gpu_memcpy", Nanoseconds(0), task.duration, bytes);
  }
  const RecordedTasks all{&trace, 0, graph.tasks.size()};
  const auto work = recorded_gpu_work(graph, std::span(&all, 1), gpu);
  ASSERT_TRUE(work) << work.error().message;
  ASSERT_EQ(work->copies.size(), 3U);
  const double once = 1e6 / gpu.dram.per_second * 1e9;
  EXPECT_EQ(work->copies[0].direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(work->copies[1].direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(work->copies[2].direction, CopyDirection::kDeviceToDevice);
  EXPECT_DOUBLE_EQ(work->copies[0].time_ns, 100'000);
  EXPECT_DOUBLE_EQ(work->copies[0].dram_ns, once);
  EXPECT_DOUBLE_EQ(work->copies[2].dram_ns, 2 * once) << "reads and writes";
  EXPECT_FALSE(work->tasks[3]) << "between devices: no engine of this one";
}

TEST(RecordedGpuWork, TellsKernelsOfOneNameAndTimeApartByTheirLaunches) {
  Trace trace;
  TaskGraph graph;
  Task task;
  task.resource = graph.add_resource("stream 0", ResourceKind::kStream);
  task.label = graph.add_label("gemm");
  task.kind = TaskKind::kKernel;
  task.duration = std::chrono::microseconds(100);
  task.waves = 1;
  const TrackId track = trace.add_track("GPU 0", "stream 0");
  const auto launch = [&](std::int64_t threads, std::int64_t registers) {
    const std::string block = fmt::format("[{},1,1]", threads);
    const std::array<Trace::NamedArg, 3> args{{{"grid", std::string_view("[64,1,1]")},
                                               {"block", std::string_view(block)},
                                               {"registers per thread", registers}}};
    task.step = static_cast<std::uint32_t>(trace.slices.size());
    trace.add_slice(track, "gemm", "kernel", Nanoseconds(0), task.duration, args);
    graph.add_task(task);
  };
  launch(256, 32);
  launch(1024, 32);
  launch(256, 128);
  launch(256, 32);
  graph.add_task(task);  // a further member's
  const RecordedTasks all{&trace, 0, graph.tasks.size()};
  const auto work = recorded_gpu_work(graph, std::span(&all, 1), *published_gpu_profile("NVIDIA H200"));
  ASSERT_TRUE(work) << work.error().message;
  std::vector<std::uint32_t> kernels;
  for (const auto& of : work->tasks) kernels.push_back(std::get<KernelTask>(*of).kernel);
  EXPECT_EQ(kernels, (std::vector<std::uint32_t>{0, 1, 2, 0, 0}));
  EXPECT_EQ(work->kernels[1].block.threads, 1024);
}

TEST(MatrixProducts, AreToldByTheNamesOfLibrariesKernels) {
  for (const char* name : {"ampere_sgemm_128x64_nn", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "flash_fwd_kernel",
                           "implicit_convolve_sgemm", "void conv2d_grouped_direct_kernel<float>",
                           "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1", "miopenSp3AsmConv_v21_1_3_gfx9_fp32",
                           "void ck::kernel_gemm_xdl<ck::GridwiseGemm>", "triton_tem_fused_mm_0", "triton_mm_3"})
    EXPECT_TRUE(is_matrix_product(name)) << name;
  for (const char* name : {"convertTensor_kernel", "ConvertNchwToNhwc", "vectorized_elementwise_kernel",
                           "nchwToNhwcKernel", "triton_poi_fused_convolution_relu_2", "triton_red_fused_mm_1", ""})
    EXPECT_FALSE(is_matrix_product(name)) << name;
}

}  // namespace
}  // namespace cohort
