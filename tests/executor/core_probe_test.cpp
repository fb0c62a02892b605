#include "executor/core_probe.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "executor/host/core_binding.hpp"

namespace cohort {
namespace {

using namespace literals;

TEST(WorkWatch, ComparesWithTheShortestWorkThereWas) {
  Nanoseconds now = 200_us;
  WorkWatch watch([&] { return now; });
  EXPECT_EQ(watch.next(), 200_us);
  EXPECT_DOUBLE_EQ(watch.slowed(200_us), 1);
  now = 100_us;
  EXPECT_EQ(watch.next(), 200_us) << "as it began";
  EXPECT_DOUBLE_EQ(watch.slowed(200_us), 2) << "though nothing was shorter at the time";
  EXPECT_EQ(watch.next(), 100_us);
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
  for (int i = 0; i < 3; ++i) EXPECT_GT(probe(), 0_ns);
  EXPECT_EQ(usable_cores(), before);
  std::thread([&] { EXPECT_GT(probe(), 0_ns) << "whoever asks"; }).join();
}

}  // namespace
}  // namespace cohort
