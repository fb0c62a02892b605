// Recordings of what a GPU does in the process that runs a model batch: CUPTI's sessions, the executor's steps, and the
// measured trace that comes of both. CUPTI is the stand-in, the device a fake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "base/plugin.hpp"
#include "cli/cupti_tracer.hpp"
#include "executor/profile/profile.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/run/device_tasks.hpp"
#include "executor/run/plan_run.hpp"
#include "simulator/costs/recorded_launches.hpp"
#include "simulator/report/compare.hpp"
#include "tests/executor/small_program.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/cupti/session.hpp"
#include "tracer/device_work.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/profile_summary.hpp"

namespace cohort::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

template <class Function>
Function* stand_in(const char* name) {
  const auto library = SharedLibrary::open(FAKE_CUPTI, SharedLibrary::Scope::kLocal);
  EXPECT_TRUE(library);
  const auto function = library->function<Function>(name);
  EXPECT_TRUE(function);
  return *function;
}

/// CUPTI's clock of now.
Nanoseconds device_time() {
  std::uint64_t time = 0;
  stand_in<int(std::uint64_t*)>("cuptiGetTimestamp")(&time);
  return Nanoseconds(static_cast<std::int64_t>(time));
}
void kernel(Nanoseconds start, Nanoseconds duration, std::uint32_t correlation, std::uint64_t node = 0) {
  stand_in<void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t)>("fake_kernel")(
      static_cast<std::uint64_t>(start.count()), static_cast<std::uint64_t>((start + duration).count()), correlation,
      node);
}
/// A record of the host's, by the stand-in's function for it.
template <class... More>
void host_record(const char* function, Nanoseconds start, Nanoseconds end, More... more) {
  stand_in<void(std::uint64_t, std::uint64_t, More...)>(function)(static_cast<std::uint64_t>(start.count()),
                                                                  static_cast<std::uint64_t>(end.count()), more...);
}
void graph_node(std::uint64_t node, std::uint64_t original) {
  stand_in<void(std::uint64_t, std::uint64_t)>("fake_graph_node")(node, original);
}

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
/// What happens on GPUs that replay graphs: steps that are given are captured, as nodes, and each replay is a call that
/// runs a kernel for each node, for which the host waits while the tool takes a moment of its own.
class Replays {
 public:
  static constexpr int kNodes = 2;  ///< of a step

  /// Something is given to a device: to be captured, or a graph to be replayed.
  void given(std::size_t device) {
    if (is_capturing_) {
      if (replayed_.erase(device) > 0) nodes_[device].clear();  // a graph of its own
      device_ = device;
    } else if (!nodes_[device].empty()) {
      replay(nodes_[device]);
      replayed_.insert(device);
    }
  }
  void begin_step() { is_capturing_ = true; }
  void end_step() {
    constexpr std::uint64_t kClones = 1'000'000;
    for (int i = 0; i < kNodes; ++i) {
      graph_node(++last_node_, 0);
      graph_node(kClones + last_node_, last_node_);  // in the graph that is launched
      nodes_[device_].push_back(kClones + last_node_);
    }
    is_capturing_ = false;
  }

 private:
  void replay(const std::vector<std::uint64_t>& nodes) {
    const Nanoseconds call = device_time();
    host_record("fake_call", call, device_time(), ++correlation_);
    Nanoseconds end = device_time();
    for (const std::uint64_t node : nodes) {
      kernel(end, LaunchingSession::kTime, correlation_, node);
      end += LaunchingSession::kTime;
    }
    const Nanoseconds wait = device_time();
    while (device_time() < end) {
    }
    host_record("fake_wait", wait, device_time(), ++correlation_);
    host_record("fake_overhead", wait, device_time());
  }

  bool is_capturing_ = false;
  std::size_t device_ = 0;
  std::map<std::size_t, std::vector<std::uint64_t>> nodes_;  ///< by device
  std::set<std::size_t> replayed_;
  std::uint64_t last_node_ = 0;
  std::uint32_t correlation_ = 0;
};
/// Of the test that runs; a plugin's functions have no place for it.
std::unique_ptr<Replays> replays;

class ReplayingSession final : public CuptiSession {
 public:
  explicit ReplayingSession(std::unique_ptr<CuptiSession> session) : session_(std::move(session)) {}
  void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) override {
    session_->label(id, task, op, members);
  }
  void push(std::uint64_t id) noexcept override {
    session_->push(id);
    replays->begin_step();
  }
  void pop() noexcept override {
    replays->end_step();
    session_->pop();
  }
  Result<Trace> stop() override { return session_->stop(); }

 private:
  std::unique_ptr<CuptiSession> session_;
};

Result<std::unique_ptr<CuptiSession>> start_replaying(const CuptiOptions& options) {
  COHORT_TRY(auto session, cupti::start_session(options));
  return std::make_unique<ReplayingSession>(std::move(session));
}
constexpr CuptiPlugin kPlain{&cupti::start_session, nullptr};
constexpr CuptiPlugin kReplaying{&start_replaying, nullptr};
constexpr CuptiPlugin kLaunching{&start_launching, nullptr};

/// A fake GPU of its own for each session: a fake follows one Program.
class FakeGpus final : public Backend {
 public:
  [[nodiscard]] const DeviceInfo& info() const override { return first_.info(); }
  [[nodiscard]] const OpCatalog& catalog() const override { return first_.catalog(); }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    FakeGpuBackend& device = *devices_.emplace_back(std::make_unique<FakeGpuBackend>());
    device.gpu().before_each_call([number = devices_.size()](StreamId) {
      if (replays != nullptr) replays->given(number);
    });
    return device.load(program, weights);
  }

 private:
  FakeGpuBackend first_;
  std::vector<std::unique_ptr<FakeGpuBackend>> devices_;
};

class DeviceTrace : public ::testing::Test {
 protected:
  DeviceTrace() { ::setenv(kCuptiLibraryVariable, FAKE_CUPTI, 1); }
  ~DeviceTrace() override {
    for (const char* name : {kCuptiLibraryVariable, "FAKE_CUPTI_HELD"}) ::unsetenv(name);
  }
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;
};

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
  const Nanoseconds origin = device_time() + 1ms;
  const auto replay = [&](Nanoseconds begin, std::uint32_t correlation) {
    kernel(begin, 3us, correlation, 101);
    kernel(begin + 3us, 3us, correlation, 102);
    kernel(begin + 6us, 2us, correlation, 103);
  };
  replay(origin, 7);  // warms up
  const Nanoseconds from = steady_now() + 1ms + 500us;
  replay(origin + 1ms, 8);
  replay(origin + 2ms, 9);
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

/// A profile of a small network on the fake, whose replays the stand-in for CUPTI records.
class ProfiledDevice : public DeviceTrace {
 protected:
  ProfiledDevice() { replays = std::make_unique<Replays>(); }
  ~ProfiledDevice() override { replays.reset(); }
  ProfiledDevice(const ProfiledDevice&) = delete;
  ProfiledDevice& operator=(const ProfiledDevice&) = delete;

  Trace profile() {
    CuptiTracer tracer(kReplaying);
    ProfileOptions options;
    options.passes = 1;  // as on any GPU
    options.fused_widths = {2};
    options.footprints.emplace();  // none
    options.limits = {1, 1, Nanoseconds(0), Nanoseconds(0)};
    options.tracer = &tracer;
    auto trace = profile_model(device_, *batch_.loaded[0], options, CancelToken());
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? std::move(*trace) : Trace{};
  }
  /// How many slices of each category there are, by track.
  static std::map<std::string, int> counts(const Trace& trace) {
    std::map<std::string, int> counts;
    for (const Slice& slice : trace.slices)
      ++counts[fmt::format("{}: {}", trace.tracks[to_index(slice.track)].thread, trace.strings[slice.category])];
    return counts;
  }

 private:
  FakeGpus device_;
  const Batch batch_ = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
};

TEST_F(ProfiledDevice, HasTheKernelsOfEachOpAlternativeAndFusedForm) {
  const Trace trace = profile();
  std::map<std::string, int> kernels;  // by track and strategy
  std::map<std::int64_t, int> runs;    // of the model
  for (const Slice& slice : trace.slices) {
    if (trace.strings[slice.category] != "kernel") continue;
    EXPECT_FALSE(profile_record_of(trace, slice));
    EXPECT_TRUE(trace.text_arg(slice, "signature"));
    EXPECT_TRUE(trace.text_arg(slice, "grid")) << "what the tracer gave is kept";
    const std::string& place = trace.tracks[to_index(slice.track)].thread;
    if (place == "kernels of the model") ++runs[trace.integer_arg(slice, kIterationArg).value_or(-1)];
    ++kernels[fmt::format("{}: {} x{}", place, *trace.text_arg(slice, "strategy"), *trace.integer_arg(slice, "width"))];
  }
  EXPECT_THAT(runs, ElementsAre(Pair(0, runs[0]), Pair(1, runs[0]), Pair(2, runs[0]))) << "three runs of each";
  EXPECT_GT(kernels["kernels of the model: serial x1"], 0);
  EXPECT_GT(kernels["kernels of ops alone: serial x1"], 0);
  EXPECT_GT(kernels["kernels of ops alone: strided_batch x2"], 0);
  EXPECT_TRUE(parse_trace(trace_to_json(trace)));
}

TEST_F(ProfiledDevice, HasCallsWaitsAndOverheadOfTheLastOfThreeRuns) {
  const std::map<std::string, int> found = counts(profile());
  const auto of = [&](const std::string& what) {
    const auto count = found.find(what);
    return count != found.end() ? count->second : 0;
  };
  EXPECT_EQ(of("calls of the model: cuda_runtime"), 1) << "one replay";
  EXPECT_EQ(of("synchronization of the model: cuda_sync"), 1);
  EXPECT_EQ(of("overhead of the model: overhead"), 1);
  const int cases = of("calls of ops alone: cuda_runtime");
  EXPECT_GT(cases, 1);
  EXPECT_EQ(of("synchronization of ops alone: cuda_sync"), cases);
  EXPECT_EQ(of("overhead of ops alone: overhead"), cases);
}

TEST_F(ProfiledDevice, SaysWhatEachCallLaunched) {
  const Trace trace = profile();
  std::map<SliceId, bool> is_of_its_op;  ///< by call
  for (const Flow& flow : trace.flows) {
    const Slice& call = trace.slice(flow.from);
    const Slice& kernel = trace.slice(flow.to);
    EXPECT_EQ(trace.strings[kernel.category], "kernel");
    EXPECT_EQ(trace.integer_arg(call, "correlation"), trace.integer_arg(kernel, "correlation"));
    EXPECT_EQ(trace.integer_arg(kernel, kIterationArg), 2);
    if (trace.tracks[to_index(call.track)].thread == "calls of the model") {
      EXPECT_FALSE(trace.text_arg(call, "signature")) << "it launched all ops";
      is_of_its_op[flow.from] = true;
    } else {  // of the op, which copies into stacks may precede
      bool& is = is_of_its_op[flow.from];
      is = is || (trace.text_arg(call, "signature") == trace.text_arg(kernel, "signature") &&
                  trace.text_arg(call, "algorithm") == trace.text_arg(kernel, "algorithm"));
    }
  }
  for (const auto& [call, is] : is_of_its_op) EXPECT_TRUE(is) << "call " << to_index(call);
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    EXPECT_GE(slice.start, Nanoseconds(0));
    if (trace.strings[slice.category] != "cuda_runtime") continue;
    EXPECT_TRUE(is_of_its_op.count(SliceId{i}) > 0) << "a flow from each";
    EXPECT_FALSE(profile_record_of(trace, slice)) << "no timing of an op";
    EXPECT_EQ(trace.integer_arg(slice, kIterationArg), 2);
    EXPECT_FALSE(trace.integer_arg(slice, "cbid"));
  }
  EXPECT_GT(is_of_its_op.size(), 2U);
}

TEST_F(ProfiledDevice, IsReadForItsTimingsAsWithoutCalls) {
  const Trace with = profile();
  Trace without = with;
  std::erase_if(without.slices, [&](const Slice& slice) {
    const std::string_view category = with.strings[slice.category];
    return category == "cuda_runtime" || category == "cuda_sync" || category == "overhead";
  });
  without.flows.clear();
  EXPECT_EQ(format_profile_summary(summarize_profile(with), 100),
            format_profile_summary(summarize_profile(without), 100));
  const std::vector<const Trace*> profiles{&with};
  const std::vector<const Trace*> bare{&without};
  const RecordedLaunches launches(profiles);
  const RecordedLaunches bare_launches(bare);
  std::size_t looked_up = 0;
  for (const Slice& slice : with.slices) {
    const auto record = profile_record_of(with, slice);
    if (!record) continue;
    CostKey key;
    key.signature = record->signature;
    key.algorithm = record->algorithm;
    key.width = record->width;
    const auto shape = launches.find(key);
    const auto bare_shape = bare_launches.find(key);
    ASSERT_EQ(shape.has_value(), bare_shape.has_value());
    if (!shape) continue;
    EXPECT_EQ(shape->blocks, bare_shape->blocks);
    ++looked_up;
  }
  EXPECT_GT(looked_up, 0U);
  const auto summary = summarize_gpu(with);
  ASSERT_TRUE(summary);
  EXPECT_GT(summary->launch.launches, 0);
  for (const Shortcoming& shortcoming : summary->shortcomings)
    EXPECT_THAT(shortcoming.what, Not(HasSubstr("have no call"))) << "its calls are of one run in three";
}

}  // namespace
}  // namespace cohort::testing
