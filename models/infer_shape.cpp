#include <algorithm>

#include "models/op.hpp"

namespace cohort {

namespace {

using Shapes = std::vector<Shape>;

Result<void> expect_inputs(const Shapes& shapes, std::size_t least, std::size_t most) {
  if (shapes.size() >= least && shapes.size() <= most) return {};
  if (least == most) return fail(ErrorCode::kInvalidInput, "takes {} inputs, not {}", least, shapes.size());
  return fail(ErrorCode::kInvalidInput, "takes {} to {} inputs, not {}", least, most, shapes.size());
}

Result<void> expect_shape(std::string_view operand, const Shape& shape, const Shape& expected) {
  if (shape == expected) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", operand, to_string(expected), to_string(shape));
}

Result<void> expect_rank(std::string_view operand, const Shape& shape, std::size_t rank, std::string_view axes) {
  if (shape.size() == rank) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", operand, axes, to_string(shape));
}

Result<void> check_window(const Window& window) {
  // Far above any real window, far below where sums of products of two could overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto check = [&](std::string_view field, const std::vector<std::int64_t>& values,
                         std::int64_t least) -> Result<void> {
    if (values.size() != 2)
      return fail(ErrorCode::kInvalidInput, "window {} must have 2 entries (H, W), not {}", field, values.size());
    for (const std::int64_t value : values) {
      if (value < least || value > kMost)
        return fail(ErrorCode::kInvalidInput, "window {} must be from {} to {}, not {}", field, least, kMost, value);
    }
    return {};
  };
  COHORT_CHECK(check("kernel", window.kernel, 1));
  COHORT_CHECK(check("stride", window.stride, 1));
  COHORT_CHECK(check("dilation", window.dilation, 1));
  COHORT_CHECK(check("pad_begin", window.pad_begin, 0));
  return check("pad_end", window.pad_end, 0);
}

/// Number of window positions along spatial axis `i` of `extent` elements.
Result<std::int64_t> window_positions(const Window& window, std::size_t i, std::int64_t extent, bool ceil_mode) {
  const std::int64_t padded = extent + window.pad_begin[i] + window.pad_end[i];
  const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
  if (reach > padded)
    return fail(ErrorCode::kInvalidInput, "window reaches over {} elements along {}, but x has {} with padding", reach,
                i == 0 ? "H" : "W", padded);
  const std::int64_t room = padded - reach;
  if (!ceil_mode) return room / window.stride[i] + 1;
  const std::int64_t positions = (room + window.stride[i] - 1) / window.stride[i] + 1;
  const bool last_starts_behind = (positions - 1) * window.stride[i] >= extent + window.pad_begin[i];
  return last_starts_behind ? positions - 1 : positions;
}

Result<Shape> infer(const Convolution& convolution, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 2, 3));
  const Shape& x = shapes[0];
  const Shape& w = shapes[1];
  COHORT_CHECK(expect_rank("x", x, 4, "[N, C, H, W]"));
  COHORT_CHECK(expect_rank("w", w, 4, "[K, C/groups, R, S]"));
  COHORT_CHECK(check_window(convolution.window));
  const std::int64_t groups = convolution.groups;
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {} and K = {}, and {} does not", x[1], w[0], groups);
  const auto& kernel = convolution.window.kernel;
  COHORT_CHECK(expect_shape("w", w, {w[0], x[1] / groups, kernel[0], kernel[1]}));
  if (shapes.size() == 3) COHORT_CHECK(expect_shape("b", shapes[2], {w[0]}));
  COHORT_TRY(const std::int64_t p, window_positions(convolution.window, 0, x[2], false));
  COHORT_TRY(const std::int64_t q, window_positions(convolution.window, 1, x[3], false));
  return Shape{x[0], w[0], p, q};
}

Result<Shape> infer(const Pool& pool, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 1, 1));
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_rank("x", x, 4, "[N, C, H, W]"));
  COHORT_CHECK(check_window(pool.window));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = pool.window.dilation[i] * (pool.window.kernel[i] - 1) + 1;
    if (std::max(pool.window.pad_begin[i], pool.window.pad_end[i]) >= reach)
      return fail(ErrorCode::kInvalidInput, "padding along {} must be less than the window, which reaches over {}",
                  i == 0 ? "H" : "W", reach);
  }
  COHORT_TRY(const std::int64_t p, window_positions(pool.window, 0, x[2], pool.ceil_mode));
  COHORT_TRY(const std::int64_t q, window_positions(pool.window, 1, x[3], pool.ceil_mode));
  return Shape{x[0], x[1], p, q};
}

Result<Shape> infer(const Gemm& gemm, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 2, 3));
  const std::size_t lead = gemm.stacked ? 1 : 0;
  Shape x = shapes[0];
  const Shape& w = shapes[1];
  if (x.size() < lead + 1)
    return fail(ErrorCode::kInvalidInput, "x must be {}, not {}", gemm.stacked ? "[B, N, ...]" : "[N, ...]",
                to_string(x));
  COHORT_CHECK(expect_rank("w", w, lead + 2, gemm.stacked ? "[B, O, I]" : "[O, I]"));
  const Shape features(x.begin() + static_cast<std::ptrdiff_t>(lead) + 1, x.end());
  const std::int64_t inputs = element_count(features);
  if (inputs != w[lead + 1])
    return fail(ErrorCode::kInvalidInput, "x {} has {} features a sample, but w {} takes {}", to_string(x), inputs,
                to_string(w), w[lead + 1]);
  if (gemm.stacked && x[0] != w[0]) return fail(ErrorCode::kInvalidInput, "model axis of x is {}, of w {}", x[0], w[0]);
  Shape b(w.begin(), w.end() - 1);
  if (shapes.size() == 3) COHORT_CHECK(expect_shape("b", shapes[2], b));
  x.resize(lead + 1);
  x.push_back(w[lead]);
  return x;
}

Result<Shape> infer(const BatchNormalization& /*attributes*/, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 5, 5));
  const Shape& x = shapes[0];
  if (x.size() < 2) return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(x));
  constexpr std::string_view kOperands[] = {"scale", "shift", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i) COHORT_CHECK(expect_shape(kOperands[i - 1], shapes[i], {x[1]}));
  return x;
}

Result<Shape> infer(const LocalResponseNormalization& lrn, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 1, 1));
  COHORT_CHECK(expect_rank("x", shapes[0], 4, "[N, C, H, W]"));
  if (lrn.size < 1) return fail(ErrorCode::kInvalidInput, "size must be at least 1, not {}", lrn.size);
  return shapes[0];
}

Result<Shape> infer(const Activation& /*attributes*/, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 1, 1));
  return shapes[0];
}

Result<Shape> infer(const Binary& /*attributes*/, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 2, 2));
  const Shape& a = shapes[0];
  const Shape& b = shapes[1];
  Shape y(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1)
      return fail(ErrorCode::kInvalidInput, "{} and {} do not broadcast: dimension {} from the back is {} and {}",
                  to_string(a), to_string(b), i + 1, from_a, from_b);
    y[y.size() - 1 - i] = std::max(from_a, from_b);
  }
  return y;
}

Result<void> check_axis(std::int64_t axis, const Shape& shape) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(shape.size())) return {};
  return fail(ErrorCode::kInvalidInput, "axis must be from 0 to {} for {}, not {}",
              static_cast<std::int64_t>(shape.size()) - 1, to_string(shape), axis);
}

Result<Shape> infer(const Concat& concat, const Shapes& shapes) {
  if (shapes.empty()) return fail(ErrorCode::kInvalidInput, "takes at least 1 input");
  COHORT_CHECK(check_axis(concat.axis, shapes[0]));
  const auto axis = static_cast<std::size_t>(concat.axis);
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

Result<Shape> infer(const Softmax& softmax, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 1, 1));
  COHORT_CHECK(check_axis(softmax.axis, shapes[0]));
  return shapes[0];
}

Result<Shape> infer(const Reshape& /*attributes*/, const Shapes& /*shapes*/) {
  return fail(ErrorCode::kInvalidInput, "the shape of a Reshape does not follow from its input");
}

Result<Shape> infer(const Lstm& lstm, const Shapes& shapes) {
  COHORT_CHECK(expect_inputs(shapes, 4, 4));
  const Shape& x = shapes[0];
  constexpr std::int64_t kMostHidden = std::int64_t{1} << 24;
  const std::int64_t hidden = lstm.hidden;
  if (hidden < 1 || hidden > kMostHidden)
    return fail(ErrorCode::kInvalidInput, "hidden must be from 1 to {}, not {}", kMostHidden, hidden);
  COHORT_CHECK(expect_rank("x", x, 3, "[T, N, I]"));
  COHORT_CHECK(expect_shape("w", shapes[1], {4 * hidden, x[2]}));
  COHORT_CHECK(expect_shape("r", shapes[2], {4 * hidden, hidden}));
  COHORT_CHECK(expect_shape("b", shapes[3], {4 * hidden}));
  return Shape{x[0], x[1], hidden};
}

}  // namespace

Result<Shape> infer_shape(const OpAttributes& attributes, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) COHORT_CHECK(check_shape(shape));
  COHORT_TRY(Shape y, std::visit([&](const auto& known) { return infer(known, shapes); }, attributes));
  COHORT_CHECK(check_shape(y));
  return y;
}

}  // namespace cohort
