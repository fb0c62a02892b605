#include "view/timeline/aggregate.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cohort {
namespace {

using namespace literals;

Timeline timeline_of(Trace trace) { return Timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}}); }

const NameTotal& named(const AreaTotals& totals, std::string_view name) {
  for (const NameTotal& total : totals.names) {
    if (total.name == name) return total;
  }
  throw std::runtime_error("no such name");
}

TEST(Area, SumsWhatLiesInside) {
  Trace trace;
  const TrackId track = trace.add_track("host", "thread 1");
  trace.add_slice(track, "outer", "cpu_op", 0_us, 100_us);
  trace.add_slice(track, "inner", "cpu_op", 10_us, 30_us);
  trace.add_slice(track, "leaf", "cpu_op", 15_us, 10_us);
  trace.add_slice(track, "inner", "cpu_op", 60_us, 20_us);
  const Timeline timeline = timeline_of(std::move(trace));
  const std::vector<RowId> rows = {RowId{0}};
  const AreaTotals all = aggregate(timeline, {0_us, 200_us}, rows);
  EXPECT_EQ(all.count, 4);
  EXPECT_EQ(all.total, 100_us);
  EXPECT_EQ(named(all, "outer").self, 50_us);
  EXPECT_EQ(named(all, "outer").total, 100_us);
  EXPECT_EQ(named(all, "inner").count, 2);
  EXPECT_EQ(named(all, "inner").total, 50_us);
  EXPECT_EQ(named(all, "inner").self, 40_us);
  EXPECT_EQ(named(all, "inner").mean(), 25_us);
  EXPECT_EQ(named(all, "inner").longest_slice.slice, SliceId{1});
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].busy, 100_us);
  EXPECT_DOUBLE_EQ(all.rows[0].busy_share, 0.5);
  EXPECT_EQ(all.names[0].name, "outer");

  const AreaTotals part = aggregate(timeline, {20_us, 70_us}, rows);
  EXPECT_EQ(part.total, 50_us);
  EXPECT_EQ(named(part, "outer").self, 20_us);
  EXPECT_EQ(named(part, "inner").total, 30_us);
  EXPECT_EQ(named(part, "leaf").self, 5_us);
  EXPECT_DOUBLE_EQ(part.rows[0].busy_share, 1);
}

TEST(Area, NamesTopKernelsOfDevicesOnly) {
  Trace trace;
  trace.tracks = {{"host", "thread 1", 1, 1}, {"GPU 0", "stream 7", 0, 7}};
  trace.add_slice(TrackId{0}, "aten::mm", "cpu_op", 0_us, 90_us);
  trace.add_slice(TrackId{1}, "gemm", "kernel", 10_us, 5_us);
  trace.add_slice(TrackId{1}, "relu", "kernel", 20_us, 7_us);
  trace.add_slice(TrackId{1}, "gemm", "kernel", 30_us, 5_us);
  const Timeline timeline = timeline_of(std::move(trace));
  const std::vector<RowId> rows = {RowId{0}, RowId{1}};
  const auto top = aggregate(timeline, {0_us, 100_us}, rows).top_kernels(1);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].name, "gemm");
  EXPECT_EQ(top[0].total, 10_us);
  const std::string text = to_tsv(aggregate(timeline, {0_us, 100_us}, rows));
  EXPECT_NE(text.find("gemm\t2\t10000\t10000\t5000\t5000\n"), std::string::npos) << text;
}

TEST(Area, AgreesWithALookAtEverySlice) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Trace trace;
    for (const char* stream : {"stream 0", "stream 1"}) {
      const TrackId track = trace.add_track("cpu:0", stream);
      for (int i = 0; i < 300; ++i) {
        const std::string name = "op " + std::to_string(random() % 7U);
        trace.add_slice(track, name, "task", Nanoseconds(random() % 10'000U), Nanoseconds(random() % 100U));
      }
    }
    const Trace copy = trace;
    const Timeline timeline = timeline_of(std::move(trace));
    const TimeWindow window{Nanoseconds(random() % 5'000U), Nanoseconds(5'000 + random() % 6'000U)};
    const std::vector<RowId> rows = {RowId{1}, RowId{0}};
    const AreaTotals totals = aggregate(timeline, window, rows);
    std::map<std::string_view, std::pair<std::int64_t, Nanoseconds>> expected;
    std::map<std::uint32_t, std::vector<bool>> busy;
    std::int64_t count = 0;
    for (const Slice& slice : copy.slices) {
      const bool touches = slice.start < window.end && (slice.end() > window.start || slice.start == window.start);
      if (!touches) continue;
      ++count;
      const Nanoseconds from = std::max(slice.start, window.start);
      const Nanoseconds to = std::min(slice.end(), window.end);
      auto& entry = expected[copy.name(slice)];
      ++entry.first;
      entry.second += to - from;
      auto& line = busy[static_cast<std::uint32_t>(to_index(slice.track))];
      line.resize(20'000);
      std::fill(line.begin() + from.count(), line.begin() + to.count(), true);
    }
    EXPECT_EQ(totals.count, count);
    ASSERT_EQ(totals.names.size(), expected.size());
    Nanoseconds self{};
    for (const NameTotal& name : totals.names) {
      EXPECT_EQ(name.count, expected[name.name].first);
      EXPECT_EQ(name.total, expected[name.name].second);
      EXPECT_LE(name.self, name.total);
      self += name.self;
    }
    EXPECT_EQ(totals.total, self);
    EXPECT_EQ(totals.rows[0].busy.count(), std::count(busy[1].begin(), busy[1].end(), true));
    EXPECT_EQ(totals.rows[1].busy.count(), std::count(busy[0].begin(), busy[0].end(), true));
  }
}

TEST(Area, WithoutRowsIsEmpty) {
  const Timeline timeline = timeline_of(Trace{});
  EXPECT_EQ(aggregate(timeline, {0_us, 1_us}, {}).count, 0);
}

}  // namespace
}  // namespace cohort
