#include "executor/measure.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace cohort {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Subjects, a clock and a neighbour that steals time, all under the test's control.
class FakeMachine {
 public:
  /// A subject whose blocks take the next of `per_step` each, the last for ever.
  Subject subject(std::string name, std::vector<Nanoseconds> per_step) {
    return {name, [this, name, per_step, position = std::size_t{0}](int steps) mutable -> Result<Nanoseconds> {
              log.push_back(name);
              steps_run.push_back(steps);
              const Nanoseconds time = per_step[std::min(position++, per_step.size() - 1)] * steps;
              now_ += time;
              const std::size_t block = log.size() - 1;
              if (block < stolen_part.size()) {
                stolen_ +=
                    Nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * stolen_part[block]));
              }
              return time;
            }};
  }
  Result<std::vector<SubjectTimes>> run(std::vector<Subject> subjects, const CancelToken* cancel = nullptr) {
    return measure(
        subjects, options, [this] { return now_; },
        [this]() -> std::optional<Nanoseconds> {
          if (!has_probe) return std::nullopt;
          return stolen_;
        },
        cancel);
  }

  MeasureOptions options;
  bool has_probe = true;
  std::vector<double> stolen_part;  ///< by block, warm-up included: foreign time per time
  std::vector<std::string> log;     ///< whose block each was
  std::vector<int> steps_run;

 private:
  Nanoseconds now_{};
  Nanoseconds stolen_{};
};

FakeMachine machine(int blocks) {
  FakeMachine made;
  made.options.block = 100_ms;
  made.options.blocks = blocks;
  made.options.most_rounds = 3 * blocks;
  return made;
}

TEST(Measure, WarmsUpEachSubjectAndThenTakesTurns) {
  FakeMachine m = machine(3);
  const auto times = m.run({m.subject("A", {200_ms}), m.subject("B", {100_ms})});
  ASSERT_TRUE(times);
  EXPECT_THAT(m.log, ElementsAre("A", "A", "B", "B", "A", "B", "A", "B", "A", "B"));
  EXPECT_EQ((*times)[0].median, 200_ms);
  EXPECT_EQ((*times)[0].wall.what, "A");
  EXPECT_EQ((*times)[0].wall.samples.size(), 3U);
  EXPECT_DOUBLE_EQ(speedup((*times)[0], (*times)[1]), 2.0);
}

TEST(Measure, SaysHowFarItIs) {
  FakeMachine m = machine(2);
  std::vector<std::string> said;
  m.options.progress = [&](const std::string& what) { said.push_back(what); };
  ASSERT_TRUE(m.run({m.subject("A", {200_ms}), m.subject("B", {100_ms})}));
  EXPECT_THAT(said, ElementsAre("warming up, A", "warming up, B", "measured 0 of 4 blocks", "measured 1 of 4 blocks",
                                "measured 2 of 4 blocks", "measured 3 of 4 blocks"));
  said.clear();
  FakeMachine busy = machine(1);
  busy.options.progress = m.options.progress;
  busy.stolen_part = {0, 0, 0.5, 0};
  ASSERT_TRUE(busy.run({busy.subject("A", {100_ms})}));
  EXPECT_EQ(said.back(), "measured 0 of 1 blocks, 1 disturbed by other programs");
}

TEST(Measure, FillsABlockWithAsManyStepsAsItTakes) {
  FakeMachine m = machine(2);
  const auto times = m.run({m.subject("tiny", {20_us})});
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].median, 20_us);
  EXPECT_GE((*times)[0].steps_per_block, 5000);
  EXPECT_LT((*times)[0].steps_per_block, 6000);
  EXPECT_EQ(m.steps_run.front(), 1);
}

TEST(Measure, WarmsUpUntilTwoBlocksAgree) {
  FakeMachine m = machine(1);
  const auto times = m.run({m.subject("A", {900_ms, 300_ms, 200_ms, 100_ms, 101_ms, 102_ms})});
  ASSERT_TRUE(times);
  EXPECT_EQ(m.log.size(), 6U);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(102_ms));
}

TEST(Measure, EndsAWarmUpThatNeverSettles) {
  FakeMachine m = machine(1);
  m.options.warm_up = 1000_ms;
  std::vector<Nanoseconds> restless;
  for (int i = 0; i < 100; ++i) restless.push_back(i % 2 == 0 ? 100_ms : 200_ms);
  ASSERT_TRUE(m.run({m.subject("A", restless)}));
  EXPECT_EQ(m.log.size(), 8U);  // 7 blocks until a second has passed, then the one measured
}

TEST(Measure, DiscardsAndCountsBlocksWithInterference) {
  FakeMachine m = machine(3);
  // Two blocks of warm-up, then the second and fourth are disturbed.
  m.stolen_part = {0, 0, 0, 0.5, 0.05, 0.2, 0};
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 100_ms, 150_ms, 101_ms, 120_ms, 102_ms})});
  ASSERT_TRUE(times);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(100_ms, 101_ms, 102_ms));
  EXPECT_EQ((*times)[0].wall.discarded, 2);
  EXPECT_FALSE((*times)[0].disturbed);
}

TEST(Measure, TakesTheLeastDisturbedBlocksWhereNoneIsQuiet) {
  FakeMachine m = machine(2);
  m.stolen_part = {0, 0, 0.9, 0.3, 0.5, 0.4, 0.8, 0.7};
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 190_ms, 130_ms, 131_ms, 132_ms, 180_ms, 170_ms})});
  ASSERT_TRUE(times);
  EXPECT_TRUE((*times)[0].disturbed);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(130_ms, 131_ms, 132_ms));
  EXPECT_EQ((*times)[0].wall.discarded, 3);
}

TEST(Measure, DiscardsBlocksBesideWhichTheProbesWorkIsSlowed) {
  FakeMachine m = machine(3);
  // At the start, after the warm-up, then after each block; 120 is within the bounds of 100, and 130 is not.
  m.options.work_probe = [works = std::vector{100_us, 100_us, 120_us, 130_us, 100_us, 100_us, 100_us},
                          next = std::size_t{0}]() mutable {
    return Probed{works[std::min(next++, works.size() - 1)], 50_ns};
  };
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 100_ms, 130_ms, 131_ms, 101_ms, 102_ms})});
  ASSERT_TRUE(times);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(100_ms, 101_ms, 102_ms))
      << "not right before or after the slow one";
  EXPECT_EQ((*times)[0].wall.discarded, 2);
  EXPECT_FALSE((*times)[0].disturbed);
}

TEST(Measure, TakesTheBlocksThatWereSlowedLeastWhereAllWere) {
  FakeMachine m = machine(3);
  m.options.most_rounds = 4;
  m.options.work_probe = [works = std::vector{100_us, 400_us, 300_us, 250_us, 150_us, 140_us},
                          next = std::size_t{0}]() mutable {
    return Probed{works[std::min(next++, works.size() - 1)], 50_ns};
  };
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 160_ms, 131_ms, 130_ms, 129_ms})});
  ASSERT_TRUE(times);
  EXPECT_TRUE((*times)[0].disturbed);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(131_ms, 130_ms, 129_ms));
}

TEST(Measure, DiscardsOutliersWhereInterferenceIsNotKnown) {
  FakeMachine m = machine(7);
  m.has_probe = false;
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 100_ms, 101_ms, 150_ms, 99_ms, 100_ms, 60_ms, 102_ms})});
  ASSERT_TRUE(times);
  EXPECT_THAT((*times)[0].wall.samples, ElementsAre(100_ms, 101_ms, 99_ms, 100_ms, 102_ms));
  EXPECT_EQ((*times)[0].wall.discarded, 2);
}

TEST(Measure, KeepsSmallDifferencesBetweenOtherwiseEqualBlocks) {
  FakeMachine m = machine(5);
  const auto times = m.run({m.subject("A", {100_ms, 100_ms, 100_ms, 100_ms, 100_ms, 100_ms, 102_ms})});
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].wall.discarded, 0);
}

TEST(Measure, MeasuresAtLeastOnceWhateverTheLimit) {
  FakeMachine m = machine(5);
  m.options.limit = 0_ms;
  m.options.warm_up = 0_ms;
  const auto times = m.run({m.subject("A", {100_ms}), m.subject("B", {100_ms})});
  ASSERT_TRUE(times);
  EXPECT_THAT(m.log, ElementsAre("A", "B", "A", "B"));
}

TEST(Measure, StopsAtTheTimeLimit) {
  FakeMachine m = machine(100);
  m.options.limit = 1000_ms;
  const auto times = m.run({m.subject("A", {100_ms})});
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].wall.samples.size(), 10U);
}

TEST(Measure, StopsBetweenBlocksOnceCancelled) {
  FakeMachine m = machine(5);
  CancelToken cancel;
  Subject subject = m.subject("A", {100_ms});
  int blocks = 0;
  Subject cancelling{"A", [&](int steps) {
                       if (++blocks == 4) cancel.cancel();
                       return subject.run(steps);
                     }};
  const auto times = m.run({cancelling}, &cancel);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(blocks, 4);
}

TEST(Measure, HandsOnTheErrorOfASubject) {
  FakeMachine m = machine(5);
  const Subject broken{"A",
                       [](int) -> Result<Nanoseconds> { return fail(ErrorCode::kDeviceMissing, "3/conv1: gone"); }};
  const auto times = m.run({broken});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().message, "3/conv1: gone");
}

TEST(Measure, EndsForASubjectThatTakesNoTime) {
  FakeMachine m = machine(1);
  const auto times = m.run({m.subject("nothing", {0_ns})});
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].median, 0_ns);
}

TEST(ForeignCpuTime, IsWhatTheMachineDidBesidesThisProcess) {
  if (!std::filesystem::exists("/proc/stat")) GTEST_SKIP() << "no /proc/stat here";
  const auto time = foreign_cpu_time();
  ASSERT_TRUE(time);
  EXPECT_GT(*time, -1000_ms);  // busy since the start, less our own part; they are counted in different ticks
}

}  // namespace
}  // namespace cohort
