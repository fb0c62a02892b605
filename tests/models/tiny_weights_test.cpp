#include "models/tiny_weights.hpp"

#include <gmock/gmock.h>

#include "models/builder.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;

constexpr float kTiny = 1e-38F, kDenormal = 1e-41F;

/// A Gemm [1, 4] x [1, 4] with these weights, and what else `add` makes of w.
template <class Add>
LoadedModel product(std::vector<float> weights, const Add& add) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {1, 4}), w = b.weight("w", {1, 4});
  b.output(b.add("product", Gemm{}, {x, w}));
  add(b, x, w);
  LoadedModel loaded{*b.finish(), {}};
  loaded.weights.by_tensor.resize(loaded.model.tensors.size());
  loaded.weights.by_tensor[to_index(w)] = std::make_shared<const std::vector<float>>(std::move(weights));
  return loaded;
}

std::vector<float> weights_after(LoadedModel loaded) {
  drop_tiny_weights(loaded);
  for (const WeightValues& values : loaded.weights.by_tensor) {
    if (values != nullptr) return *values;
  }
  return {};
}

constexpr auto kNothing = [](ModelBuilder&, TensorId, TensorId) {};

TEST(TinyWeights, OfProductsAreZero) {
  EXPECT_THAT(weights_after(product({0.5F, -kTiny, kDenormal, -2}, kNothing)), ElementsAre(0.5F, 0, 0, -2));
}

TEST(TinyWeights, AreTinyBesideTheLargest) {
  const std::vector<float> small = {1e-14F, -1e-33F, kTiny, kDenormal};
  EXPECT_THAT(weights_after(product(small, kNothing)), ElementsAre(1e-14F, -1e-33F, 0, 0));
  const std::vector<float> alike = {kTiny, -2 * kTiny, kDenormal, 0};
  EXPECT_EQ(weights_after(product(alike, kNothing)), alike);
  const std::vector<float> none_tiny = {1e20F, 1e-29F, 1e-12F, 0};
  EXPECT_EQ(weights_after(product(none_tiny, kNothing)), none_tiny);
}

TEST(TinyWeights, StayWhereOthersReadThem) {
  const std::vector<float> weights = {1, kTiny, 0, kDenormal};
  const auto shown = [](ModelBuilder& b, TensorId /*x*/, TensorId w) { b.output(b.add("log", Activation{}, {w})); };
  EXPECT_EQ(weights_after(product(weights, shown)), weights);
  const auto divides = [](ModelBuilder& b, TensorId x, TensorId w) {
    b.output(b.add("ratio", Binary{BinaryKind::kDiv}, {x, w}));
  };
  EXPECT_EQ(weights_after(product(weights, divides)), weights);
}

TEST(TinyWeights, AreDroppedBySimplifyUnlessNansCount) {
  const auto simplified = [](bool strict_nan) {
    const LoadedModel simple = simplify(product({1, kTiny, 0, 3}, kNothing), strict_nan);
    return simple.weights.of(simple.model.ops.back().inputs[1])->at(1);
  };
  EXPECT_EQ(simplified(false), 0);
  EXPECT_EQ(simplified(true), kTiny);
}

}  // namespace
}  // namespace cohort
