#include "executor/core_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "executor/clock.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort {
namespace {

using namespace literals;
using ::testing::ElementsAre;

Probed working(Nanoseconds work) { return {work, 50_ns}; }

TEST(WorkWatch, ComparesWithTheShortestWorkThereWas) {
  Nanoseconds now = 200_us;
  WorkWatch watch([&] { return working(now); });
  EXPECT_EQ(watch.next(), working(200_us));
  EXPECT_DOUBLE_EQ(watch.slowed(working(200_us)), 1);
  now = 100_us;
  EXPECT_EQ(watch.next(), working(200_us)) << "as it began";
  EXPECT_DOUBLE_EQ(watch.slowed(working(200_us)), 2) << "though nothing was shorter at the time";
  EXPECT_EQ(watch.next(), working(100_us));
}

TEST(WorkWatch, TrustsNothingOfCoresTwiceAsFarApart) {
  Nanoseconds now = 300_ns;
  WorkWatch watch([&] { return Probed{100_us, now}; });
  const Probed apart = watch.next();
  EXPECT_EQ(apart, (Probed{100_us, 300_ns}));
  EXPECT_DOUBLE_EQ(watch.slowed(apart), 1) << "no nearer so far";
  now = 60_ns;
  EXPECT_EQ(watch.next(), apart) << "as it began";
  EXPECT_GT(watch.slowed(apart), WorkWatch::kSlowed);
  EXPECT_LT(watch.slowed(watch.next()), WorkWatch::kSlowed);
  EXPECT_DOUBLE_EQ(watch.slowed({100_us, 120_ns}), WorkWatch::kSlowed);
  EXPECT_THAT(watch.round_trips(), ElementsAre(300_ns, 300_ns, 60_ns, 60_ns)) << "the first as it was made";
}

TEST(WorkWatch, KnowsNoDistanceOfOneCore) {
  WorkWatch watch([] { return Probed{100_us, {}}; });
  EXPECT_DOUBLE_EQ(watch.slowed(watch.next()), 1);
  EXPECT_TRUE(watch.round_trips().empty());
}

TEST(WorkWatch, TrustsEverythingWithoutAProbe) {
  WorkWatch watch({});
  EXPECT_DOUBLE_EQ(watch.slowed(watch.next()), 1);
}

TEST(CoreProbe, WorksOnEveryCoreAndLeavesTheCallersAsTheyWere) {
  const std::vector<int> before = usable_cores();
  DeviceInfo cpu;
  cpu.kind = "cpu";
  const WorkProbe probe = core_probe(cpu);
  if (!probe) GTEST_SKIP() << "OMP_PROC_BIND is set: threads are bound by whoever set it";
  for (int i = 0; i < 3; ++i) {
    const Nanoseconds begin = steady_now();
    const Probed probed = probe();
    const Nanoseconds took = steady_now() - begin;
    EXPECT_GT(probed.work, 0_ns);
    EXPECT_EQ(probed.round_trip > 0_ns, before.size() > 1);
    EXPECT_LE(100 * probed.round_trip, took) << "one of many, not all";
  }
  EXPECT_EQ(usable_cores(), before);
  std::thread([&] { EXPECT_GT(probe().work, 0_ns) << "whoever asks"; }).join();
}

}  // namespace
}  // namespace cohort
