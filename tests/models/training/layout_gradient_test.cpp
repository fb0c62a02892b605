#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

TEST(Packs, HoldTheirPartsAndZeros) {
  const Array a = random_array({2, 3}, 1), b = random_array({2}, 2);
  const Array pack = run_op(Pack{{16, 0}, 32}, {a, b});
  EXPECT_EQ(part_of(pack, 16, {2, 3}).values, a.values);
  EXPECT_EQ(part_of(pack, 0, {2}).values, b.values);
  EXPECT_EQ(part_of(pack, 2, {14}).values, std::vector<float>(14, 0.0F));
  EXPECT_EQ(part_of(pack, 22, {10}).values, std::vector<float>(10, 0.0F));
  EXPECT_EQ(run_op(Unpack{16, {3, 2}}, {pack}).values, a.values);
}

TEST(Packs, AreTheFirstRowOfAState) {
  const Array state = random_array({3, 16}, 1);
  const Array part = run_op(Unpack{4, {2, 2}}, {state});
  EXPECT_EQ(part.values, part_of(state, 4, {4}).values);
}

TEST(Packs, BeginEachPartAtACacheLine) {
  const Pack pack = pack_of({{3, 5}, {16}, {1}, {17}});
  EXPECT_EQ(pack.offsets, (std::vector<std::int64_t>{0, 16, 32, 48}));
  EXPECT_EQ(pack.size, 80);
}

TEST(GatherGradients, AgreeWithDifferences) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const Array x = random_array({3, 4, 3}, 1);
    const Array indices = whole_array({2, 3}, {0, 2, -1, 2, 2, -3});
    const Array dy = random_array(run_op(Gather{axis}, {x, indices}).shape, 2);
    const Array dx = run_op(GatherGradient{axis, x.shape[static_cast<std::size_t>(axis)]}, {indices, dy});
    EXPECT_EQ(dx.shape, x.shape);
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(Gather{axis}), {x, indices}, 0, dy)), kTolerance)
        << axis;
  }
}

TEST(GatherGradients, StopAtIndicesOutside) {
  EXPECT_THROW(run_op(GatherGradient{0, 3}, {whole_array({1}, {3}), random_array({1, 2}, 1)}), std::range_error);
}

TEST(GatherGradients, OfOneIndexFillOneEntry) {
  const Array dx = run_op(GatherGradient{0, 2}, {whole_array({}, {1}), {{2}, {5, 6}}});
  EXPECT_EQ(dx.shape, (Shape{2, 2}));
  EXPECT_EQ(dx.values, (std::vector<float>{0, 0, 5, 6}));
}

TEST(SliceGradients, AgreeWithDifferences) {
  const Array x = random_array({5, 6}, 1);
  for (const TensorSlice& op : {TensorSlice{{1, 0}, {2, 1}, {2, 6}}, TensorSlice{{4, 5}, {-2, -1}, {3, 3}},
                                TensorSlice{{2, 3}, {0, 1}, {2, 1}}}) {
    const Array dy = random_array(op.count, 2);
    const Array dx = run_op(TensorSliceGradient{op.start, op.step, x.shape}, {dy});
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), {x}, 0, dy)), kTolerance);
  }
}

Resize resize(ResizeMode mode, ResizePositions positions, Shape shape, std::vector<double> scale) {
  Resize made;
  made.mode = mode;
  made.positions = positions;
  made.shape = std::move(shape);
  made.scale = std::move(scale);
  return made;
}

TEST(ResizeGradients, AgreeWithDifferences) {
  using Mode = ResizeMode;
  using Positions = ResizePositions;
  Resize shrinking = resize(Mode::kLinear, Positions::kHalfPixel, {1, 2, 3, 2}, {1, 1, 0.6, 0.5});
  shrinking.antialias = true;
  Resize cropping = resize(Mode::kLinear, Positions::kCrop, {1, 2, 6, 5}, {1, 1, 1.2, 1.25});
  cropping.crop_begin = {0, 0, 0.2F, -0.3F};
  cropping.crop_end = {1, 1, 1.4F, 0.9F};
  cropping.outside = 7;
  Resize cubic = resize(Mode::kCubic, Positions::kHalfPixel, {1, 2, 8, 6}, {1, 1, 1.6, 1.5});
  cubic.exclude_outside = true;
  for (const Resize& op :
       {resize(Mode::kNearest, Positions::kAsymmetric, {1, 2, 10, 8}, {1, 1, 2, 2}),
        resize(Mode::kNearest, Positions::kHalfPixel, {1, 2, 3, 3}, {1, 1, 0.6, 0.75}),
        resize(Mode::kLinear, Positions::kHalfPixel, {1, 2, 9, 7}, {1, 1, 1.8, 1.75}),
        resize(Mode::kLinear, Positions::kAlignCorners, {1, 2, 9, 7}, {1, 1, 1.8, 1.75}), shrinking, cropping, cubic}) {
    const Array x = random_array({1, 2, 5, 4}, 1);
    const Array dy = random_array(op.shape, 2);
    const Array dx = run_op(ResizeGradient{op, x.shape}, {dy});
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), {x}, 0, dy)), kTolerance) << canonical(op, {});
  }
}

}  // namespace
}  // namespace cohort
