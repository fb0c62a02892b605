// A planning on several threads finds what one on a single thread finds.

#include <gtest/gtest.h>

#include "simulator/plan/plan_json.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

std::string text_of(const PlanCandidate& each) {
  std::string text = fmt::format("{}: {} ns, {:.9g}x ({:.9g} to {:.9g}), p99 {}, {}, limited {}, {}\n", each.name,
                                 each.prediction.step_time.count(), each.speedup, each.interval.low, each.interval.high,
                                 each.prediction.p99_latency.count(), each.prediction.memory.total().value,
                                 each.limited, each.explanation);
  for (const Nanoseconds saved : each.attribution.saved) text += fmt::format("{} ", saved.count());
  if (each.equal_shares) text += fmt::format("equal shares {}", each.equal_shares->count());
  return text + "\n" + write_plan(each.plan);
}

std::string text_of(const PlanningResult& result) {
  std::string text = fmt::format("baseline {} ns\n", result.baseline.step_time.count());
  for (const PlanCandidate& each : result.ranked) text += text_of(each);
  for (const ScreenedCandidate& each : result.screened)
    text += fmt::format("screened {}: {} {}\n", each.name, each.bound.count(), each.cannot_win);
  for (const RefusedCandidate& each : result.refused) text += fmt::format("refused {}: {}\n", each.name, each.reason);
  for (const ParetoPoint& each : result.pareto)
    text += fmt::format("pareto {}: {} ns, {}\n", each.name, each.step_time.count(), each.memory.total().value);
  return text;
}

void expect_same_on_several_threads(RandomPlanning& random, PlannerOptions options) {
  options.threads = 1;
  const auto one = plan_model_batch(random.planning_case(), options);
  options.threads = 5;
  const auto several = plan_model_batch(random.planning_case(), options);
  ASSERT_EQ(one.has_value(), several.has_value());
  if (!one) {
    EXPECT_EQ(one.error().message, several.error().message);
    return;
  }
  EXPECT_EQ(text_of(*one), text_of(*several));
}

TEST(PlannerThreads, FindTheSame) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomPlanning random(seed, {.ops = 7, .members = 5, .cores = 3, .towers = seed % 2 == 0 ? 1 : 3});
    expect_same_on_several_threads(random, {.least_simulated = 3 + seed, .most_simulated = 40, .pareto = true});
  }
}

TEST(PlannerThreads, FindTheSameOnAGpu) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto random = RandomPlanning::small_on_gpu(seed);
    expect_same_on_several_threads(*random, {.least_simulated = 4});
  }
}

TEST(PlannerThreads, RefuseTheSame) {
  const auto random = RandomPlanning::small(3);
  expect_same_on_several_threads(*random, {.latency_limit = Nanoseconds(1)});
  const auto planned = plan_model_batch(random->planning_case(), {.threads = 1});
  ASSERT_TRUE(planned.has_value());
  expect_same_on_several_threads(*random, {.latency_limit = planned->ranked.front().prediction.p99_latency});
}

TEST(PlannerThreads, EndOnceCancelled) {
  const auto random = RandomPlanning::small(3);
  CancelToken cancel;
  std::size_t told = 0;
  PlannerOptions options{.threads = 3, .cancel = &cancel};
  options.progress = [&](std::size_t done, std::size_t) {
    told = done;
    if (done == 2) cancel.cancel();
  };
  const auto planned = plan_model_batch(random->planning_case(), options);
  ASSERT_TRUE(planned.has_value()) << planned.error().message;
  EXPECT_TRUE(planned->interrupted);
  EXPECT_EQ(told, 2U);
  EXPECT_LE(planned->ranked.size(), 2U);
}

}  // namespace
}  // namespace cohort
