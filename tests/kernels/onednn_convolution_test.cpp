#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "comparison.hpp"

namespace cohort::testing {
namespace {

struct Channels {
  std::int64_t in, out;
};

/// x in buffer 0, y in buffer 1, an operand to add in buffer 2.
OpCall convolution(const Shape& x, std::int64_t outputs, const Window& window, std::int64_t groups = 1) {
  return with_output(
      Convolution{window, groups},
      {dense(0, x), weight({outputs, x[1] / groups, window.kernel[0], window.kernel[1]}), weight({outputs})}, 1);
}

void add_post_ops(OpCall& call, std::vector<PostOp> post_ops) {
  call.inputs.emplace_back(dense(2, call.outputs[0].shape));
  call.post_ops = std::move(post_ops);
}

using Grid = std::tuple<int, int, bool, Channels, int>;
class OnednnConvolution : public ::testing::TestWithParam<Grid> {};

TEST_P(OnednnConvolution, EqualsTheReference) {
  const auto [kernel, stride, padded, channels, minibatch] = GetParam();
  OpCall call = convolution({minibatch, channels.in, 13, 14}, channels.out,
                            square_window(kernel, stride, padded ? kernel / 2 : 0));
  call.post_ops = {Activation{}};
  EXPECT_TRUE(is_fast(call));
  expect_equals_reference(CallRunner(call));
}

std::string grid_name(const ::testing::TestParamInfo<Grid>& info) {
  const auto& [kernel, stride, padded, channels, minibatch] = info.param;
  return fmt::format("kernel{}stride{}{}channels{}to{}minibatch{}", kernel, stride, padded ? "padded" : "", channels.in,
                     channels.out, minibatch);
}
INSTANTIATE_TEST_SUITE_P(Grid, OnednnConvolution,
                         ::testing::Combine(::testing::Values(1, 3, 5, 7, 11), ::testing::Values(1, 2, 4),
                                            ::testing::Bool(),
                                            ::testing::Values(Channels{3, 16}, Channels{16, 32}, Channels{20, 30}),
                                            ::testing::Values(1, 3)),
                         grid_name);
INSTANTIATE_TEST_SUITE_P(LargeMinibatch, OnednnConvolution,
                         ::testing::Combine(::testing::Values(1, 3), ::testing::Values(1, 2), ::testing::Values(true),
                                            ::testing::Values(Channels{3, 16}, Channels{64, 64}),
                                            ::testing::Values(16)),
                         grid_name);

TEST(OnednnConvolutionForms, DilationAndUnevenPadding) {
  Window window = square_window(3, 1, 2, 2);
  expect_equals_reference(CallRunner(convolution({2, 16, 12, 11}, 32, window)));
  window = square_window(3, 2, 0);
  window.pad_begin = {1, 0};
  window.pad_end = {0, 2};
  expect_equals_reference(CallRunner(convolution({2, 16, 12, 11}, 32, window)));
  window.kernel = {3, 1};
  window.stride = {1, 2};
  expect_equals_reference(CallRunner(convolution({2, 16, 12, 11}, 32, window)));
}

TEST(OnednnConvolutionForms, Groups) {
  struct Case {
    std::int64_t groups, in, out;
  };
  // The last ones are stacks of first layers, small layers and depthwise layers.
  for (const Case& each : {Case{2, 32, 32}, Case{4, 80, 120}, Case{3, 24, 15}, Case{16, 48, 256}, Case{16, 96, 256},
                           Case{64, 64, 64}, Case{20, 20, 40}}) {
    SCOPED_TRACE(fmt::format("{} groups, {} to {} channels", each.groups, each.in, each.out));
    const OpCall call = convolution({3, each.in, 9, 9}, each.out, square_window(3, 1, 1), each.groups);
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
  }
}

/// The calls' ways of depthwise convolution on channels that are repeated.
std::size_t repeated_ways(const OpCall& call) {
  const auto list = onednn().alternatives(call, 1);
  EXPECT_TRUE(list) << list.error().message;
  std::size_t count = 0;
  for (const Alternative& way : list.value_or(std::vector<Alternative>()))
    count += static_cast<std::size_t>(way.algorithm.starts_with("repeated/"));
  return count;
}

TEST(OnednnRepeatedChannels, AreReadByADepthwiseConvolutionOfSeveralKernelsAChannel) {
  const Shape x = {3, 20, 11, 10};
  const OpCall call = convolution(x, 60, square_window(5, 2, 2), 20);
  EXPECT_GT(repeated_ways(call), 0);
  expect_equals_reference(CallRunner(call));
  OpCall strided = call;
  strided.inputs[0] = channel_slice(0, x, 48, 16);
  EXPECT_GT(repeated_ways(strided), 0);
  expect_equals_reference(CallRunner(strided));
  OpCall more = call;
  more.post_ops = {Activation{ActivationKind::kHardSwish}};
  expect_equals_reference(CallRunner(more));
  add_post_ops(more, {AddOperand{3}, Activation{}});
  EXPECT_GT(repeated_ways(more), 0);
  expect_equals_reference(CallRunner(more));
  OpCall nchw = call;
  nchw.inputs[0] = dense(0, x, Layout::kNchw);
  EXPECT_GT(repeated_ways(nchw), 0);
  expect_equals_reference(CallRunner(nchw));
  nchw.outputs[0] = dense(1, nchw.outputs[0].shape, Layout::kNchw);
  expect_equals_reference(CallRunner(nchw));
  EXPECT_EQ(repeated_ways(convolution(x, 20, square_window(5, 2, 2), 20)), 0);
  EXPECT_EQ(repeated_ways(convolution(x, 60, square_window(5, 2, 2), 10)), 0);
}

TEST(OnednnRepeatedChannels, AreThoseOfSeveralModelsFirstLayersToo) {
  constexpr std::int64_t kModels = 4, kOutputs = 6;
  OpCall call = convolution({2, kModels, 12, 12}, kModels * kOutputs, square_window(5, 1, 0), kModels);
  call.inputs[1] = weight({kModels, kOutputs, 1, 5, 5});
  call.inputs[2] = weight({kModels, kOutputs});
  EXPECT_GT(repeated_ways(call), 0);
  expect_equals_reference(CallRunner(call));
  // In training weights are computed, and lie in the packs of the members.
  View pack = dense(2, {kModels, kOutputs, 1, 5, 5}, Layout::kNchw);
  call.inputs[1] = pack;
  expect_equals_reference(CallRunner(call));
  pack.strides[0] += 32;
  call.inputs[1] = pack;
  EXPECT_EQ(repeated_ways(call), 0);
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnConvolutionForms, WithoutBias) {
  OpCall call = convolution({2, 16, 9, 9}, 24, square_window(3, 1, 1));
  call.inputs.pop_back();
  expect_equals_reference(CallRunner(call));
  // The third input is now an operand to add, not a bias.
  add_post_ops(call, {AddOperand{2}});
  expect_equals_reference(CallRunner(call));
}

TEST(OnednnConvolutionForms, EveryActivationAsPostOp) {
  for (const Activation& activation :
       {Activation{}, Activation{ActivationKind::kLeakyRelu, 0.1F, 0}, Activation{ActivationKind::kElu, 0.5F, 0},
        Activation{ActivationKind::kSigmoid, 0, 0}, Activation{ActivationKind::kTanh, 0, 0},
        Activation{ActivationKind::kClip, -0.5F, 1.5F}}) {
    OpCall call = convolution({2, 16, 9, 9}, 24, square_window(3, 1, 1));
    call.post_ops = {activation};
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnConvolutionForms, AddedOperandsAndActivationsInAnyOrder) {
  for (const std::int64_t kernel : {1, 3}) {
    for (const std::vector<PostOp>& post_ops :
         {std::vector<PostOp>{AddOperand{3}}, std::vector<PostOp>{AddOperand{3}, Activation{}},
          std::vector<PostOp>{Activation{}, AddOperand{3}},
          std::vector<PostOp>{Activation{}, AddOperand{3}, Activation{ActivationKind::kTanh, 0, 0}},
          std::vector<PostOp>{AddOperand{3}, Activation{}, AddOperand{3}}}) {
      OpCall call = convolution({2, 32, 9, 9}, 48, square_window(kernel, 1, kernel / 2));
      add_post_ops(call, post_ops);
      EXPECT_TRUE(is_fast(call));
      expect_equals_reference(CallRunner(call));
      // The operand lies where the output goes.
      call.inputs.back() = call.outputs[0];
      if (post_ops.size() < 3) expect_equals_reference(CallRunner(call));
    }
  }
}

TEST(OnednnConvolutionForms, NchwAndStridedViews) {
  const Shape x = {2, 16, 8, 8}, y = {2, 32, 8, 8};
  const OpCall call = convolution(x, 32, square_window(3, 1, 1));
  OpCall nchw = call;
  nchw.inputs[0] = dense(0, x, Layout::kNchw);
  nchw.outputs[0] = dense(1, y, Layout::kNchw);
  expect_equals_reference(CallRunner(nchw));
  OpCall strided = call;
  strided.inputs[0] = channel_slice(0, x, 48, 16);
  EXPECT_FALSE(onednn().accepts_strides(strided));
  expect_equals_reference(CallRunner(strided));
  strided.outputs[0] = channel_slice(1, y, 96, 32);
  expect_equals_reference(CallRunner(strided));
}

/// Those of Winograd's ways among a call's alternatives.
std::vector<Alternative> winograd_ways(const OpCall& call) {
  std::vector<Alternative> ways;
  const auto list = onednn().alternatives(call, 1);
  EXPECT_TRUE(list) << list.error().message;
  for (const Alternative& way : list.value_or(std::vector<Alternative>())) {
    if (way.algorithm.find("wino") != std::string::npos) ways.push_back(way);
  }
  return ways;
}

TEST(OnednnWinograd, IsListedBehindTheDirectWaysWithRoomForImagesInItsOrder) {
  const OpCall call = convolution({1, 64, 14, 14}, 64, square_window(3, 1, 1));
  const auto list = onednn().alternatives(call, 1).value();
  if (!list.front().algorithm.ends_with("avx512_core")) GTEST_SKIP() << "no AVX-512: " << list.front().algorithm;
  const auto ways = winograd_ways(call);
  ASSERT_FALSE(ways.empty());
  for (const Alternative& way : ways) EXPECT_GE(way.workspace, Bytes{2 * 64 * 14 * 14 * 4}) << way.algorithm;
  EXPECT_EQ(list.front().algorithm.find("wino"), std::string::npos);
  OpCall nchw = convolution({1, 64, 56, 56}, 64, square_window(3, 1, 1));
  nchw.inputs[0] = dense(0, {1, 64, 56, 56}, Layout::kNchw);
  nchw.outputs[0] = dense(1, nchw.outputs[0].shape, Layout::kNchw);
  EXPECT_EQ(onednn().alternatives(nchw, 1).value().front().algorithm.find("wino"), std::string::npos);
}

TEST(OnednnWinograd, EqualsTheReferenceWhateverTheExtents) {
  for (const std::int64_t channels : {16, 24, 64}) {
    for (const std::int64_t side : {5, 13}) {
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
        for (const std::int64_t minibatch : {1, 5}) {
          OpCall call = convolution({minibatch, channels, side, side + 1}, channels + 16, square_window(3, 1, 1));
          call.inputs[0] = dense(0, {minibatch, channels, side, side + 1}, layout);
          call.outputs[0] = dense(1, call.outputs[0].shape, layout);
          call.post_ops = {Activation{}};
          SCOPED_TRACE(fmt::format("{} channels, side {}, minibatch {}", channels, side, minibatch));
          expect_equals_reference(CallRunner(call));
        }
      }
    }
  }
}

TEST(OnednnWinograd, AppliesFunctionsThatTheLibraryHasNotBehindIt) {
  const std::vector<std::vector<PostOp>> chains = {
      {Activation{ActivationKind::kSwish, 1}},
      {Activation{ActivationKind::kHardSwish}},
      {Activation{ActivationKind::kTanh}, Activation{ActivationKind::kClip, -0.25F, 0.5F}},
  };
  for (const std::vector<PostOp>& chain : chains) {
    OpCall call = convolution({2, 32, 13, 14}, 48, square_window(3, 1, 1));
    const std::size_t ways = winograd_ways(call).size();
    call.post_ops = chain;
    EXPECT_EQ(winograd_ways(call).size(), ways);
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnWinograd, IsNotForSumsGroupsStridesAndOtherWindows) {
  const Shape x = {1, 64, 14, 14};
  OpCall sum = convolution(x, 64, square_window(3, 1, 1));
  add_post_ops(sum, {AddOperand{3}});
  EXPECT_TRUE(winograd_ways(sum).empty());
  EXPECT_TRUE(winograd_ways(convolution(x, 64, square_window(3, 1, 1), 2)).empty());
  EXPECT_TRUE(winograd_ways(convolution(x, 64, square_window(3, 2, 1))).empty());
  EXPECT_TRUE(winograd_ways(convolution(x, 64, square_window(5, 1, 2))).empty());
  OpCall strided = convolution(x, 64, square_window(3, 1, 1));
  strided.inputs[0] = channel_slice(0, x, 128, 16);
  EXPECT_TRUE(winograd_ways(strided).empty());
}

class OnednnPool : public ::testing::TestWithParam<std::tuple<PoolKind, bool, bool, int, int>> {};

TEST_P(OnednnPool, EqualsTheReference) {
  const auto [kind, ceil_mode, count_include_pad, channels, minibatch] = GetParam();
  for (const Window& window :
       {square_window(2, 2, 0), square_window(3, 2, 0), square_window(3, 2, 1), square_window(3, 1, 1),
        square_window(3, 3, 0), square_window(13, 1, 0), square_window(5, 1, 2)}) {
    const View x = dense(0, {minibatch, channels, 13, 14});
    const OpCall call = with_output(Pool{kind, window, ceil_mode, count_include_pad}, {x}, 1);
    const OpCall floored = with_output(Pool{kind, window, false, count_include_pad}, {x}, 1);
    const bool widened = call.outputs[0].shape != floored.outputs[0].shape;
    // An average over what ceil_mode adds divides by more in oneDNN than in ONNX.
    EXPECT_EQ(is_fast(call), !(widened && count_include_pad && kind == PoolKind::kAverage));
    expect_equals_reference(CallRunner(call));
  }
}
INSTANTIATE_TEST_SUITE_P(Grid, OnednnPool,
                         ::testing::Combine(::testing::Values(PoolKind::kMax, PoolKind::kAverage), ::testing::Bool(),
                                            ::testing::Bool(), ::testing::Values(6, 20, 64), ::testing::Values(1, 3)));

TEST(OnednnPoolForms, AMembersPartOfStackedChannelsIsDenseAtMinibatchOne) {
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    View part = dense(0, {1, 6, 8, 8}, layout);
    part.strides[0] *= 4;  // of a stack of four members: no second image is ever looked for
    OpCall call = with_output(Pool{PoolKind::kAverage, square_window(2, 2, 0), false, false}, {part}, 1);
    call.outputs[0] = dense(1, call.outputs[0].shape, layout);
    EXPECT_TRUE(is_fast(call));
    expect_equals_reference(CallRunner(call));
  }
}

TEST(OnednnPoolForms, DilationUnevenPaddingAndStrides) {
  Window window = square_window(3, 2, 1, 2);
  const Shape x = {2, 16, 13, 14};
  expect_equals_reference(CallRunner(with_output(Pool{PoolKind::kMax, window, false, false}, {dense(0, x)}, 1)));
  window = square_window(4, 1, 2, 2);
  window.pad_end = {3, 1};
  expect_equals_reference(CallRunner(with_output(Pool{PoolKind::kMax, window, false, false}, {dense(0, x)}, 1)));
  window = square_window(3, 2, 0);
  window.pad_end = {1, 2};
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    expect_equals_reference(CallRunner(with_output(Pool{kind, window, false, false}, {dense(0, x)}, 1)));
    const OpCall strided = with_output(Pool{kind, window, false, false}, {channel_slice(0, x, 64, 16)}, 1);
    EXPECT_EQ(onednn().accepts_strides(strided), kind == PoolKind::kMax);  // by loops of ours
    expect_equals_reference(CallRunner(strided));
  }
}

}  // namespace
}  // namespace cohort::testing
