// A CUDA session whose streams are given their work by several host threads, on a GPU in host memory: the same
// results in the same order, whatever thread is slow.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "executor/clock.hpp"
#include "executor/cuda/session.hpp"
#include "executor/host/host_session.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan threaded(const std::string& strategy, const Batch& batch, int streams, int threads) {
  Plan plan = strategy == "crossing" ? crossing_plan(batch, streams) : plan_by_name(strategy, batch);
  plan.streams = streams;
  plan.launch = LaunchMode::kSingle;
  plan.launch_threads = threads;
  return plan;
}

/// Nodes that read one another's results, spread over streams.
Batch crossing_batch() { return equal_members("randwire", 1, {{"channels", "2"}, {"nodes", "6"}}, 3); }

/// Delays every call by up to `most`, differently for each thread and run.
std::function<void(StreamId)> random_delays(std::uint32_t seed, std::chrono::microseconds most) {
  return [seed, most](StreamId stream) {
    thread_local std::mt19937 random;
    thread_local std::uint32_t seeded = ~0U;
    if (std::exchange(seeded, seed) != seed) random.seed(seed * 97 + to_index(stream));
    std::this_thread::sleep_for(most * (random() % 100) / 100);
  };
}

TEST(LaunchThreads, GiveTheResultsOfOneInAStatedOrderWhicheverIsSlow) {
  for (const int threads : {2, 3}) {
    for (const char* strategy : {"crossing", "concurrent"}) {
      const Batch batch = crossing_batch();
      const Plan plan = threaded(strategy, batch, 3, threads);
      FakeGpuBackend device;
      {
        auto run = BatchRun::open(device, plan, batch.models(), {});
        ASSERT_TRUE(run) << run.error().message;
        HostBackend alone(make_reference_kernels(), reference_device_info());
        Plan one = plan;
        one.launch_threads = 1;
        FakeGpuBackend by_one;
        auto expected_run = BatchRun::open(by_one, one, batch.models(), {});
        ASSERT_TRUE(expected_run) << expected_run.error().message;
        const auto expected = outputs_of(**expected_run);
        ASSERT_TRUE(expected) << expected.error().message;
        const auto first = outputs_of(**run);
        ASSERT_TRUE(first) << first.error().message;
        EXPECT_EQ(*first, *expected);
        device.gpu().forbid_setup(true);
        for (std::uint32_t seed = 0; seed < 4; ++seed) {
          device.gpu().before_each_call(random_delays(seed, std::chrono::microseconds(60)));
          (*run)->runner().upload(0);
          const auto outputs = outputs_of(**run);
          ASSERT_TRUE(outputs) << outputs.error().message;
          EXPECT_EQ(*outputs, *expected) << strategy << " seed " << seed;
        }
        device.gpu().before_each_call({});
        device.gpu().forbid_setup(false);
      }
      EXPECT_THAT(device.gpu().violations(), IsEmpty()) << strategy << " on " << threads;
      EXPECT_EQ(device.gpu().threads(), static_cast<std::size_t>(threads) + 1);
      EXPECT_EQ(device.gpu().resources(), 0U);
    }
  }
}

TEST(LaunchThreads, WaitWithAnEventUntilItIsRecorded) {
  const Batch batch = crossing_batch();
  const Plan plan = threaded("crossing", batch, 3, 3);
  for (const std::uint32_t slow : {0U, 1U, 2U}) {
    FakeGpuBackend device;
    auto run = BatchRun::open(device, plan, batch.models(), {});
    ASSERT_TRUE(run) << run.error().message;
    device.gpu().before_each_call([slow](StreamId stream) {
      if (to_index(stream) == slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    ASSERT_TRUE((*run)->step());
    EXPECT_THAT(device.gpu().violations(), IsEmpty()) << "stream " << slow;
  }
}

/// Own kernels that note for which launch thread they were prepared and which threads launch them.
class NotingCalls final : public cuda::CallFactory {
 public:
  explicit NotingCalls(cuda::KernelLauncher& launcher) : calls_(cuda::make_own_calls(launcher)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return calls_->alternatives(call, threads);
  }
  bool accepts_strides(const OpCall& call) const override { return calls_->accepts_strides(call); }
  std::vector<Precision> precisions() const override { return calls_->precisions(); }
  int cores() const override { return 1; }
  Result<std::unique_ptr<cuda::PreparedCall>> prepare(const OpCall& call, const cuda::CallChoice& choice,
                                                      std::span<const std::vector<float>> weights,
                                                      cuda::WeightStore& store) const override {
    COHORT_TRY(auto prepared, calls_->prepare(call, choice, weights, store));
    return std::make_unique<Prepared>(std::move(prepared), choice.launch_thread, *this);
  }

  /// By launch thread: who launched.
  [[nodiscard]] std::map<int, std::set<std::thread::id>> launched() const { return launched_; }

 private:
  class Bound final : public cuda::BoundCall {
   public:
    Bound(std::unique_ptr<cuda::BoundCall> bound, int thread, const NotingCalls& notes)
        : bound_(std::move(bound)), thread_(thread), notes_(notes) {}
    void launch(cuda::StreamHandle stream) override {
      {
        const std::lock_guard lock(notes_.mutex_);
        notes_.launched_[thread_].insert(std::this_thread::get_id());
      }
      bound_->launch(stream);
    }

   private:
    std::unique_ptr<cuda::BoundCall> bound_;
    int thread_;
    const NotingCalls& notes_;
  };
  class Prepared final : public cuda::PreparedCall {
   public:
    Prepared(std::unique_ptr<cuda::PreparedCall> prepared, int thread, const NotingCalls& notes)
        : prepared_(std::move(prepared)), thread_(thread), notes_(notes) {}
    std::unique_ptr<cuda::BoundCall> bind(const cuda::CallArguments& arguments) override {
      return std::make_unique<Bound>(prepared_->bind(arguments), thread_, notes_);
    }

   private:
    std::unique_ptr<cuda::PreparedCall> prepared_;
    int thread_;
    const NotingCalls& notes_;
  };

  std::unique_ptr<cuda::CallFactory> calls_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::set<std::thread::id>> launched_;
};

TEST(LaunchThreads, LaunchOnlyWhatWasPreparedForThem) {
  const Batch batch = crossing_batch();
  FakeGpu gpu;
  gpu.use();
  const NotingCalls calls(gpu);
  const auto program = lower(threaded("crossing", batch, 4, 3), batch.models().models, calls);
  ASSERT_TRUE(program) << program.error().message;
  gpu.watch(*program);
  {
    auto session = cuda::make_session(*program, batch.models().weights, gpu, calls, steady_now);
    ASSERT_TRUE(session) << session.error().message;
    for (std::uint32_t i = 0; i < program->steps.size(); ++i)
      (*session)->launch(StepId{i}, program->steps[i].stream, 0);
    ASSERT_TRUE((*session)->synchronize());
  }
  std::set<std::thread::id> all;
  ASSERT_EQ(calls.launched().size(), 3U);
  for (const auto& [thread, who] : calls.launched()) {
    EXPECT_EQ(who.size(), 1U) << "launch thread " << thread;
    all.insert(who.begin(), who.end());
  }
  EXPECT_EQ(all.size(), 3U);
  EXPECT_FALSE(all.contains(std::this_thread::get_id()));
}

TEST(LaunchThreads, TellTheFirstFailureByLaunchOrderAndGoOnAfterIt) {
  const Batch batch = equal_members("lenet5", 1, {}, 4);
  const Plan plan = threaded("concurrent", batch, 4, 4);
  FakeGpuBackend device;
  auto run = BatchRun::open(device, plan, batch.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  for (const std::uint32_t step : {0U, 5U}) {
    device.gpu().fail_at(StepId{step});
    const auto failed = (*run)->step();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kDeviceMissing);
    EXPECT_THAT(failed.error().message, HasSubstr((*run)->program().steps[step].task));
    EXPECT_THAT(failed.error().message, HasSubstr("launch_kernel: injected failure"));
    device.gpu().fail_at(std::nullopt);
    EXPECT_TRUE((*run)->step()) << "a failure is told once";
  }
}

TEST(LaunchThreads, RestWhileAGraphIsCapturedAndLaunched) {
  const Batch batch = crossing_batch();
  const Plan plan = threaded("crossing", batch, 3, 3);
  FakeGpuBackend device;
  auto run = BatchRun::open(device, plan, batch.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  const Program& program = (*run)->program();
  const auto expected = outputs_of(**run);
  ASSERT_TRUE(expected) << expected.error().message;
  Session& session = (*run)->runner().session();
  std::vector<EventId> events(program.steps.size());
  const auto issue = [&] {
    for (const IssueCommand& command : issue_order(program)) {
      if (command.kind == IssueCommand::Kind::kLaunch) session.launch(command.step, command.stream, 0);
      if (command.kind == IssueCommand::Kind::kRecord) events[to_index(command.step)] = session.record(command.stream);
      if (command.kind == IssueCommand::Kind::kWait) session.wait(command.stream, events[to_index(command.step)]);
    }
  };
  device.gpu().before_each_call(random_delays(1, std::chrono::microseconds(200)));
  issue();
  session.begin_capture();
  issue();
  const GraphId graph = session.end_capture();
  session.launch(graph);
  issue();
  session.launch(graph);
  ASSERT_TRUE(session.synchronize());
  EXPECT_THAT(device.gpu().violations(), IsEmpty());
}

/// Keeps what it is told by several threads.
class ThreadedSink final : public TaskSink {
 public:
  void begin(StepId, StreamId) noexcept override { ADD_FAILURE() << "times come from the device"; }
  void end(StepId, StreamId) noexcept override {}
  void ran(StepId, StreamId, Nanoseconds, Nanoseconds) noexcept override { ++ran_; }
  void giving(StepId, StreamId stream) noexcept override {
    const std::lock_guard lock(mutex_);
    givers_[stream].insert(std::this_thread::get_id());
  }
  [[nodiscard]] std::size_t ran() const { return ran_; }
  [[nodiscard]] const std::map<StreamId, std::set<std::thread::id>>& givers() const { return givers_; }

 private:
  std::mutex mutex_;
  std::size_t ran_ = 0;
  std::map<StreamId, std::set<std::thread::id>> givers_;
};

TEST(LaunchThreads, TellASinkFromTheThreadOfTheStreamAndItsTimesAfterwards) {
  const Batch batch = equal_members("lenet5", 1, {}, 4);
  FakeGpuBackend device;
  auto run = BatchRun::open(device, threaded("concurrent", batch, 4, 2), batch.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  ThreadedSink sink;
  (*run)->runner().session().set_sink(&sink);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*run)->step());
  (*run)->runner().session().set_sink(nullptr);
  EXPECT_EQ(sink.ran(), 3 * (*run)->program().steps.size());
  ASSERT_EQ(sink.givers().size(), 4U);
  for (const auto& [stream, who] : sink.givers()) EXPECT_EQ(who.size(), 1U) << to_index(stream);
  EXPECT_EQ(sink.givers().at(StreamId{0}), sink.givers().at(StreamId{2}));
  EXPECT_NE(sink.givers().at(StreamId{0}), sink.givers().at(StreamId{1}));
}

TEST(LaunchThreads, AreRefusedOnACpu) {
  const Batch batch = equal_members("lenet5", 1, {}, 2);
  HostBackend cpu(make_reference_kernels(2), reference_device_info(2));
  const auto run = BatchRun::open(cpu, threaded("concurrent", batch, 2, 2), batch.models(), {});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("launch_threads"));
}

}  // namespace
}  // namespace cohort::testing
