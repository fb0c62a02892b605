// Images that are decoded on the host and copied to a GPU, beside steps and between them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/predict/predict.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

/// How a GPU is fed.
struct Feeding {
  int buffers = 2;
  Nanoseconds decode = 2_us;  ///< of each of a minibatch's two images
  Nanoseconds copy = 5_us;    ///< of a minibatch, 2 us of it whatever its size
  std::size_t members = 1;
  InputSharing sharing = InputSharing::kShared;
  LaunchMode launch = LaunchMode::kGraph;
  int launch_threads = 1;
  Nanoseconds graph_node{};        ///< of a graph with branches
  Nanoseconds graph_chain_node{};  ///< of one without
};

/// fc1 of 10 us, then fc2 of 5 us, of members on streams of their own. A launch takes the host 4 us and the device 7 us
/// from its start, a graph 3 us; kernels stand 1 us apart.
struct FeedingBench {
  explicit FeedingBench(const Feeding& feeding)
      : plan(uniform_plan(fake_base(feeding.members).members, Strategy::kConcurrent,
                          static_cast<int>(feeding.members))) {
    plan.launch = feeding.launch;
    plan.launch_threads = feeding.launch_threads;
    plan.input.source = InputSource::kFolder;
    plan.input.sharing = feeding.sharing;
    plan.input.buffers = feeding.buffers;
    plan.input.decode_workers = 1;
    const auto times = [](const FakeCall& call) { return std::optional(call.op == "fc1" ? 10'000 : 5'000); };
    std::vector<ProfileRecord> records = fake_records(model, 1, times);
    records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, feeding.decode.count()));
    costs.emplace(records);
    const RecordedCatalog catalog(*costs, 1);
    const std::vector<const Model*> models(plan.members.size(), &model);
    Result<Program> lowered = lower(plan, models, catalog);
    EXPECT_TRUE(lowered.has_value()) << lowered.error().message;
    if (lowered) program = std::move(*lowered);
    GpuProfile profile = *published_gpu_profile("NVIDIA H100 80GB HBM3");
    profile.launch = {};
    profile.launch.call = 4_us;
    profile.launch.latency = 7_us;
    profile.launch.gap = profile.launch.graph_gap = 1_us;
    profile.launch.graph_call = 3_us;
    profile.launch.graph_node = feeding.graph_node;
    profile.launch.graph_chain_node = feeding.graph_chain_node;
    profile.launch.copy_latency = 2_us;
    profile.launch.lock = 1_us;
    profile.to_device.per_second = 64 / seconds(feeding.copy - 2_us);
    gpu.emplace(profile);
  }

  [[nodiscard]] PredictionCase prediction_case() { return {&plan, &program, &*costs, {}, true, &*gpu}; }

  Prediction predicted() {
    const Result<Prediction> prediction = predict(prediction_case());
    EXPECT_TRUE(prediction.has_value()) << prediction.error().message;
    return prediction.value_or(Prediction{});
  }

  /// What has begun by `until`, by resource: "resource: task start-end, task start-end", in microseconds.
  std::string timeline(Nanoseconds until) {
    const Result<ProgramGraph> built = build_task_graph(prediction_case());
    EXPECT_TRUE(built.has_value()) << built.error().message;
    if (!built) return "";
    SimulationOptions options;
    options.device.cores = 8;
    options.gpu = gpu->work(program, built->graph).value();
    const Result<Schedule> schedule = simulate(built->graph, options);
    EXPECT_TRUE(schedule.has_value()) << schedule.error().message;
    if (!schedule) return "";
    const TaskGraph& graph = built->graph;
    std::map<std::string, std::string> lines;
    const auto us = [](Nanoseconds time) { return static_cast<double>(time.count()) / 1000; };
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      if (schedule->tasks[i].start > until) continue;
      lines[graph.resources[to_index(graph.tasks[i].resource)].name] +=
          fmt::format(", {} {}-{}", graph.label(TaskId(i)), us(schedule->tasks[i].start), us(schedule->tasks[i].end));
    }
    std::string text;
    for (const auto& [resource, tasks] : lines) text += resource + ": " + tasks.substr(2) + "\n";
    return text;
  }

  Model model = fake_mlp(6);
  Plan plan;
  std::optional<CostTable> costs;
  Program program;
  std::optional<GpuDemands> gpu;
};

TEST(GpuInput, IsCopiedBesideTheStepBeforeWhereThereAreTwoBuffers) {
  // Both buffers on the host are free once the first two copies have been waited for, then one after each wait.
  EXPECT_EQ(FeedingBench({.decode = 4_us}).timeline(60_us),
            "copies to the device: input 0 15-20, input 0 23-28, input 0 52-57\n"
            "decode worker 0: input 0 0-8, input 0 8-16, input 0 37-45, input 0 45-53, input 0 59-67\n"
            "host: upload 8-12, launch 12-15, upload 16-20, wait 37-37, launch 37-40, upload 45-49, wait 59-59, "
            "launch 59-62\n"
            "stream 0: 0/fc1 21-31, 0/fc2 32-37, 0/fc1 43-53, 0/fc2 54-59\n");
}

TEST(GpuInput, GraphsOfOneStreamAndOfSeveralAreLaunchedAtCostsOfTheirOwn) {
  const auto launch = [](std::size_t members) {
    return FeedingBench({.members = members, .graph_node = 300_ns, .graph_chain_node = 50_ns}).timeline(20_us);
  };
  EXPECT_THAT(launch(1), testing::HasSubstr("launch 8-11.1,"));  // 2 nodes
  EXPECT_THAT(launch(2), testing::HasSubstr("launch 8-12.2,"));  // 4
}

TEST(GpuInput, IsCopiedBetweenStepsWhereThereIsOneBuffer) {
  EXPECT_EQ(FeedingBench({.buffers = 1, .decode = 4_us}).timeline(70_us),
            "copies to the device: input 0 15-20, input 0 52-57\n"
            "decode worker 0: input 0 0-8, input 0 37-45\n"
            "host: upload 8-12, launch 12-15, wait 37-37, upload 45-49, launch 49-52\n"
            "stream 0: 0/fc1 21-31, 0/fc2 32-37, 0/fc1 58-68, 0/fc2 69-74\n");
}

TEST(GpuInput, IsCopiedForEachMemberWhereItIsSeparate) {
  EXPECT_EQ(FeedingBench({.decode = 4_us, .members = 2, .sharing = InputSharing::kSeparate}).timeline(45_us),
            "copies to the device: input 0 23-28, input 1 28-33, input 0 39-44, "
            "input 1 44-49\n"
            "decode worker 0: input 0 0-8, input 1 8-16, input 0 16-24, input 1 24-32\n"
            "host: upload 16-20, upload 20-24, launch 24-27, upload 32-36, upload 36-40\n"
            "stream 0: 0/fc1 34-44, 0/fc2 45-50\n"
            "stream 1: 1/fc1 34-44, 1/fc2 45-50\n");
}

TEST(GpuInput, IsGivenByALaunchThreadWhereThereAreSeveral) {
  EXPECT_EQ(FeedingBench({.members = 2, .launch = LaunchMode::kSingle, .launch_threads = 2}).timeline(45_us),
            "copies to the device: input 0 11-16, input 0 21-26\n"
            "decode worker 0: input 0 0-4, input 0 4-8, input 0 33-37, input 0 37-41\n"
            "driver lock: upload 7-8, launch 10-11, launch 11-12, launch 14-15, launch 15-16, upload 17-18, "
            "launch 36-37, launch 37-38, launch 40-41, launch 41-42, upload 43-44\n"
            "host: launch 4-4, wait 33-33, launch 33-33\n"
            "launch thread 0: upload 4-7, launch 7-10, launch 11-14, upload 14-17, launch 33-36, launch 37-40, "
            "upload 40-43\n"
            "launch thread 1: launch 4-7, launch 12-15, launch 33-36, launch 38-41\n"
            "stream 0: 0/fc1 17-27, 0/fc2 28-33, 0/fc1 40-50\n"
            "stream 1: 1/fc1 17-27, 1/fc2 28-33, 1/fc1 41-51\n");
}

TEST(GpuInput, TakesAStepTheLongestOfDecodingCopyingAndComputingOrAllInTurn) {
  constexpr Nanoseconds kKernels = 16_us;
  for (const Nanoseconds decode : {1_us, 5_us, 20_us}) {
    for (const Nanoseconds copy : {3_us, 12_us, 40_us}) {
      for (const int buffers : {1, 2, 3}) {
        FeedingBench bench({.buffers = buffers, .decode = decode, .copy = copy});
        const Prediction prediction = bench.predicted();
        // A graph launch of 3 us, then kernels 3 us after it; the copy begins 7 us after the call behind the launch.
        const Nanoseconds longest = std::max({3_us + 3_us + kKernels, 3_us + 7_us + copy, 2 * decode});
        // The copy begins 7 us after its call, kernels 1 us after the copy.
        const Nanoseconds in_turn = 2 * decode + 7_us + copy + 1_us + kKernels;
        const std::string what =
            fmt::format("decoding {}, copying {}, {} buffers", decode.count(), copy.count(), buffers);
        EXPECT_EQ(prediction.step_time, buffers == 1 ? in_turn : longest) << what;
        EXPECT_LE(prediction.lower_bound, prediction.step_time) << what;
        EXPECT_GE(prediction.upper_bound, prediction.step_time) << what;
        const auto bracket = contention_bracket(bench.prediction_case(), prediction);
        ASSERT_TRUE(bracket.has_value()) << bracket.error().message;
        EXPECT_EQ(bracket->without, prediction.step_time) << what << ": a stream has nobody to contend with";
        EXPECT_EQ(bracket->in_turn, prediction.step_time) << what;
      }
    }
  }
}

TEST(GpuInput, NamesTheCopiesWhereTheyBind) {
  const Prediction prediction = FeedingBench({.copy = 100_us}).predicted();
  EXPECT_EQ(prediction.binding.resource, "copies to the device");
  EXPECT_GE(prediction.lower_bound, 100_us);
  EXPECT_EQ(FeedingBench({.decode = 50_us}).predicted().binding.resource, "decode worker 0");
}

TEST(GpuInput, IsDrawnByMinibatchInThePredictedTrace) {
  FeedingBench bench({.members = 2, .sharing = InputSharing::kSeparate});
  const auto run = predict_run(bench.prediction_case(), {});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  std::string copies;
  for (const Slice& slice : run->trace.slices) {
    if (run->trace.name(slice) != "copy" || run->trace.integer_arg(slice, "minibatch") > 1) continue;
    copies +=
        fmt::format("{} {}: {} of {}\n", run->trace.tracks[to_index(slice.track)].process,
                    run->trace.tracks[to_index(slice.track)].thread, run->trace.integer_arg(slice, "minibatch").value(),
                    run->trace.text_arg(slice, "pipeline").value());
  }
  EXPECT_EQ(copies,
            "input copies to the device: 0 of input 0\ninput copies to the device: 0 of input 1\n"
            "input copies to the device: 1 of input 0\ninput copies to the device: 1 of input 1\n");
}

TEST(GpuInput, ThatIsOnTheDeviceAlreadyIsNotCopied) {
  FeedingBench bench({});
  bench.plan.input.source = InputSource::kGenerated;
  EXPECT_EQ(bench.predicted().step_time, 22_us);
  EXPECT_EQ(bench.timeline(30_us),
            "host: launch 0-3, wait 22-22, launch 22-25\nstream 0: 0/fc1 6-16, 0/fc2 17-22, 0/fc1 28-38\n");
}

}  // namespace
}  // namespace cohort
