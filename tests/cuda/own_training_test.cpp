// Own kernels of training steps: their bodies, run on the host, against the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "executor/reference/reference_kernels.hpp"
#include "own_kernels.hpp"

namespace cohort::testing {
namespace {

using ::testing::HasSubstr;

void check(const OpCall& call, float low = -1, float high = 1) {
  SCOPED_TRACE(canonical(call.attributes, call.post_ops));
  expect_equals_reference_in_float32(CallRunner(call, 1, low, high));
}

using Image = std::tuple<Shape, Layout>;
class OwnTrainingImage : public ::testing::TestWithParam<Image> {
 protected:
  [[nodiscard]] static const Shape& shape() { return std::get<0>(GetParam()); }
  [[nodiscard]] static View image(std::uint32_t buffer) { return dense(buffer, shape(), std::get<1>(GetParam())); }
  [[nodiscard]] static View image(std::uint32_t buffer, const Shape& other) {
    return dense(buffer, other, std::get<1>(GetParam()));
  }
};

TEST_P(OwnTrainingImage, IsNormalizedByItsOwnStatistics) {
  const std::int64_t channels = shape()[1];
  check(with_packed_output(BatchStatistics{}, {image(0)}, 1));
  const View scale = packed(1, 16, {channels}), shift = packed(1, 16 + channels, {channels});
  OpCall call = make_call(NormalizeByStatistics{}, {image(0), scale, shift, packed(2, 0, {2, channels})}, image(3));
  check(call, 0.1F, 1);
  call.post_ops = {Activation{}};
  check(call, 0.1F, 1);
  check(make_call(BatchNormalization{},
                  {image(0), scale, shift, packed(2, 0, {channels}), packed(2, channels, {channels})}, image(3)),
        0.1F, 1);
}

TEST_P(OwnTrainingImage, HasGradientsOfBatchNormalization) {
  const std::int64_t channels = shape()[1];
  const View statistics = packed(2, 0, {2, channels});
  check(with_packed_output(BatchNormalizationWeightGradient{}, {image(0), statistics, image(1)}, 3, 16), 0.1F, 1);
  const View pack = packed(4, 16, {2 * pack_place(channels)});
  check(make_call(BatchNormalizationGradient{}, {image(0), packed(3, 0, {channels}), statistics, image(1), pack},
                  image(5)),
        0.1F, 1);
}

TEST_P(OwnTrainingImage, HasGradientsOfGroupNormalization) {
  const std::int64_t channels = shape()[1];
  const std::int64_t groups = channels % 2 == 0 ? 2 : 1;
  for (const std::int64_t entries : {groups, channels}) {
    const View scale = packed(2, 0, {entries});
    check(make_call(GroupNormalizationGradient{groups}, {image(0), scale, image(1)}, image(3)));
    const GroupNormalizationWeightGradient op{groups, 1e-5F, entries == groups && entries != channels};
    check(with_packed_output(op, {image(0), image(1)}, 3));
    check(make_call(GroupNormalization{groups}, {image(0), scale, packed(4, 16, {entries})}, image(3)));
  }
}

TEST_P(OwnTrainingImage, HasGradientsOfPools) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const bool include : {false, true}) {
      for (const Window& window :
           {square_window(2, 2, 0), square_window(3, 2, 1), square_window(3, 1, 1), square_window(2, 1, 1, 2)}) {
        const Pool pool{kind, window, true, include};
        const auto y = infer_shape(pool, {shape()});
        if (!y) continue;
        const PoolGradient op{pool, {shape()[2], shape()[3]}};
        std::vector<Operand> inputs{image(0, *y)};
        if (kind == PoolKind::kMax) inputs.emplace_back(image(1));
        check(make_call(op, inputs, image(2)));
      }
    }
  }
  const Pool global{PoolKind::kAverage, {{shape()[2], shape()[3]}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, false, false};
  check(
      make_call(PoolGradient{global, {shape()[2], shape()[3]}}, {image(0, {shape()[0], shape()[1], 1, 1})}, image(2)));
}

TEST_P(OwnTrainingImage, GivesTheFirstOfEqualMaximaAll) {
  const Pool pool{PoolKind::kMax, square_window(3, 2, 1), false, false};
  const auto y = infer_shape(pool, {shape()});
  ASSERT_TRUE(y.has_value());
  CallRunner runner(make_call(PoolGradient{pool, {shape()[2], shape()[3]}}, {image(0, *y), image(1)}, image(2)));
  runner.set_input(1, std::vector<float>(static_cast<std::size_t>(element_count(shape())), 0.5F));
  expect_equals_reference_in_float32(runner);
}

TEST_P(OwnTrainingImage, HasGradientOfLocalResponseNormalization) {
  for (const LocalResponseNormalization& lrn :
       {LocalResponseNormalization{}, LocalResponseNormalization{4, 0.5F, 0.6F, 2},
        LocalResponseNormalization{3, 1, 0.75F, 1}})
    check(make_call(LocalResponseNormalizationGradient{lrn}, {image(0), image(1)}, image(2)));
}

TEST_P(OwnTrainingImage, HasGradientsOfEveryActivation) {
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::kFakeQuantize); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0.25F, 0.75F};
    const OpCall call = make_call(ActivationGradient{activation}, {image(0), image(1)}, image(2));
    const Range range = range_of(activation.kind, {-1, 1});
    const std::vector<float> result = CallRunner(call, 1, range.low, range.high).run(*make_reference_kernels());
    const bool is_step = std::all_of(result.begin(), result.end(), [](float value) { return value == 0; });
    if (is_step) {
      EXPECT_EQ(CallRunner(call, 1, range.low, range.high).run(*make_own_kernels_on_host()), result);
      continue;
    }
    check(call, range.low, range.high);
  }
}

TEST_P(OwnTrainingImage, LosesElementsAtRandom) {
  CallRunner runner(make_call(Dropout{7, false}, {image(0), packed(1, 0, {1}), packed(2, 0, {4})}, image(3)));
  runner.set_input(1, {0.3F});
  runner.set_input(2, whole_numbers({12345, 6, 7, 8}));
  expect_equals_reference_in_float32(runner);
  runner.set_input(1, {1});
  for (const float value : runner.run(*make_own_kernels_on_host())) ASSERT_TRUE(std::isnan(value));
}

TEST_P(OwnTrainingImage, IsPutBackWhereASliceWasTaken) {
  const Shape part{shape()[0], (shape()[1] + 1) / 2, shape()[2] - 2, (shape()[3] + 1) / 2};
  check(make_call(TensorSliceGradient{{0, 0, 1, 0}, {1, 2, 1, 2}, shape()}, {image(0, part)}, image(1)));
  Shape backwards = shape();
  check(make_call(TensorSliceGradient{{0, 0, shape()[2] - 1, 0}, {1, 1, -1, 1}, shape()}, {image(0, backwards)},
                  image(1)));
}

TEST_P(OwnTrainingImage, HasTheGradientOfItsResizing) {
  for (const auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (const double scale : {2.0, 0.6}) {
      Resize op;
      op.mode = mode;
      op.scale = {1, 1, scale, 1.5};
      op.shape = {shape()[0], shape()[1], static_cast<std::int64_t>(scale * static_cast<double>(shape()[2])),
                  static_cast<std::int64_t>(1.5 * static_cast<double>(shape()[3]))};
      check(make_call(ResizeGradient{op, shape()}, {image(0, op.shape)}, image(1)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnTrainingImage,
                         ::testing::Combine(::testing::Values(Shape{2, 16, 9, 10}, Shape{3, 6, 8, 8},
                                                              Shape{1, 1, 28, 5}),
                                            ::testing::Values(Layout::kNhwc, Layout::kNchw)));

TEST(OwnTraining, NormalizesMatrices) {
  const Shape shape{40, 24};
  check(with_packed_output(BatchStatistics{}, {dense(0, shape)}, 1));
  check(with_packed_output(BatchNormalizationWeightGradient{},
                           {dense(0, shape), packed(2, 0, {2, 24}), dense(1, shape)}, 3),
        0.1F, 1);
}

TEST(OwnTraining, HasGradientsOfLayerNormalization) {
  for (const Shape& shape : {Shape{8, 32}, Shape{3, 5, 24}}) {
    const std::int64_t axis = static_cast<std::int64_t>(shape.size()) - 1;
    const View scale = packed(2, 16, {shape.back()});
    check(make_call(LayerNormalizationGradient{axis}, {packed(0, 0, shape), scale, packed(1, 0, shape)},
                    packed(3, 0, shape)));
    check(
        with_packed_output(LayerNormalizationWeightGradient{axis}, {packed(0, 0, shape), packed(1, 0, shape)}, 3, 16));
    check(make_call(LayerNormalization{axis}, {packed(0, 0, shape), scale, packed(2, 4096, {shape.back()})},
                    packed(3, 0, shape)));
  }
  const Shape image{2, 3, 4, 5};
  check(make_call(LayerNormalizationGradient{1}, {dense(0, image), packed(2, 0, {3, 4, 5}), dense(1, image)},
                  dense(3, image)));
  check(with_packed_output(LayerNormalizationWeightGradient{1}, {dense(0, image), dense(1, image)}, 3));
}

TEST(OwnTraining, HasGradientsOfSoftmax) {
  for (const bool logarithm : {false, true}) {
    for (const Shape& shape : {Shape{7, 10}, Shape{4, 1000}, Shape{6, 5, 33}}) {
      const std::int64_t axis = static_cast<std::int64_t>(shape.size()) - 1;
      check(
          make_call(SoftmaxGradient{axis, logarithm}, {packed(0, 0, shape), packed(1, 0, shape)}, packed(2, 0, shape)));
    }
    const Shape image{2, 5, 3, 4};
    check(make_call(SoftmaxGradient{1, logarithm}, {dense(0, image), dense(1, image)}, dense(2, image)));
  }
}

/// Labels of `count` samples, one of them ignored.
std::vector<float> labels_of(std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<std::int32_t>(i * 7 % classes));
  result[0] = -1;
  return whole_numbers(result);
}

TEST(OwnTraining, HasCrossEntropyAndItsGradient) {
  struct Form {
    Shape x;
    bool stacked;
  };
  for (const Form& form : {Form{{32, 10}, false}, Form{{5, 1000}, false}, Form{{3, 8, 10}, true},
                           Form{{2, 5, 6, 7}, false}, Form{{1, 4, 3}, true}}) {
    for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kSum}) {
      const SoftmaxCrossEntropy op{reduction, -1, form.stacked};
      Shape samples = form.x;
      const std::size_t axis = form.stacked ? 2 : 1;
      const std::int64_t classes = form.x[axis];
      samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(axis));
      const View x = dense(0, form.x), y = packed(1, 0, samples);
      for (const OpCall& call :
           {with_packed_output(op, {x, y}, 2), make_call(SoftmaxCrossEntropyGradient{op}, {x, y}, dense(2, form.x))}) {
        CallRunner runner(call, 1, -10, 10);
        runner.set_input(1, labels_of(element_count(samples), classes));
        expect_equals_reference_in_float32(runner);
      }
    }
  }
}

TEST(OwnTraining, LosesItselfInALabelThatIsNoClass) {
  for (const OpAttributes& op : {OpAttributes(SoftmaxCrossEntropy{}), OpAttributes(SoftmaxCrossEntropyGradient{})}) {
    CallRunner runner(with_packed_output(op, {dense(0, {2, 3}), packed(1, 0, {2})}, 2));
    runner.set_input(1, whole_numbers({0, 3}));
    const std::vector<float> result = runner.run(*make_own_kernels_on_host());
    EXPECT_TRUE(std::isnan(result.back()));
    EXPECT_EQ(std::isnan(result.front()), result.size() == 1) << "the other sample has its gradient";
  }
}

TEST(OwnTraining, DropsInSeveralModelsAsInOne) {
  const Shape shape{2, 5, 333};
  CallRunner runner(make_call(Dropout{3, true}, {packed(0, 0, shape), packed(1, 0, {2, 1}), packed(2, 0, {2, 4})},
                              packed(3, 0, shape)));
  runner.set_input(1, {0.5F, 0.1F});
  runner.set_input(2, whole_numbers({1, 2, 3, 4, 5, 6, 7, 8}));
  expect_equals_reference_in_float32(runner);
}

std::vector<float> settings_for(std::int64_t members) {
  std::vector<float> all;
  for (std::int64_t m = 0; m < members; ++m) {
    const float rate = 0.1F / static_cast<float>(m + 1);
    for (const float value : {rate, 0.9F, 0.01F, 0.9F, 0.99F, 1e-6F, 0.1F, 0.01F, 0.5F, 0.2F}) all.push_back(value);
  }
  return all;
}

std::vector<Update> every_rule() {
  std::vector<Update> rules;
  for (const bool clip : {false, true}) {
    for (const bool stacks : {false, true}) {
      rules.push_back({UpdateRule::kSgd, false, false, clip, stacks});
      rules.push_back({UpdateRule::kSgd, true, false, clip, stacks});
      rules.push_back({UpdateRule::kSgd, true, true, clip, stacks});
      rules.push_back({UpdateRule::kAdam, false, false, clip, stacks});
      rules.push_back({UpdateRule::kAdamW, false, false, clip, stacks});
    }
  }
  return rules;
}

TEST(OwnTraining, UpdatesParametersByEveryRuleInPlaceToo) {
  for (const Update& op : every_rule()) {
    const Shape state{state_rows(op), 300};
    const auto one = [&](std::uint32_t buffer, const Shape& shape) {
      return op.stacked ? stacked(buffer, 0, 3, shape, element_count(shape) + 16) : packed(buffer, 0, shape);
    };
    std::vector<Operand> inputs{one(0, state), one(1, {300}), one(2, {kSettingCount})};
    if (op.clip) inputs.emplace_back(one(3, {1}));
    for (const std::uint32_t output : {4U, 0U}) {
      SCOPED_TRACE(canonical(op, {}));
      CallRunner runner(make_call(op, inputs, one(output, state)), 1, 0.01F, 1);
      runner.set_input(2, settings_for(op.stacked ? 3 : 1));
      expect_equals_reference_in_float32(runner);
    }
  }
}

TEST(OwnTraining, LetsRunningAveragesFollow) {
  check(make_call(RunningAverage{0.1F, false}, {packed(0, 0, {100}), packed(1, 0, {100})}, packed(0, 0, {100})));
  check(make_call(RunningAverage{0.2F, true}, {stacked(0, 0, 3, {100}, 128), packed(1, 0, {3, 100})},
                  stacked(0, 0, 3, {100}, 128)));
}

TEST(OwnTraining, PutsBackWhatWasGathered) {
  for (const std::int64_t axis : {0, 1}) {
    const auto rows = whole_numbers({3, 49, 3, 0, -1, 7});
    const Shape y = axis == 0 ? Shape{2, 3, 24} : Shape{3, 2, 3, 8};
    CallRunner back(with_packed_output(GatherGradient{axis, 50}, {packed(0, 0, {2, 3}), packed(1, 0, y)}, 2, 16));
    back.set_input(0, rows);
    expect_equals_reference_in_float32(back);
  }
}

TEST(OwnTraining, PacksWhatLiesAnywhereAndUnpacks) {
  check(with_packed_output(Pack{{64, 0}, 400}, {dense(0, {2, 8, 3, 5}), packed(1, 0, {50})}, 2));
  check(make_call(Unpack{32, {2, 3, 4, 5}}, {packed(0, 0, {2, 200})}, dense(1, {2, 3, 4, 5})));
}

TEST(OwnTraining, ComputesInFloat32AloneAndSaysSo) {
  OpCall call =
      make_call(SoftmaxGradient{1, false}, {packed(0, 0, {2, 3}), packed(1, 0, {2, 3})}, packed(2, 0, {2, 3}));
  for (Operand& operand : call.inputs) std::get<View>(operand).type = DataType::kBfloat16;
  call.outputs[0].type = DataType::kBfloat16;
  const auto listed = make_own_kernels_on_host(DataType::kBfloat16)->alternatives(call, 1);
  ASSERT_FALSE(listed.has_value());
  EXPECT_THAT(listed.error().message, HasSubstr("in training it computes in float32"));
}

}  // namespace
}  // namespace cohort::testing
