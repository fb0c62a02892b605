#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <dnnl.hpp>
#include <string>

#include "base/random.hpp"
#include "comparison.hpp"

/// Products of 8-bit numbers against the reference on float32, which takes no notice of EightBits.
namespace cohort::testing {
namespace {

bool has_all_products() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_vnni || isa == dnnl::cpu_isa::avx512_core_bf16 ||
         isa == dnnl::cpu_isa::avx512_core_amx;
}

/// Whole numbers from `from` to `to`, the ends among them, times the step.
std::vector<float> multiples(std::int64_t count, float step, int from, int to, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values)
    value = step * std::floor(random.uniform(static_cast<float>(from), static_cast<float>(to) + 0.99F));
  values.front() = step * static_cast<float>(from);
  values.back() = step * static_cast<float>(to);
  return values;
}

/// Each of `rows` rows with a step of its own, a power of two where sums are to be `exact`.
std::vector<float> quantized_weights(const Shape& shape, std::int64_t rows, bool exact) {
  const std::int64_t length = element_count(shape) / rows;
  std::vector<float> values;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float step =
        exact ? std::exp2(static_cast<float>(-8 - row % 3)) : (1 + 0.1F * static_cast<float>(row % 7)) / 200;
    std::vector<float> more =
        multiples(length, step, row % 3 == 2 ? -128 : -100, 127, static_cast<std::uint64_t>(row) + 7);
    if (row % 3 == 2) {  // up to 128, which is -128 times a negative step
      for (float& value : more) value = -value;
    }
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

constexpr float kStep = 1.0F / 256;

/// The call with levels for x and w.
CallRunner quantized(const OpCall& call, float from, std::int64_t rows, bool exact = false) {
  CallRunner runner(call);
  const auto first = static_cast<int>(from);
  runner.set_input(0, multiples(element_count(shape_of(call.inputs[0])), kStep, first, first + 255, 3));
  runner.set_input(1, quantized_weights(shape_of(call.inputs[1]), rows, exact));
  return runner;
}

/// The first choice, which users have where nothing was timed, is such a product; all are right.
void expect_right(const CallRunner& runner) {
  expect_equals_reference(runner);
  const auto list = onednn().alternatives(runner.call(), 2);
  ASSERT_TRUE(list);
  if (dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2_vnni) return;  // has some of them
  const bool is_product = list->front().algorithm.rfind("8-bit/", 0) == 0;
  EXPECT_EQ(is_product, has_all_products()) << list->front().algorithm;
}

OpCall convolution(const View& x, std::int64_t outputs, const Window& window, std::int64_t groups, float from,
                   bool is_biased = true) {
  Shape kernels = {outputs, x.shape[1] / groups};
  kernels.insert(kernels.end(), window.kernel.begin(), window.kernel.end());
  std::vector<Operand> inputs = {x, weight(kernels)};
  if (is_biased) inputs.emplace_back(weight({outputs}));
  return with_output(Convolution{window, groups, EightBits{kStep, from}}, std::move(inputs), 1);
}

constexpr float kFirstLevels[] = {0, -128, -37, -255};

TEST(OnednnEightBits, ConvolutionsOfEveryForm) {
  for (const float from : kFirstLevels) {
    for (const int kernel : {1, 3, 5}) {
      for (const int stride : {1, 2}) {
        const Window window = square_window(kernel, stride, kernel / 2);
        for (const std::int64_t groups : {1, 4, 32}) {
          const OpCall call = convolution(dense(0, {2, 32, 9, 11}), 32, window, groups, from, stride == 1);
          expect_right(quantized(call, from, 32));
        }
        expect_right(quantized(convolution(dense(0, {1, 3, 9, 11}), 16, window, 1, from), from, 16));
      }
    }
  }
}

TEST(OnednnEightBits, UnevenPaddingAndDilation) {
  for (const float from : kFirstLevels) {
    Window window = square_window(3, 2, 0);
    window.pad_begin = {1, 0};
    window.pad_end = {0, 2};
    expect_right(quantized(convolution(dense(0, {2, 16, 9, 8}), 24, window, 1, from), from, 24));
    expect_right(quantized(convolution(dense(0, {2, 16, 12, 11}), 32, square_window(3, 1, 2, 2), 1, from), from, 32));
  }
}

OpCall on_signals(std::int64_t length, const Window& window, std::int64_t groups, float from, bool is_biased = true) {
  OpCall call = convolution(dense(0, {2, 40, length}, Layout::kNchw), 32, window, groups, from, is_biased);
  call.outputs[0] = dense(1, call.outputs[0].shape, Layout::kNchw);
  return call;
}

/// Lengths on both sides of the blocks that they are copied in, and several channels more than one of these.
TEST(OnednnEightBits, Signals) {
  for (const float from : kFirstLevels) {
    for (const std::int64_t length : {9, 64, 131}) {
      for (const std::int64_t groups : {1, 2}) {
        for (const Window& window : {Window{{3}, {1}, {1}, {1}, {1}}, Window{{5}, {2}, {4}, {0}, {1}},
                                     Window{{3}, {1}, {8}, {8}, {8}}, Window{{1}, {1}, {0}, {0}, {1}}}) {
          const CallRunner runner = quantized(on_signals(length, window, groups, from, groups == 1), from, 32);
          if (groups == 1) {
            expect_right(runner);
          } else {
            expect_equals_reference(runner);
          }
        }
      }
    }
  }
}

/// The last block of a copy, or its first ones, lie in the padding.
TEST(OnednnEightBits, SignalsWhosePaddingFillsBlocks) {
  for (const float from : kFirstLevels) {
    expect_right(quantized(on_signals(61, {{5}, {1}, {2}, {2}, {1}}, 1, from), from, 32));
    expect_right(quantized(on_signals(70, {{3}, {1}, {128}, {0}, {64}}, 1, from), from, 32));
    expect_right(quantized(on_signals(9, {{3}, {1}, {70}, {80}, {64}}, 1, from), from, 32));
  }
}

TEST(OnednnEightBits, FunctionsAndOperandsFollowSignals) {
  const Window window{{3}, {1}, {1}, {1}, {1}};
  for (const std::vector<PostOp>& chain :
       {std::vector<PostOp>{Activation{ActivationKind::kRelu}},
        {AddOperand{3}, Activation{ActivationKind::kSwish, 1}},
        {Activation{ActivationKind::kRelu}, AddOperand{3}, Activation{ActivationKind::kTanh}},
        {AddOperand{3}}}) {
    OpCall call = on_signals(70, window, 1, -37);
    call.post_ops = chain;
    const bool adds = chain.size() != 1 || std::holds_alternative<AddOperand>(chain[0]);
    if (adds) call.inputs.emplace_back(dense(2, call.outputs[0].shape, Layout::kNchw));
    expect_right(quantized(call, -37, 32));
    if (!adds) continue;
    call.inputs.back() = call.outputs[0];  // and in place
    expect_equals_reference(quantized(call, -37, 32));
  }
}

TEST(OnednnEightBits, ImagesThatLieBetweenOthers) {
  for (const float from : {0.0F, -37.0F}) {
    const View x = channel_slice(0, {2, 16, 9, 8}, 48, 16);
    expect_right(quantized(convolution(x, 32, square_window(3, 1, 1), 1, from), from, 32));
    // Every other row and column.
    View wide = dense(0, {2, 16, 18, 16});
    wide.shape = {2, 16, 9, 8};
    wide.strides[2] *= 2;
    wide.strides[3] *= 2;
    expect_right(quantized(convolution(wide, 32, square_window(3, 1, 1), 1, from), from, 32));
  }
  // Channels first: other ways take it.
  const OpCall call = convolution(dense(0, {2, 16, 9, 8}, Layout::kNchw), 32, square_window(3, 1, 1), 1, -37);
  expect_equals_reference(quantized(call, -37, 32));
}

TEST(OnednnEightBits, SeveralModelsSideBySide) {
  OpCall call = convolution(dense(0, {2, 48, 9, 8}), 96, square_window(3, 1, 1), 3, -37);
  call.inputs[1] = weight({3, 32, 16, 3, 3});
  call.inputs[2] = weight({3, 32});
  expect_right(quantized(call, -37, 96));
}

/// Where the chain adds an operand, that is the call's next input.
void follow_with(const std::vector<PostOp>& chain, OpCall& call) {
  call.post_ops = chain;
  const auto adds = [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); };
  if (std::any_of(chain.begin(), chain.end(), adds)) call.inputs.emplace_back(dense(2, call.outputs[0].shape));
}

TEST(OnednnEightBits, FunctionsAndOperandsFollow) {
  const Shape image = {2, 32, 9, 11};
  const Window window = square_window(5, 1, 2);  // 3x3 also by Winograd's method, which is less exact
  for (const float from : {0.0F, -37.0F}) {
    for (const std::vector<PostOp>& chain :
         {std::vector<PostOp>{Activation{ActivationKind::kRelu}},
          {AddOperand{3}, Activation{ActivationKind::kSwish, 1}},
          {Activation{ActivationKind::kFakeQuantize, 0.0371F, -3}},
          {AddOperand{3}, Activation{ActivationKind::kFakeQuantize, 0.0371F, -90}},
          {Activation{ActivationKind::kRelu}, AddOperand{3}, Activation{ActivationKind::kFakeQuantize, 0.0371F, -9}}}) {
      OpCall call = convolution(dense(0, image), 32, window, 1, from);
      follow_with(chain, call);
      CallRunner runner = quantized(call, from, 32, /*exact=*/true);  // or rounding differs in the middle of two levels
      runner.set_input(2, multiples(32, 1.0F / 256, -100, 100, 5));
      if (call.inputs.size() > 3) runner.set_input(3, multiples(element_count(image), 1.0F / 256, -200, 200, 9));
      expect_right(runner);
    }
  }
}

TEST(OnednnEightBits, ProductsOfRows) {
  for (const float from : kFirstLevels) {
    for (const std::int64_t samples : {1, 2, 37}) {
      for (const std::int64_t outputs : {1, 20, 64}) {
        const OpCall call = with_output(Gemm{false, EightBits{kStep, from}},
                                        {dense(0, {samples, 48}), weight({outputs, 48}), weight({outputs})}, 1);
        expect_right(quantized(call, from, outputs));
      }
    }
    // Rows of pixels, whose weights are those of channels first.
    const OpCall call =
        with_output(Gemm{false, EightBits{kStep, from}}, {dense(0, {3, 8, 4, 5}), weight({20, 160}), weight({20})}, 1);
    expect_right(quantized(call, from, 20));
  }
}

TEST(OnednnEightBits, ProductsOfOneInputByTheWeightsOfSeveralModels) {
  View x = dense(0, {3, 7, 48}, Layout::kNchw);
  x.strides[0] = 0;
  OpCall call = with_output(Gemm{true, EightBits{kStep, -37}}, {x, weight({3, 20, 48}), weight({3, 20})}, 1);
  call.outputs[0].strides = {20, 60, 1};
  CallRunner runner(call);
  std::vector<float> repeated;
  const std::vector<float> values = multiples(7 * 48, kStep, -37, 218, 3);
  for (int model = 0; model < 3; ++model) repeated.insert(repeated.end(), values.begin(), values.end());
  runner.set_input(0, repeated);
  runner.set_input(1, quantized_weights({60, 48}, 60, /*exact=*/false));
  expect_right(runner);
}

TEST(OnednnEightBits, RefuseWeightsThatAreNoLevels) {
  if (!has_all_products()) GTEST_SKIP() << "no product of 8-bit numbers on this processor";
  const OpCall call = with_output(Gemm{false, EightBits{}}, {dense(0, {4, 48}), weight({20, 48})}, 1);
  const CallRunner runner(call);
  const auto kernel = onednn().prepare(call, onednn().alternatives(call, 1)->front().algorithm, 1, runner.weights());
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("weights are not those of an 8-bit product"), std::string::npos);
}

/// Sums of these are the same in any order, so that the rounding behind them is, too.
TEST(OnednnEightBits, QuantizingFollowsProductsOfFloats) {
  const Activation quantize{ActivationKind::kFakeQuantize, 0.3717F, -5};
  const Shape image = {2, 16, 6, 5};
  const Window window = square_window(3, 1, 1);
  const std::vector<OpCall> calls = {
      with_output(Convolution{window}, {dense(0, image), weight({16, 16, 3, 3}), weight({16})}, 1),
      with_output(Convolution{window, 16}, {dense(0, image), weight({16, 1, 3, 3}), weight({16})}, 1),
      with_output(Gemm{}, {dense(0, {5, 24}), weight({20, 24}), weight({20})}, 1)};
  for (const OpCall& product : calls) {
    for (const std::vector<PostOp>& chain : {std::vector<PostOp>{quantize},
                                             {AddOperand{3}, quantize},
                                             {Activation{ActivationKind::kRelu}, quantize},
                                             {Activation{ActivationKind::kRelu}, AddOperand{3}, quantize},
                                             {quantize, AddOperand{3}, quantize}}) {
      OpCall call = product;
      follow_with(chain, call);
      CallRunner runner(call);
      for (std::size_t i = 0; i < call.inputs.size(); ++i)
        runner.set_input(i, multiples(element_count(shape_of(call.inputs[i])), 1.0F / 16, -16, 15, i));
      expect_equals_reference(runner);
    }
  }
}

}  // namespace
}  // namespace cohort::testing
