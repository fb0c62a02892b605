#include "simulator/plan/member_classes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "models/builder.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;

/// Two layers of equal signatures: the second reads the first, or with `side_by_side` both read the input.
Model two_layers(bool side_by_side) {
  ModelBuilder builder("layers");
  const TensorId x = builder.input("x", {1, 4});
  const TensorId first = builder.linear("a", x, 4);
  const TensorId second = builder.linear("b", side_by_side ? x : first, 4);
  if (side_by_side) builder.output(first);
  builder.output(second);
  return *builder.finish();
}

/// The same model with its tensors listed the other way round.
Model listed_backwards(const Model& model) {
  Model result = model;
  const auto last = static_cast<std::uint32_t>(model.tensors.size() - 1);
  const auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) id = TensorId(last - static_cast<std::uint32_t>(to_index(id)));
  };
  std::reverse(result.tensors.begin(), result.tensors.end());
  renumber(result.inputs);
  renumber(result.outputs);
  for (Op& op : result.ops) {
    renumber(op.inputs);
    renumber(op.outputs);
  }
  return result;
}

TEST(MemberClasses, AreOfModelsWithTheSameOpsOnTheSameTensors) {
  const Model chain = two_layers(false), side_by_side = two_layers(true), backwards = listed_backwards(chain);
  const std::array<const Model*, 5> models = {&chain, &side_by_side, &backwards, &chain, &side_by_side};
  const std::vector<MemberClass> classes = member_classes(models);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_THAT(classes[0].members, ElementsAre(0U, 2U, 3U));
  EXPECT_THAT(classes[1].members, ElementsAre(1U, 4U));
  EXPECT_EQ(classes[1].model, &side_by_side);
}

}  // namespace
}  // namespace cohort
