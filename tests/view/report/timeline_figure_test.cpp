#include "view/report/timeline_figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/view/report/sample_files.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<DrawnRectangle> boxes_of(const Drawing& drawing) {
  std::vector<DrawnRectangle> boxes;
  for (const DrawnMark& mark : drawing.marks) {
    const auto* box = std::get_if<DrawnRectangle>(&mark);
    if (box != nullptr && !box->title.empty()) boxes.push_back(*box);
  }
  return boxes;
}

TEST(PlanTimeline, ShowsOneStepOfEachFromItsBeginning) {
  const Plan plan = sample_plan();
  const Trace predicted = sample_trace(plan, TraceKind::kPredicted, 0);
  const Trace measured = sample_trace(plan, TraceKind::kMeasured, 500);
  const TimelineFigure figure = plan_timeline(&predicted, &measured);
  ASSERT_EQ(figure.bands.size(), 2U);
  EXPECT_EQ(figure.bands[0].name, "predicted");
  ASSERT_EQ(figure.bands[1].lanes.size(), 2U);
  EXPECT_EQ(figure.bands[1].lanes[1].name, "stream 1");
  const std::vector<FigureSlice>& slices = figure.bands[1].lanes[1].slices;
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].start, 0_ns);
  EXPECT_EQ(slices[0].duration, 1510_ns) << "of the second iteration, whose length is the median";
  EXPECT_THAT(slices[1].title, HasSubstr("1/fc1\n1.51 us\nall"));
  EXPECT_EQ(figure.length(), 3020_ns);
  EXPECT_THAT(figure.colours, ElementsAre("all"));
}

TEST(PlanTimeline, TellsThePhasesOfATrainingStep) {
  Trace trace;
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  std::int64_t at = 0;
  for (const std::int64_t iteration : {0, 1}) {
    for (const auto& [phase, time] :
         {std::pair("forward", 10), std::pair("backward", 20), std::pair("forward", 4), std::pair("update", 2)}) {
      const std::array<Trace::NamedArg, 4> args{{{kTaskArg, std::string_view("0/op")},
                                                 {"group", std::string_view("all")},
                                                 {kIterationArg, iteration},
                                                 {"phase", std::string_view(phase)}}};
      trace.add_slice(track, "op", "task", Nanoseconds(at), Nanoseconds(time + 2 * iteration), args);
      at += 100;
    }
  }
  const TimelineFigure figure = plan_timeline(&trace, nullptr);
  EXPECT_THAT(figure.colours, ElementsAre("forward", "backward", "update"));
  EXPECT_THAT(figure.bands[0].lanes[0].slices[1].title, HasSubstr("0/op\n20 ns\nall\nbackward"));
  EXPECT_THAT(phase_times(trace),
              ElementsAre(std::pair("forward", 16_ns), std::pair("backward", 21_ns), std::pair("update", 3_ns)));
  EXPECT_TRUE(phase_times(sample_trace(sample_plan(), TraceKind::kMeasured, 500)).empty()) << "inference has no phases";
}

TEST(PlanTimeline, IsOfWhatThereIs) {
  const Trace measured = sample_trace(sample_plan(), TraceKind::kMeasured, 500);
  EXPECT_EQ(plan_timeline(nullptr, &measured).bands.size(), 1U);
  EXPECT_EQ(plan_timeline(nullptr, nullptr).length(), 0_ns);
}

TEST(RecordedTimeline, HasTheDevicesWorkAndColoursByName) {
  Trace trace = sample_recording();
  const TrackId host = trace.add_track("python", "thread 1");
  trace.add_slice(host, "aten::mm", "cpu_op", 0_ns, 9000_ns);
  const TimelineFigure figure = recorded_timeline(trace, summarize_gpu(trace));
  ASSERT_EQ(figure.bands.size(), 1U);
  ASSERT_EQ(figure.bands[0].lanes.size(), 1U) << "the host's thread is not device work";
  EXPECT_EQ(figure.bands[0].lanes[0].slices.front().start, 0_ns);
  EXPECT_THAT(figure.colours, ElementsAre("void gemm<float>(int)", "relu", "Memcpy HtoD"));
}

TEST(RecordedTimeline, HasTheOutermostSlicesWhereNoDeviceIs) {
  Trace trace;
  const TrackId thread = trace.add_track("program", "main");
  trace.add_slice(thread, "outer", "x", 100_ns, 50_ns);
  trace.add_slice(thread, "inner", "x", 110_ns, 10_ns);
  trace.add_slice(thread, "next", "x", 150_ns, 10_ns);
  const TimelineFigure figure = recorded_timeline(trace, std::nullopt);
  ASSERT_EQ(figure.bands[0].lanes.size(), 1U);
  EXPECT_EQ(figure.bands[0].lanes[0].slices.size(), 2U);
  EXPECT_THAT(figure.colours, ElementsAre("outer", "next"));
}

TEST(RecordedTimeline, GivesManyNamesOneColour) {
  Trace trace;
  const TrackId thread = trace.add_track("program", "main");
  for (int i = 0; i < 20; ++i)
    trace.add_slice(thread, "name " + std::to_string(i), "x", i * 100_ns, 99_ns - Nanoseconds(i));
  const TimelineFigure figure = recorded_timeline(trace, std::nullopt);
  ASSERT_EQ(figure.colours.size(), kSeriesColours);
  EXPECT_EQ(figure.colours.front(), "name 0");
  EXPECT_EQ(figure.colours.back(), "13 other names");
  for (const FigureSlice& slice : figure.bands[0].lanes[0].slices) EXPECT_LT(slice.colour, kSeriesColours);
}

TEST(DrawTimeline, PutsSlicesOnOneScaleOfTime) {
  TimelineFigure figure{
      "", {{"a", {{"row", {{0_ns, 500_ns, 0, "first"}}}}}, {"b", {{"row", {{500_ns, 500_ns, 1, "second"}}}}}}, {}};
  const Drawing drawing = draw(figure, 600);
  const std::vector<DrawnRectangle> boxes = boxes_of(drawing);
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_NEAR(boxes[0].box.right(), boxes[1].box.x, 0.6);
  EXPECT_GT(boxes[1].box.y, boxes[0].box.bottom());
  EXPECT_EQ(boxes[1].ink.series, 1U);
  EXPECT_LE(boxes[1].box.right(), 600);
}

TEST(DrawTimeline, DrawsWhatIsTooNarrowAsOne) {
  FigureLane lane{"row", {}};
  for (int i = 0; i < 10'000; ++i) lane.slices.push_back({i * 100_ns, 90_ns, 0, "slice"});
  lane.slices.push_back({2'000'000_ns, 1'000'000_ns, 1, "long"});
  const std::vector<DrawnRectangle> boxes = boxes_of(draw({"", {{"a", {lane}}}, {}}, 600));
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_THAT(boxes[0].title, HasSubstr("10000 slices"));
  EXPECT_NEAR(boxes[0].box.width, boxes[1].box.width, 1);
}

TEST(DrawTimeline, SaysWhatItLeavesOut) {
  Trace trace;
  for (int i = 0; i < 40; ++i)
    trace.add_slice(trace.add_track("program", "thread " + std::to_string(i)), "x", "x", 0_ns, 10_ns);
  const TimelineFigure figure = recorded_timeline(trace, std::nullopt);
  EXPECT_EQ(figure.bands[0].lanes.size(), 16U);
  EXPECT_EQ(figure.bands[0].left_out, "and 24 more rows");
  EXPECT_THAT(to_inline_svg(draw(figure, 600)), HasSubstr("and 24 more rows"));
}

}  // namespace
}  // namespace cohort
