#include "own_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "executor/cuda/own/host_kernels.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::testing {
namespace {

class HostLauncher final : public cuda::KernelLauncher {
 public:
  void launch(const cuda::own::KernelArguments& kernel, cuda::StreamHandle /*stream*/) override {
    cuda::own::run_on_host(kernel);
  }
};

class HostStore final : public cuda::WeightStore {
 public:
  const float* add(std::span<const float> values) override {
    return values_.emplace_back(values.begin(), values.end()).data();
  }

 private:
  std::deque<std::vector<float>> values_;
};

class OwnKernel final : public HostKernel {
 public:
  OwnKernel(std::unique_ptr<HostStore> store, std::unique_ptr<cuda::PreparedCall> prepared)
      : store_(std::move(store)), prepared_(std::move(prepared)) {}

  void run(const HostArguments& arguments) override {
    prepared_->bind({arguments.inputs, arguments.outputs, arguments.workspace})->launch({});
  }

 private:
  std::unique_ptr<HostStore> store_;
  std::unique_ptr<cuda::PreparedCall> prepared_;
};

class OwnKernels final : public HostKernels {
 public:
  OwnKernels() : calls_(cuda::make_own_calls(launcher_)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    return calls_->alternatives(call, threads);
  }
  bool accepts_strides(const OpCall& call) const override { return calls_->accepts_strides(call); }
  int cores() const override { return 1; }
  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int /*threads*/,
                                              std::span<const std::vector<float>> weights) const override {
    auto store = std::make_unique<HostStore>();
    COHORT_TRY(auto prepared, calls_->prepare(call, algorithm, weights, *store));
    return std::make_unique<OwnKernel>(std::move(store), std::move(prepared));
  }
  void use_threads(int /*threads*/) const override {}

 private:
  HostLauncher launcher_;
  std::unique_ptr<cuda::CallFactory> calls_;
};

}  // namespace

std::unique_ptr<HostKernels> make_own_kernels_on_host() { return std::make_unique<OwnKernels>(); }

void expect_equals_reference(const OpCall& call, float low, float high) {
  constexpr float kTolerance = 2e-5F;  // float32 sums of some hundred products, against sums in double
  const CallRunner runner(call, 1, low, high);
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  const std::vector<float> actual = runner.run(*make_own_kernels_on_host());
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], kTolerance * std::max(largest, 1.0F)) << "element " << i;
}

OpCall call_of(OpAttributes attributes, std::vector<Operand> inputs, std::vector<PostOp> post_ops, Layout layout,
               std::size_t own) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < (own == 0 ? inputs.size() : own); ++i)
    shapes.push_back(std::visit([](const auto& view) { return view.shape; }, inputs[i]));
  const auto shape = infer_shape(attributes, shapes);
  EXPECT_TRUE(shape) << (shape ? "" : shape.error().message);
  return make_call(std::move(attributes), std::move(inputs), dense(9, *shape, layout), std::move(post_ops));
}

}  // namespace cohort::testing
