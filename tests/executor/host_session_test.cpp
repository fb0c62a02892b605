#include "executor/host/host_session.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "executor/host/core_binding.hpp"
#include "executor/program_check.hpp"
#include "executor/runner.hpp"
#include "tests/executor/small_program.hpp"

namespace cohort::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<const Weights*> kNoWeights(1, nullptr);

struct Host {
  explicit Host(Bytes memory = {}) : script(std::make_shared<KernelScript>()) {
    DeviceInfo info;
    info.memory = memory;
    backend = std::make_unique<HostBackend>(make_scripted_kernels(script), info);
  }
  std::unique_ptr<Runner> runner(const Program& program) {
    auto made = Runner::create(*backend, program, kNoWeights);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }
  std::unique_ptr<Session> session(const Program& program) {
    auto loaded = backend->load(program, kNoWeights);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? std::move(*loaded) : nullptr;
  }

  std::shared_ptr<KernelScript> script;
  std::unique_ptr<HostBackend> backend;
};

void fill(Session& session, int slot, float value) {
  const std::span<float> input = session.input(0, slot);
  std::fill(input.begin(), input.end(), value);
}

Program with_mode(Program program, LaunchMode mode) {
  program.launch = mode;
  return program;
}

class HostSessionModes : public ::testing::TestWithParam<LaunchMode> {};
INSTANTIATE_TEST_SUITE_P(Launch, HostSessionModes, ::testing::Values(LaunchMode::kSingle, LaunchMode::kGraph),
                         [](const auto& mode) { return mode.param == LaunchMode::kSingle ? "Single" : "Graph"; });

TEST_P(HostSessionModes, ComputesTheSameInEveryStepWhateverTheStreamsDo) {
  FourStreams four;
  // A pause in one step after the other makes each stream the late one.
  for (std::size_t late = 0; late < four.p.program.steps.size(); ++late) {
    Program program = with_mode(four.p.program, GetParam());
    program.steps[late].cost.algorithm = "slow";
    Host host;
    const auto runner = host.runner(program);
    for (int i = 0; i < 20; ++i) {
      const int slot = i % 2;
      const auto x = static_cast<float>(i);
      fill(runner->session(), slot, x);
      runner->upload(slot);
      ASSERT_TRUE(runner->step(slot));
      ASSERT_THAT(*runner->session().read_output(0), Each(3 * x + 7)) << "step " << late << " late";
      ASSERT_THAT(*runner->session().read_output(1), Each(x + 5)) << "step " << late << " late";
    }
  }
}

TEST_P(HostSessionModes, ReadsTheSlotItIsToldTo) {
  FourStreams four;
  Host host;
  const Program program = with_mode(four.p.program, GetParam());
  const auto runner = host.runner(program);
  fill(runner->session(), 0, 10);
  fill(runner->session(), 1, 20);
  for (const int slot : {0, 1, 1, 0}) {
    ASSERT_TRUE(runner->step(slot));
    EXPECT_THAT(*runner->session().read_output(1), Each(slot == 0 ? 15 : 25));
  }
}

TEST_P(HostSessionModes, ReportsAFailureInAnyStepAndGoesOnAfterwards) {
  FourStreams four;
  for (std::size_t failing = 0; failing < four.p.program.steps.size(); ++failing) {
    Program program = with_mode(four.p.program, GetParam());
    program.steps[failing].cost.algorithm = "throw";
    Host host;
    const auto runner = host.runner(program);
    fill(runner->session(), 0, 1);
    host.script->fail = true;
    const auto failed = runner->step(0);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kDeviceMissing);
    EXPECT_EQ(failed.error().message, program.steps[failing].task + ": kernel_call: status 3 in kernel.cpp");
    host.script->fail = false;
    ASSERT_TRUE(runner->step(0));
    EXPECT_THAT(*runner->session().read_output(0), Each(10));
  }
}

TEST_P(HostSessionModes, SkipsWhatComesAfterAFailure) {
  FourStreams four;
  Host host;
  Program program = with_mode(four.p.program, GetParam());
  program.steps[0].cost.algorithm = "throw";
  const auto runner = host.runner(program);
  host.script->runs = 0;
  host.script->fail = true;
  EXPECT_FALSE(runner->step(0));
  EXPECT_EQ(host.script->runs, 0);
}

TEST_P(HostSessionModes, TellsTheSinkBeginAndEndOfEveryStepOnItsStream) {
  class CountingSink final : public TaskSink {
   public:
    void begin(StepId step, StreamId stream) noexcept override {
      const std::size_t s = to_index(stream);
      if (open[s] >= 0) balanced = false;
      open[s] = static_cast<int>(to_index(step));
    }
    void end(StepId step, StreamId stream) noexcept override {
      const std::size_t s = to_index(stream);
      if (open[s] != static_cast<int>(to_index(step))) balanced = false;
      open[s] = -1;
      ++ended[to_index(step)];
    }
    std::array<int, 4> open{-1, -1, -1, -1};  // each written by its stream alone
    std::array<int, 8> ended{};
    std::atomic<bool> balanced{true};
  };
  FourStreams four;
  Host host;
  Program program = with_mode(four.p.program, GetParam());
  program.steps.back().cost.algorithm = "throw";
  const auto runner = host.runner(program);
  CountingSink sink;
  runner->session().set_sink(&sink);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(runner->step(i % 2));
  host.script->fail = true;
  EXPECT_FALSE(runner->step(0));
  host.script->fail = false;
  EXPECT_TRUE(sink.balanced);
  EXPECT_EQ(sink.ended[7], 51);  // the step that fails has an end, too
  runner->session().set_sink(nullptr);
  ASSERT_TRUE(runner->step(0));
  EXPECT_EQ(sink.ended[0], 51);
}

TEST(HostSession, ReportsMemoryRunOutInAKernelAsNotFitting) {
  SmallProgram p(2);
  const View x = p.input("x");
  p.step("grow", {x}, p.output("y"), {1, {}, "bad_alloc"});
  Host host;
  const auto runner = host.runner(p.program);
  host.script->fail = true;
  const auto failed = runner->step(0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(failed.error().message, "grow: out of memory");
}

TEST(HostSession, RefusesWhatWouldTakeMoreMemoryThanIsFree) {
  SmallProgram p(2);
  const View x = p.input("x");
  p.step("add", {x}, p.output("y"), {1, {}, "add"});
  Program program = p.program;
  program.memory.weights = Bytes{1} * (std::int64_t{1} << 46);
  Host host(Bytes{1} * (std::int64_t{1} << 47));  // a machine that has it, as far as anyone knows
  const auto refused = host.backend->load(program, kNoWeights);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(refused.error().message, HasSubstr("the model batch needs 64.0 TiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("of memory are free"));
}

TEST(HostSession, CountsWhatWeightsTakeWhileTheyArePacked) {
  SmallProgram p(2);
  const View x = p.input("x");
  p.step("add", {x}, p.output("y"), {1, {}, "add"});
  p.program.steps[0].call.inputs.emplace_back(WeightView{{}, {std::int64_t{1} << 44}});
  Host host;
  const auto refused = host.backend->load(p.program, kNoWeights);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(refused.error().message, HasSubstr("and 64.0 TiB while its weights are packed"));
}

TEST(FirstFailure, KeepsTheOneThatComesFirstInLaunchOrder) {
  FirstFailure failure;
  EXPECT_FALSE(failure.failed());
  failure.remember(StepId{3}, {ErrorCode::kDeviceMissing, "third"});
  failure.remember(StepId{1}, {ErrorCode::kDeviceMissing, "first"});
  failure.remember(StepId{2}, {ErrorCode::kDeviceMissing, "second"});
  EXPECT_TRUE(failure.failed());
  EXPECT_EQ(failure.take()->message, "first");
  EXPECT_FALSE(failure.failed());
}

TEST(HostSession, TellsKernelsTheirThreadsOnlyWhenTheyChange) {
  SmallProgram p(1);
  const View x = p.input("x");
  const std::vector<int> threads{2, 2, 1, 1, 2};
  for (const int count : threads) p.step("step", {x}, p.output("y"), {0, {}, "add", count});
  Host host;
  const auto runner = host.runner(p.program);
  host.script->thread_counts.clear();
  ASSERT_TRUE(runner->step(0));
  EXPECT_THAT(host.script->thread_counts, ElementsAre(2, 1, 2));
}

TEST(HostSession, RunsAKernelForSeveralSteps) {
  SmallProgram p(1);
  const View x = p.input("x"), a = p.activation("a", 0), b = p.activation("b", 1), y = p.output("y");
  const StepId first = p.step("a", {x}, a, {});
  p.step("b", {a}, b, {});
  p.step("y", {b, a}, y, {});
  p.program.steps[1].same_kernel_as = first;
  Host host;
  const auto runner = host.runner(p.program);
  EXPECT_EQ(host.script->prepared, 2);
  fill(runner->session(), 0, 1);
  ASSERT_TRUE(runner->step(0));
  EXPECT_THAT(*runner->session().read_output(0), Each(6));
}

TEST(HostSession, RefusesAProgramLargerThanTheMachine) {
  FourStreams four;
  Host host(Bytes{64 * 8});
  const auto loaded = host.backend->load(four.p.program, kNoWeights);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(loaded.error().message, HasSubstr("needs 576 B"));  // arena of 5, 2 input slots, 2 outputs of 64 bytes
  Host large(Bytes{64 * 9});
  EXPECT_TRUE(large.backend->load(four.p.program, kNoWeights));
}

TEST(HostSession, NamesAStepItCannotRun) {
  FourStreams four;
  four.p.program.steps[2].cost.algorithm = "unknown";
  Host host;
  const auto loaded = host.backend->load(four.p.program, kNoWeights);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "c: no algorithm \"unknown\"");
}

TEST(HostSession, RefusesWeightsForAnotherNumberOfMembers) {
  FourStreams four;
  Host host;
  const auto loaded = host.backend->load(four.p.program, {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidInput);
}

TEST(HostSession, CanBeClosedWithWorkUnderWay) {
  FourStreams four;
  for (Step& step : four.p.program.steps) step.cost.algorithm = "slow";
  Host host;
  const auto session = host.session(four.p.program);
  session->launch(four.a, StreamId{0}, 0);
  const EventId done = session->record(StreamId{0});
  session->wait(StreamId{1}, done);
  session->launch(four.b, StreamId{1}, 0);
}

TEST(HostSession, CanBeClosedWhileCapturing) {
  FourStreams four;
  Host host;
  const auto session = host.session(four.p.program);
  session->begin_capture();
  session->launch(four.a, StreamId{0}, 0);
}

TEST(HostSession, TakesEventsFromBeforeTheLastSynchronizeAsReached) {
  FourStreams four;
  Host host;
  const auto session = host.session(four.p.program);
  session->launch(four.a, StreamId{0}, 0);
  const EventId old = session->record(StreamId{0});
  ASSERT_TRUE(session->synchronize());
  session->wait(StreamId{1}, old);
  session->launch(four.b, StreamId{1}, 0);
  ASSERT_TRUE(session->synchronize());
}

TEST(HostSession, ReplaysAGraphSeveralTimesBeforeSynchronizing) {
  FourStreams four;
  Host host;
  const auto session = host.session(four.p.program);
  session->begin_capture();
  std::vector<EventId> events(8);
  for (const IssueCommand& command : issue_order(four.p.program)) {
    const std::size_t step = to_index(command.step);
    if (command.kind == IssueCommand::Kind::kLaunch) session->launch(command.step, command.stream, 0);
    if (command.kind == IssueCommand::Kind::kRecord) events[step] = session->record(command.stream);
    if (command.kind == IssueCommand::Kind::kWait) session->wait(command.stream, events[step]);
  }
  const GraphId graph = session->end_capture();
  fill(*session, 0, 2);
  ASSERT_TRUE(session->synchronize());
  EXPECT_EQ(host.script->runs, 0);
  for (int i = 0; i < 10; ++i) {
    session->launch(graph);
    // Streams are in order each, so the next replay must not begin before all of this one is done.
    for (std::uint32_t from = 0; from < 4; ++from) {
      const EventId end = session->record(StreamId{from});
      for (std::uint32_t to = 0; to < 4; ++to) session->wait(StreamId{to}, end);
    }
  }
  ASSERT_TRUE(session->synchronize());
  EXPECT_EQ(host.script->runs, 80);
  EXPECT_THAT(*session->read_output(0), Each(13));
}

TEST(HostSession, ReadsOutputsInLogicalOrder) {
  SmallProgram p(1);
  const View x = p.input("x");
  p.step("copy", {x}, p.output("y"), {});
  // [N, C, H, W] = [1, 2, 2, 4] in NHWC: channels lie next to each other.
  p.program.outputs[0].view.shape = {1, 2, 2, 4};
  p.program.outputs[0].view.strides = dense_strides({1, 2, 2, 4}, Layout::kNhwc);
  Host host;
  const auto session = host.session(p.program);
  const std::span<float> input = session->input(0, 1);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i);
  session->launch(StepId{0}, StreamId{0}, 1);
  ASSERT_TRUE(session->synchronize());
  EXPECT_THAT(*session->read_output(0), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 2, 4, 6, 8, 10, 12, 14, 16));
}

TEST(HostSession, GivesEachStreamACoreAndLeavesTheCallerFree) {
  const std::vector<int> usable = usable_cores();
  if (usable.size() < 2 || std::getenv("OMP_PROC_BIND") != nullptr) GTEST_SKIP() << "needs two cores to bind to";
  FourStreams four;
  Host host;
  const auto runner = host.runner(four.p.program);
  ASSERT_TRUE(runner->step(0));
  EXPECT_EQ(usable_cores(), usable) << "threads that the caller starts would inherit less";
  const std::vector<int> second{usable[1]};
  EXPECT_THAT(host.script->cores, ::testing::Contains(std::pair(second, second)));
  EXPECT_THAT(host.script->cores, ::testing::Contains(std::pair(std::vector<int>{usable[0]}, usable)));

  Program wide = four.p.program;
  wide.steps[1].cost.threads = 2;  // on stream 1: its thread must not be bound, or its helpers were, too
  Host other;
  ASSERT_TRUE(other.runner(wide)->step(0));
  const std::pair<std::vector<int>, std::vector<int>> expected{{usable[1], usable[2 % usable.size()]}, usable};
  EXPECT_THAT(other.script->cores, ::testing::Contains(expected));
}

TEST(HostSession, LetsOneThreadThatDoesAllTheWorkRoam) {
  SmallProgram p(1);
  p.step("a", {p.input("x")}, p.output("y"), {});
  Host host;
  ASSERT_TRUE(host.runner(p.program)->step(0));
  EXPECT_THAT(host.script->cores, Each(std::pair(std::vector<int>{}, usable_cores())));
}

TEST(ProgramCheck, NamesAStepWhoseKernelIsNoEarlierOneOfItsStream) {
  SmallProgram p(2);
  const View x = p.input("x");
  p.step("a", {x}, p.output("a"), {});
  p.step("b", {x}, p.output("b"), {1, {}});
  p.step("c", {x}, p.output("c"), {});
  const auto refused = [&](std::size_t step, std::uint32_t other) {
    Program program = p.program;
    program.steps[step].same_kernel_as = StepId{other};
    const auto checked = check_program(program);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refused(2, 0), "");
  EXPECT_THAT(refused(2, 2), HasSubstr("c runs the kernel of step 2"));
  EXPECT_THAT(refused(2, 1), HasSubstr("no earlier one of its stream"));
  EXPECT_THAT(refused(0, 7), HasSubstr("a runs the kernel of step 7"));
}

TEST(ProgramCheck, NamesWhatReachesOutOfItsMemory) {
  const FourStreams four;
  const auto message = [](const Program& program) {
    const auto checked = check_program(program);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(message(four.p.program), "");
  Program program = four.p.program;
  program.steps[3].call.outputs[0].offset = 1;
  EXPECT_EQ(message(program), "d reaches byte 68 of buffer \"d.y\", which has 64 bytes");
  program = four.p.program;
  program.arena = Bytes{300};
  EXPECT_EQ(message(program), "buffer \"e.y\" ends at byte 320 of an arena of 300 bytes");
  program = four.p.program;
  program.buffers[1].offset = Bytes{4};
  EXPECT_EQ(message(program), "buffer \"a.y\" begins at byte 4 of the arena, not at a multiple of 64");
  program = four.p.program;
  program.steps[1].stream = StreamId{4};
  EXPECT_EQ(message(program), "b is on stream 4, but the program has 4");
  program = four.p.program;
  program.steps[1].dependencies = {StepId{1}};
  EXPECT_EQ(message(program), "b depends on step 1, which does not stand before it");
  program = four.p.program;
  program.outputs[0].view.buffer = BufferId{1};
  EXPECT_EQ(message(program), "output \"g.y\" is in memory that later steps overwrite");
}

TEST(GatherWeights, JoinsThePartsOfAllMembers) {
  Weights first;
  Weights second;
  first.by_tensor = {nullptr, std::make_shared<const std::vector<float>>(std::vector<float>{1, 2})};
  second.by_tensor = {nullptr, std::make_shared<const std::vector<float>>(std::vector<float>{3, 4})};
  const std::vector<const Weights*> weights{&first, &second};
  Step step;
  step.task = "0-1/fc";
  WeightView view{{{MemberId{0}, TensorId{1}}, {MemberId{1}, TensorId{1}}}, {2, 2}};
  step.call.inputs = {View{}, view};
  const auto gathered = gather_weights(step, weights);
  ASSERT_TRUE(gathered);
  EXPECT_THAT(*gathered, ElementsAre(ElementsAre(1, 2, 3, 4)));

  view.shape = {5};
  step.call.inputs[1] = view;
  EXPECT_EQ(gather_weights(step, weights).error().message, "0-1/fc: a weight of shape [5] needs 5 values and got 4");
  view.parts[0].tensor = TensorId{0};
  step.call.inputs[1] = view;
  EXPECT_EQ(gather_weights(step, weights).error().message, "0-1/fc: member 0 has no values for weight tensor 0");
}

}  // namespace
}  // namespace cohort::testing
