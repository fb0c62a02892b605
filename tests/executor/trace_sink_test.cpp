#include "executor/trace_sink.hpp"

#include <gmock/gmock.h>

#include "executor/host/host_session.hpp"
#include "executor/runner.hpp"
#include "tests/executor/small_program.hpp"

namespace cohort::testing {
namespace {

using namespace literals;
using ::testing::ElementsAre;

/// Goes on by 1 us at every look.
TimeSource ticking() {
  return [now = std::make_shared<std::int64_t>(0)] { return Nanoseconds(1000 * ++*now); };
}

std::vector<std::string> lines_of(const Trace& trace) {
  std::vector<std::string> lines;
  for (const Slice& slice : trace.slices) {
    const Track& track = trace.tracks[to_index(slice.track)];
    lines.push_back(fmt::format("{}/{}: {} [{}, {}) us", track.process, track.thread, trace.name(slice),
                                slice.start.count() / 1000, slice.end().count() / 1000));
  }
  return lines;
}

TEST(TraceSink, MakesATrackPerStreamAndASlicePerStep) {
  SmallProgram p(2);
  const View x = p.input("x");
  const StepId a = p.step("0/a", {x}, p.output("a"), {0, {}});
  const StepId b = p.step("0-2/b", {x}, p.output("b"), {1, {}, "fast", 2});
  p.program.steps[1].op = "b";
  p.program.steps[1].group = 1;
  p.program.steps[1].members = {MemberId{0}, MemberId{1}, MemberId{2}, MemberId{5}};
  TraceSink sink(p.program, {"rest", "fused"}, 2, ticking());
  for (int i = 0; i < 2; ++i) {
    sink.begin(a, StreamId{0});
    sink.begin(b, StreamId{1});
    sink.end(a, StreamId{0});
    sink.end(b, StreamId{1});
  }
  DeviceInfo device;
  device.id = "cpu:0";
  const Trace trace = measured_trace(sink, nullptr, device);
  EXPECT_EQ(trace.info.kind, TraceKind::kMeasured);
  EXPECT_TRUE(trace.info.dropped.empty());
  EXPECT_THAT(lines_of(trace), ElementsAre("cpu:0/stream 0: 0/a [0, 2) us", "cpu:0/stream 0: 0/a [4, 6) us",
                                           "cpu:0/stream 1: b [1, 3) us", "cpu:0/stream 1: b [5, 7) us"));
  const Slice& slice = trace.slices[3];
  EXPECT_EQ(trace.text_arg(slice, kTaskArg), "0-2/b");
  EXPECT_EQ(trace.text_arg(slice, "op"), "b");
  EXPECT_EQ(trace.text_arg(slice, "members"), "0-2,5");
  EXPECT_EQ(trace.text_arg(slice, "group"), "fused");
  EXPECT_EQ(trace.text_arg(slice, "algorithm"), "fast");
  EXPECT_EQ(trace.integer_arg(slice, kIterationArg), 1);
  EXPECT_EQ(trace.integer_arg(slice, "threads"), 2);
}

TEST(TraceSink, CountsWhatItHasNoRoomFor) {
  SmallProgram p(1);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.output("a"), {});
  TraceSink sink(p.program, {}, 2, ticking());
  for (int i = 0; i < 5; ++i) {
    sink.begin(a, StreamId{0});
    sink.end(a, StreamId{0});
  }
  const Trace trace = measured_trace(sink, nullptr, {});
  EXPECT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.info.dropped.at("steps beyond the room taken beforehand"), 3);
}

TEST(TraceSink, RecordsARunInWhichStepsStandAfterWhatTheyNeed) {
  FourStreams four;
  HostBackend backend(make_scripted_kernels(std::make_shared<KernelScript>()), {});
  const std::vector<const Weights*> weights(1, nullptr);
  const auto runner = Runner::create(backend, four.p.program, weights);
  ASSERT_TRUE(runner);
  TraceSink sink(four.p.program, {}, 10, steady_now);
  (*runner)->session().set_sink(&sink);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*runner)->step(i % 2));
  (*runner)->session().set_sink(nullptr);
  const Trace trace = measured_trace(sink, nullptr, backend.info());
  ASSERT_EQ(trace.slices.size(), 80U);
  std::map<std::pair<std::string, std::int64_t>, Slice> slices;
  for (const Slice& slice : trace.slices) {
    EXPECT_GE(slice.start, 0_ns);
    slices[{std::string(*trace.text_arg(slice, kTaskArg)), *trace.integer_arg(slice, kIterationArg)}] = slice;
  }
  ASSERT_EQ(slices.size(), 80U);
  for (std::int64_t i = 0; i < 10; ++i) {
    for (const Step& step : four.p.program.steps) {
      for (const StepId dependency : step.dependencies) {
        const Slice& before = slices[{four.p.program.step(dependency).task, i}];
        EXPECT_LE(before.end(), (slices[{step.task, i}].start)) << step.task << " in iteration " << i;
      }
    }
  }
}

TEST(StageSink, NotesStagesPerWorkerWhileItIsOn) {
  StageSink sink(2, 2, ticking());
  const auto stage = [&](InputStage what, int worker, int place) {
    const InputWork work{worker, 1, 7, place, 0};
    sink.begin(what, work);
    sink.end(what, work);
  };
  stage(InputStage::kRead, 0, 0);  // off: not noted
  sink.switch_on(true);
  stage(InputStage::kDecode, 0, 1);
  stage(InputStage::kDecode, 1, 2);
  stage(InputStage::kTransform, 1, 2);
  stage(InputStage::kRead, 1, 3);  // no room
  sink.switch_on(false);
  stage(InputStage::kRead, 0, 4);
  Trace trace;
  ASSERT_TRUE(sink.first());
  sink.add_to(trace, *sink.first());
  EXPECT_THAT(lines_of(trace),
              ElementsAre("input/decode worker 0: decode [0, 1) us", "input/decode worker 1: decode [2, 3) us",
                          "input/decode worker 1: transform [4, 5) us"));
  EXPECT_EQ(trace.integer_arg(trace.slices[1], "minibatch"), 7);
  EXPECT_EQ(trace.integer_arg(trace.slices[1], "place"), 2);
  EXPECT_EQ(trace.integer_arg(trace.slices[1], "pipeline"), 1);
  EXPECT_EQ(trace.info.dropped.at("input stages beyond the room taken beforehand"), 1);
}

TEST(StageSink, NotesAStageThatWasBegunWhileOnToItsEnd) {
  StageSink sink(1, 4, ticking());
  const InputWork work{};
  sink.begin(InputStage::kRead, work);
  sink.switch_on(true);
  sink.end(InputStage::kRead, work);  // its begin was not seen
  EXPECT_FALSE(sink.first());
  sink.begin(InputStage::kDecode, work);
  sink.switch_on(false);
  sink.end(InputStage::kDecode, work);
  EXPECT_EQ(sink.first(), 1_us);
}

TEST(FormatMembers, JoinsRuns) {
  const auto members = [](std::vector<std::uint32_t> ids) {
    std::vector<MemberId> made;
    for (const std::uint32_t id : ids) made.push_back(MemberId{id});
    return member_ranges(made);
  };
  EXPECT_EQ(members({}), "");
  EXPECT_EQ(members({3}), "3");
  EXPECT_EQ(members({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(members({0, 2, 3, 7}), "0,2-3,7");
}

}  // namespace
}  // namespace cohort::testing
