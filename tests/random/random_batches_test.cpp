// Random graphs, each with three members, under random plans: as one model they compute what they compute alone.

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "models/compute/evaluate.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/batch_model.hpp"
#include "simulator/plan/fuse.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/random/generator.hpp"
#include "tests/random/values.hpp"

namespace cohort {
namespace {

constexpr std::uint64_t kModels = 200;
constexpr std::uint32_t kMembers = 3;

bool can_fuse(const Model& model, const Op& op, Strategy strategy, bool shared_input) {
  if (strategy == Strategy::kGroupedGemm) return !std::holds_alternative<Convolution>(op.attributes);
  return can_fuse(model, op, strategy, kMembers, shared_input);
}

/// Every op by a strategy that can have it, drawn from `random`.
Plan random_plan(const Model& model, InputSharing sharing, Random& random) {
  constexpr Strategy kFusing[] = {Strategy::kDenseConvolution, Strategy::kGroupedConvolution, Strategy::kStridedBatch,
                                  Strategy::kGroupedGemm};
  std::vector<Member> members;
  for (std::uint32_t m = 0; m < kMembers; ++m) members.push_back({fmt::format("m{}", m), {"random", {}, 1}, m});
  Plan plan = uniform_plan(std::move(members), Strategy::kConcurrent, 2);
  plan.input.sharing = sharing;
  for (const Op& op : model.ops) {
    const bool shared = sharing == InputSharing::kShared && model.tensor(op.inputs[0]).role == TensorRole::kInput;
    const Strategy strategy = kFusing[random.next() % std::size(kFusing)];
    if (random.next() % 4 == 0 || !can_fuse(model, op, strategy, shared)) continue;
    plan.groups.push_back({op.name, plan.groups[0].members, {op.name}, strategy, 0, {}, {}});
  }
  return plan;
}

std::string describe(const Plan& plan, const Model& model) {
  std::string text = write_plan(plan);
  for (const Op& op : model.ops) text += fmt::format("  {}: {}\n", op.name, signature_of(model, op));
  return text;
}

void expect_as_alone(const LoadedModel& loaded, std::uint64_t seed, std::size_t& fused) {
  Random random(seed);
  const InputSharing sharing = random.next() % 2 == 0 ? InputSharing::kShared : InputSharing::kSeparate;
  const Plan plan = random_plan(loaded.model, sharing, random);
  fused += plan.groups.size() - 1;
  std::vector<Weights> weights;
  for (std::uint32_t m = 0; m < kMembers; ++m) weights.push_back(random_weights(loaded.model, seed + m));
  const std::vector<const Model*> models(kMembers, &loaded.model);
  const auto batch = batch_model(
      plan, models, std::vector{&std::as_const(weights[0]), &std::as_const(weights[1]), &std::as_const(weights[2])});
  ASSERT_TRUE(batch) << batch.error().message << "\nseed " << seed << "\n" << describe(plan, loaded.model);

  TensorValues inputs, own, expected;
  for (std::uint32_t m = 0; m < kMembers; ++m) {
    if (m == 0 || sharing == InputSharing::kSeparate) {
      own = random_inputs(loaded.model, 1000 * seed + m);
      inputs.insert(inputs.end(), own.begin(), own.end());
    }
    const auto alone = reference::evaluate({loaded.model, weights[m]}, own);
    ASSERT_TRUE(alone) << alone.error().message;
    expected.insert(expected.end(), alone->begin(), alone->end());
  }
  const auto together = reference::evaluate(*batch, inputs);
  ASSERT_TRUE(together) << together.error().message;
  EXPECT_LE(difference(*together, expected), 1e-5) << "seed " << seed << "\n" << describe(plan, loaded.model);

  const auto bytes = onnx::serialize_model(simplify(*batch));
  ASSERT_TRUE(bytes) << bytes.error().message << "\nseed " << seed << "\n" << describe(plan, loaded.model);
  const auto read = onnx::parse_model(*bytes, {});
  ASSERT_TRUE(read) << read.error().message << "\nseed " << seed << "\n" << describe(plan, loaded.model);
  const auto again = reference::evaluate(*read, inputs);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_LE(difference(*again, expected), 1e-5) << "written, seed " << seed << "\n" << describe(plan, loaded.model);
}

TEST(RandomBatches, AsOneModelComputeWhatTheirMembersComputeAlone) {
  std::size_t fused = 0;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) expect_as_alone(simplify(random_model(seed)), seed, fused);
  EXPECT_GT(fused, kModels) << "plans that fuse next to nothing say nothing";
}

}  // namespace
}  // namespace cohort
