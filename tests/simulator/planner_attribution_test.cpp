// Where a plan's gain comes from, and what is said of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Planner, AttributionAddsUpToTheWholeGain) {
  PlannerBench bench = cnn_bench({.strided = 0.4, .dense = 0.5});
  bench.device.step_overhead = 3_us;
  bench.device.handoff_latency = 5_us;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  ASSERT_FALSE(result.ranked.empty());
  for (const PlanCandidate& candidate : result.ranked) {
    const auto& saved = candidate.attribution.saved;
    EXPECT_EQ(std::accumulate(saved.begin(), saved.end(), Nanoseconds(0)),
              result.baseline.step_time - candidate.prediction.step_time)
        << candidate.name;
  }
}

TEST(Planner, AttributesEachKindOfGainToItsCause) {
  const auto attribution = [](const Prices& prices, std::string_view name) {
    const PlanningResult result = cnn_bench(prices).plan({.most_explained = 1000});
    const PlanCandidate* candidate = find(result, name);
    EXPECT_NE(candidate, nullptr) << name;
    return candidate == nullptr ? Attribution{} : candidate->attribution;
  };
  const Attribution overlap = attribution({.all_cores = 1.0, .beside = 1.0}, "concurrent x2");
  EXPECT_EQ(overlap.of(GainCause::kOverlap), Nanoseconds(4'400'000));
  EXPECT_EQ(overlap.of(GainCause::kFusion), 0_ns);
  const Attribution fusion = attribution({.all_cores = 1.0, .dense = 0.25}, "serial + dense convolution (conv1)");
  EXPECT_EQ(fusion.of(GainCause::kFusion), Nanoseconds(3'000'000));
  EXPECT_EQ(fusion.of(GainCause::kOverlap), 0_ns);
}

TEST(Planner, CountsFewerLaunchesAsLaunchRemoval) {
  PlannerBench bench({fake_mlp(6)}, 4, times_of({.all_cores = 1.0, .strided = 1.0}));
  bench.device.step_overhead = 50_us;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  const PlanCandidate* fused = find(result, "strided batch (fc1, fc2)");
  ASSERT_NE(fused, nullptr) << print(result);
  EXPECT_EQ(fused->attribution.of(GainCause::kLaunchRemoval), 50_us * (4 * 2 - 2));
}

TEST(Planner, AttributesOnePipelineInsteadOfManyToSharing) {
  PlannerBench bench = cnn_bench({.all_cores = 1.0, .beside = 1.0});
  std::vector<ProfileRecord> records = bench.records();
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, 4'000'000));
  bench.set_records(records);
  bench.base.input.source = InputSource::kFolder;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  const PlanCandidate* serial = find(result, "serial");
  const PlanCandidate* separate = find(result, "serial, separate input");
  ASSERT_TRUE(serial != nullptr && separate != nullptr) << print(result);
  EXPECT_GT(serial->attribution.of(GainCause::kSharing), 20_ms);
  EXPECT_EQ(separate->attribution.of(GainCause::kSharing), 0_ns);
  EXPECT_GT(serial->speedup, separate->speedup);
}

TEST(Planner, ExplainsWhatACandidateLostToTheBest) {
  const PlanningResult result = cnn_bench({.strided = 0.3, .dense = 0.4}).plan({.most_explained = 5});
  ASSERT_GT(result.ranked.size(), 5U);
  const PlanCandidate& best = result.ranked.front();
  for (std::size_t i = 1; i < 5; ++i) {
    const PlanCandidate& each = result.ranked[i];
    ASSERT_TRUE(each.explained);
    Nanoseconds sum{};
    Nanoseconds last = Nanoseconds::max();
    for (const LostGain& lost : lost_to(best, each)) {
      sum += lost.less;
      EXPECT_LE(std::chrono::abs(lost.less), last);
      last = std::chrono::abs(lost.less);
    }
    EXPECT_EQ(sum, each.prediction.step_time - best.prediction.step_time) << each.name;
  }
  EXPECT_FALSE(result.ranked[5].explained);
  const std::string text = explain(result, 3);
  EXPECT_THAT(text,
              StartsWith(fmt::format("ranked by throughput; {} simulated, 0 screened out", result.ranked.size())));
  EXPECT_THAT(text, HasSubstr("  1  " + best.name + "\n"));
  EXPECT_THAT(text, HasSubstr("     behind 1 +"));
  EXPECT_THAT(text, HasSubstr(" more\n"));
}

TEST(Planner, ExplainsEveryCandidateInOneLine) {
  const PlanningResult result = cnn_bench({.all_cores = 1.0, .beside = 1.0}).plan();
  EXPECT_EQ(result.ranked.front().name, "concurrent x2");
  EXPECT_THAT(result.ranked.front().explanation, StartsWith("overlap saves 4.40 ms; cores busy 100%; "));
  for (std::size_t i = 1; i < result.ranked.size(); ++i) {
    EXPECT_THAT(result.ranked[i].explanation, HasSubstr(" slower than 1; "));
  }
}

}  // namespace
}  // namespace cohort
