#include "simulator/report/compare.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

using namespace literals;

struct TaskSlice {
  std::string_view task, group;
  std::int64_t iteration;
  Nanoseconds duration;
};

Trace trace_of(TraceKind kind, const std::vector<TaskSlice>& slices, Nanoseconds plan, Nanoseconds baseline) {
  Trace trace;
  trace.info.kind = kind;
  trace.info.wall_times = {{"plan", {plan}, 0}, {"baseline", {baseline}, 0}};
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  Nanoseconds start{};
  for (const TaskSlice& slice : slices) {
    const std::array<Trace::NamedArg, 3> args{
        {{kTaskArg, slice.task}, {"group", slice.group}, {kIterationArg, slice.iteration}}};
    trace.add_slice(track, slice.task, "task", start, slice.duration, args);
    start += slice.duration;
  }
  return trace;
}

Trace predicted() {
  return trace_of(TraceKind::kPredicted,
                  {{"0/conv1", "convolutions", 0, 100_us},
                   {"1/conv1", "convolutions", 0, 100_us},
                   {"0-1/fc1", "matrices", 0, 30_us},
                   {"0/never", "matrices", 0, 5_us}},
                  400_us, 800_us);
}

Trace measured() {
  return trace_of(TraceKind::kMeasured,
                  {{"0/conv1", "convolutions", 0, 900_us},  // a first iteration that the median leaves out
                   {"1/conv1", "convolutions", 0, 110_us},
                   {"0-1/fc1", "matrices", 0, 20_us},
                   {"0/conv1", "convolutions", 1, 80_us},
                   {"0/conv1", "convolutions", 2, 79_us},
                   {"1/surprise", "matrices", 0, 1_us}},
                  500_us, 750_us);
}

TEST(Compare, MatchesTasksByIdAndTakesMediansOverIterations) {
  const Result<Comparison> comparison = compare(predicted(), measured());
  ASSERT_TRUE(comparison.has_value()) << comparison.error().message;
  const std::vector<ComparedTask> expected{{"0/conv1", "convolutions", 100_us, 80_us},
                                           {"0-1/fc1", "matrices", 30_us, 20_us},
                                           {"1/conv1", "convolutions", 100_us, 110_us}};
  EXPECT_EQ(comparison->tasks, expected);
  const std::vector<ComparedTask> groups{{"convolutions", "convolutions", 200_us, 190_us},
                                         {"matrices", "matrices", 30_us, 20_us}};
  EXPECT_EQ(comparison->groups, groups);
  EXPECT_EQ(comparison->all, (ComparedTask{"all", "", 230_us, 210_us}));
  EXPECT_EQ(comparison->only_predicted, std::vector<std::string>{"0/never"});
  EXPECT_EQ(comparison->only_measured, std::vector<std::string>{"1/surprise"});
}

TEST(Compare, ScoresTheSpeedup) {
  const Result<Comparison> comparison = compare(predicted(), measured());
  ASSERT_TRUE(comparison.has_value());
  EXPECT_DOUBLE_EQ(comparison->predicted_speedup.value(), 2.0);
  EXPECT_DOUBLE_EQ(comparison->measured_speedup.value(), 1.5);
  EXPECT_DOUBLE_EQ(comparison->relative_error.value(), (2.0 - 1.5) / 1.5);
  EXPECT_DOUBLE_EQ(comparison->plan.value().relative_error().value(), -0.2);
}

TEST(Compare, LeavesTheSpeedupOutWhereATraceHasNoWallTimes) {
  Trace bare = measured();
  bare.info.wall_times.clear();
  const Result<Comparison> comparison = compare(predicted(), bare);
  ASSERT_TRUE(comparison.has_value());
  EXPECT_FALSE(comparison->predicted_speedup.has_value());
  EXPECT_FALSE(comparison->relative_error.has_value());
}

TEST(Compare, PrintsTables) {
  EXPECT_EQ(print(compare(predicted(), measured()).value(), {2}),
            R"(task     predicted   measured    error
0/conv1     100 us    80.0 us   +25.0%
0-1/fc1    30.0 us    20.0 us   +50.0%
... and 1 more

group         predicted   measured    error
convolutions     200 us     190 us    +5.3%
matrices        30.0 us    20.0 us   +50.0%
all              230 us     210 us    +9.5%

wall time  predicted   measured    error
plan          400 us     500 us   -20.0%
baseline      800 us     750 us    +6.7%
speedup        2.00x      1.50x   +33.3%
predicted but not measured: 0/never
measured but not predicted: 1/surprise
)");
}

TEST(Compare, SaysFirstWhatMakesItDoubtful) {
  Trace p = predicted();
  Trace m = measured();
  p.info.plan = "{\"streams\": 1}";
  m.info.plan = "{\"streams\": 2}";
  m.info.wall_times.front().discarded = 24;
  const Comparison comparison = compare(p, m).value();
  EXPECT_TRUE(comparison.different_plans);
  EXPECT_EQ(comparison.disturbed, 24);
  EXPECT_EQ(comparison.wall_times, 25);
  const std::string text = print(comparison);
  EXPECT_TRUE(text.starts_with("The traces are of different plans: only tasks that both have are compared")) << text;
  EXPECT_NE(text.find("Other programs kept the machine busy: 24 of 25 wall times of the plan were left out"),
            std::string::npos)
      << text;
}

Member member_of(std::string name, std::string model) {
  Member member;
  member.name = std::move(name);
  member.source.model = std::move(model);
  return member;
}

TEST(Compare, TellsPlansApartByWhatTheyRunAndHow) {
  const auto text_of = [](const std::function<void(Plan&)>& edit) {
    Plan plan =
        uniform_plan({member_of("a", "folder/net.onnx"), member_of("b", "folder/net.onnx")}, Strategy::kConcurrent, 2);
    edit(plan);
    return write_plan(plan);
  };
  const std::string plain = text_of([](Plan&) {});
  const auto differs = [&](const std::function<void(Plan&)>& edit) {
    Trace p = predicted();
    Trace m = measured();
    p.info.plan = plain;
    m.info.plan = text_of(edit);
    return different_plans(p, m);
  };
  EXPECT_FALSE(differs([](Plan& plan) { plan.members[0].source.model = plan.members[1].source.model = "net.onnx"; }));
  EXPECT_FALSE(differs([](Plan& plan) { plan.baselines.emplace_back().members = {0, 1}; }));
  EXPECT_FALSE(differs([](Plan& plan) { plan.limits.workspace = Bytes{1000}; }));
  EXPECT_TRUE(differs([](Plan& plan) { plan.streams = 3; }));
  EXPECT_TRUE(differs([](Plan& plan) { plan.device = "cuda:0"; }));
  EXPECT_TRUE(differs([](Plan& plan) { plan.members[1].source.minibatch = 2; }));
  EXPECT_TRUE(differs([](Plan& plan) { plan.groups[0].strategy = Strategy::kSerial; }));
}

TEST(Compare, SaysThatPlansOrDevicesDifferWhereAllTasksAreInBoth) {
  Trace p = predicted();
  std::erase_if(p.slices, [&](const Slice& slice) { return p.text_arg(slice, kTaskArg) == "0/never"; });
  Trace m = measured();
  std::erase_if(m.slices, [&](const Slice& slice) { return m.text_arg(slice, kTaskArg) == "1/surprise"; });
  p.info.plan = write_plan(uniform_plan({member_of("a", "mlp")}, Strategy::kSerial, 1));
  m.info.plan = write_plan(uniform_plan({member_of("a", "mlp")}, Strategy::kConcurrent, 1));
  p.info.device.name = "some GPU";
  m.info.device.name = "some CPU";
  const std::string text = print(compare(p, m).value());
  EXPECT_TRUE(
      text.starts_with("The traces are of different plans: speedups are of different things.\n"
                       "The traces are of different devices: predicted for some GPU, measured on some CPU.\n"))
      << text;
}

TEST(Compare, ListsTheFirstOfManyTasksThatOneTraceLacks) {
  Trace p = predicted();
  const Slice first = p.slices.front();
  for (int i = 10; i < 40; ++i) {
    const std::string task = fmt::format("{}/more", i);
    const std::array<Trace::NamedArg, 1> args{{{kTaskArg, std::string_view(task)}}};
    p.add_slice(first.track, "more", "task", first.start, first.duration, args);
  }
  const std::string text = print(compare(p, measured()).value());
  EXPECT_NE(text.find("20/more and 19 more\n"), std::string::npos) << text;
}

TEST(Compare, RefusesTracesOfTheWrongKind) {
  EXPECT_EQ(compare(measured(), measured()).error().message, "a predicted trace is needed, this is a measured one");
  EXPECT_EQ(compare(predicted(), predicted()).error().message, "a measured trace is needed, this is a predicted one");
}

TEST(Compare, RefusesTracesOfDifferentPlans) {
  const Trace other = trace_of(TraceKind::kMeasured, {{"0/other", "g", 0, 1_us}}, 1_us, 1_us);
  EXPECT_EQ(
      compare(predicted(), other).error().message,
      "the traces have no task in common (\"0-1/fc1\" was predicted, \"0/other\" measured); they are of different "
      "plans");
}

TEST(Compare, RefusesATraceWithoutTasks) {
  const Trace empty = trace_of(TraceKind::kMeasured, {}, 1_us, 1_us);
  EXPECT_EQ(compare(predicted(), empty).error().message, "the measured trace has no slice with a \"task\" argument");
}

}  // namespace
}  // namespace cohort
