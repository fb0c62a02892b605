// Which ops of several models may be one, and what their constants become.

#include "simulator/plan/fuse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

/// A convolution whose parameters are constants or what is computed.
Model convolution(bool constant_kernel, bool constant_bias) {
  ModelBuilder builder("net");
  const TensorId x = builder.input("x", {2, 3, 4, 4});
  const auto parameter = [&](const char* name, Shape shape, bool constant) {
    return constant ? builder.weight(name, std::move(shape)) : builder.input(name, std::move(shape));
  };
  const TensorId kernel = parameter("kernel", {6, 3, 2, 2}, constant_kernel);
  const TensorId bias = parameter("bias", {6}, constant_bias);
  Convolution op;
  op.window = {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
  builder.output(builder.add("conv", op, {x, kernel, bias}));
  return builder.finish().value();
}

TEST(Fuse, LeavesConvolutionsWithAConstantBesideAComputedParameterAlone) {
  for (const bool constant : {false, true}) {
    const Model alike = convolution(constant, constant), mixed = convolution(constant, !constant);
    for (const Strategy strategy : {Strategy::kGroupedConvolution, Strategy::kDenseConvolution}) {
      EXPECT_TRUE(can_fuse(alike, alike.ops[0], strategy, 3, /*shared_input=*/true));
      EXPECT_FALSE(can_fuse(mixed, mixed.ops[0], strategy, 3, /*shared_input=*/true));
    }
    const auto fused = fuse(mixed, mixed.ops[0], Strategy::kGroupedConvolution, 3, false);
    ASSERT_FALSE(fused);
    EXPECT_THAT(fused.error().message, HasSubstr("of its kernel and its bias one is constant and one is not"));
  }
}

TEST(Fuse, GivesTheRatesOfDropoutsOneAxisOfModels) {
  ModelBuilder builder("net");
  const TensorId x = builder.input("x", {2, 8}), rate = builder.weight("rate", {1});
  const TensorId key = builder.add_input({"random", {4}, TensorRole::kSetting, ElementType::kInt32});
  builder.output(builder.add("drop", Dropout{0}, {x, rate, key}));
  const Model model = builder.finish().value();
  const Op& op = model.ops[0];
  const auto fused = fuse(model, op, Strategy::kStridedBatch, 5, false);
  ASSERT_TRUE(fused) << fused.error().message;
  const auto shape = fused_weight_shape(model, op, 1, fused->form, 5);
  ASSERT_TRUE(shape) << shape.error().message;
  const auto y = infer_shape(fused->attributes, {{5, 2, 8}, *shape, {5, 4}});
  EXPECT_TRUE(y) << y.error().message;
}

}  // namespace
}  // namespace cohort
