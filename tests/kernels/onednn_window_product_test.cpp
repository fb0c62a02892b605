#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "comparison.hpp"
#include "executor/onednn/loops/line_convolution.hpp"
#include "executor/reference/reference_kernels.hpp"

/// Convolutions as a product of windows and kernels, or by sums along lines, whether or not the library here has a
/// better way.
namespace cohort::testing {
namespace {

/// Loops for convolutions that stand in for the library's ways.
class StandIns final : public HostKernels {
 public:
  explicit StandIns(bool many_registers = onednn::has_many_registers()) : many_registers_(many_registers) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    std::vector<Alternative> list;
    for (const onednn::OwnWay& way : ways(call, threads)) list.push_back({way.algorithm, threads, way.workspace, {}});
    return list;
  }
  bool accepts_strides(const OpCall& /*call*/) const override { return true; }
  int cores() const override { return 2; }
  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int threads,
                                              std::span<const std::vector<float>> weights) const override {
    const onednn::OwnWays list = ways(call, threads);
    const auto way =
        std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.algorithm == algorithm; });
    return onednn::make_kernel(*way, call, weights);
  }
  void use_threads(int /*threads*/, std::span<const int> /*cores*/) const override {}

 private:
  onednn::OwnWays ways(const OpCall& call, int threads) const {
    if (const auto* const transposed = std::get_if<ConvTranspose>(&call.attributes))
      return onednn::line_ways(*transposed, call, threads, many_registers_);
    const auto& op = std::get<Convolution>(call.attributes);
    if (many_registers_ != onednn::has_many_registers()) return onednn::line_ways(op, call, threads, many_registers_);
    return onednn::stand_ins(op, call, threads);
  }

  bool many_registers_;
};

void expect_as_reference(const OpCall& call, const std::string& algorithm, const StandIns& kernels) {
  const CallRunner runner(call);
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  for (const int threads : {1, 2, 3}) {
    const auto list = kernels.alternatives(call, threads);
    const auto way =
        std::find_if(list->begin(), list->end(), [&](const auto& each) { return each.algorithm == algorithm; });
    ASSERT_NE(way, list->end()) << canonical(call.attributes, call.post_ops);
    const std::vector<float> computed = runner.run(kernels, *way);
    ASSERT_EQ(computed.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(computed[i], expected[i], 1e-5 * (10 + std::abs(expected[i])))
          << canonical(call.attributes, call.post_ops) << " element " << i << ", threads " << threads;
    }
  }
}

void expect_product_as_reference(const OpCall& call) { expect_as_reference(call, "loops:windows", StandIns()); }

/// With many vector registers and with few.
void expect_lines_as_reference(const OpCall& call) {
  for (const bool many_registers : {false, true}) expect_as_reference(call, "loops:lines", StandIns(many_registers));
}

Window one_dimension(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {{kernel}, {stride}, {pad}, {pad}, {dilation}};
}

TEST(OnednnWindowProduct, ReadsLongWindowsWhereTheyLie) {
  expect_product_as_reference(
      with_output(Convolution{one_dimension(256, 2, 0)}, {dense(0, {2, 1, 3000}), weight({1, 1, 256})}, 1));
  const Convolution filters{Window{{1, 16}, {1, 3}, {0, 0}, {0, 0}, {1, 1}}};
  for (const std::int64_t kernels : {1, 3, 8}) {
    expect_product_as_reference(
        with_output(filters, {dense(0, {2, 6, 2, 200}), weight({kernels, 6, 1, 16}), weight({kernels})}, 1));
  }
}

TEST(OnednnWindowProduct, CopiesWindowsThatAreTornOrOfManyKernels) {
  const Convolution bank{Window{{1, 256}, {1, 4}, {0, 0}, {0, 0}, {1, 1}}};
  expect_product_as_reference(with_output(bank, {dense(0, {1, 1, 1, 941}), weight({36, 1, 1, 256}), weight({36})}, 1));
  const Convolution torn{Window{{3, 3}, {2, 1}, {1, 2}, {2, 1}, {1, 2}}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const std::int64_t kernels : {1, 12})
      expect_product_as_reference(with_output(torn, {dense(0, {2, 5, 9, 8}, layout), weight({kernels, 5, 3, 3})}, 1));
  }
  const Convolution wide{Window{{7, 3}, {1, 1}, {3, 1}, {3, 1}, {1, 1}}};
  expect_product_as_reference(with_output(wide, {dense(0, {1, 8, 40, 30}), weight({1, 8, 7, 3}), weight({1})}, 1));
}

TEST(OnednnWindowProduct, CopiesColumnsOfManyPositions) {
  for (const std::int64_t stride : {1, 2, 3}) {
    const Convolution grouped{one_dimension(3, stride, 4, 2), 2};
    expect_product_as_reference(
        with_output(grouped, {dense(0, {2, 6, 75}), weight({20, 3, 3}), weight({20})}, 1, {Activation{}}));
  }
  const Convolution volume{Window{{2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 2}}};
  const View x = dense(0, {2, 4, 5, 6, 24}, Layout::kNchw);
  expect_product_as_reference(with_output(volume, {x, weight({9, 4, 2, 3, 2})}, 1));
  const Convolution upright{Window{{5, 1}, {2, 1}, {2, 0}, {2, 0}, {1, 1}}};
  expect_product_as_reference(
      with_output(upright, {dense(0, {2, 3, 60, 1}, Layout::kNchw), weight({12, 3, 5, 1}), weight({12})}, 1));
}

TEST(OnednnWindowProduct, TakesOneAndThreeDimensionsAndGroups) {
  expect_product_as_reference(
      with_output(Convolution{one_dimension(5, 1, 2)}, {dense(0, {1, 64, 100}), weight({40, 64, 5}), weight({40})}, 1));
  expect_product_as_reference(
      with_output(Convolution{one_dimension(3, 2, 4, 3)}, {dense(0, {2, 3, 9}), weight({10, 3, 3})}, 1));
  const Convolution volume{Window{{2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 2}}};
  expect_product_as_reference(with_output(volume, {dense(0, {1, 4, 5, 6, 7}), weight({3, 4, 2, 3, 2})}, 1));
  const Convolution grouped{Window{{3, 2}, {1, 1}, {1, 0}, {1, 0}, {1, 1}}, 3};
  expect_product_as_reference(with_output(grouped, {dense(0, {2, 6, 5, 4}), weight({30, 2, 3, 2}), weight({30})}, 1));
  expect_product_as_reference(
      with_output(Convolution{one_dimension(9, 1, 4), 6}, {dense(0, {1, 6, 50}), weight({6, 1, 9})}, 1));
}

TEST(OnednnWindowProduct, TakesStridedViewsAndPostOps) {
  const Convolution op{Window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  const View x = channel_slice(0, {2, 5, 6, 7}, 11, 3), added = dense(2, {2, 12, 6, 7}, Layout::kNchw);
  const Activation tanh{ActivationKind::kTanh}, relu{ActivationKind::kRelu}, gelu{ActivationKind::kGelu};
  expect_product_as_reference(with_output(op, {x, weight({12, 5, 3, 3}), weight({12})}, 1, {tanh}));
  expect_product_as_reference(with_output(op, {x, weight({12, 5, 3, 3}), weight({12})}, 1, {gelu}));
  expect_product_as_reference(
      with_output(op, {x, weight({12, 5, 3, 3}), weight({12}), added}, 1, {AddOperand{3}, relu}));
  OpCall into_slice = with_output(op, {x, weight({12, 5, 3, 3}), weight({12})}, 1, {relu});
  into_slice.outputs[0] = channel_slice(1, {2, 12, 6, 7}, 20, 4);
  expect_product_as_reference(into_slice);
}

TEST(OnednnLineConvolution, TakesAnyNumberOfKernelsAndPositions) {
  for (const std::int64_t kernels : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
    for (const std::int64_t length : {2, 15, 17, 48, 65, 150}) {
      expect_lines_as_reference(with_output(Convolution{one_dimension(3, 1, 1)},
                                            {dense(0, {2, 5, length}), weight({kernels, 5, 3}), weight({kernels})}, 1));
    }
  }
}

TEST(OnednnLineConvolution, TakesStridesDilationAndPadding) {
  for (const std::int64_t stride : {1, 2, 3, 4}) {
    for (const std::int64_t dilation : {1, 2, 3}) {
      for (const std::int64_t pad : {0, 2, 30}) {
        expect_lines_as_reference(with_output(Convolution{one_dimension(4, stride, pad, dilation)},
                                              {dense(0, {2, 3, 41}), weight({6, 3, 4}), weight({6})}, 1));
      }
    }
  }
  Window uneven = one_dimension(5, 2, 0);
  uneven.pad_begin = {3};
  uneven.pad_end = {7};
  expect_lines_as_reference(with_output(Convolution{uneven}, {dense(0, {1, 3, 40}), weight({6, 3, 5})}, 1));
}

TEST(OnednnLineConvolution, CutsLongLinesAndManyChannels) {
  expect_lines_as_reference(with_output(Convolution{one_dimension(7, 1, 9, 3)},
                                        {dense(0, {2, 33, 3000}), weight({9, 33, 7}), weight({9})}, 1));
  expect_lines_as_reference(
      with_output(Convolution{one_dimension(3, 2, 1)}, {dense(0, {1, 600, 250}), weight({5, 600, 3})}, 1));
}

TEST(OnednnLineConvolution, SharesKernelsWhereThereAreFewPositions) {
  for (const std::int64_t kernels : {16, 31, 64}) {
    expect_lines_as_reference(with_output(Convolution{one_dimension(3, 1, 1)},
                                          {dense(0, {2, 40, 9}), weight({kernels, 40, 3}), weight({kernels})}, 1));
    expect_lines_as_reference(with_output(ConvTranspose{one_dimension(4, 2, 1), {0}},
                                          {dense(0, {1, 40, 9}), weight({40, kernels, 4}), weight({kernels})}, 1));
  }
  expect_lines_as_reference(  // fewer than threads
      with_output(Convolution{one_dimension(3, 1, 0)}, {dense(0, {1, 300, 4}), weight({5, 300, 3}), weight({5})}, 1));
}

TEST(OnednnLineConvolution, TakesGroups) {
  expect_lines_as_reference(with_output(Convolution{one_dimension(3, 2, 4, 2), 3},
                                        {dense(0, {2, 6, 75}), weight({21, 2, 3}), weight({21})}, 1));
  expect_lines_as_reference(
      with_output(Convolution{one_dimension(9, 1, 4), 6}, {dense(0, {1, 6, 50}), weight({6, 1, 9})}, 1));
}

OpCall with_output_lines(OpCall call) {
  call.outputs[0] = dense(1, call.outputs[0].shape, Layout::kNchw);
  return call;
}

TEST(OnednnLineConvolution, TakesImagesOfOneRowOrColumn) {
  const Convolution upright{Window{{5, 1}, {2, 1}, {2, 0}, {2, 0}, {1, 1}}},
      flat{Window{{1, 5}, {1, 1}, {0, 2}, {0, 2}, {1, 1}}};
  expect_lines_as_reference(with_output_lines(
      with_output(upright, {dense(0, {2, 3, 60, 1}, Layout::kNchw), weight({12, 3, 5, 1}), weight({12})}, 1)));
  expect_lines_as_reference(with_output_lines(
      with_output(flat, {dense(0, {2, 3, 1, 60}, Layout::kNchw), weight({12, 3, 1, 5}), weight({12})}, 1)));
}

TEST(OnednnLineConvolution, TakesStridedChannelsAndPostOps) {
  const Convolution op{one_dimension(3, 1, 1)};
  const Activation tanh{ActivationKind::kTanh}, relu{ActivationKind::kRelu};
  const View x = channel_slice(0, {2, 5, 70}, 11, 3), added = channel_slice(2, {2, 12, 70}, 14, 1);
  expect_lines_as_reference(with_output(op, {x, weight({12, 5, 3}), weight({12}), added, added}, 1,
                                        {AddOperand{3}, relu, AddOperand{4}, tanh}));
  OpCall in_place = with_output(op, {x, weight({12, 5, 3}), weight({12}), dense(1, {2, 12, 70})}, 1, {AddOperand{3}});
  in_place.inputs[3] = in_place.outputs[0];
  expect_lines_as_reference(in_place);
}

TEST(OnednnLineConvolution, TakesTransposedOnes) {
  for (const std::int64_t stride : {1, 2, 3, 8}) {
    for (const std::int64_t dilation : {1, 2, 3}) {
      for (const std::int64_t pad : {-3, 0, 2, 5}) {
        const ConvTranspose op{one_dimension(stride == 8 ? 16 : 4, stride, pad, dilation), {stride == 3 ? 2 : 0}};
        const std::int64_t taps = op.window.kernel[0];
        expect_lines_as_reference(
            with_output(op, {dense(0, {2, 3, 41}), weight({3, 13, taps}), weight({13})}, 1, {Activation{}}));
      }
    }
  }
  const ConvTranspose grouped{one_dimension(2, 4, 1), {0}, 3};  // whose kernels leave gaps
  expect_lines_as_reference(with_output(grouped, {dense(0, {2, 6, 75}), weight({6, 5, 2}), weight({15})}, 1));
  const ConvTranspose wide{one_dimension(16, 8, 4), {0}};
  const View added = channel_slice(2, {2, 9, 200}, 14, 1);
  OpCall summed =
      with_output(wide, {dense(0, {2, 40, 25}), weight({40, 9, 16}), weight({9}), added}, 1, {AddOperand{3}});
  expect_lines_as_reference(summed);
  summed.outputs[0] = channel_slice(1, {2, 9, 200}, 20, 4);
  expect_lines_as_reference(summed);
  summed.inputs[3] = summed.outputs[0];
  expect_lines_as_reference(summed);
  expect_lines_as_reference(with_output(wide, {dense(0, {1, 40, 3000}), weight({40, 9, 16}), weight({9})}, 1));
  expect_lines_as_reference(with_output(wide, {dense(0, {1, 40, 7}), weight({40, 32, 16}), weight({32})}, 1));
}

TEST(OnednnLineConvolution, IsOfOneDimensionAndDenseLines) {
  const auto has_lines = [](const OpCall& call) {
    const auto list = StandIns().alternatives(call, 1);
    return std::any_of(list->begin(), list->end(), [](const auto& way) { return way.algorithm == "loops:lines"; });
  };
  const Convolution op{Window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      flat{Window{{1, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}};
  EXPECT_FALSE(has_lines(with_output(op, {dense(0, {1, 4, 1, 20}, Layout::kNchw), weight({4, 4, 3, 3})}, 1)));
  EXPECT_FALSE(has_lines(with_output(flat, {dense(0, {1, 4, 1, 20}), weight({4, 4, 1, 3})}, 1)));
  const OpCall two_rows = with_output(flat, {dense(0, {1, 4, 2, 20}, Layout::kNchw), weight({4, 4, 1, 3})}, 1);
  EXPECT_FALSE(has_lines(with_output_lines(two_rows)));
  const OpCall one_row = with_output(flat, {dense(0, {1, 4, 1, 20}, Layout::kNchw), weight({4, 4, 1, 3})}, 1);
  EXPECT_TRUE(has_lines(with_output_lines(one_row)));
}

TEST(OnednnLineConvolution, HoldsNoMoreThanTheSecondCacheDoes) {
  const auto workspace = [](const auto& op, const OpCall& call) {
    const auto ways = onednn::line_ways(op, call, 2, true);
    return ways.empty() ? Bytes{-1} : ways.front().workspace;
  };
  const ConvTranspose sparse{one_dimension(4, 1 << 20, 0), {0}};  // one element, so that its stride tells nothing of y
  EXPECT_EQ(workspace(sparse, with_output(sparse, {dense(0, {1, 4, 1}), weight({4, 4, 4})}, 1)), Bytes{-1});
  const Convolution far{one_dimension(2, 1, 1 << 20, 1 << 20)};
  EXPECT_EQ(workspace(far, with_output(far, {dense(0, {1, 64, 1024}), weight({4, 64, 2})}, 1)), Bytes{-1});
  const Convolution bank{one_dimension(1024, 160, 0)};
  EXPECT_EQ(workspace(bank, with_output(bank, {dense(0, {1, 1, 16000}), weight({4, 1, 1024})}, 1)), Bytes{-1});
  const ConvTranspose long_one{one_dimension(16, 8, 4), {0}};
  const Bytes of_long = workspace(long_one, with_output(long_one, {dense(0, {1, 1, 30000}), weight({1, 1, 16})}, 1));
  EXPECT_GT(of_long, Bytes{0});
  EXPECT_LT(of_long, Bytes{1 << 20});
  const Convolution depthwise{one_dimension(3, 1, 1), 64};
  EXPECT_LT(workspace(depthwise, with_output(depthwise, {dense(0, {64, 64, 128}), weight({64, 1, 3})}, 1)),
            Bytes{20'000});
}

TEST(OnednnLineConvolution, IsAmongTheWaysOfTransposedOnes) {
  const ConvTranspose op{one_dimension(16, 8, 4), {0}};
  const auto ways = onednn().alternatives(with_output(op, {dense(0, {1, 16, 50}), weight({16, 8, 16})}, 1), 1);
  EXPECT_TRUE(std::any_of(ways->begin(), ways->end(), [](const auto& way) { return way.algorithm == "loops:lines"; }));
}

TEST(OnednnWindowProduct, StandsInOnlyWhereTheLibraryHasNoDirectWay) {
  const Convolution op{Window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  const auto usual = onednn().alternatives(with_output(op, {dense(0, {1, 32, 14, 14}), weight({32, 32, 3, 3})}, 1), 1);
  const auto stands_in = [](const Alternative& way) { return way.algorithm == "loops:windows"; };
  EXPECT_TRUE(std::none_of(usual->begin(), usual->end(), stands_in));
}

}  // namespace
}  // namespace cohort::testing
