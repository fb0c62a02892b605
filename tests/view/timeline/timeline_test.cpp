#include "view/timeline/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "view/timeline/rows.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;

std::vector<std::string> titles(const Timeline& timeline) {
  std::vector<std::string> out;
  for (std::size_t r = 0; r < timeline.rows().size(); ++r) out.push_back(timeline.full_title(static_cast<RowId>(r)));
  return out;
}

std::shared_ptr<const Trace> shared(Trace trace) { return std::make_shared<const Trace>(std::move(trace)); }

/// Two streams, an input worker and a copy engine as our own traces have them.
Trace run_of_two_streams() {
  Trace trace;
  const TrackId worker = trace.add_track("input", "decode worker 0");
  const TrackId copies = trace.add_track("input", "copy engine");
  const TrackId second = trace.add_track("cpu:0", "stream 10");
  const TrackId first = trace.add_track("cpu:0", "stream 2");
  trace.add_track("cpu:0", "stream 3");
  const std::array<Trace::NamedArg, 2> a{{{"members", std::string_view("0-3")}, {"iteration", std::int64_t{0}}}};
  const std::array<Trace::NamedArg, 2> b{{{"members", std::string_view("4")}, {"iteration", std::int64_t{1}}}};
  trace.add_slice(first, "conv1", "task", 0_us, 10_us, a);
  trace.add_slice(second, "conv1", "task", 2_us, 10_us, b);
  trace.add_slice(first, "fc", "task", 12_us, 3_us, b);
  trace.add_slice(worker, "decode", "input", 0_us, 5_us);
  trace.add_slice(copies, "copy", "input", 5_us, 1_us);
  return trace;
}

/// As PyTorch's profiler records it.
Trace recording() {
  Trace trace;
  trace.tracks = {{"python (CPU)", "thread 7", 7, 7},
                  {"python (CPU)", "thread 8", 7, 8},
                  {"python (GPU 0)", "stream 7 ", 0, 7},
                  {"Spans", "PyTorch Profiler", 99, 99}};
  trace.add_slice(TrackId{3}, "PyTorch Profiler (0)", "Trace", 0_us, 100_us);
  trace.add_slice(TrackId{0}, "aten::add", "cpu_op", 1_us, 10_us);
  trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", 3_us, 2_us);
  trace.add_slice(TrackId{1}, "ProfilerStep#1", "user_annotation", 0_us, 60_us);
  trace.add_slice(TrackId{2}, "ProfilerStep#1", "gpu_user_annotation", 5_us, 40_us);
  trace.add_slice(TrackId{2}, "add_kernel", "kernel", 6_us, 4_us);
  trace.add_slice(TrackId{2}, "Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", 12_us, 3_us);
  trace.add_slice(TrackId{2}, "Stream Sync", "cuda_sync", 6_us, 30_us);
  return trace;
}

TEST(Rows, AreStreamsThenEnginesThenWorkers) {
  const Timeline timeline({{shared(run_of_two_streams()), 0_ns, "measured"}});
  EXPECT_THAT(titles(timeline),
              ElementsAre("cpu:0 / stream 2", "cpu:0 / stream 10", "input / copy engine", "input / decode worker 0"));
  EXPECT_EQ(timeline.row(RowId{0}).kind, RowKind::kStream);
  EXPECT_EQ(timeline.row(RowId{2}).kind, RowKind::kCopyEngine);
  EXPECT_EQ(timeline.row(RowId{3}).kind, RowKind::kWorker);
  EXPECT_EQ(timeline.row(RowId{0}).busy, 13_us);
  EXPECT_EQ(timeline.window(), (TimeWindow{0_us, 15_us}));
  EXPECT_EQ(timeline.slices(), 5U);
}

TEST(Rows, KeepRangesAndWaitsApartFromAStreamsWork) {
  const Timeline timeline({{shared(recording()), 0_ns, ""}});
  EXPECT_THAT(titles(timeline), ElementsAre("python (GPU 0) / stream 7 ranges", "python (GPU 0) / stream 7",
                                            "python (GPU 0) / stream 7 waits", "python (CPU) / thread 8",
                                            "python (CPU) / thread 7", "Spans / PyTorch Profiler"));
  EXPECT_EQ(timeline.row(RowId{1}).lanes, 1U);
  EXPECT_EQ(timeline.row(RowId{4}).lanes, 2U);
  EXPECT_EQ(timeline.row(RowId{4}).kind, RowKind::kHostThread);
  EXPECT_EQ(timeline.row(RowId{5}).kind, RowKind::kOther);
}

TEST(Rows, CanBeThoseOfMembers) {
  const Timeline timeline({{shared(run_of_two_streams()), 0_ns, ""}}, {RowGrouping::kMembers, PartLayout::kStacked});
  EXPECT_THAT(titles(timeline),
              ElementsAre("cpu:0 / member 4", "cpu:0 / members 0-3", "input / copy engine", "input / decode worker 0"));
  const auto place = timeline.place({0, SliceId{2}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->row, RowId{0});
  // Two streams at once: side by side.
  EXPECT_EQ(timeline.row(RowId{0}).lanes, 1U);
}

TEST(Rows, CanBeThoseOfEngines) {
  const Timeline timeline({{shared(recording()), 0_ns, ""}}, {RowGrouping::kEngines, PartLayout::kStacked});
  EXPECT_THAT(titles(timeline),
              ElementsAre("python (GPU 0) / kernels", "python (GPU 0) / stream 7 ranges",
                          "python (GPU 0) / stream 7 waits", "python (GPU 0) / copies device to host",
                          "python (CPU) / thread 8", "python (CPU) / thread 7", "Spans / PyTorch Profiler"));
}

TEST(Rows, OfOverlaidPartsStandInPairs) {
  Trace predicted = run_of_two_streams();
  for (Track& track : predicted.tracks) {
    if (track.process == "cpu:0") track.process = "device";
  }
  const Timeline timeline(
      {{shared(std::move(predicted)), 0_ns, "predicted"}, {shared(run_of_two_streams()), 5_us, "measured"}},
      {RowGrouping::kTracks, PartLayout::kOverlaid});
  EXPECT_THAT(titles(timeline), ElementsAre("predicted: device / stream 2", "measured: cpu:0 / stream 2",
                                            "predicted: device / stream 10", "measured: cpu:0 / stream 10",
                                            "predicted: input / copy engine", "measured: input / copy engine",
                                            "predicted: input / decode worker 0", "measured: input / decode worker 0"));
  EXPECT_EQ(timeline.window(), (TimeWindow{0_us, 20_us}));
  EXPECT_EQ(timeline.window(SliceRef{1, SliceId{2}}), (TimeWindow{17_us, 20_us}));
}

TEST(Rows, OfStackedPartsFollowEachOther) {
  const Timeline timeline({{shared(run_of_two_streams()), 0_ns, "a"}, {shared(run_of_two_streams()), 0_ns, "b"}});
  ASSERT_EQ(timeline.rows().size(), 8U);
  EXPECT_EQ(timeline.full_title(RowId{3}), "a: input / decode worker 0");
  EXPECT_EQ(timeline.full_title(RowId{4}), "b: cpu:0 / stream 2");
}

TEST(Rows, AreOrderedByNumbersInTheirNames) {
  EXPECT_TRUE(naturally_before("stream 2", "stream 10"));
  EXPECT_FALSE(naturally_before("stream 10", "stream 2"));
  EXPECT_FALSE(naturally_before("stream 2", "stream 2"));
  EXPECT_TRUE(naturally_before("stream", "stream 2"));
  EXPECT_TRUE(naturally_before("stream 007", "stream 8"));
}

TEST(Timeline, FindsEverySlicesPlace) {
  const Timeline timeline({{shared(recording()), 3_us, ""}});
  for (std::uint32_t i = 0; i < timeline.parts()[0].trace->slices.size(); ++i) {
    const SliceRef ref{0, static_cast<SliceId>(i)};
    const auto place = timeline.place(ref);
    ASSERT_TRUE(place);
    EXPECT_EQ(timeline.slice_at(place->lane, place->position), ref);
    EXPECT_EQ(timeline.row_of(place->lane), place->row);
  }
  EXPECT_FALSE(timeline.place({0, SliceId{99}}));
  EXPECT_FALSE(timeline.place({1, SliceId{0}}));
}

TEST(Timeline, StepsAlongALane) {
  const Timeline timeline({{shared(run_of_two_streams()), 0_ns, ""}});
  EXPECT_EQ(timeline.next_in_lane({0, SliceId{0}}), (SliceRef{0, SliceId{2}}));
  EXPECT_EQ(timeline.previous_in_lane({0, SliceId{2}}), (SliceRef{0, SliceId{0}}));
  EXPECT_EQ(timeline.next_in_lane({0, SliceId{2}}), std::nullopt);
  EXPECT_EQ(timeline.previous_in_lane({0, SliceId{0}}), std::nullopt);
}

TEST(Timeline, OfNothingIsEmpty) {
  const Timeline none({});
  EXPECT_TRUE(none.rows().empty());
  EXPECT_EQ(none.window().length(), 1_ns);
  const Timeline empty({{shared(Trace{}), 0_ns, ""}});
  EXPECT_TRUE(empty.rows().empty());
}

TEST(Timeline, ShowsASliceWithoutADuration) {
  Trace trace;
  trace.add_slice(trace.add_track("a", "b"), "instant", "", 7_us, 0_us);
  const Timeline timeline({{shared(std::move(trace)), 0_ns, ""}});
  EXPECT_EQ(timeline.window(), (TimeWindow{7_us, 7_us + 1_ns}));
}

}  // namespace
}  // namespace cohort
