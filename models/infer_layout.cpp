#include <algorithm>
#include <cmath>
#include <set>

#include "models/infer.hpp"

namespace cohort::infer {

namespace {

/// Far above any real extent, far below where products of two could overflow.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

std::size_t position(std::int64_t axis) { return static_cast<std::size_t>(axis); }

}  // namespace

Result<void> check_axis(std::int64_t axis, const Shape& shape) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(shape.size())) return {};
  return fail(ErrorCode::kInvalidInput, "axis must be from 0 to {} for {}, not {}",
              static_cast<std::int64_t>(shape.size()) - 1, to_string(shape), axis);
}

Result<void> expect_per_axis(std::string_view field, std::size_t entries, const Shape& x) {
  if (entries == x.size()) return {};
  return fail(ErrorCode::kInvalidInput, "{} must have an entry for each of the {} axes, not {}", field, x.size(),
              entries);
}

Result<Shape> output(const Concat& concat, const Shapes& shapes) {
  COHORT_CHECK(check_axis(concat.axis, shapes[0]));
  const auto axis = position(concat.axis);
  Shape y = shapes[0];
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    Shape expected = y;
    if (shapes[i].size() == expected.size()) expected[axis] = shapes[i][axis];
    if (shapes[i] != expected)
      return fail(ErrorCode::kInvalidInput, "input {} is {}, but only dimension {} may differ from {}", i,
                  to_string(shapes[i]), axis, to_string(shapes[0]));
    y[axis] += shapes[i][axis];
  }
  return y;
}

Result<Shape> output(const Reshape& /*op*/, const Shapes& /*shapes*/) {
  return fail(ErrorCode::kInvalidInput, "the shape of a Reshape does not follow from its input");
}

Result<Shape> output(const Transpose& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_per_axis("permutation", op.permutation.size(), x));
  std::set<std::int64_t> seen;
  Shape y;
  for (const std::int64_t axis : op.permutation) {
    COHORT_CHECK(check_axis(axis, x));
    if (!seen.insert(axis).second) return fail(ErrorCode::kInvalidInput, "permutation has axis {} twice", axis);
    y.push_back(x[position(axis)]);
  }
  return y;
}

Result<Shape> output(const TensorSlice& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_per_axis("start", op.start.size(), x));
  COHORT_CHECK(expect_per_axis("step", op.step.size(), x));
  COHORT_CHECK(expect_per_axis("count", op.count.size(), x));
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (op.count[d] == 0) continue;
    const bool in_range = op.count[d] >= 1 && op.count[d] <= x[d] && op.start[d] >= 0 && op.start[d] < x[d] &&
                          op.step[d] > -kMostExtent && op.step[d] < kMostExtent;
    std::int64_t last = -1;
    const bool overflows = in_range && __builtin_mul_overflow(op.count[d] - 1, op.step[d], &last);
    if (in_range && !overflows) last += op.start[d];
    if (!in_range || overflows || last < 0 || last >= x[d])
      return fail(ErrorCode::kInvalidInput, "{} elements from {} by {} are not inside of dimension {} of {}",
                  op.count[d], op.start[d], op.step[d], d, to_string(x));
  }
  return op.count;
}

Result<Shape> output(const Pad& op, const Shapes& shapes) {
  Shape y = shapes[0];
  COHORT_CHECK(expect_per_axis("begin", op.begin.size(), y));
  COHORT_CHECK(expect_per_axis("end", op.end.size(), y));
  for (std::size_t d = 0; d < y.size(); ++d) {
    for (const std::int64_t pad : {op.begin[d], op.end[d]}) {
      if (pad < -kMostExtent || pad > kMostExtent)
        return fail(ErrorCode::kInvalidInput, "{} elements more on dimension {} are not possible", pad, d);
    }
    const std::int64_t kept = y[d] + std::min<std::int64_t>(op.begin[d], 0) + std::min<std::int64_t>(op.end[d], 0);
    y[d] += op.begin[d] + op.end[d];
    if (op.mode != PadMode::kConstant && kept < 1 && y[d] > 0)
      return fail(ErrorCode::kInvalidInput, "nothing is left of dimension {} to fill up with", d);
  }
  return y;
}

Result<Shape> output(const Gather& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(check_axis(op.axis, x));
  Shape y = x;
  const auto at = y.begin() + static_cast<std::ptrdiff_t>(op.axis);
  y.insert(y.erase(at), shapes[1].begin(), shapes[1].end());
  return y;
}

Result<Shape> output(const Scatter& op, const Shapes& shapes) {
  const Shape &x = shapes[0], &indices = shapes[1], &updates = shapes[2];
  const std::optional<BinaryKind> by = op.reduction;
  if (by && *by != BinaryKind::kAdd && *by != BinaryKind::kMul && *by != BinaryKind::kMin && *by != BinaryKind::kMax)
    return fail(ErrorCode::kInvalidInput, "combines updates by Add, Mul, Min or Max, not {}", op_type(Binary{*by}));
  if (x.size() != 3 || updates.size() != 3 || updates[0] != x[0] || updates[2] != x[2])
    return fail(ErrorCode::kInvalidInput, "updates {} do not fit into {}", to_string(updates), to_string(x));
  const Shape each{x[0], updates[1], x[2]}, alike{x[0], updates[1], 1};
  if (indices == each || indices == alike) return x;
  return fail(ErrorCode::kInvalidInput, "indices must be {} or {}, not {}", to_string(each), to_string(alike),
              to_string(indices));
}

Result<Shape> output(const Expand& op, const Shapes& shapes) {
  COHORT_TRY(Shape y, broadcast(shapes[0], op.shape));
  if (y == op.shape) return y;
  return fail(ErrorCode::kInvalidInput, "{} does not repeat to {}", to_string(shapes[0]), to_string(op.shape));
}

Result<Shape> output(const Tile& op, const Shapes& shapes) {
  Shape y = shapes[0];
  COHORT_CHECK(expect_per_axis("repeats", op.repeats.size(), y));
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (op.repeats[d] < 0 || op.repeats[d] > kMostExtent)
      return fail(ErrorCode::kInvalidInput, "repeats must be from 0 to {}, not {}", kMostExtent, op.repeats[d]);
    if (__builtin_mul_overflow(y[d], op.repeats[d], &y[d])) y[d] = INT64_MAX;
  }
  return y;
}

Result<Shape> output(const Resize& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_per_axis("shape", op.shape.size(), x));
  COHORT_CHECK(expect_per_axis("scale", op.scale.size(), x));
  if (op.positions == ResizePositions::kCrop) {
    COHORT_CHECK(expect_per_axis("crop_begin", op.crop_begin.size(), x));
    COHORT_CHECK(expect_per_axis("crop_end", op.crop_end.size(), x));
  }
  constexpr double kLeast = 1e-4;  // bounds the elements that antialiasing averages over
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!(op.scale[d] >= kLeast && std::isfinite(op.scale[d])))
      return fail(ErrorCode::kInvalidInput, "scale must be at least {}, not {}", kLeast, op.scale[d]);
  }
  return op.shape;
}

Result<Shape> output(const Reduce& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  std::vector<bool> is_reduced(x.size(), false);
  for (const std::int64_t axis : op.axes) {
    COHORT_CHECK(check_axis(axis, x));
    if (is_reduced[position(axis)]) return fail(ErrorCode::kInvalidInput, "axes has axis {} twice", axis);
    is_reduced[position(axis)] = true;
  }
  Shape y;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!is_reduced[d]) y.push_back(x[d]);
    if (is_reduced[d] && op.keep_axes) y.push_back(1);
  }
  return y;
}

Result<Shape> output(const ArgMax& op, const Shapes& shapes) {
  COHORT_CHECK(check_axis(op.axis, shapes[0]));
  COHORT_TRY(Shape y, output(Reduce{ReduceKind::kMax, {op.axis}, op.keep_axis}, shapes));
  if (op.count == 1) return y;
  const std::int64_t extent = shapes[0][static_cast<std::size_t>(op.axis)];
  if (op.count < 1 || op.count > extent)
    return fail(ErrorCode::kInvalidInput, "count must be from 1 to {}, not {}", extent, op.count);
  if (!op.keep_axis || op.last)
    return fail(ErrorCode::kInvalidInput, "the first {} along an axis need the axis, and of equals the first",
                op.count);
  y[static_cast<std::size_t>(op.axis)] = op.count;
  return y;
}

}  // namespace cohort::infer
