#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/compute/ops.hpp"
#include "models/random_bits.hpp"
#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

using Settings = std::vector<std::pair<Setting, float>>;

Array settings_of(const Settings& given) {
  Array settings{{kSettingCount}, std::vector<float>(kSettingCount, 0.0F)};
  for (const auto& [setting, value] : given) settings.values[static_cast<std::size_t>(setting)] = value;
  return settings;
}

/// The rows of one parameter, first 1 and moments 0, after each step with gradients 0.5, -0.2 and 0.1.
void expect_steps(const Update& op, Settings settings, const std::vector<std::vector<float>>& expected) {
  const float gradients[] = {0.5F, -0.2F, 0.1F};
  Array state{{state_rows(op), 1}, std::vector<float>(static_cast<std::size_t>(state_rows(op)), 0.0F)};
  state.values[0] = 1;
  for (std::size_t step = 0; step < 3; ++step) {
    Settings now = settings;
    const auto count = static_cast<float>(step + 1);
    now.emplace_back(Setting::kCorrection1, 1 - std::pow(0.9F, count));
    now.emplace_back(Setting::kCorrection2, 1 - std::pow(0.999F, count));
    state = run_op(op, {state, {{1}, {gradients[step]}}, settings_of(now)});
    for (std::size_t row = 0; row < state.values.size(); ++row)
      EXPECT_NEAR(state.values[row], expected[step][row], 2e-5F) << "step " << step << ", row " << row;
  }
}

// Steps worked out from the formulas in PyTorch's documentation of SGD, Adam and AdamW.
TEST(Update, IsPlainSgd) {
  expect_steps({UpdateRule::kSgd}, {{Setting::kLearningRate, 0.1F}, {Setting::kWeightDecay, 0.01F}},
               {{0.949F}, {0.968051F}, {0.957082949F}});
}

TEST(Update, IsSgdWithMomentum) {
  expect_steps({UpdateRule::kSgd, true},
               {{Setting::kLearningRate, 0.1F}, {Setting::kWeightDecay, 0.01F}, {Setting::kMomentum, 0.9F}},
               {{0.949F, 0.51F}, {0.922151F, 0.26849F}, {0.887064749F, 0.35086251F}});
}

TEST(Update, IsSgdWithNesterovsMomentum) {
  expect_steps({UpdateRule::kSgd, true, true},
               {{Setting::kLearningRate, 0.1F}, {Setting::kWeightDecay, 0.01F}, {Setting::kMomentum, 0.9F}},
               {{0.9031F, 0.51F}, {0.89807411F, 0.268031F}, {0.855657258F, 0.350208641F}});
}

const Settings kAdamSettings{{Setting::kLearningRate, 0.1F},
                             {Setting::kWeightDecay, 0.01F},
                             {Setting::kBeta1, 0.9F},
                             {Setting::kBeta2, 0.999F},
                             {Setting::kEpsilon, 1e-8F}};

TEST(Update, IsAdam) {
  expect_steps({UpdateRule::kAdam}, kAdamSettings,
               {{0.9F, 0.051F, 0.0002601F},
                {0.863364138F, 0.0268F, 0.000296320900F},
                {0.823084722F, 0.0349833641F, 0.000307825847F}});
}

TEST(Update, IsAdamW) {
  expect_steps({UpdateRule::kAdamW}, kAdamSettings,
               {{0.899F, 0.05F, 0.00025F}, {0.863540418F, 0.025F, 0.00028975F}, {0.8247377F, 0.0325F, 0.00029946025F}});
}

TEST(Update, ScalesLongGradientsDown) {
  Update op;
  op.clip = true;
  const Array state{{1, 2}, {1, 1}};
  const Array gradient{{2}, {3, -4}};
  const auto next = [&](float clip, float norm) {
    const Array settings = settings_of({{Setting::kLearningRate, 0.1F}, {Setting::kClipNorm, clip}});
    return run_op(op, {state, gradient, settings, {{1}, {norm}}}).values;
  };
  EXPECT_NEAR(next(2.5F, 5)[0], 1 - 0.1F * 3 / 2, 1e-6F);
  EXPECT_NEAR(next(2.5F, 5)[1], 1 + 0.1F * 4 / 2, 1e-6F);
  EXPECT_NEAR(next(10, 5)[0], 0.7F, 1e-6F);
  EXPECT_NEAR(next(std::numeric_limits<float>::infinity(), 5)[0], 0.7F, 1e-6F);
}

TEST(Update, MayWriteWhereTheStateLies) {
  const Array state = random_array({3, 40}, 1, 0.1F, 1);
  const Array gradient = random_array({40}, 2);
  Settings given = kAdamSettings;
  given.emplace_back(Setting::kCorrection1, 0.1F);
  given.emplace_back(Setting::kCorrection2, 0.001F);
  const Array settings = settings_of(given);
  Array in_place = state;
  const auto view = [](const Array& x) {
    return reference::ConstTensor{x.values.data(), x.shape, reference::row_major_strides(x.shape)};
  };
  const std::vector<reference::ConstTensor> inputs{view(in_place), view(gradient), view(settings)};
  reference::compute(Update{UpdateRule::kAdam}, inputs, {in_place.values.data(), state.shape, {40, 1}});
  EXPECT_EQ(in_place.values, run_op(Update{UpdateRule::kAdam}, {state, gradient, settings}).values);
}

TEST(Update, OfStackedMembersIsThatOfEach) {
  Update op{UpdateRule::kSgd, true, true, true};
  std::vector<Array> states, gradients, settings, norms, next;
  for (std::uint64_t m = 0; m < 3; ++m) {
    const auto factor = static_cast<float>(m + 1);
    states.push_back(random_array({2, 20}, 10 + m));
    gradients.push_back(random_array({20}, 20 + m));
    settings.push_back(settings_of({{Setting::kLearningRate, 0.1F * factor},
                                    {Setting::kMomentum, 0.3F * factor},
                                    {Setting::kClipNorm, 0.5F * factor}}));
    norms.push_back({{1}, {2}});
    next.push_back(run_op(op, {states.back(), gradients.back(), settings.back(), norms.back()}));
  }
  op.stacked = true;
  const Array all = run_op(op, {stacked(states), stacked(gradients), stacked(settings), stacked(norms)});
  EXPECT_EQ(all.values, stacked(next).values);
}

TEST(RunningAverage, MovesTowardsTheValue) {
  const Array state{{2}, {1, 2}}, value{{2}, {3, -2}};
  EXPECT_EQ(run_op(RunningAverage{0.25F}, {state, value}).values, (std::vector<float>{1.5F, 1}));
  const Array both = run_op(RunningAverage{0.25F, true}, {stacked({state, value}), stacked({value, state})});
  EXPECT_EQ(both.values, (std::vector<float>{1.5F, 1, 2.5F, -1}));
}

TEST(Philox, GivesThePublishedAnswers) {
  struct Answer {
    RandomBlock counter;
    std::uint32_t key_low, key_high;
    RandomBlock expected;
  };
  // Those for philox4x32 with 10 rounds that come with Random123.
  const Answer answers[] = {
      {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
       0xffffffff,
       0xffffffff,
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       0xa4093822,
       0x299f31d0,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const Answer& answer : answers) {
    const RandomBlock block = philox(answer.counter, answer.key_low, answer.key_high);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(block.words[i], answer.expected.words[i]);
  }
}

TEST(Philox, ServesFourElementsWithABlock) {
  const RandomKey key{1, 2, 3, 4};
  for (std::uint64_t element = 0; element < 12; ++element)
    EXPECT_EQ(random_bits(key, 5, element), random_block(key, 5, element / 4).words[element % 4]);
  const std::uint64_t far = std::uint64_t{1} << 35;
  EXPECT_NE(random_bits(key, 5, far), random_bits(key, 5, 0));
}

Array dropped(const Array& x, float rate, const std::vector<std::int32_t>& key, std::uint32_t salt = 7) {
  return run_op(Dropout{salt}, {x, {{1}, {rate}}, whole_array({4}, key)});
}

TEST(Dropout, KeepsItsShareAndScalesIt) {
  const Array x{{100, 100}, std::vector<float>(10000, 2.0F)};
  for (const float rate : {0.1F, 0.5F, 0.8F}) {
    const Array y = dropped(x, rate, {12, 34, 1, 0});
    int kept = 0;
    for (const float value : y.values) {
      if (value == 0) continue;
      EXPECT_NEAR(value, 2 / (1 - rate), 1e-5F);
      ++kept;
    }
    EXPECT_NEAR(kept, 10000 * (1 - rate), 200);  // four deviations of the worst
  }
  EXPECT_EQ(dropped(x, 0, {12, 34, 1, 0}).values, x.values);
}

TEST(Dropout, DropsTheSameInTheGradient) {
  const Array x = random_array({30, 7}, 1, 1, 2), dy = random_array({30, 7}, 2, 1, 2);
  const Array y = dropped(x, 0.4F, {1, 2, 3, 4}), dx = dropped(dy, 0.4F, {1, 2, 3, 4});
  for (std::size_t i = 0; i < y.values.size(); ++i) EXPECT_EQ(y.values[i] == 0, dx.values[i] == 0);
}

TEST(Dropout, DrawsAnewForEachSeedStepStreamAndOp) {
  const Array x{{200}, std::vector<float>(200, 1.0F)};
  const Array y = dropped(x, 0.5F, {1, 2, 3, 4});
  EXPECT_EQ(dropped(x, 0.5F, {1, 2, 3, 4}).values, y.values);
  for (const auto& key : {std::vector<std::int32_t>{9, 2, 3, 4}, {1, 9, 3, 4}, {1, 2, 9, 4}, {1, 2, 3, 9}})
    EXPECT_NE(dropped(x, 0.5F, key).values, y.values);
  EXPECT_NE(dropped(x, 0.5F, {1, 2, 3, 4}, 8).values, y.values);
}

TEST(Dropout, OfStackedMembersIsThatOfEach) {
  std::vector<Array> xs, rates, keys, ys;
  for (std::int32_t m = 0; m < 3; ++m) {
    xs.push_back(random_array({5, 3}, 10 + static_cast<std::uint64_t>(m)));
    rates.push_back({{1}, {0.2F * static_cast<float>(m + 1)}});
    keys.push_back(whole_array({4}, {m, -m, 5, 0}));
    ys.push_back(run_op(Dropout{7}, {xs.back(), rates.back(), keys.back()}));
  }
  EXPECT_EQ(run_op(Dropout{7, true}, {stacked(xs), stacked(rates), stacked(keys)}).values, stacked(ys).values);
}

TEST(Dropout, StopsAtRatesThatKeepNothing) {
  for (const float rate : {-0.1F, 1.0F, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THROW(dropped(random_array({4}, 1), rate, {1, 2, 3, 4}), std::range_error);
}

}  // namespace
}  // namespace cohort
