#include <gtest/gtest.h>

#include <string>

#include "comparison.hpp"
#include "models/model.hpp"
#include "models/networks/networks.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort::testing {
namespace {

/// The op on dense NHWC views.
OpCall call_of(const Model& model, const Op& op) {
  std::vector<Operand> inputs;
  std::uint32_t buffer = 0;
  for (const TensorId id : op.inputs) {
    const Tensor& tensor = model.tensor(id);
    if (tensor.role == TensorRole::kWeight) {
      inputs.emplace_back(weight(tensor.shape));
    } else {
      inputs.emplace_back(dense(buffer++, tensor.shape));
    }
  }
  return make_call(op.attributes, std::move(inputs), dense(buffer, model.tensor(op.outputs[0]).shape), op.post_ops);
}

/// Values of no meaning, quickly made.
Weights plain_weights(const Model& model) {
  Weights weights;
  for (const Tensor& tensor : model.tensors) {
    const auto count = static_cast<std::size_t>(element_count(tensor.shape));
    weights.by_tensor.push_back(
        tensor.role == TensorRole::kWeight ? std::make_shared<const std::vector<float>>(count, 0.5F) : nullptr);
  }
  return weights;
}

class OnednnNetworks : public ::testing::TestWithParam<std::string> {};

TEST_P(OnednnNetworks, HaveNoOpThatFallsToPlainLoops) {
  for (const std::int64_t minibatch : {1, 16}) {
    auto model = make_network(GetParam(), minibatch, {});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const Weights weights = plain_weights(*model);
    const LoadedModel simple = simplify({*std::move(model), weights});
    for (const Op& op : simple.model.ops) {
      EXPECT_TRUE(is_fast(call_of(simple.model, op))) << op.name << " " << signature_of(simple.model, op);
    }
  }
}

/// What grouped convolutions leave side by side as channels, products read only by plain loops.
TEST(OnednnFusedNetworks, CopyWhatOnlyPlainLoopsWouldReadInPlace) {
  auto model = make_network("lenet5", 1, {});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const Weights weights = plain_weights(*model);
  const LoadedModel simple = simplify({*std::move(model), weights});
  Plan plan = uniform_plan({{"a", {}, 0}, {"b", {}, 0}}, Strategy::kSerial, 1);
  plan.groups = {{"rest", {0, 1}, {}, Strategy::kSerial, 1, {}, {}},
                 {"conv2", {0, 1}, {"conv2", "pool2"}, Strategy::kGroupedConvolution, 1, {}, {}},
                 {"fc1", {0, 1}, {"fc1"}, Strategy::kStridedBatch, 1, {}, {}}};
  const std::vector<const Model*> models(2, &simple.model);
  const auto program = lower(plan, models, onednn());
  ASSERT_TRUE(program.has_value()) << program.error().message;
  for (const Step& step : program->steps) EXPECT_NE(step.cost.algorithm, "reference") << step.task;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Network& network : networks()) result.emplace_back(network.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(All, OnednnNetworks, ::testing::ValuesIn(names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace cohort::testing
