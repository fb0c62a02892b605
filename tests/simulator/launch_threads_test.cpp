// Several host threads that launch a plan's streams on a GPU.

#include "simulator/predict/launch_order.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/predict/predict.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;

/// Launches of 4 us, of which the last is under the lock; kernels start 7 us after a launch does.
LaunchCosts costs_with_lock(Nanoseconds lock) {
  LaunchCosts costs;
  costs.call = 4_us;
  costs.latency = 7_us;
  costs.gap = 1_us;
  costs.lock = lock;
  return costs;
}

/// fc1 of 10 us, then fc2 of 5 us, of members on streams of their own, launched one by one on a GPU that has room.
struct LaunchBench {
  LaunchBench(Plan the_plan, int threads, Nanoseconds lock) : plan(std::move(the_plan)) {
    plan.launch = LaunchMode::kSingle;
    plan.launch_threads = threads;
    const auto times = [](const FakeCall& call) { return std::optional(call.op == "fc1" ? 10'000 : 5'000); };
    costs.emplace(fake_records(model, 1, times));
    const RecordedCatalog catalog(*costs, 1);
    const std::vector<const Model*> models(plan.members.size(), &model);
    Result<Program> lowered = lower(plan, models, catalog);
    EXPECT_TRUE(lowered.has_value()) << lowered.error().message;
    if (lowered) program = std::move(*lowered);
    GpuProfile profile = *published_gpu_profile("NVIDIA H100 80GB HBM3");
    profile.launch = costs_with_lock(lock);
    gpu.emplace(profile);
  }

  [[nodiscard]] PredictionCase prediction_case() { return {&plan, &program, &*costs, {}, true, &*gpu}; }

  /// Of the first program step: "resource task start-end", in microseconds.
  std::string timeline() {
    const Result<ProgramGraph> built = build_task_graph(prediction_case());
    EXPECT_TRUE(built.has_value()) << built.error().message;
    if (!built) return "";
    SimulationOptions options;
    options.device.cores = 4;
    options.gpu = gpu->work(program, built->graph).value();
    const Result<Schedule> schedule = simulate(built->graph, options);
    EXPECT_TRUE(schedule.has_value()) << schedule.error().message;
    if (!schedule) return "";
    const TaskGraph& graph = built->graph;
    std::string text;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      const Task& task = graph.tasks[i];
      if (task.iteration != 0) continue;
      const auto us = [](Nanoseconds time) { return static_cast<double>(time.count()) / 1000; };
      text += fmt::format("{}: {} {}-{}\n", graph.resources[to_index(task.resource)].name, graph.label(TaskId(i)),
                          us(schedule->tasks[i].start), us(schedule->tasks[i].end));
    }
    return text;
  }

  Model model = fake_mlp(6);
  Plan plan;
  std::optional<CostTable> costs;
  Program program;
  std::optional<GpuDemands> gpu;
};

Plan two_streams() { return uniform_plan(fake_base(2).members, Strategy::kConcurrent, 2); }

TEST(LaunchThreads, OneThreadLaunchesStepAfterStep) {
  EXPECT_EQ(LaunchBench(two_streams(), 1, 1_us).timeline(),
            "host: launch 0-4\nhost: launch 4-8\nhost: launch 8-12\nhost: launch 12-16\n"
            "stream 0: 0/fc1 7-17\nstream 1: 1/fc1 11-21\n"
            "stream 0: 0/fc2 18-23\nstream 1: 1/fc2 22-27\n"
            "host: wait 27-27\n");
}

TEST(LaunchThreads, TwoThreadsLaunchTheirStreamsAndTakeTurnsAtTheLock) {
  EXPECT_EQ(LaunchBench(two_streams(), 2, 1_us).timeline(),
            "host: launch 0-0\n"
            "launch thread 0: launch 0-3\ndriver lock: launch 3-4\n"
            "launch thread 1: launch 0-3\ndriver lock: launch 4-5\n"
            "launch thread 0: launch 4-7\ndriver lock: launch 7-8\n"
            "launch thread 1: launch 5-8\ndriver lock: launch 8-9\n"
            "stream 0: 0/fc1 7-17\nstream 1: 1/fc1 8-18\n"
            "stream 0: 0/fc2 18-23\nstream 1: 1/fc2 19-24\n"
            "host: wait 24-24\n");
}

TEST(LaunchThreads, GainNothingWhereTheLockIsHeldForWholeLaunches) {
  EXPECT_EQ(LaunchBench(two_streams(), 2, 4_us).timeline(),
            "host: launch 0-0\n"
            "launch thread 0: launch 0-0\ndriver lock: launch 0-4\n"
            "launch thread 1: launch 0-0\ndriver lock: launch 4-8\n"
            "launch thread 0: launch 4-4\ndriver lock: launch 8-12\n"
            "launch thread 1: launch 8-8\ndriver lock: launch 12-16\n"
            "stream 0: 0/fc1 7-17\nstream 1: 1/fc1 11-21\n"
            "stream 0: 0/fc2 18-23\nstream 1: 1/fc2 22-27\n"
            "host: wait 27-27\n");
}

TEST(LaunchThreads, WaitForTheLaunchOnAnotherThreadThatAStepNeeds) {
  // fc1 of the one member on stream 0, fc2 on stream 1.
  Plan plan = uniform_plan(fake_base(1).members, Strategy::kConcurrent, 2);
  plan.groups[0].ops = {"fc1", "fc2"};
  plan.groups[0].op_streams = {0, 1};
  EXPECT_EQ(LaunchBench(plan, 2, 1_us).timeline(),
            "host: launch 0-0\n"
            "launch thread 0: launch 0-3\ndriver lock: launch 3-4\n"
            "launch thread 1: launch 4-7\ndriver lock: launch 7-8\n"
            "stream 0: 0/fc1 7-17\nstream 1: 0/fc2 18-23\n"
            "host: wait 23-23\n");
}

TEST(LaunchThreads, BoundsHoldAndTheLockIsNamedWhereItBinds) {
  Plan plan = uniform_plan(fake_base(16).members, Strategy::kConcurrent, 16);
  LaunchBench eight(plan, 8, 2_us);
  const Result<Prediction> prediction = predict(eight.prediction_case());
  ASSERT_TRUE(prediction.has_value()) << prediction.error().message;
  // 32 launches hold the lock for 2 us each.
  EXPECT_GE(prediction->step_time, 64_us);
  EXPECT_LE(prediction->step_time, 64_us + 20_us);
  EXPECT_EQ(prediction->binding.resource, "driver lock");
  EXPECT_LE(prediction->lower_bound, prediction->step_time);
  EXPECT_LE(prediction->step_time, prediction->upper_bound);
  const Result<Prediction> one = predict(LaunchBench(plan, 1, 2_us).prediction_case());
  ASSERT_TRUE(one.has_value()) << one.error().message;
  EXPECT_GE(one->step_time, 128_us);
}

TEST(LaunchThreads, GetTheLockInTheOrderInWhichTheyAskForIt) {
  Program program;
  program.streams = 2;
  program.launch_threads = 2;
  const auto add = [&](std::uint32_t stream, std::vector<StepId> dependencies) {
    Step step;
    step.stream = StreamId(stream);
    step.dependencies = std::move(dependencies);
    program.steps.push_back(std::move(step));
  };
  // Listed member by member: thread 1 does not wait until thread 0 is done with all of its own.
  for (const std::uint32_t stream : {0U, 0U, 0U, 1U, 1U}) add(stream, {});
  EXPECT_THAT(order_of_launch_threads(program, costs_with_lock(1_us)), ElementsAre(0, 3, 1, 4, 2));
  // The last step's launch waits for that of step 2 on the other thread.
  add(1, {StepId(2)});
  EXPECT_THAT(order_of_launch_threads(program, costs_with_lock(1_us)), ElementsAre(0, 3, 1, 4, 2, 5));
}

}  // namespace
}  // namespace cohort
