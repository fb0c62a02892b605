// Ops of a training step that loops of ours run, against the reference.

#include <gtest/gtest.h>

#include <tuple>

#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "training.hpp"

namespace cohort::testing {
namespace {

void check(const OpCall& call, std::uint64_t seed = 1, float low = -1, float high = 1) {
  expect_fast(call);
  expect_equals_reference(CallRunner(call, seed, low, high));
}

using Image = std::tuple<Shape, Layout>;
class TrainingImage : public ::testing::TestWithParam<Image> {
 protected:
  [[nodiscard]] static const Shape& shape() { return std::get<0>(GetParam()); }
  [[nodiscard]] static View image(std::uint32_t buffer) { return dense(buffer, shape(), std::get<1>(GetParam())); }
  [[nodiscard]] static View image(std::uint32_t buffer, const Shape& other) {
    return dense(buffer, other, std::get<1>(GetParam()));
  }
};

TEST_P(TrainingImage, IsNormalizedByItsOwnStatistics) {
  const std::int64_t channels = shape()[1];
  check(with_packed_output(BatchStatistics{}, {image(0)}, 1));
  const View scale = packed(1, 16, {channels}), shift = packed(1, 16 + channels, {channels});
  OpCall call = make_call(NormalizeByStatistics{}, {image(0), scale, shift, packed(2, 0, {2, channels})}, image(3));
  check(call, 1, 0.1F, 1);
  call.post_ops = {Activation{}};
  check(call, 1, 0.1F, 1);
}

TEST_P(TrainingImage, HasGradientsOfBatchNormalization) {
  const std::int64_t channels = shape()[1];
  const View statistics = packed(2, 0, {2, channels});
  check(with_packed_output(BatchNormalizationWeightGradient{}, {image(0), statistics, image(1)}, 3, 16), 1, 0.1F, 1);
  const View pack = packed(4, 16, {2 * pack_place(channels)});
  check(make_call(BatchNormalizationGradient{}, {image(0), packed(3, 0, {channels}), statistics, image(1), pack},
                  image(5)),
        1, 0.1F, 1);
}

TEST_P(TrainingImage, HasGradientsOfGroupNormalization) {
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

TEST_P(TrainingImage, HasGradientsOfPools) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const Window& window : {square_window(2, 2, 0), square_window(3, 2, 1), square_window(3, 1, 1)}) {
      const Pool pool{kind, window, false, false};
      const auto y = infer_shape(pool, {shape()});
      if (!y) continue;
      const PoolGradient op{pool, {shape()[2], shape()[3]}};
      std::vector<Operand> inputs{image(0, *y)};
      if (kind == PoolKind::kMax) inputs.emplace_back(image(1));
      check(make_call(op, inputs, image(2)));
    }
  }
  const Pool global{PoolKind::kAverage, {{shape()[2], shape()[3]}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, false, false};
  check(
      make_call(PoolGradient{global, {shape()[2], shape()[3]}}, {image(0, {shape()[0], shape()[1], 1, 1})}, image(2)));
}

TEST_P(TrainingImage, GivesTheFirstOfEqualMaximaAll) {
  const Pool pool{PoolKind::kMax, square_window(3, 2, 1), false, false};
  const auto y = infer_shape(pool, {shape()});
  ASSERT_TRUE(y.has_value());
  const OpCall call = make_call(PoolGradient{pool, {shape()[2], shape()[3]}}, {image(0, *y), image(1)}, image(2));
  CallRunner runner(call);
  runner.set_input(1, std::vector<float>(static_cast<std::size_t>(element_count(shape())), 0.5F));
  expect_equals_reference(runner);
}

TEST_P(TrainingImage, HasGradientOfLocalResponseNormalization) {
  for (const LocalResponseNormalization& lrn :
       {LocalResponseNormalization{}, LocalResponseNormalization{4, 0.5F, 0.6F, 2},
        LocalResponseNormalization{3, 1, 0.75F, 1}}) {
    check(make_call(LocalResponseNormalizationGradient{lrn}, {image(0), image(1)}, image(2)));
  }
}

TEST_P(TrainingImage, HasGradientsOfActivations) {
  for (const ActivationKind kind : {ActivationKind::kRelu,        ActivationKind::kLeakyRelu,
                                    ActivationKind::kElu,         ActivationKind::kSigmoid,
                                    ActivationKind::kTanh,        ActivationKind::kClip,
                                    ActivationKind::kHardSigmoid, ActivationKind::kHardSwish,
                                    ActivationKind::kSoftplus,    ActivationKind::kSoftsign,
                                    ActivationKind::kGelu,        ActivationKind::kGeluTanh,
                                    ActivationKind::kMish,        ActivationKind::kSqrt,
                                    ActivationKind::kNeg,         ActivationKind::kAbs,
                                    ActivationKind::kExp,         ActivationKind::kLog,
                                    ActivationKind::kReciprocal,  ActivationKind::kThresholdedRelu,
                                    ActivationKind::kSwish,       ActivationKind::kRound}) {
    const Range range = range_of(kind, {-1, 1});
    check(make_call(ActivationGradient{{kind, 0.25F, 0.75F}}, {image(0), image(1)}, image(2)), 1, range.low,
          range.high);
  }
}

TEST_P(TrainingImage, IsSummedOverAnyAxes) {
  const std::vector<std::vector<std::int64_t>> all{{0, 2, 3}, {2, 3}, {1}, {0}, {0, 1, 2, 3}, {3}, {0, 1}};
  for (const std::vector<std::int64_t>& axes : all) {
    for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kL2, ReduceKind::kSumOfSquares}) {
      for (const bool keep : {false, true}) {
        const Reduce op{kind, axes, keep};
        const auto y = infer_shape(op, {shape()});
        ASSERT_TRUE(y.has_value());
        expect_equals_reference(CallRunner(make_call(op, {image(0)}, image(1, *y))));
      }
    }
  }
  check(with_packed_output(Reduce{ReduceKind::kSum, {0, 2, 3}, false}, {image(0)}, 1, 16));
}

TEST_P(TrainingImage, LosesElementsAtRandom) {
  CallRunner runner(make_call(Dropout{7, false}, {image(0), packed(1, 0, {1}), packed(2, 0, {4})}, image(3)));
  runner.set_input(1, {0.3F});
  runner.set_input(2, whole_numbers({12345, 6, 7, 8}));
  expect_fast(runner.call());
  expect_equals_reference(runner);
}

TEST_P(TrainingImage, IsPutBackWhereASliceWasTaken) {
  const Shape part{shape()[0], (shape()[1] + 1) / 2, shape()[2] - 2, (shape()[3] + 1) / 2};
  const TensorSliceGradient op{{0, 0, 1, 0}, {1, 2, 1, 2}, shape()};
  check(make_call(op, {image(0, part)}, image(1)));
}

TEST_P(TrainingImage, RepeatsAlongAxes) {
  check(make_call(Expand{shape()}, {image(0, {shape()[0], shape()[1], 1, 1})}, image(1)));
  check(make_call(Expand{shape()}, {packed(0, 0, {shape()[2], 1})}, image(1)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrainingImage,
                         ::testing::Combine(::testing::Values(Shape{2, 16, 9, 10}, Shape{3, 6, 8, 8},
                                                              Shape{1, 1, 28, 5}, Shape{2, 96, 7, 7},
                                                              Shape{4, 130, 12, 12}),
                                            ::testing::Values(Layout::kNhwc, Layout::kNchw)));

TEST(TrainingLoops, NormalizeMatrices) {
  const Shape shape{40, 24};
  check(with_packed_output(BatchStatistics{}, {dense(0, shape)}, 1));
  check(with_packed_output(BatchNormalizationWeightGradient{},
                           {dense(0, shape), packed(2, 0, {2, 24}), dense(1, shape)}, 3),
        1, 0.1F, 1);
}

TEST(TrainingLoops, HaveGradientsOfLayerNormalization) {
  for (const Shape& shape : {Shape{8, 32}, Shape{3, 5, 24}, Shape{300, 512}}) {
    const std::int64_t axis = static_cast<std::int64_t>(shape.size()) - 1;
    const View scale = packed(2, 16, {shape.back()});
    check(make_call(LayerNormalizationGradient{axis}, {packed(0, 0, shape), scale, packed(1, 0, shape)},
                    packed(3, 0, shape)));
    check(
        with_packed_output(LayerNormalizationWeightGradient{axis}, {packed(0, 0, shape), packed(1, 0, shape)}, 3, 16));
    check(make_call(LayerNormalization{axis}, {packed(0, 0, shape), scale, packed(2, 4096, {shape.back()})},
                    packed(3, 0, shape)));
  }
}

TEST(TrainingLoops, HaveGradientsOfSoftmax) {
  for (const bool logarithm : {false, true}) {
    for (const Shape& shape : {Shape{7, 10}, Shape{40, 1000}, Shape{6, 5, 33}}) {
      const std::int64_t axis = static_cast<std::int64_t>(shape.size()) - 1;
      check(
          make_call(SoftmaxGradient{axis, logarithm}, {packed(0, 0, shape), packed(1, 0, shape)}, packed(2, 0, shape)));
    }
  }
}

/// Labels of `count` samples, one of them ignored.
std::vector<float> labels(std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<std::int32_t>(i * 7 % classes));
  result[0] = -1;
  return whole_numbers(result);
}

TEST(TrainingLoops, HaveCrossEntropyAndItsGradient) {
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
      const std::vector<float> all = labels(element_count(samples), classes);
      const View x = dense(0, form.x), y = packed(1, 0, samples);
      for (const OpCall& call :
           {with_packed_output(op, {x, y}, 2), make_call(SoftmaxCrossEntropyGradient{op}, {x, y}, dense(2, form.x))}) {
        CallRunner runner(call, 1, -10, 10);
        runner.set_input(1, all);
        expect_fast(call);
        expect_equals_reference(runner);
      }
    }
  }
}

TEST(TrainingLoops, RefuseALabelThatIsNoClass) {
  CallRunner runner(with_packed_output(SoftmaxCrossEntropy{}, {dense(0, {2, 3}), packed(1, 0, {2})}, 2));
  runner.set_input(1, whole_numbers({0, 3}));
  EXPECT_THROW((void)runner.run(onednn(), 1), DeviceError);
}

TEST(TrainingLoops, DropInSeveralModelsAsInOne) {
  const Shape shape{2, 5, 333};
  CallRunner runner(make_call(Dropout{3, true}, {packed(0, 0, shape), packed(1, 0, {2, 1}), packed(2, 0, {2, 4})},
                              packed(3, 0, shape)));
  runner.set_input(1, {0.5F, 0.1F});
  runner.set_input(2, whole_numbers({1, 2, 3, 4, 5, 6, 7, 8}));
  expect_fast(runner.call());
  expect_equals_reference(runner);
}

std::vector<float> settings(std::int64_t members) {
  std::vector<float> all;
  for (std::int64_t m = 0; m < members; ++m) {
    const float rate = 0.1F / static_cast<float>(m + 1);
    for (const float value : {rate, 0.9F, 0.01F, 0.9F, 0.99F, 1e-6F, 0.1F, 0.01F, 0.5F, 0.2F}) all.push_back(value);
  }
  return all;
}

TEST(TrainingLoops, UpdateParametersByEveryRule) {
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
  for (const Update& op : rules) {
    // Enough for two threads, once for each rule: sanitizers are slow.
    const std::int64_t large = op.stacked ? 6000 : 18000;
    for (const std::int64_t count : op.clip ? std::vector<std::int64_t>{32, large} : std::vector<std::int64_t>{32}) {
      const Shape state{state_rows(op), count};
      const auto one = [&](std::uint32_t buffer, const Shape& shape) {
        return op.stacked ? stacked(buffer, 0, 3, shape, element_count(shape)) : packed(buffer, 0, shape);
      };
      std::vector<Operand> inputs{one(0, state), one(1, {count}), one(2, {kSettingCount})};
      if (op.clip) inputs.emplace_back(one(3, {1}));
      // Into other memory, and in place as in a lowered program.
      for (const std::uint32_t output : {4U, 0U}) {
        CallRunner runner(make_call(op, inputs, one(output, state)), 1, 0.01F, 1);
        runner.set_input(2, settings(op.stacked ? 3 : 1));
        expect_fast(runner.call());
        expect_equals_reference(runner);
      }
    }
  }
}

TEST(TrainingLoops, LetRunningAveragesFollow) {
  check(make_call(RunningAverage{0.1F, false}, {packed(0, 0, {100}), packed(1, 0, {100})}, packed(0, 0, {100})));
  check(make_call(RunningAverage{0.2F, true}, {stacked(0, 0, 3, {100}, 128), packed(1, 0, {3, 100})},
                  stacked(0, 0, 3, {100}, 128)));
}

TEST(TrainingLoops, GatherAndPutBack) {
  for (const std::int64_t axis : {0, 1}) {
    const Shape table = axis == 0 ? Shape{50, 24} : Shape{3, 50, 8};
    const auto rows = whole_numbers({3, 49, 3, 0, -1, 7});
    CallRunner gather(with_packed_output(Gather{axis}, {packed(0, 16, table), packed(1, 0, {2, 3})}, 2));
    gather.set_input(1, rows);
    expect_fast(gather.call());
    expect_equals_reference(gather);
    const Shape y = gather.call().outputs[0].shape;
    CallRunner back(with_packed_output(GatherGradient{axis, 50}, {packed(0, 0, {2, 3}), packed(1, 0, y)}, 2, 16));
    back.set_input(0, rows);
    expect_fast(back.call());
    expect_equals_reference(back);
  }
}

TEST(TrainingLoops, PackWhatLiesAnywhere) {
  const Pack op{{64, 0}, 400};
  check(with_packed_output(op, {dense(0, {2, 8, 3, 5}), packed(1, 0, {50})}, 2));
}

/// The gradient of a layer, whose input `layer.inputs.size()` is what the layer gives.
void check_gradient(const OpCall& layer, const OpCall& gradient) {
  const CallRunner forward(layer, 1, -0.3F, 0.3F);
  CallRunner runner(gradient, 1, -0.3F, 0.3F);
  // The buffers that both read hold the same only where they are as large.
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const View& view = std::get<View>(layer.inputs[i]);
    const std::vector<float>& buffer = forward.buffers()[to_index(view.buffer)];
    const auto begin = buffer.begin() + view.offset;
    runner.set_input(i, {begin, begin + element_count(view.shape)});
  }
  runner.set_input(layer.inputs.size(), forward.run(*make_reference_kernels()));
  expect_fast(gradient);
  expect_equals_reference(runner);
}

TEST(TrainingLoops, HaveLstmsOfComputedWeights) {
  for (const Shape& x : {Shape{5, 3, 24}, Shape{20, 16, 128}, Shape{1, 2, 8}}) {
    const std::int64_t hidden = x[2] == 24 ? 17 : 32;
    const View w = packed(1, 0, {4 * hidden, x[2]}), r = packed(1, 65536, {4 * hidden, hidden});
    const View b = packed(1, 130000, {4 * hidden});
    const Shape y{x[0], x[1], hidden};
    const OpCall layer = make_call(Lstm{hidden}, {packed(0, 0, x), w, r, b}, packed(2, 0, y));
    check(layer, 1, -0.3F, 0.3F);
    check_gradient(layer, with_packed_output(LstmGradient{hidden},
                                             {packed(0, 0, x), w, r, b, packed(2, 0, y), packed(3, 0, y)}, 4));
  }
}

TEST(TrainingLoops, HaveRecurrentLayersOfComputedWeights) {
  for (const RecurrentCell cell : {RecurrentCell::kGru, RecurrentCell::kLstm}) {
    Recurrent op;
    op.cell = cell;
    op.hidden = 20;
    op.linear_before_reset = cell == RecurrentCell::kGru;
    const std::int64_t gates = gate_count(cell);
    const Shape x{6, 4, 12}, y{6, 1, 4, 20};
    const View w = packed(1, 0, {1, gates * 20, 12}), r = packed(1, 4096, {1, gates * 20, 20});
    const View b = packed(1, 16384, {1, 2 * gates * 20});
    const OpCall layer = make_call(op, {packed(0, 0, x), w, r, b}, packed(2, 0, y));
    check(layer, 1, -0.3F, 0.3F);
    check_gradient(layer, with_packed_output(RecurrentGradient{op},
                                             {packed(0, 0, x), w, r, b, packed(2, 0, y), packed(3, 0, y)}, 4));
  }
}

}  // namespace
}  // namespace cohort::testing
