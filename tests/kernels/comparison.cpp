#include "comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
};
constexpr Tolerance kActivation = {"any activation", 1e-6, 0};

double tolerance_of(const OpCall& call) {
  const std::string_view type = op_type(call.attributes);
  Tolerance tolerance = kActivation;
  for (const Tolerance& each : kTolerances) {
    if (each.op == type) tolerance = each;
  }
  double terms = 0;
  if (tolerance.per_term > 0) {
    const Shape& w = shape_of(call.inputs[1]);
    const bool gemm = std::holds_alternative<Gemm>(call.attributes);
    terms = static_cast<double>(gemm ? w.back() : element_count(w) / w.front());
  }
  return tolerance.absolute + tolerance.per_term * terms;
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

void expect_equals_reference(const CallRunner& runner) {
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  for (const int threads : {1, 2}) {
    const auto list = onednn().alternatives(runner.call(), threads);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    ASSERT_FALSE(list->empty());
    for (const Alternative& alternative : *list) {
      expect_near(expected, runner.run(onednn(), alternative), tolerance_of(runner.call()),
                  fmt::format("{} by {} with {} threads", canonical(runner.call().attributes, runner.call().post_ops),
                              alternative.algorithm, threads));
    }
  }
}

bool is_fast(const OpCall& call) {
  const auto list = onednn().alternatives(call, 2);
  return list && list->front().algorithm.find("ref") == std::string::npos;
}

OpCall with_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                   std::vector<PostOp> post_ops) {
  std::vector<Shape> shapes;
  for (const Operand& operand : inputs) shapes.push_back(shape_of(operand));
  const auto added = std::count_if(post_ops.begin(), post_ops.end(),
                                   [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); });
  shapes.resize(shapes.size() - static_cast<std::size_t>(added));
  const auto shape = infer_shape(attributes, shapes);
  EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().message);
  return make_call(std::move(attributes), std::move(inputs), dense(output, shape.value_or(Shape{1})),
                   std::move(post_ops));
}

Window square_window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation) {
  return {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {dilation, dilation}};
}

}  // namespace cohort::testing
