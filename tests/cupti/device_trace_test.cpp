// Recordings of what a GPU does in the process that runs a model batch: CUPTI's sessions, the executor's steps, and the
// measured trace that comes of both. CUPTI is the stand-in, the device a fake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "devices/cupti_tracer.hpp"
#include "executor/run/device_tasks.hpp"
#include "executor/run/plan_run.hpp"
#include "simulator/report/compare.hpp"
#include "tests/cupti/stand_in_gpu.hpp"
#include "tests/executor/small_program.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/cupti/session.hpp"
#include "tracer/device_work.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Launches kKernels kernels for each step that is given, as a device would: one behind the other, 2 us each, each by a
/// call. The host waits for them, so that nothing of the step that warms up is still to come when the steps that count
/// begin, and the tool takes a moment of its own.
class LaunchingSession final : public CuptiSession {
 public:
  static constexpr int kKernels = 2;
  static constexpr Nanoseconds kTime = std::chrono::microseconds(2);

  explicit LaunchingSession(std::unique_ptr<CuptiSession> session) : session_(std::move(session)) {}
  void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) override {
    session_->label(id, task, op, members);
  }
  void push(std::uint64_t id) noexcept override { session_->push(id); }
  void pop() noexcept override {
    for (int i = 0; i < kKernels; ++i) {
      const Nanoseconds call = device_time();
      end_ = std::max(end_, device_time());
      kernel(end_, kTime, ++correlation_);
      host_record("fake_call", call, device_time(), correlation_);
      end_ += kTime;
    }
    const Nanoseconds wait = device_time();
    while (device_time() < end_) {
    }
    host_record("fake_wait", wait, device_time(), ++correlation_);
    host_record("fake_overhead", wait, device_time());
    session_->pop();
  }
  Result<Trace> stop() override { return session_->stop(); }

 private:
  std::unique_ptr<CuptiSession> session_;
  Nanoseconds end_{};
  std::uint32_t correlation_ = 0;
};

Result<std::unique_ptr<CuptiSession>> start_launching(const CuptiOptions& options) {
  EXPECT_FALSE(options.ranges) << "the executor's own ranges would hide the labels";
  COHORT_TRY(auto session, cupti::start_session(options));
  return std::make_unique<LaunchingSession>(std::move(session));
}
constexpr CuptiPlugin kPlain{&cupti::start_session, nullptr};
constexpr CuptiPlugin kLaunching{&start_launching, nullptr};

/// Tasks as "task #iteration on track: duration in us".
std::vector<std::string> tasks_of(const Trace& trace) {
  std::vector<std::string> lines;
  for (const Slice& slice : trace.slices) {
    const auto task = trace.text_arg(slice, kTaskArg);
    if (!task) continue;
    lines.push_back(fmt::format("{} #{} on {}: {}", *task, trace.integer_arg(slice, kIterationArg).value_or(-1),
                                trace.tracks[to_index(slice.track)].thread, slice.duration.count() / 1000));
  }
  return lines;
}

/// Two steps: a on stream 0, b on stream 1 behind it.
struct TwoSteps {
  TwoSteps() : p(2) {
    const View x = p.input("x");
    const View middle = p.activation("middle", 0);
    a = p.step("0-1/a", {x}, middle, {0, {}});
    b = p.step("0-1/b", {middle}, p.output("y"), {1, {a}});
    p.program.steps[0].op = "a";
    p.program.steps[1].op = "b";
  }
  SmallProgram p;
  StepId a{}, b{};
};

TEST_F(DeviceTrace, MakesOneTaskOfAllKernelsOfALaunchAndNumbersItsRuns) {
  const TwoSteps steps;
  CuptiTracer tracer(kPlain);
  ASSERT_TRUE(tracer.start());
  TaskSink& sink = tracer.watch(steps.p.program, "");
  EXPECT_FALSE(sink.needs_times());
  const Nanoseconds origin = device_time() + 1ms;
  const Nanoseconds from = steady_now();
  std::uint32_t correlation = 0;
  for (int run = 0; run < 2; ++run) {
    const Nanoseconds begin = origin + run * 100us;
    sink.giving(steps.a, StreamId{0});
    kernel(begin, 3us, ++correlation);
    kernel(begin + 5us, 4us, ++correlation);  // an epilogue of its own
    sink.given(steps.a, StreamId{0});
    kernel(begin + 9us, 1us, ++correlation);  // an upload's, say: of no task
    sink.giving(steps.b, StreamId{1});
    kernel(begin + 20us, 7us, ++correlation);
    sink.given(steps.b, StreamId{1});
  }
  auto recorded = tracer.stop();
  ASSERT_TRUE(recorded) << recorded.error().message;
  const std::vector<std::string> groups{"all"};
  Trace trace = with_tasks(steps.p.program, {std::move(*recorded), from, 2, groups});
  EXPECT_THAT(tasks_of(trace), ElementsAre("0-1/a #0 on stream 0: 9", "0-1/a #1 on stream 0: 9",
                                           "0-1/b #0 on stream 1: 7", "0-1/b #1 on stream 1: 7"));
  EXPECT_EQ(trace.info.dropped.count("runs of tasks of which no work was recorded"), 0U);
  const Slice& first = trace.slices[0];
  EXPECT_EQ(trace.text_arg(first, kOfTaskArg), "0-1/a");
  EXPECT_NEAR(static_cast<double>(first.start.count()), 1e6, 5e5) << "in the steady clock, from where it was cut";

  trace.info.kind = TraceKind::kMeasured;
  Trace predicted;
  predicted.info.kind = TraceKind::kPredicted;
  const TrackId track = predicted.add_track("cuda:0", "stream 0");
  add_task_slice(predicted, track, {&steps.p.program.steps[0], "all", 0, 0us, 10us});
  add_task_slice(predicted, track, {&steps.p.program.steps[1], "all", 0, 10us, 7us});
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read) << read.error().message;
  const auto compared = compare(predicted, *read);
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_THAT(compared->tasks,
              ElementsAre(ComparedTask{"0-1/a", "all", 10us, 9us}, ComparedTask{"0-1/b", "all", 7us, 7us}));
  EXPECT_THAT(compared->only_measured, IsEmpty());
}

TEST_F(DeviceTrace, FindsTheTasksOfAGraphAtEveryReplay) {
  const TwoSteps steps;
  CuptiTracer tracer(kPlain);
  ASSERT_TRUE(tracer.start());
  TaskSink& sink = tracer.watch(steps.p.program, "");
  sink.giving(steps.a, StreamId{0});
  graph_node(1, 0);
  graph_node(2, 0);
  sink.given(steps.a, StreamId{0});
  sink.giving(steps.b, StreamId{1});
  graph_node(3, 0);
  sink.given(steps.b, StreamId{1});
  for (std::uint64_t node = 1; node <= 3; ++node) graph_node(100 + node, node);  // instantiated
  // Seconds apart: however long a busy machine keeps this test waiting, `from` lies between the first two.
  const Nanoseconds origin = device_time() + 1s;
  const auto replay = [&](Nanoseconds begin, std::uint32_t correlation) {
    kernel(begin, 3us, correlation, 101);
    kernel(begin + 3us, 3us, correlation, 102);
    kernel(begin + 6us, 2us, correlation, 103);
  };
  replay(origin, 7);  // warms up
  const Nanoseconds from = steady_now() + 11s;
  replay(origin + 20s, 8);
  replay(origin + 21s, 9);
  auto recorded = tracer.stop();
  ASSERT_TRUE(recorded) << recorded.error().message;
  const Trace trace = with_tasks(steps.p.program, {std::move(*recorded), from, 3, {}});
  EXPECT_THAT(tasks_of(trace), ElementsAre("0-1/a #0 on stream 0: 6", "0-1/a #1 on stream 0: 6",
                                           "0-1/b #0 on stream 1: 2", "0-1/b #1 on stream 1: 2"));
  EXPECT_EQ(trace.info.dropped.at("runs of tasks of which no work was recorded"), 2) << "three runs were to be there";
}

TEST_F(DeviceTrace, IsTheMeasuredTraceOfARunOnAGpu) {
  FakeGpus device;
  const Batch batch = equal_members("lenet5", 1, {}, 2);
  Plan plan = plan_by_name("concurrent", batch);
  plan.launch = LaunchMode::kSingle;
  const CancelToken cancel;
  const auto run = PlanRun::open(device, plan, batch.models(), cancel);
  ASSERT_TRUE(run) << run.error().message;
  CuptiTracer tracer(kLaunching);
  const auto trace = (*run)->trace({}, 3, &tracer);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.kind, TraceKind::kMeasured);
  EXPECT_EQ(trace->info.settings.count(std::string(kNotRecorded)), 0U);
  EXPECT_THAT(trace->info.dropped, IsEmpty());
  ASSERT_NE(trace->info.wall("plan traced"), nullptr);
  EXPECT_EQ(trace->info.wall("plan traced")->samples.size(), 3U);
  const std::size_t steps = (*run)->program().steps.size();
  std::size_t kernels = 0;
  std::map<std::string, int> runs;
  std::map<std::string, std::size_t> beside;  // by category
  for (const Slice& slice : trace->slices) ++beside[std::string(trace->strings[slice.category])];
  EXPECT_EQ(beside["cuda_runtime"], 3 * steps * LaunchingSession::kKernels);
  EXPECT_EQ(beside["cuda_sync"], 3 * steps);
  EXPECT_EQ(beside["overhead"], 3 * steps);
  EXPECT_EQ(trace->flows.size(), 3 * steps * LaunchingSession::kKernels) << "from each call to its kernel";
  for (const Slice& slice : trace->slices) {
    if (trace->strings[slice.category] == "kernel") {
      ++kernels;
      EXPECT_TRUE(trace->text_arg(slice, kOfTaskArg));
      EXPECT_GE(slice.start, Nanoseconds(0));
    } else if (const auto task = trace->text_arg(slice, kTaskArg)) {
      ++runs[std::string(*task)];
      EXPECT_EQ(trace->integer_arg(slice, "kernels"), LaunchingSession::kKernels);
      EXPECT_GE(slice.duration, LaunchingSession::kKernels * LaunchingSession::kTime);
    }
  }
  EXPECT_EQ(kernels, 3 * steps * LaunchingSession::kKernels) << "the step that warms up is left out";
  EXPECT_EQ(runs.size(), steps);
  EXPECT_THAT(runs, Contains(Pair((*run)->program().steps[0].task, 3)));
}

/// Records nothing that it hands out.
class LosingTracer final : public DeviceTracer {
 public:
  Result<void> start() override { return {}; }
  TaskSink& watch(const Program& /*program*/, std::string_view /*prefix*/) override { return sink_; }
  Result<Trace> stop() override { return fail(ErrorCode::kRecordingIncomplete, "the tool lost its records"); }

 private:
  class Sink final : public TaskSink {
   public:
    void begin(StepId /*step*/, StreamId /*stream*/) noexcept override {}
    void end(StepId /*step*/, StreamId /*stream*/) noexcept override {}
  };
  Sink sink_;
};

TEST_F(DeviceTrace, IsOfTasksAloneWhereTheTracerLosesItsRecords) {
  FakeGpus device;
  const Batch batch = equal_members("mlp", 1, {}, 2);
  const Plan plan = plan_by_name("serial", batch);
  const CancelToken cancel;
  const auto run = PlanRun::open(device, plan, batch.models(), cancel);
  ASSERT_TRUE(run) << run.error().message;
  LosingTracer tracer;
  const auto trace = (*run)->trace({}, 2, &tracer);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.settings.at(std::string(kNotRecorded)), "the tool lost its records");
  EXPECT_EQ(tasks_of(*trace).size(), 2 * (*run)->program().steps.size());
  EXPECT_EQ(trace->info.wall("plan traced")->samples.size(), 2U);
}

TEST_F(DeviceTrace, IsOfTasksAloneWhereCuptiCannotBeUsedAndSaysWhy) {
  ::setenv("FAKE_CUPTI_HELD", "1", 1);
  FakeGpus device;
  const Batch batch = equal_members("mlp", 1, {}, 2);
  const Plan plan = plan_by_name("serial", batch);
  const CancelToken cancel;
  const auto run = PlanRun::open(device, plan, batch.models(), cancel);
  ASSERT_TRUE(run) << run.error().message;
  CuptiTracer tracer(kLaunching);
  const auto trace = (*run)->trace({}, 2, &tracer);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(trace->info.settings.at(std::string(kNotRecorded)), HasSubstr("CUPTI for Another Tool"));
  EXPECT_EQ(tasks_of(*trace).size(), 2 * (*run)->program().steps.size());
}

}  // namespace
}  // namespace cohort::testing
