#include "view/timeline/curves.hpp"

#include <gtest/gtest.h>

#include <random>

namespace cohort {
namespace {

using namespace literals;

Timeline timeline_of(Trace trace) { return Timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}}); }

const TimelineCurve& titled(const std::vector<TimelineCurve>& curves, std::string_view title) {
  for (const TimelineCurve& curve : curves) {
    if (curve.title == title) return curve;
  }
  throw std::runtime_error("no such curve");
}

TEST(StepCurve, TellsValuesAndMeans) {
  const StepCurve curve({{10_ns, 1}, {20_ns, 0}, {40_ns, 0.5}, {60_ns, 0}});
  EXPECT_EQ(curve.at(9_ns), 0);
  EXPECT_EQ(curve.at(10_ns), 1);
  EXPECT_EQ(curve.at(39_ns), 0);
  EXPECT_EQ(curve.at(100_ns), 0);
  EXPECT_DOUBLE_EQ(curve.mean({0_ns, 20_ns}), 0.5);
  EXPECT_DOUBLE_EQ(curve.mean({15_ns, 50_ns}), 10.0 / 35);
  EXPECT_DOUBLE_EQ(curve.mean({45_ns, 45_ns}), 0.5);
  EXPECT_EQ(curve.most(), 1);
  EXPECT_EQ(curve.sample({0_ns, 60_ns}, 6), (std::vector<double>{0, 1, 0, 0, 0.5, 0.5}));
}

TEST(Curves, OfAGpuFollowItsStreamsAndGrids) {
  Trace trace;
  trace.info.device.kind = "cuda";
  trace.info.device.cores = 100;
  trace.tracks = {{"GPU 0", "stream 7", 0, 7}, {"GPU 0", "stream 8", 0, 8}};
  const auto add = [&](int track, std::string_view grid, Nanoseconds start, Nanoseconds duration) {
    const std::array<Trace::NamedArg, 1> args{{{"grid", grid}}};
    trace.add_slice(static_cast<TrackId>(track), "k", "kernel", start, duration, args);
  };
  add(0, "[50, 1, 1]", 0_us, 10_us);
  add(1, "[20, 2, 2]", 5_us, 10_us);
  trace.add_slice(TrackId{0}, "Memcpy HtoD", "gpu_memcpy", 20_us, 5_us);
  const auto curves = timeline_curves(timeline_of(std::move(trace)));
  const TimelineCurve& busy = titled(curves, "device busy");
  EXPECT_DOUBLE_EQ(busy.curve.mean({0_us, 25_us}), 20.0 / 25);
  const TimelineCurve& units = titled(curves, "SMs busy");
  EXPECT_EQ(units.unknown, "");
  EXPECT_DOUBLE_EQ(units.curve.at(2_us), 0.5);
  EXPECT_DOUBLE_EQ(units.curve.at(7_us), 1);
  EXPECT_DOUBLE_EQ(units.curve.at(12_us), 0.8);
  EXPECT_DOUBLE_EQ(units.curve.at(22_us), 0);
}

TEST(Curves, OfACpuFollowItsThreads) {
  Trace trace;
  trace.info.device.kind = "cpu";
  trace.info.device.cores = 4;
  const std::array<Trace::NamedArg, 1> one{{{"threads", std::int64_t{1}}}};
  const std::array<Trace::NamedArg, 1> two{{{"threads", std::int64_t{2}}}};
  trace.add_slice(trace.add_track("cpu:0", "stream 0"), "a", "task", 0_us, 10_us, one);
  trace.add_slice(trace.add_track("cpu:0", "stream 1"), "b", "task", 5_us, 10_us, two);
  const auto curves = timeline_curves(timeline_of(std::move(trace)));
  EXPECT_DOUBLE_EQ(titled(curves, "cores busy").curve.at(6_us), 0.75);
}

TEST(Curves, SayWhatIsUnknown) {
  Trace trace;
  trace.tracks = {{"GPU 0", "stream 7", 0, 7}};
  trace.info.device.kind = "cuda";
  trace.add_slice(TrackId{0}, "k", "kernel", 0_us, 10_us);
  Trace known = trace;
  const auto without_device = timeline_curves(timeline_of(std::move(trace)));
  EXPECT_EQ(titled(without_device, "SMs busy").unknown,
            "the trace does not say how many multiprocessors the device has");
  EXPECT_TRUE(titled(without_device, "SMs busy").curve.empty());
  known.info.device.cores = 10;
  const auto without_grid = timeline_curves(timeline_of(std::move(known)));
  EXPECT_EQ(titled(without_grid, "SMs busy").unknown, "1 of 1 slices do not say how many blocks they use");
  EXPECT_TRUE(titled(without_grid, "SMs busy").curve.empty());
}

TEST(Curves, ShowCountersInTheirUnit) {
  Trace trace;
  const TrackId track = trace.add_track("GPU 0", "stream 7");
  trace.counters = {{5_us, track, trace.strings.intern("memory"), 10},
                    {1_us, track, trace.strings.intern("memory"), 4}};
  trace.add_slice(track, "k", "kernel", 0_us, 10_us);
  const TimelineCurve curve = titled(timeline_curves(timeline_of(std::move(trace))), "memory");
  EXPECT_FALSE(curve.is_share);
  EXPECT_EQ(curve.curve.at(2_us), 4);
  EXPECT_EQ(curve.curve.at(7_us), 10);
}

TEST(Curves, OfManySlicesAreAsBusyAsTheFewPointsAllow) {
  std::mt19937 random(3);
  Trace trace;
  trace.info.device.kind = "cpu";
  trace.info.device.cores = 2;
  const std::array<Trace::NamedArg, 1> one{{{"threads", std::int64_t{1}}}};
  for (int s = 0; s < 3; ++s) {
    const TrackId track = trace.add_track("cpu:0", "stream " + std::to_string(s));
    Nanoseconds at{};
    for (int i = 0; i < 2000; ++i) {
      at += Nanoseconds(random() % 3'000U);
      const Nanoseconds duration(random() % 1'000U);
      trace.add_slice(track, "op", "task", at, duration, one);
      at += duration;
    }
  }
  const Timeline timeline = timeline_of(std::move(trace));
  const auto exact = timeline_curves(timeline);
  const auto coarse = timeline_curves(timeline, 64);
  ASSERT_EQ(exact.size(), coarse.size());
  for (std::size_t c = 0; c < exact.size(); ++c) {
    EXPECT_LE(coarse[c].curve.size(), 65U);
    const auto a = exact[c].curve.sample(timeline.window(), 64);
    const auto b = coarse[c].curve.sample(timeline.window(), 64);
    // Where units are asked for by more than there are, what is cut off is so for a stretch as a whole.
    const double tolerance = exact[c].kind == CurveKind::kDeviceBusy ? 1e-3 : 0.03;
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << exact[c].title << " " << i;
  }
}

}  // namespace
}  // namespace cohort
