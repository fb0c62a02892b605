// The CUDA session on a GPU in host memory: what it computes, in which order it gives it, and what it does when
// a call fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "executor/cuda/session.hpp"
#include "executor/device_error.hpp"
#include "executor/host/host_session.hpp"
#include "executor/program_check.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kTolerance = static_cast<float>(tolerance_of(Precision::kFloat32));

struct Setting {
  const char* strategy;
  int streams;
  LaunchMode launch;
  const char* network;
  std::int64_t minibatch;
  std::map<std::string, std::string> arguments;
  Precision precision = Precision::kFloat32;
};
void PrintTo(const Setting& it, std::ostream* out) { *out << it.strategy << ' ' << it.network; }

/// The setting's model batch on a fake GPU, and what each member gives alone in float32.
class OnTheFake : public ::testing::TestWithParam<Setting> {
 protected:
  explicit OnTheFake(int members)
      : batch_(equal_members(GetParam().network, GetParam().minibatch, GetParam().arguments, members)),
        plan_(plan_by_name(GetParam().strategy, batch_)) {
    plan_.streams = GetParam().streams;
    plan_.launch = GetParam().launch;
    HostBackend alone(make_reference_kernels(), reference_device_info());
    expected_ = outputs_alone(alone, plan_, batch_);
    plan_.precision = GetParam().precision;
  }

  Batch batch_;
  Plan plan_;
  FakeGpuBackend device_;
  std::vector<std::vector<float>> expected_;
};

class CudaStrategies : public OnTheFake {
 protected:
  CudaStrategies() : OnTheFake(4) {}
};

TEST_P(CudaStrategies, EqualTheSerialRunOfEachMemberInAStatedOrder) {
  FakeGpuBackend& device = device_;
  {
    auto run = BatchRun::open(device, plan_, batch_.models(), {});
    ASSERT_TRUE(run) << run.error().message;
    const auto together = outputs_of(**run);
    ASSERT_TRUE(together) << together.error().message;
    expect_close(*together, expected_, kTolerance);
    device.gpu().forbid_setup(true);
    for (int i = 0; i < 2; ++i) {
      (*run)->runner().upload(0);
      const auto again = outputs_of(**run);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *together);
    }
    device.gpu().forbid_setup(false);
  }
  EXPECT_THAT(device.gpu().violations(), IsEmpty());
  EXPECT_EQ(device.gpu().resources(), 0U) << "something was not given back";
}

std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  return fmt::format("{}_{}_{}_{}_{}", info.param.network, info.param.strategy, info.param.streams,
                     info.param.launch == LaunchMode::kGraph ? "graph" : "single", to_string(info.param.precision));
}

const std::map<std::string, std::string> kSmallLstm{{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}};
const std::map<std::string, std::string> kSmallRandwire{{"channels", "2"}, {"nodes", "6"}};

INSTANTIATE_TEST_SUITE_P(OnTheFake, CudaStrategies,
                         ::testing::Values(Setting{"serial", 1, LaunchMode::kSingle, "lenet5", 2, {}},
                                           Setting{"serial", 1, LaunchMode::kGraph, "lenet5", 2, {}},
                                           Setting{"concurrent", 3, LaunchMode::kSingle, "lenet5", 2, {}},
                                           Setting{"concurrent", 3, LaunchMode::kGraph, "lenet5", 2, {}},
                                           Setting{"dense", 3, LaunchMode::kGraph, "lenet5", 1, {}},
                                           Setting{"grouped", 2, LaunchMode::kSingle, "lenet5", 1, {}},
                                           Setting{"grouped", 2, LaunchMode::kGraph, "lenet5", 1, {}},
                                           Setting{"mixed", 4, LaunchMode::kGraph, "lenet5", 2, {}},
                                           Setting{"strided", 2, LaunchMode::kSingle, "mlp", 3, {{"hidden", "40"}}},
                                           Setting{"strided", 2, LaunchMode::kGraph, "mlp", 3, {{"hidden", "40"}}},
                                           Setting{"strided", 2, LaunchMode::kGraph, "lstm", 2, kSmallLstm},
                                           Setting{"grouped_gemm", 2, LaunchMode::kGraph, "lenet5", 2, {}},
                                           Setting{"grouped_gemm", 2, LaunchMode::kSingle, "mlp", 3, {}},
                                           Setting{"grouped_gemm", 1, LaunchMode::kGraph, "lstm", 2, kSmallLstm},
                                           Setting{"concurrent", 2, LaunchMode::kGraph, "lstm", 2, kSmallLstm},
                                           Setting{"crossing", 2, LaunchMode::kSingle, "randwire", 1, kSmallRandwire},
                                           Setting{"crossing", 2, LaunchMode::kGraph, "randwire", 1, kSmallRandwire}),
                         setting_name);

TEST(CudaGroups, OfMembersOfDifferentSizesAreOneLaunchAStep) {
  const Batch batch = mixed_members(2);
  Plan plan = plan_by_name("grouped_gemm", batch);
  FakeGpuBackend device;
  auto run = BatchRun::open(device, plan, batch.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  const auto together = outputs_of(**run);
  ASSERT_TRUE(together) << together.error().message;
  HostBackend alone(make_reference_kernels(), reference_device_info());
  expect_close(*together, outputs_alone(alone, plan, batch), kTolerance);
  EXPECT_THAT(device.gpu().violations(), IsEmpty());
  const Program& program = (*run)->program();
  const auto wide = std::max_element(program.steps.begin(), program.steps.end(),
                                     [](const Step& a, const Step& b) { return a.members.size() < b.members.size(); });
  ASSERT_EQ(wide->members.size(), 4U) << print(program);
  EXPECT_THAT(wide->cost.signature, ::testing::StartsWith("Group: "));
  EXPECT_EQ(wide->cost.algorithm, "grouped");
}

class CudaPrecisions : public OnTheFake {
 protected:
  CudaPrecisions() : OnTheFake(3) {}
};

TEST_P(CudaPrecisions, StayNearTheFloat32RunOfEachMember) {
  const Precision precision = GetParam().precision;
  auto run = BatchRun::open(device_, plan_, batch_.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  for (int i = 0; i < 2; ++i) {
    const auto together = outputs_of(**run);
    ASSERT_TRUE(together) << together.error().message;
    expect_close(*together, expected_, static_cast<float>(tolerance_of(precision)));
    if (storage_of(precision) != DataType::kFloat32) {
      EXPECT_NE(*together, expected_) << "nothing was rounded";
    }
  }
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

std::vector<Setting> in_every_precision(const std::vector<Setting>& settings) {
  std::vector<Setting> all;
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16, Precision::kFloat16}) {
    for (Setting setting : settings) {
      setting.precision = precision;
      all.push_back(std::move(setting));
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    OnTheFake, CudaPrecisions,
    ::testing::ValuesIn(in_every_precision({{"mixed", 2, LaunchMode::kGraph, "lenet5", 1, {}},
                                            {"strided", 2, LaunchMode::kGraph, "mlp", 3, {{"hidden", "40"}}},
                                            {"grouped_gemm", 2, LaunchMode::kSingle, "mlp", 3, {{"hidden", "40"}}},
                                            {"strided", 1, LaunchMode::kGraph, "lstm", 2, kSmallLstm}})),
    setting_name);

TEST(CudaPrecision, Of16BitsHalvesWeightsAndActivations) {
  const Batch batch = equal_members("lenet5", 4, {}, 2);
  Plan plan = plan_by_name("concurrent", batch);
  FakeGpuBackend device;
  const auto wide = lower(plan, batch.models().models, device.catalog());
  plan.precision = Precision::kBfloat16;
  const auto narrow = lower(plan, batch.models().models, device.catalog());
  ASSERT_TRUE(wide && narrow);
  EXPECT_EQ(narrow->memory.weights.value * 2, wide->memory.weights.value);
  EXPECT_EQ(narrow->memory.input, wide->memory.input) << "input stays float32";
  EXPECT_LT(narrow->memory.activations, wide->memory.activations);
}

/// Two lenet5 on two streams, fused first layer, as one graph.
class CudaSessionTest : public ::testing::Test {
 protected:
  CudaSessionTest() : batch_(equal_members("lenet5", 1, {}, 2)), plan_(plan_by_name("dense", batch_)) {}

  Result<std::unique_ptr<BatchRun>> open() { return BatchRun::open(device_, plan_, batch_.models(), {}); }

  Batch batch_;
  Plan plan_;
  FakeGpuBackend device_;
};

TEST_F(CudaSessionTest, ReplaysOneGraphAStepAndWaitsForItsStreamsOnly) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_TRUE((*run)->step());
  device_.gpu().clear_log();
  ASSERT_TRUE((*run)->step());
  const std::vector<std::string>& log = device_.gpu().log();
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.front(), "graph on 0");
  EXPECT_EQ(log.back(), "synchronize 0");
  EXPECT_EQ(
      std::count_if(log.begin(), log.end(), [](const std::string& line) { return line.starts_with("synchronize"); }),
      1);
}

TEST_F(CudaSessionTest, RunsOnceBeforeItCapturesOneGraphForEachInputBuffer) {
  plan_.input.buffers = 3;
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  const std::vector<std::string>& log = device_.gpu().log();
  for (const Step& step : (*run)->program().steps)
    EXPECT_EQ(std::count(log.begin(), log.end(), fmt::format("{} on {}", step.task, to_index(step.stream))), 1);
  EXPECT_EQ(std::count(log.begin(), log.end(), "graph on 0"), 0);
  for (int slot = 0; slot < 3; ++slot) {
    (*run)->runner().upload(slot);
    ASSERT_TRUE((*run)->runner().step(slot));
  }
  EXPECT_EQ(std::count(log.begin(), log.end(), "graph on 0"), 3);
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

TEST_F(CudaSessionTest, NamesTheTaskAndTheCallThatFailed) {
  plan_.launch = LaunchMode::kSingle;
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  device_.gpu().fail_at(StepId{1});
  const auto failed = (*run)->step();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(failed.error().message, HasSubstr((*run)->program().steps[1].task));
  EXPECT_THAT(failed.error().message, HasSubstr("launch_kernel"));
  device_.gpu().fail_at(std::nullopt);
  EXPECT_TRUE((*run)->step()) << "a failure is told once";
}

/// Own calls whose memory cannot be prepared when they are bound to it.
class CallsThatDoNotBind final : public cuda::CallFactory {
 public:
  explicit CallsThatDoNotBind(cuda::KernelLauncher& launcher) : own_(cuda::make_own_calls(launcher)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return own_->alternatives(call, threads);
  }
  bool accepts_strides(const OpCall& call) const override { return own_->accepts_strides(call); }
  int cores() const override { return 1; }
  Result<std::unique_ptr<cuda::PreparedCall>> prepare(const OpCall& /*call*/, const cuda::CallChoice& /*choice*/,
                                                      std::span<const std::vector<float>> /*weights*/,
                                                      cuda::WeightStore& /*store*/) const override {
    struct Prepared final : cuda::PreparedCall {
      std::unique_ptr<cuda::BoundCall> bind(const cuda::CallArguments& /*arguments*/) override {
        throw DeviceError("cudaMemcpy: injected failure");
      }
    };
    return std::make_unique<Prepared>();
  }

 private:
  std::unique_ptr<cuda::CallFactory> own_;
};

TEST_F(CudaSessionTest, NamesTheTaskWhoseCallCannotBeBoundToItsMemory) {
  const auto program = lower(plan_, batch_.models().models, device_.catalog());
  ASSERT_TRUE(program) << program.error().message;
  const CallsThatDoNotBind calls(device_.gpu());
  device_.gpu().use();
  device_.gpu().watch(*program);
  const auto session = cuda::make_session(*program, batch_.models().weights, device_.gpu(), calls, steady_now);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kDeviceMissing);
  EXPECT_EQ(session.error().message, program->steps[0].task + ": cudaMemcpy: injected failure");
  EXPECT_EQ(device_.gpu().resources(), 0U);
}

TEST_F(CudaSessionTest, RefusesWhatDoesNotFitAndSaysWhatIsFree) {
  device_.gpu().set_free_memory(Bytes{1000});
  const auto run = open();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(run.error().message, HasSubstr(format_bytes(Bytes{1000})));
  EXPECT_EQ(device_.gpu().resources(), 0U);
}

TEST_F(CudaSessionTest, SaysHowManyMembersWouldFitAndThoseDo) {
  const auto batch_of = [](std::size_t members) { return equal_members("mlp", 2, {}, static_cast<int>(members)); };
  Bytes room;
  const auto open_batch = [&](std::size_t members) {
    const Batch batch = batch_of(members);
    FakeGpuBackend device;
    device.gpu().set_free_memory(room);
    const auto run = BatchRun::open(device, plan_by_name("serial", batch), batch.models(), {});
    return run ? std::string() : run.error().message;
  };
  const Batch batch = batch_of(8);
  const auto program = lower(plan_by_name("serial", batch), batch.models().models, device_.catalog());
  ASSERT_TRUE(program) << program.error().message;
  const Bytes needed = memory_needed(*program);
  room = Bytes{needed.value / 2};
  const std::size_t fit = members_that_fit(*program, room);
  EXPECT_GT(fit, 1U);
  EXPECT_LT(fit, 5U);
  EXPECT_EQ(members_that_fit(*program, needed), 8U);
  EXPECT_EQ(members_that_fit(*program, Bytes{1000}), 0U);
  const std::string refusal = open_batch(8);
  EXPECT_THAT(refusal, HasSubstr(fmt::format("{} of the 8 members would fit", fit)));
  EXPECT_THAT(refusal, HasSubstr(format_bytes(needed - room) + " too little"));
  EXPECT_EQ(open_batch(fit), "");
}

/// Keeps what it is told.
class KeepingSink final : public TaskSink {
 public:
  struct Ran {
    StepId step{};
    StreamId stream{};
    Nanoseconds begun{}, ended{};
  };
  void begin(StepId, StreamId) noexcept override { ADD_FAILURE() << "times come from the device"; }
  void end(StepId, StreamId) noexcept override {}
  void ran(StepId step, StreamId stream, Nanoseconds begun, Nanoseconds ended) noexcept override {
    ran_.push_back({step, stream, begun, ended});
  }
  void giving(StepId step, StreamId) noexcept override { giving_ = step; }
  void given(StepId step, StreamId) noexcept override {
    EXPECT_EQ(step, giving_);
    ++given_;
  }
  [[nodiscard]] const std::vector<Ran>& all() const { return ran_; }
  [[nodiscard]] std::size_t given() const { return given_; }

 private:
  StepId giving_{};
  std::size_t given_ = 0;
  std::vector<Ran> ran_;
};

/// Watches what is given and wants no times.
class WatchingSink final : public TaskSink {
 public:
  void begin(StepId, StreamId) noexcept override { ADD_FAILURE() << "no times are wanted"; }
  void end(StepId, StreamId) noexcept override { ADD_FAILURE() << "no times are wanted"; }
  void giving(StepId step, StreamId) noexcept override { giving_ = step; }
  void given(StepId step, StreamId) noexcept override {
    EXPECT_EQ(giving_, step);
    giving_.reset();
    ++given_;
  }
  [[nodiscard]] bool needs_times() const noexcept override { return false; }
  [[nodiscard]] std::size_t given() const { return given_; }
  [[nodiscard]] bool is_open() const { return giving_.has_value(); }

 private:
  std::optional<StepId> giving_;
  std::size_t given_ = 0;
};

TEST_F(CudaSessionTest, TellsASinkThatOnlyWatchesWhatIsCapturedOnceAndRecordsNoTimeForIt) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  const std::size_t steps = (*run)->program().steps.size();
  const std::size_t resources = device_.gpu().resources();
  Session& session = (*run)->runner().session();
  for (int again = 0; again < 2; ++again) {  // the next sink has ids of its own, so its graph is captured anew
    WatchingSink sink;
    session.set_sink(&sink);
    device_.gpu().clear_log();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*run)->step());
    EXPECT_EQ(sink.given(), steps);
    const std::vector<std::string>& log = device_.gpu().log();
    EXPECT_EQ(std::count(log.begin(), log.end(), "graph on 0"), 3);
    session.set_sink(nullptr);
    device_.gpu().forbid_setup(true);
    ASSERT_TRUE((*run)->step()) << "the graph without a sink is still there";
    device_.gpu().forbid_setup(false);
  }
  EXPECT_EQ(device_.gpu().resources(), resources) << "no events with times were made, and no graph is left";
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

TEST_F(CudaSessionTest, TellsASinkThatGivingAStepEndedAlsoWhereItFailed) {
  plan_.launch = LaunchMode::kSingle;
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  WatchingSink sink;
  (*run)->runner().session().set_sink(&sink);
  device_.gpu().fail_at(StepId{1});
  EXPECT_FALSE((*run)->step());
  EXPECT_EQ(sink.given(), 2U);
  EXPECT_FALSE(sink.is_open());
  (*run)->runner().session().set_sink(nullptr);
}

void expect_times_follow_dependencies(const Program& program, const std::vector<KeepingSink::Ran>& ran) {
  ASSERT_EQ(ran.size(), program.steps.size());
  for (std::size_t i = 0; i < ran.size(); ++i) {
    EXPECT_EQ(to_index(ran[i].step), i);
    EXPECT_EQ(ran[i].stream, program.steps[i].stream);
    EXPECT_GE(ran[i].ended - ran[i].begun, FakeGpu::kKernelTime) << program.steps[i].task;
    for (const StepId needed : program.steps[i].dependencies)
      EXPECT_GE(ran[i].begun, ran[to_index(needed)].ended) << program.steps[i].task;
  }
}

TEST_F(CudaSessionTest, TellsASinkWhenEachStepRanOnTheDevice) {
  for (const LaunchMode mode : {LaunchMode::kGraph, LaunchMode::kSingle}) {
    plan_.launch = mode;
    auto run = open();
    ASSERT_TRUE(run) << run.error().message;
    for (int i = 0; i < 2; ++i) {
      KeepingSink sink;
      (*run)->runner().session().set_sink(&sink);
      ASSERT_TRUE((*run)->step());
      expect_times_follow_dependencies((*run)->program(), sink.all());
      const bool captured_before = mode == LaunchMode::kGraph && i > 0;
      EXPECT_EQ(sink.given(), captured_before ? 0U : (*run)->program().steps.size());
    }
    (*run)->runner().session().set_sink(nullptr);
    device_.gpu().forbid_setup(true);
    ASSERT_TRUE((*run)->step());
    device_.gpu().forbid_setup(false);
  }
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

/// Whether the lines stand in the log in this order, others between them.
bool in_order(const std::vector<std::string>& log, const std::vector<std::string>& lines) {
  auto at = log.begin();
  for (const std::string& line : lines) {
    at = std::find(at, log.end(), line);
    if (at == log.end()) return false;
    ++at;
  }
  return true;
}

TEST_F(CudaSessionTest, OrdersSingleLaunchesAndGraphsOfOtherStreams) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_TRUE((*run)->step());
  const Program& program = (*run)->program();
  const auto other = std::find_if(program.steps.begin(), program.steps.end(),
                                  [](const Step& step) { return step.stream == StreamId{1}; });
  ASSERT_NE(other, program.steps.end());
  const auto id = static_cast<StepId>(static_cast<std::uint32_t>(other - program.steps.begin()));
  device_.gpu().clear_log();
  Session& session = (*run)->runner().session();
  session.launch(id, StreamId{1}, 0);
  session.launch(GraphId{0});
  session.launch(id, StreamId{1}, 0);
  ASSERT_TRUE(session.synchronize());
  const std::string line = other->task + " on 1";
  EXPECT_TRUE(in_order(device_.gpu().log(),
                       {line, "record on 1", "wait on 0", "graph on 0", line, "record on 0", "wait on 1", line}));
}

TEST(CudaSessionDependencies, AreAllMissedByTheFake) {
  const Batch batch = equal_members("lenet5", 1, {}, 3);
  Plan plan = plan_by_name("mixed", batch);
  plan.streams = 3;
  FakeGpuBackend lowering;
  const auto program = lower(plan, batch.models().models, lowering.catalog());
  ASSERT_TRUE(program) << program.error().message;
  int removed = 0;
  for (std::size_t i = 0; i < program->steps.size(); ++i) {
    for (std::size_t d = 0; d < program->steps[i].dependencies.size(); ++d) {
      Program broken = *program;
      broken.steps[i].dependencies.erase(broken.steps[i].dependencies.begin() + static_cast<std::ptrdiff_t>(d));
      FakeGpuBackend device;
      auto runner = Runner::create(device, broken, batch.models().weights);
      ASSERT_TRUE(runner) << runner.error().message;
      ASSERT_TRUE((*runner)->step(0));
      EXPECT_FALSE(device.gpu().violations().empty()) << program->steps[i].task << ", dependency " << d;
      ++removed;
    }
  }
  EXPECT_GE(removed, 4);
}

}  // namespace
}  // namespace cohort::testing
