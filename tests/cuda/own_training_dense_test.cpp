// Own kernels of convolutions, products and recurrent layers in training, whose parameters are part of a state and
// whose gradients are packs: their bodies, run on the host, against the reference.

#include <gtest/gtest.h>

#include <tuple>

#include "executor/reference/call.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "own_kernels.hpp"

namespace cohort::testing {
namespace {

void check_call_in_float32(const OpCall& call) {
  SCOPED_TRACE(canonical(call.attributes, call.post_ops));
  expect_equals_reference_in_float32(CallRunner(call));
}

struct FilterCase {
  Shape x;
  std::int64_t outputs, kernel, stride, pad, groups = 1;
};
const FilterCase kFilterCases[] = {
    {{3, 1, 12, 11}, 6, 5, 1, 2},    {{2, 6, 9, 9}, 16, 5, 1, 0},   {{2, 16, 7, 8}, 8, 3, 2, 1},
    {{2, 16, 8, 8}, 32, 1, 2, 0},    {{2, 3, 15, 13}, 16, 7, 2, 3}, {{2, 8, 8, 8}, 8, 3, 1, 1, 8},
    {{2, 16, 8, 8}, 32, 3, 1, 1, 4}, {{2, 5, 40, 40}, 3, 2, 1, 1},
};

class OwnTrainingConvolution : public ::testing::TestWithParam<std::tuple<int, Layout>> {
 protected:
  [[nodiscard]] static const FilterCase& the_case() { return kFilterCases[std::get<0>(GetParam())]; }
  [[nodiscard]] static Window window() { return square_window(the_case().kernel, the_case().stride, the_case().pad); }
  [[nodiscard]] static Shape filters() {
    return {the_case().outputs, the_case().x[1] / the_case().groups, the_case().kernel, the_case().kernel};
  }
  [[nodiscard]] static View image(std::uint32_t buffer, const Shape& shape) {
    return dense(buffer, shape, std::get<1>(GetParam()));
  }
  [[nodiscard]] static Shape result(const OpAttributes& op, const std::vector<Shape>& shapes) {
    return infer_shape(op, shapes).value_or(Shape{1});
  }
  /// The convolution's gradient by its input, of `groups` groups.
  [[nodiscard]] static ConvTranspose back(const Shape& x, const Shape& y, std::int64_t groups) {
    ConvTranspose op{window(), {}, groups};
    for (std::size_t d = 2; d < 4; ++d)
      op.output_pad.push_back(x[d] - (the_case().stride * (y[d] - 1) + the_case().kernel - 2 * the_case().pad));
    return op;
  }
};

TEST_P(OwnTrainingConvolution, TakesParametersFromAStateAndGivesGradients) {
  const FilterCase& c = the_case();
  const Convolution op{window(), c.groups};
  const Shape y = result(op, {c.x, filters()});
  check_call_in_float32(
      make_call(op, {image(0, c.x), packed(1, 16, filters()), packed(1, 160000, {c.outputs})}, image(2, y)));
  check_call_in_float32(make_call(back(c.x, y, c.groups), {image(0, y), packed(1, 16, filters())}, image(2, c.x)));
  for (const bool bias : {false, true})
    check_call_in_float32(with_packed_output(ConvolutionWeightGradient{window(), c.groups, bias, 1, false},
                                             {image(0, c.x), image(1, y)}, 2, 32));
}

TEST_P(OwnTrainingConvolution, DoesSeveralModelsWithStackedChannels) {
  const FilterCase& c = the_case();
  constexpr std::int64_t kModels = 3, kRow = 40000;
  Shape x = c.x;
  x[1] *= kModels;
  const Convolution op{window(), c.groups * kModels};
  const View w = stacked(1, 16, kModels, filters(), kRow);
  const Shape y = result(op, {x, w.shape});
  check_call_in_float32(make_call(op, {image(0, x), w, stacked(1, 32000, kModels, {c.outputs}, kRow)}, image(2, y)));
  check_call_in_float32(make_call(back(x, y, c.groups * kModels), {image(0, y), w}, image(2, x)));
  OpCall call = with_packed_output(ConvolutionWeightGradient{window(), c.groups, true, kModels, false},
                                   {image(0, x), image(1, y)}, 2);
  call.outputs[0].strides[0] = kRow;
  check_call_in_float32(call);
}

TEST_P(OwnTrainingConvolution, DoesSeveralModelsOverOneInput) {
  const FilterCase& c = the_case();
  if (c.groups > 1) GTEST_SKIP() << "dense convolutions of several models have no groups";
  constexpr std::int64_t kModels = 2, kRow = 40000;
  const Convolution op{window(), 1};
  const View w = stacked(1, 16, kModels, filters(), kRow);
  const Shape y = result(op, {c.x, w.shape});
  check_call_in_float32(make_call(op, {image(0, c.x), w, stacked(1, 32000, kModels, {c.outputs}, kRow)}, image(2, y)));
  OpCall call =
      with_packed_output(ConvolutionWeightGradient{window(), 1, true, kModels, true}, {image(0, c.x), image(1, y)}, 2);
  call.outputs[0].strides[0] = kRow;
  check_call_in_float32(call);
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnTrainingConvolution,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kFilterCases))),
                                            ::testing::Values(Layout::kNhwc, Layout::kNchw)));

TEST(OwnTrainingConvolutions, HaveGradientsOverOneDimension) {
  const Window window{{3}, {2}, {1}, {2}, {2}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    const View x = dense(0, {2, 6, 17}, layout), dy = dense(1, {2, 4, 8}, layout);
    check_call_in_float32(with_packed_output(ConvolutionWeightGradient{window, 2, true}, {x, dy}, 2));
    check_call_in_float32(make_call(Convolution{window, 2}, {x, packed(3, 16, {4, 3, 3}), packed(3, 64, {4})}, dy));
    const Pool pool{PoolKind::kMax, {{3}, {2}, {1}, {1}, {1}}, false, false};
    check_call_in_float32(
        make_call(PoolGradient{pool, {17}}, {dense(4, {2, 6, 9}, layout), x}, dense(5, {2, 6, 17}, layout)));
  }
}

struct Product {
  std::int64_t samples, inputs, outputs;
};
class OwnTrainingGemm : public ::testing::TestWithParam<Product> {};

TEST_P(OwnTrainingGemm, TakesParametersFromAStateAndGivesTheirGradients) {
  const auto [samples, inputs, outputs] = GetParam();
  check_call_in_float32(with_output(
      Gemm{}, {dense(0, {samples, inputs}), packed(1, 16, {outputs, inputs}), packed(1, 65536, {outputs})}, 2));
  for (const bool bias : {false, true})
    check_call_in_float32(with_packed_output(GemmWeightGradient{bias, false},
                                             {dense(0, {samples, inputs}), dense(1, {samples, outputs})}, 2, 16));
}

TEST_P(OwnTrainingGemm, OfSeveralModelsIsStacked) {
  const auto [samples, inputs, outputs] = GetParam();
  constexpr std::int64_t kModels = 3, kRow = 70000;
  for (const bool shared : {false, true}) {
    View x = dense(0, {kModels, samples, inputs});
    if (shared) x.strides[0] = 0;
    check_call_in_float32(with_output(
        Gemm{true}, {x, stacked(1, 16, kModels, {outputs, inputs}, kRow), stacked(1, 69008, kModels, {outputs}, kRow)},
        2));
    OpCall gradient =
        with_packed_output(GemmWeightGradient{true, true}, {x, dense(1, {kModels, samples, outputs})}, 2, 16);
    gradient.outputs[0].strides[0] = kRow;
    check_call_in_float32(gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnTrainingGemm,
                         ::testing::Values(Product{1, 64, 64}, Product{2, 64, 10}, Product{16, 400, 120},
                                           Product{7, 33, 5}, Product{64, 1, 3}));

TEST(OwnTrainingGemms, ReadImagesInLogicalOrder) {
  const Shape x{4, 16, 5, 5};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    check_call_in_float32(
        with_output(Gemm{}, {dense(0, x, layout), packed(1, 16, {12, 400}), packed(1, 6400, {12})}, 2));
    check_call_in_float32(
        with_packed_output(GemmWeightGradient{true, false}, {dense(0, x, layout), dense(1, {4, 12})}, 2));
  }
  View images{BufferId{0}, 0, {3, 4, 5, 2, 2}, {0, 20, 1, 10, 5}};  // NHWC, shared
  check_call_in_float32(with_packed_output(GemmWeightGradient{true, true}, {images, dense(1, {3, 4, 6})}, 2));
  check_call_in_float32(with_output(Gemm{true}, {images, stacked(1, 16, 3, {6, 20}, 512)}, 2));
}

/// The gradient of a layer, whose input `layer.inputs.size()` is what the layer gives.
void check_layer_gradient(const OpCall& layer, const OpCall& gradient) {
  const CallRunner forward(layer, 1, -0.3F, 0.3F);
  CallRunner runner(gradient, 1, -0.3F, 0.3F);
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const View& view = std::get<View>(layer.inputs[i]);
    const std::vector<float>& buffer = forward.buffers()[to_index(view.buffer)];
    const auto begin = buffer.begin() + view.offset;
    runner.set_input(i, {begin, begin + element_count(view.shape)});
  }
  runner.set_input(layer.inputs.size(), forward.run(*make_reference_kernels()));
  expect_equals_reference_in_float32(runner);
}

TEST(OwnTrainingLayers, HaveLstmsOfComputedParameters) {
  for (const Shape& x : {Shape{5, 3, 24}, Shape{7, 4, 40}, Shape{1, 2, 8}}) {
    const std::int64_t hidden = x[2] == 24 ? 17 : 32;
    const View w = packed(1, 0, {4 * hidden, x[2]}), r = packed(1, 65536, {4 * hidden, hidden});
    const View b = packed(1, 130000, {4 * hidden});
    const Shape y{x[0], x[1], hidden};
    const OpCall layer = make_call(Lstm{hidden}, {packed(0, 0, x), w, r, b}, packed(2, 0, y));
    expect_equals_reference_in_float32(CallRunner(layer, 1, -0.3F, 0.3F));
    check_layer_gradient(layer, with_packed_output(LstmGradient{hidden},
                                                   {packed(0, 0, x), w, r, b, packed(2, 0, y), packed(3, 0, y)}, 4));
  }
}

TEST(OwnTrainingLayers, HaveGrusOfComputedParameters) {
  Recurrent op;
  op.cell = RecurrentCell::kGru;
  op.hidden = 20;
  op.linear_before_reset = true;
  for (const Shape& x : {Shape{6, 4, 12}, Shape{1, 3, 12}}) {
    const Shape y{x[0], 1, x[1], 20};
    const View w = packed(1, 0, {1, 60, 12}), r = packed(1, 4096, {1, 60, 20}), b = packed(1, 16384, {1, 120});
    const OpCall layer = make_call(op, {packed(0, 0, x), w, r, b}, packed(2, 0, y));
    expect_equals_reference_in_float32(CallRunner(layer, 1, -0.3F, 0.3F));
    check_layer_gradient(layer, with_packed_output(RecurrentGradient{op},
                                                   {packed(0, 0, x), w, r, b, packed(2, 0, y), packed(3, 0, y)}, 4));
  }
}

}  // namespace
}  // namespace cohort::testing
