#include "tracer/summary/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;
using ::testing::HasSubstr;

// t (us)   0    10   20   30   40
// stream 0 [--a--]   [-b-]
// stream 1      [-----c------]
// host     [-----------------------] launches
Trace overlapping() {
  Trace trace;
  const TrackId first = trace.add_track("device", "stream 0");
  const TrackId second = trace.add_track("device", "stream 1");
  const TrackId host = trace.add_track("host", "main");
  trace.add_slice(first, "a", "kernel", 0_us, 15_us);
  trace.add_slice(first, "b", "kernel", 20_us, 10_us);
  trace.add_slice(second, "c", "kernel", 10_us, 15_us);
  trace.add_slice(second, "mark", "gpu_user_annotation", 0_us, 30_us);
  trace.add_slice(host, "step", "op", 0_us, 50_us);
  trace.add_slice(host, "launch", "op", 10_us, 10_us);
  return trace;
}

TEST(Summary, CountsNestedAndMarkedTimeOnce) {
  const TraceSummary summary = summarize(overlapping());
  EXPECT_EQ(summary.span, 50_us);
  ASSERT_EQ(summary.tracks.size(), 3U);
  EXPECT_EQ(summary.tracks[0].busy, 25_us);
  EXPECT_DOUBLE_EQ(summary.tracks[0].busy_share, 0.5);
  EXPECT_EQ(summary.tracks[1].busy, 15_us);
  EXPECT_EQ(summary.tracks[1].slices, 2);
  EXPECT_EQ(summary.tracks[2].busy, 50_us);
  EXPECT_FALSE(summary.tracks[2].is_device);
}

TEST(Summary, MeasuresOverlapBetweenDeviceTracks) {
  const TraceSummary summary = summarize(overlapping());
  EXPECT_EQ(summary.active, 30_us);
  EXPECT_EQ(summary.overlapped, 10_us);
}

TEST(Summary, MeasuresOverlapBetweenAllTracksWhereNoneIsADevice) {
  Trace trace;
  const TrackId first = trace.add_track("cpu", "worker 0");
  const TrackId second = trace.add_track("cpu", "worker 1");
  trace.add_slice(first, "a", "step", 0_us, 4_us);
  trace.add_slice(second, "b", "step", 4_us, 4_us);
  EXPECT_EQ(summarize(trace).overlapped, 0_us);
  trace.add_slice(second, "c", "step", 3_us, 1_us);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.active, 8_us);
  EXPECT_EQ(summary.overlapped, 1_us);
}

TEST(Summary, ListsCategoriesByTime) {
  const TraceSummary summary = summarize(overlapping());
  ASSERT_EQ(summary.categories.size(), 3U);
  EXPECT_EQ(summary.categories[0].name, "op");
  EXPECT_EQ(summary.categories[0].time, 60_us);
  EXPECT_EQ(summary.categories[2].name, "gpu_user_annotation");
  EXPECT_EQ(summary.categories[1].slices, 3);
}

TEST(Summary, GivesMedianAndSpreadOfWallTimes) {
  Trace trace;
  trace.info.wall_times = {{"plan", {4_us, 1_us, 2_us, 3_us}, 5}, {"none", {}, 0}};
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.wall_times.size(), 2U);
  EXPECT_EQ(summary.wall_times[0].median, 2500_ns);
  EXPECT_EQ(summary.wall_times[0].least, 1_us);
  EXPECT_EQ(summary.wall_times[0].most, 4_us);
  EXPECT_EQ(summary.wall_times[0].discarded, 5);
  EXPECT_EQ(summary.wall_times[1].samples, 0);
}

TEST(Summary, OfAnEmptyTraceIsAllZero) {
  const TraceSummary summary = summarize(Trace{});
  EXPECT_EQ(summary.span, 0_ns);
  EXPECT_EQ(summary.active, 0_ns);
  EXPECT_THAT(format_summary(summary), HasSubstr("0 slices, 0 flows, 0 counters"));
}

TEST(Summary, ReadsAsText) {
  Trace trace = overlapping();
  trace.info.kind = TraceKind::kMeasured;
  trace.info.device.id = "cpu:0";
  trace.info.device.name = "Two cores";
  trace.info.settings = {{"model", "lenet5"}};
  trace.info.wall_times = {{"plan", {4_us}, 0}};
  trace.info.dropped = {{"instant event", 3}};
  EXPECT_EQ(format_summary(summarize(trace)),
            R"(kind      measured
device    Two cores (cpu:0)
          model: lenet5
span      50.0 us
records   6 slices, 0 flows, 0 counters
tracks
     slices       busy   share  name
          2    25.0 us   50.0%  device / stream 0
          2    15.0 us   30.0%  device / stream 1
          2    50.0 us  100.0%  host / main
  device tracks busy for 30.0 us (60.0% of the span), two or more at once for 10.0 us (33.3% of that)
categories
     slices       time  name
          2    60.0 us  op
          3    40.0 us  kernel
          1    30.0 us  gpu_user_annotation
wall times without a trace
  plan       median 4.00 us, 4.00 us to 4.00 us, 1 samples, 0 discarded
not kept
          3  instant event
)");
}

}  // namespace
}  // namespace cohort
