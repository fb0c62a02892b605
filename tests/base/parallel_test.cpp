#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace cohort {
namespace {

TEST(ParallelFor, CallsForEachOnce) {
  std::vector<std::atomic<int>> calls(100);
  parallel_for(calls.size(), 4, [&](std::size_t, std::size_t i) { ++calls[i]; });
  for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
}

TEST(ParallelFor, LetsNoWorkerRunTwiceAtOnce) {
  std::vector<std::atomic<int>> busy(3);
  parallel_for(1000, busy.size(), [&](std::size_t worker, std::size_t) {
    EXPECT_EQ(busy[worker]++, 0);
    --busy[worker];
  });
}

TEST(ParallelFor, CallsOnTheCallersThreadWhereThereIsOneWorker) {
  std::vector<std::size_t> order;
  parallel_for(3, 1, [&](std::size_t worker, std::size_t i) {
    EXPECT_EQ(worker, 0U);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  parallel_for(0, 4, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsAgainWhatACallThrew) {
  const auto call = [](std::size_t, std::size_t i) {
    if (i == 7) throw std::runtime_error("seven");
  };
  EXPECT_THROW(parallel_for(20, 3, call), std::runtime_error);
}

}  // namespace
}  // namespace cohort
