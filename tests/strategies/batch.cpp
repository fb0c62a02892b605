#include "tests/strategies/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "executor/input_values.hpp"
#include "models/networks/networks.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort::testing {
namespace {

void add_member(Batch& batch, const std::string& network, std::int64_t minibatch,
                std::map<std::string, std::string> arguments) {
  const auto index = static_cast<std::uint64_t>(batch.loaded.size());
  auto model = make_network(network, minibatch, arguments);
  EXPECT_TRUE(model) << model.error().message;
  Weights weights = random_weights(*model, index);
  batch.loaded.push_back(std::make_unique<LoadedModel>(simplify({std::move(*model), std::move(weights)})));
  batch.members.push_back({fmt::format("{}-{}", network, index), {network, std::move(arguments), minibatch}, index});
}

bool per_channel(const Model& model, const Op& op) {
  return model.tensor(op.outputs[0]).shape.size() == 4 &&
         (std::holds_alternative<Pool>(op.attributes) || std::holds_alternative<Activation>(op.attributes) ||
          std::holds_alternative<Binary>(op.attributes));
}

bool reads_input(const Model& model, const Op& op) { return model.tensor(op.inputs[0]).role == TensorRole::kInput; }

/// Ops of the (equal) members that a fused strategy can take.
std::vector<std::string> fusible(const Model& model, Strategy strategy) {
  std::vector<std::string> names;
  for (const Op& op : model.ops) {
    const bool convolution = std::holds_alternative<Convolution>(op.attributes);
    const bool product = std::holds_alternative<Gemm>(op.attributes) || std::holds_alternative<Lstm>(op.attributes) ||
                         std::holds_alternative<Recurrent>(op.attributes);
    const bool fits = strategy == Strategy::kStridedBatch       ? product
                      : strategy == Strategy::kDenseConvolution ? convolution && reads_input(model, op)
                                                                : convolution || per_channel(model, op);
    if (fits) names.push_back(op.name);
  }
  return names;
}

void fuse(Plan& plan, const std::string& name, Strategy strategy, std::vector<std::string> ops) {
  if (ops.empty()) return;
  plan.groups.push_back({name, plan.groups[0].members, std::move(ops), strategy, 0, {}, {}});
}

/// A shared input is that of the first member that reads its shape.
std::uint32_t first_with_input(const Batch& batch, const Shape& shape) {
  std::uint32_t member = 0;
  while (batch.loaded[member]->model.tensor(batch.loaded[member]->model.inputs[0]).shape != shape) ++member;
  return member;
}

}  // namespace

MemberModels Batch::models() const {
  MemberModels result;
  for (const auto& member : loaded) {
    result.models.push_back(&member->model);
    result.weights.push_back(&member->weights);
  }
  return result;
}

Batch equal_members(const std::string& network, std::int64_t minibatch, std::map<std::string, std::string> arguments,
                    int count) {
  Batch batch;
  for (int i = 0; i < count; ++i) add_member(batch, network, minibatch, arguments);
  return batch;
}

Batch mixed_members(std::int64_t minibatch) {
  Batch batch;
  add_member(batch, "lenet5", minibatch, {});
  add_member(batch, "mlp", minibatch, {{"hidden", "24"}});
  add_member(batch, "mlp", minibatch, {{"hidden", "40"}, {"layers", "3"}});
  add_member(batch, "lenet5", minibatch, {});
  return batch;
}

/// Every op of one name in one launch, whatever its shape in each member; convolutions concurrent.
Plan grouped_gemm_plan(const Batch& batch) {
  Plan plan = uniform_plan(batch.members, Strategy::kGroupedGemm, 2);
  for (std::uint32_t m = 0; m < batch.members.size(); ++m) {
    std::vector<std::string> convolutions;
    for (const Op& op : batch.loaded[m]->model.ops) {
      if (std::holds_alternative<Convolution>(op.attributes)) convolutions.push_back(op.name);
    }
    if (convolutions.empty()) continue;
    plan.groups.push_back(
        {fmt::format("convolutions-{}", m), {m}, convolutions, Strategy::kConcurrent, 0, {m % 2}, {}});
  }
  return plan;
}

Plan plan_by_name(const std::string& name, const Batch& batch) {
  if (name == "grouped_gemm") return grouped_gemm_plan(batch);
  if (name == "crossing") return crossing_plan(batch, 2);
  const Model& model = batch.loaded[0]->model;
  Plan plan = uniform_plan(batch.members, name == "serial" ? Strategy::kSerial : Strategy::kConcurrent,
                           name == "serial" ? 1 : 2);
  if (name == "dense" || name == "mixed")
    fuse(plan, "first", Strategy::kDenseConvolution, fusible(model, Strategy::kDenseConvolution));
  if (name == "grouped")
    fuse(plan, "convolutions", Strategy::kGroupedConvolution, fusible(model, Strategy::kGroupedConvolution));
  if (name == "strided" || name == "mixed")
    fuse(plan, "products", Strategy::kStridedBatch, fusible(model, Strategy::kStridedBatch));
  return plan;
}

Plan crossing_plan(const Batch& batch, int streams) {
  Plan plan = uniform_plan(batch.members, Strategy::kConcurrent, streams);
  Group& group = plan.groups[0];
  for (const Op& op : batch.loaded[0]->model.ops) {
    group.op_streams.push_back(static_cast<std::uint32_t>(group.ops.size()) % static_cast<std::uint32_t>(streams));
    group.ops.push_back(op.name);
  }
  return plan;
}

Result<std::vector<std::vector<float>>> outputs_of(BatchRun& run) {
  COHORT_CHECK(run.step());
  std::vector<std::vector<float>> outputs;
  for (std::size_t i = 0; i < run.program().outputs.size(); ++i) {
    COHORT_TRY(auto values, run.runner().session().read_output(i));
    outputs.push_back(std::move(values));
  }
  return outputs;
}

void expect_close(const std::vector<std::vector<float>>& actual, const std::vector<std::vector<float>>& expected,
                  float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size()) << "output " << i;
    float largest = 0;
    for (const float value : expected[i]) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0) << "output " << i << " says nothing";
    for (std::size_t k = 0; k < actual[i].size(); ++k)
      ASSERT_NEAR(actual[i][k], expected[i][k], tolerance * largest) << "output " << i << " element " << k;
  }
}

std::vector<std::vector<float>> outputs_alone(Backend& backend, const Plan& plan, const Batch& batch) {
  std::vector<std::vector<float>> all;
  for (std::uint32_t m = 0; m < batch.members.size(); ++m) {
    const MemberModels alone{{&batch.loaded[m]->model}, {&batch.loaded[m]->weights}};
    auto run = BatchRun::open(backend, baseline_plan(plan, m), alone, {});
    EXPECT_TRUE(run) << run.error().message;
    const auto filled = fill_inputs((*run)->runner(), [&](const ProgramInput& input, InputPlace place) {
      place.pipeline = plan.input.sharing == InputSharing::kShared ? first_with_input(batch, input.shape) : m;
      return Result<std::vector<float>>(generated_values(input.shape, plan.input.seed, place));
    });
    EXPECT_TRUE(filled) << filled.error().message;
    auto outputs = outputs_of(**run);
    EXPECT_TRUE(outputs) << outputs.error().message;
    all.insert(all.end(), outputs->begin(), outputs->end());
  }
  return all;
}

}  // namespace cohort::testing
