#include "executor/recording/recording_backend.hpp"

#include <gmock/gmock.h>

#include "executor/program_check.hpp"
#include "executor/runner.hpp"
#include "tests/executor/small_program.hpp"

namespace cohort::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StreamId kStream0{0};
constexpr StreamId kStream1{1};

/// A loaded session of the fake device.
struct Fake {
  explicit Fake(const Program& program, RecordingOptions options = {}) : backend(options) {
    const std::vector<const Weights*> weights(program.member_count, nullptr);
    auto loaded = backend.load(program, weights);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    if (loaded) session = std::move(*loaded);
  }
  void upload_all(const Program& program) {
    for (int slot = 0; slot < program.input_buffers; ++slot) {
      for (std::size_t i = 0; i < program.inputs.size(); ++i) session->upload(i, slot, upload_stream(program));
    }
    EXPECT_TRUE(session->synchronize());
  }
  [[nodiscard]] const std::vector<std::string>& violations() const { return backend.recording()->violations(); }

  RecordingBackend backend;
  std::unique_ptr<Session> session;
};

/// Runs the program in the runner's order and returns what was wrong.
std::vector<std::string> violations_of(Program program, LaunchMode mode) {
  program.launch = mode;
  RecordingBackend backend;
  const std::vector<const Weights*> weights(program.member_count, nullptr);
  const auto runner = Runner::create(backend, program, weights);
  EXPECT_TRUE(runner) << (runner ? "" : runner.error().message);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE((*runner)->step(i % program.input_buffers));
  return backend.recording()->violations();
}

TEST(RecordingFake, FindsNothingWrongWithACorrectProgram) {
  const FourStreams four;
  EXPECT_THAT(violations_of(four.p.program, LaunchMode::kSingle), IsEmpty());
  EXPECT_THAT(violations_of(four.p.program, LaunchMode::kGraph), IsEmpty());
}

TEST(RecordingFake, CatchesEveryDependencyThatIsLeftOutOfAProgram) {
  const FourStreams four;
  int removed = 0;
  for (std::size_t i = 0; i < four.p.program.steps.size(); ++i) {
    for (const StepId dependency : four.p.program.steps[i].dependencies) {
      Program broken = four.p.program;
      std::erase(broken.steps[i].dependencies, dependency);
      // Inside a stream order follows from the stream; a -> d follows from a -> c -> d.
      const bool implied = broken.steps[i].stream == broken.step(dependency).stream ||
                           (broken.steps[i].task == "d" && dependency == four.a);
      const auto violations = violations_of(broken, LaunchMode::kGraph);
      if (implied) {
        EXPECT_THAT(violations, IsEmpty());
        continue;
      }
      ++removed;
      EXPECT_THAT(violations, Contains(AllOf(HasSubstr("\"" + broken.steps[i].task + "\" on stream"),
                                             HasSubstr("\"" + broken.step(dependency).task + "\" on stream"))))
          << broken.steps[i].task << " without " << broken.step(dependency).task;
    }
  }
  EXPECT_EQ(removed, 6);
}

TEST(RecordingFake, NamesTasksAndBuffersOfARace) {
  SmallProgram p(2);
  const View x = p.input("x");
  const View shared = p.activation("shared", 0);
  p.step("writer", {x}, shared, {0, {}});
  p.step("reader", {shared}, p.output("y"), {1, {}});
  EXPECT_THAT(violations_of(p.program, LaunchMode::kSingle),
              ElementsAre("\"reader\" on stream 1 reads \"shared\" while \"writer\" on stream 0 may still write it"));
}

TEST(RecordingFake, SeesBuffersThatShareArenaBytes) {
  SmallProgram p(2);
  const View x = p.input("x");
  const View first = p.activation("first", 0);
  View second = p.activation("second", 0);
  p.program.buffers[to_index(second.buffer)].size = SmallProgram::kBufferBytes * 2;
  p.program.arena = SmallProgram::kBufferBytes * 2;
  p.step("left", {x}, first, {0, {}});
  p.step("right", {x}, second, {1, {}});
  EXPECT_THAT(violations_of(p.program, LaunchMode::kSingle),
              ElementsAre("\"right\" on stream 1 writes \"second\" while \"left\" on stream 0 may still write "
                          "\"first\", which shares its bytes"));
}

TEST(RecordingFake, LetsStreamsWriteDifferentPartsOfOneBuffer) {
  SmallProgram p(2);
  const View x = p.input("x");
  const View stack = p.activation("stack", 0);
  const StepId left = p.step("left", {part(x, 0, 8)}, part(stack, 0, 8), {0, {}});
  p.step("right", {part(x, 8, 8)}, part(stack, 8, 8), {1, {}});
  p.step("both", {stack}, p.output("y"), {1, {left}});
  EXPECT_THAT(violations_of(p.program, LaunchMode::kSingle), IsEmpty());
}

TEST(RecordingFake, SeesResultsThatWereOverwrittenInOrder) {
  SmallProgram p(1);
  const View x = p.input("x");
  const View kept = p.activation("kept", 0);
  const StepId first = p.step("first", {x}, kept, {0, {}});
  const StepId second = p.step("second", {x}, p.activation("other", 0), {0, {first}});
  p.step("late", {kept}, p.output("y"), {0, {first, second}});
  EXPECT_THAT(violations_of(p.program, LaunchMode::kSingle),
              ElementsAre("\"late\" reads \"kept\" of \"first\", which \"second\" has overwritten"));
}

TEST(RecordingFake, SeesBuffersThatNobodyWrites) {
  SmallProgram p(1);
  p.step("reader", {p.activation("empty", 0)}, p.output("y"), {});
  EXPECT_THAT(violations_of(p.program, LaunchMode::kSingle),
              ElementsAre("\"reader\" reads \"empty\", which no step before it writes"));
}

TEST(RecordingFake, SeesAStepLaunchedBeforeItsDependency) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.upload_all(four.p.program);
  fake.session->launch(four.b, kStream1, 0);
  EXPECT_THAT(fake.violations(), ElementsAre("\"b\" is launched before its dependency \"a\"",
                                             "\"b\" reads \"a.y\", which \"a\" has not written"));
}

TEST(RecordingFake, SeesInputThatWasNotUploaded) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.session->launch(four.a, kStream0, 1);
  EXPECT_THAT(fake.violations(), ElementsAre("\"a\" reads input \"x\", which was not uploaded"));
}

TEST(RecordingFake, SeesAnUploadIntoASlotThatIsStillRead) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.upload_all(four.p.program);
  fake.session->launch(four.a, kStream0, 0);
  const StreamId upload = upload_stream(four.p.program);
  fake.session->upload(0, 1, upload);  // the other slot is free
  EXPECT_THAT(fake.violations(), IsEmpty());
  fake.session->upload(0, 0, upload);
  EXPECT_THAT(fake.violations(),
              ElementsAre("the upload on stream 4 writes \"x\" while \"a\" on stream 0 may still read it"));
}

TEST(RecordingFake, LetsAnUploadFollowTheStepThatReadItsSlot) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.upload_all(four.p.program);
  const StreamId upload = upload_stream(four.p.program);
  fake.session->launch(four.a, kStream0, 0);
  fake.session->wait(upload, fake.session->record(kStream0));
  fake.session->upload(0, 0, upload);
  fake.session->wait(kStream0, fake.session->record(upload));
  fake.session->launch(four.a, kStream0, 0);
  EXPECT_THAT(fake.violations(), IsEmpty());
}

TEST(RecordingFake, SeesAStepThatDoesNotWaitForItsUpload) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.session->upload(0, 0, upload_stream(four.p.program));
  fake.session->launch(four.a, kStream0, 0);
  EXPECT_THAT(fake.violations(),
              ElementsAre("\"a\" on stream 0 reads \"x\" while the upload on stream 4 may still write it"));
}

/// Runs the program as `order` says and returns what was wrong: "h1" the host writes slot 1, "u1" uploads it, "l1"
/// launches a step on it, "w" waits.
std::vector<std::string> violations_of_order(const Program& program, const std::vector<std::string>& order) {
  RecordingBackend backend;
  const std::vector<const Weights*> weights(program.member_count, nullptr);
  const auto runner = Runner::create(backend, program, weights);
  EXPECT_TRUE(runner) << (runner ? "" : runner.error().message);
  float value = 0;
  for (const std::string& each : order) {
    const int slot = each.size() > 1 ? each[1] - '0' : 0;
    if (each[0] == 'h') (*runner)->session().input(0, slot)[0] = ++value;
    if (each[0] == 'u') (*runner)->upload(slot);
    if (each[0] == 'l') (*runner)->launch(slot);
    if (each[0] == 'w') {
      EXPECT_TRUE((*runner)->wait());
    }
  }
  EXPECT_TRUE((*runner)->wait());
  return backend.recording()->violations();
}

/// The next minibatch is copied while a step runs; once that has been waited for, its slot is decoded into again.
const std::vector<std::string> kOverlapped = {"h0", "u0", "l0", "h1", "u1", "w",  "h0", "h1", "l1", "u0", "w",
                                              "h0", "l0", "u1", "w",  "h1", "l1", "u0", "w",  "l0", "w"};

TEST(RecordingFake, LetsUploadsOverlapStepsOnOtherSlots) {
  FourStreams four;
  for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
    four.p.program.launch = mode;
    EXPECT_THAT(violations_of_order(four.p.program, kOverlapped), IsEmpty());
  }
}

TEST(RecordingFake, CatchesEverySlotThatIsWrittenBeforeItIsFree) {
  FourStreams four;
  const auto expect_caught = [&](std::vector<std::string> order, std::string_view what) {
    for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
      four.p.program.launch = mode;
      EXPECT_THAT(violations_of_order(four.p.program, order), Contains(HasSubstr(what)))
          << ::testing::PrintToString(order);
    }
  };
  // Each wait left out: the upload after it is into a slot that a step may still read.
  for (std::size_t i = 0; i + 3 < kOverlapped.size(); ++i) {
    if (kOverlapped[i] != "w") continue;
    std::vector<std::string> order = kOverlapped;
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
    expect_caught(order, "may still read it");
  }
  // Each upload into the slot of the step that runs.
  for (std::size_t i = 1; i < kOverlapped.size(); ++i) {
    if (kOverlapped[i - 1][0] != 'l') continue;
    std::vector<std::string> order = kOverlapped;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(i), "u" + order[i - 1].substr(1));
    expect_caught(order, "the upload on stream 4 writes \"x\" while");
  }
  // Each slot decoded into before the copy from it has been waited for.
  for (std::size_t i = 0; i + 1 < kOverlapped.size(); ++i) {
    if (kOverlapped[i] != "w" || kOverlapped[i + 1][0] != 'h') continue;
    std::vector<std::string> order = kOverlapped;
    std::swap(order[i], order[i + 1]);
    expect_caught(order, "host memory is written while the upload of input \"x\" from slot");
  }
  expect_caught({"l0", "l1", "w"}, "may still");  // two steps at a time share the arena
}

TEST(RecordingFake, SeesWrongUseOfEventsStreamsAndGraphs) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.upload_all(four.p.program);
  Session& session = *fake.session;
  session.wait(kStream0, EventId{7});
  session.launch(four.a, StreamId{4}, 0);  // the upload stream runs no steps
  session.launch(four.a, kStream0, 2);
  session.launch(StepId{99}, kStream0, 0);
  session.upload(3, 0, kStream0);
  (void)session.record(StreamId{5});
  session.launch(GraphId{0});
  (void)session.end_capture();
  const EventId outside = session.record(kStream0);
  session.begin_capture();
  session.begin_capture();
  session.wait(kStream1, outside);
  session.launch(GraphId{0});
  (void)session.synchronize();
  fake.session.reset();
  EXPECT_THAT(
      fake.violations(),
      ElementsAre("stream 0 waits for event 7, which was never recorded", "work is given to stream 4, the last is 3",
                  "work is given for slot 2 of 2", "step 99 of 8 is launched", "input 3 of 1 is uploaded",
                  "work is given to stream 5, the last is 4", "graph 0 is launched, but 0 were captured",
                  "a capture is ended, but none is open", "a capture is begun while another is open",
                  "stream 1 waits for event 1, which belongs to another capture",
                  "graph 0 is launched while a capture is open", "the host synchronizes while a capture is open",
                  "the session ends while a capture is open"));
}

TEST(RecordingFake, ReplaysWhatSingleLaunchesWouldRun) {
  const FourStreams four;
  const auto run = [&](LaunchMode mode) {
    Program program = four.p.program;
    program.launch = mode;
    RecordingBackend backend;
    const std::vector<const Weights*> weights(1, nullptr);
    const auto runner = Runner::create(backend, program, weights);
    EXPECT_TRUE(runner);
    for (int slot : {0, 1, 1, 0}) EXPECT_TRUE((*runner)->step(slot));
    std::vector<std::pair<std::string, int>> launches;
    for (const RecordedCommand& command : backend.recording()->commands()) {
      if (command.kind == RecordedCommand::Kind::kLaunch) {
        launches.emplace_back(program.step(*command.step).task, command.slot);
      }
    }
    return launches;
  };
  const auto single = run(LaunchMode::kSingle);
  EXPECT_EQ(single.size(), 5 * four.p.program.steps.size());  // and one step of warm-up
  EXPECT_EQ(run(LaunchMode::kGraph), single);
}

TEST(RecordingFake, FailsWhereToldAndSkipsTheRest) {
  const FourStreams four;
  Fake fake(four.p.program);
  fake.upload_all(four.p.program);
  fake.backend.recording()->fail_at(four.b);
  for (const StepId step : {four.a, four.b, four.c}) fake.session->launch(step, kStream0, 0);
  const auto failed = fake.session->synchronize();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "b: injected failure");
  EXPECT_THAT(fake.backend.recording()->tasks(), ElementsAre("a", "b"));
  EXPECT_TRUE(fake.session->synchronize());
}

TEST(RecordingFake, RefusesWhatDoesNotFitItsMemory) {
  const FourStreams four;
  RecordingOptions options;
  options.memory = Bytes{100};
  RecordingBackend backend(options);
  const std::vector<const Weights*> weights(1, nullptr);
  const auto loaded = backend.load(four.p.program, weights);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDoesNotFit);
}

TEST(RecordingFake, ListsItsAlternativesForEveryOp) {
  RecordingOptions options;
  options.accepts_strides = false;
  options.cores = 4;
  const RecordingCatalog catalog(options);
  OpCall call;
  call.attributes = Gemm{};
  call.inputs = {View{}, WeightView{{}, {10, 5}}};
  const auto listed = catalog.alternatives(call, 3);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ((*listed)[0].threads, 3);
  EXPECT_EQ((*listed)[0].packed_weights, Bytes{200});
  EXPECT_EQ((*listed)[1].workspace, Bytes{65536});
  EXPECT_FALSE(catalog.accepts_strides(call));
  EXPECT_EQ(catalog.cores(), 4);
}

}  // namespace
}  // namespace cohort::testing
