#include "view/timeline/details.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohort {
namespace {

using namespace literals;

std::string value_of(const std::vector<DetailLine>& lines, std::string_view name) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const DetailLine& line) { return line.name == name; });
  return found == lines.end() ? "(none)" : found->value;
}

TEST(Details, TellEverythingOfATask) {
  Trace trace;
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  const std::array<Trace::NamedArg, 3> args{
      {{"task", std::string_view("0-7/conv1")}, {kIterationArg, std::int64_t{1}}, {"slack_ns", std::int64_t{1500}}}};
  const std::array<Trace::NamedArg, 1> before{{{kIterationArg, std::int64_t{0}}}};
  trace.add_slice(track, "conv1", "task", 0_us, 5_us, before);
  trace.add_slice(track, "conv1", "task", 10_us, 5_us, args);
  trace.add_slice(track, "fc", "task", 16_us, 4_us, args);
  const Timeline timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, "predicted"}});
  const auto lines = details_of(timeline, {0, SliceId{1}}, flows_of(timeline, {0, SliceId{1}}));
  EXPECT_EQ(value_of(lines, "name"), "conv1");
  EXPECT_EQ(value_of(lines, "kind"), "convolution, task");
  EXPECT_EQ(value_of(lines, "row"), "cpu:0 / stream 0");
  EXPECT_EQ(value_of(lines, "start"), "10.0 us (10000 ns)");
  EXPECT_EQ(value_of(lines, "duration"), "5.00 us (5000 ns)");
  EXPECT_EQ(value_of(lines, "share of its step"), "50.0% of step 1 (10.0 us)");
  EXPECT_EQ(value_of(lines, "slack"), "1.50 us");
  EXPECT_EQ(value_of(lines, "task"), "0-7/conv1");
  EXPECT_EQ(value_of(lines, "slack_ns"), "(none)");
}

TEST(Details, LeadToLinkedSlices) {
  Trace trace;
  trace.tracks = {{"host", "thread 1", 1, 1}, {"GPU 0", "stream 7", 0, 7}};
  const SliceId launch = trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", 2_us, 1_us);
  trace.add_slice(TrackId{1}, "ProfilerStep#3", "gpu_user_annotation", 4_us, 20_us);
  const SliceId kernel = trace.add_slice(TrackId{1}, "void ns::k<int>(int)", "kernel", 5_us, 5_us);
  trace.flows = {{launch, kernel, trace.strings.intern("ac2g")}};
  const Timeline timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}});
  const auto lines = details_of(timeline, {0, launch}, flows_of(timeline, {0, launch}));
  EXPECT_EQ(value_of(lines, "leads to"), "k (ac2g, 2.00 us between)");
  const auto found =
      std::find_if(lines.begin(), lines.end(), [](const DetailLine& line) { return line.leads_to.has_value(); });
  ASSERT_NE(found, lines.end());
  EXPECT_EQ(found->leads_to->slice, kernel);
  EXPECT_EQ(value_of(details_of(timeline, {0, kernel}, flows_of(timeline, {0, kernel})), "share of its step"),
            "25.0% of ProfilerStep#3 (20.0 us)");
  EXPECT_TRUE(details_of(timeline, {0, SliceId{77}}, {}).empty());
  EXPECT_EQ(hover_text(timeline, {0, kernel}), "k  5.00 us");
}

TEST(Details, ShowArgumentsWithTheirUnits) {
  Trace trace;
  const auto text = [&](std::string_view name, ArgValue value) { return arg_text(trace, name, value); };
  EXPECT_EQ(text("workspace bytes", std::int64_t{8192}), "8.00 KiB (8192 bytes)");
  EXPECT_EQ(text("bytes", std::int64_t{1}), "1 B (1 bytes)");
  EXPECT_EQ(text("wait_ns", std::int64_t{2500}), "2.50 us");
  EXPECT_EQ(text("memory bandwidth (GB/s)", 814.2150101419878), "814.215 GB/s");
  EXPECT_EQ(text("est. achieved occupancy %", std::int64_t{75}), "75%");
  EXPECT_EQ(text("stream", std::int64_t{7}), "7");
  EXPECT_EQ(text("graph", true), "yes");
  EXPECT_EQ(text("grid", NestedJson{trace.strings.intern("[8,1,1]")}), "[8,1,1]");
}

}  // namespace
}  // namespace cohort
