#include "comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "executor/onednn/onednn_kernels.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/reference_kernels.hpp"

namespace cohort::testing {
namespace {

/// How far float32 results may be from the reference, for inputs in [-1, 1].
struct Tolerance {
  std::string_view op;
  double absolute;
  double per_term;  ///< for each product summed into one element
};
constexpr Tolerance kTolerances[] = {
    {"Convolution", 1e-6, 2e-7},
    {"Gemm", 1e-6, 2e-7},
    {"Lstm", 2e-5, 0},
    {"BatchNormalization", 5e-6, 0},
    {"LocalResponseNormalization", 1e-6, 0},
    {"Softmax", 1e-6, 0},
    {"MaxPool", 0, 0},
    {"AveragePool", 1e-6, 0},
    {"Concat", 0, 0},
    {"Reshape", 0, 0},
    {"Add", 1e-6, 0},
    {"Sub", 1e-6, 0},
    {"Mul", 1e-6, 0},
    {"Div", 1e-5, 0},
    {"MatMul", 1e-5, 0},
    {"ConvTranspose", 1e-4, 0},
    {"LayerNormalization", 1e-5, 0},
    {"RNN", 2e-5, 0},
    {"GRU", 2e-5, 0},
    {"LSTM", 2e-5, 0},
    {"LogSoftmax", 5e-6, 0},
    {"GroupNormalization", 5e-6, 0},
    {"Transpose", 0, 0},
    {"Slice", 0, 0},
    {"Log", 1e-5, 0},
    {"Exp", 5e-6, 0},
    {"ConvolutionWeightGradient", 1e-6, 2e-7},
    {"GemmWeightGradient", 1e-6, 2e-7},
    {"NormalizeByStatistics", 5e-6, 0},
    {"BatchNormalizationWeightGradient", 1e-5, 2e-7},
    {"BatchNormalizationGradient", 5e-6, 0},
    {"LayerNormalizationGradient", 1e-5, 0},
    {"LayerNormalizationWeightGradient", 1e-5, 2e-7},
    {"GroupNormalizationGradient", 1e-5, 0},
    {"GroupNormalizationWeightGradient", 1e-5, 2e-7},
    {"SoftmaxCrossEntropy", 1e-6, 2e-6},
    {"ReduceSum", 1e-6, 1e-7},
    {"ReduceL1", 1e-6, 5e-7},
    {"ReduceSumSquare", 1e-6, 5e-7},
    {"ReduceL2", 2e-6, 1e-8},
    {"SoftmaxGradient", 1e-6, 2e-7},
    {"LogSoftmaxGradient", 1e-6, 1e-6},
    {"LstmGradient", 2e-5, 1e-7},
    {"GRUGradient", 2e-5, 0},
    {"LSTMGradient", 2e-5, 0},
    {"SgdUpdate", 1e-6, 0},
    {"AdamUpdate", 1e-5, 0},
    {"AdamWUpdate", 1e-5, 0},
};
constexpr Tolerance kActivation = {"any activation", 1e-6, 0};

/// Products, or elements, that are summed into one element.
double terms_of(const OpCall& call) {
  const Shape& first = shape_of(call.inputs[0]);
  const auto count = static_cast<double>(element_count(first));
  if (std::holds_alternative<Gemm>(call.attributes)) return static_cast<double>(shape_of(call.inputs[1]).back());
  if (std::holds_alternative<Convolution>(call.attributes)) {
    const Shape& w = shape_of(call.inputs[1]);
    const std::size_t models = w.size() - first.size();
    return static_cast<double>(element_count(w) / (w.front() * (models == 0 ? 1 : w[1])));
  }
  if (std::holds_alternative<Reduce>(call.attributes))
    return count / static_cast<double>(element_count(call.outputs[0].shape));
  if (std::holds_alternative<GemmWeightGradient>(call.attributes)) {
    const Shape& dy = shape_of(call.inputs[1]);
    return static_cast<double>(dy[dy.size() - 2]);
  }
  if (std::holds_alternative<ConvolutionWeightGradient>(call.attributes)) {
    const Shape& dy = shape_of(call.inputs[1]);
    return static_cast<double>(element_count(dy) / dy[1]);
  }
  if (const auto* const softmax = std::get_if<SoftmaxGradient>(&call.attributes))
    return static_cast<double>(first[static_cast<std::size_t>(softmax->axis)]);
  // Parameters of normalisations have all elements of a channel, or of a column.
  return count / static_cast<double>(std::min(first[1], first.back()));
}

double tolerance_of(const OpCall& call) {
  const std::string_view type = op_type(call.attributes);
  Tolerance tolerance = kActivation;
  for (const Tolerance& each : kTolerances) {
    if (each.op == type) tolerance = each;
  }
  if (tolerance.per_term == 0) return tolerance.absolute;
  return tolerance.absolute + tolerance.per_term * terms_of(call);
}

/// Winograd's transforms round more often, and each function of a chain rounds once more.
double tolerance_of(const OpCall& call, const Alternative& way) {
  const double by_way = way.algorithm.find("wino") != std::string::npos ? 4 : 1;
  return tolerance_of(call) * by_way + 1e-6 * static_cast<double>(call.post_ops.size());
}

void expect_near(const std::vector<float>& expected, const std::vector<float>& got, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (difference <= worst) continue;  // a NaN is never less
    worst = difference;
    where = i;
    if (std::isnan(difference)) break;
  }
  EXPECT_TRUE(worst <= tolerance) << what << ": element " << where << " is " << got[where] << ", not "
                                  << expected[where] << "; tolerance " << tolerance;
}

}  // namespace

const HostKernels& onednn() {
  static const std::unique_ptr<HostKernels> kernels = make_onednn_kernels(2);
  return *kernels;
}

void expect_equals_reference(const CallRunner& runner, std::initializer_list<int> numbers_of_threads) {
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  for (const int threads : numbers_of_threads) {
    const auto list = onednn().alternatives(runner.call(), threads);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    ASSERT_FALSE(list->empty());
    for (const Alternative& alternative : *list) {
      expect_near(expected, runner.run(onednn(), alternative), tolerance_of(runner.call(), alternative),
                  fmt::format("{} by {} with {} threads", canonical(runner.call().attributes, runner.call().post_ops),
                              alternative.algorithm, threads));
    }
  }
}

bool is_fast(const OpCall& call) {
  const auto list = onednn().alternatives(call, 2);
  return list && list->front().algorithm.find("ref") == std::string::npos;
}

std::vector<std::int32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::int32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::int32_t>(value));
  return bits;
}

void expect_loops_give_same_bits(const CallRunner& runner) {
  const std::string what = canonical(runner.call().attributes, {});
  const auto expected = bits_of(runner.run(*make_reference_kernels()));
  for (const int threads : {1, 2}) {
    const auto list = onednn().alternatives(runner.call(), threads);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    for (const Alternative& alternative : *list) {
      EXPECT_EQ(alternative.algorithm.find("ref"), std::string::npos) << what;
      EXPECT_EQ(bits_of(runner.run(onednn(), alternative)), expected) << what << " by " << alternative.algorithm;
    }
  }
}

}  // namespace cohort::testing
