#include <algorithm>

#include "models/infer.hpp"

namespace cohort {

namespace infer {

Result<void> expect_shape(std::string_view operand, const Shape& shape, const Shape& expected) {
  if (shape == expected) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", operand, to_string(expected), to_string(shape));
}

Result<void> expect_rank(std::string_view operand, const Shape& shape, std::size_t rank, std::string_view axes) {
  if (shape.size() == rank) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", operand, axes, to_string(shape));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape y(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1)
      return fail(ErrorCode::kInvalidInput, "{} and {} do not broadcast: dimension {} from the back is {} and {}",
                  to_string(a), to_string(b), i + 1, from_a, from_b);
    y[y.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return y;
}

namespace {

/// Number of spatial dimensions of x, [N, C] and 1 to 3 more.
Result<std::size_t> spatial_rank(const Shape& x) {
  if (x.size() >= 3 && x.size() <= 5) return x.size() - 2;
  return fail(ErrorCode::kInvalidInput, "x must be [N, C, H, W], or have one or three spatial dimensions, not {}",
              to_string(x));
}

std::string axis_name(std::size_t i, std::size_t rank) {
  if (rank == 2) return i == 0 ? "H" : "W";
  return fmt::format("dimension {}", i + 2);
}

Result<void> check_window(const Window& window, std::size_t rank, std::int64_t least_pad = 0) {
  // Far above any real window, far below where sums of products of two could overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto check = [&](std::string_view field, const std::vector<std::int64_t>& values,
                         std::int64_t least) -> Result<void> {
    if (values.size() != rank)
      return fail(ErrorCode::kInvalidInput, "window {} must have {} entries, one per spatial dimension, not {}", field,
                  rank, values.size());
    for (const std::int64_t value : values) {
      if (value < least || value > kMost)
        return fail(ErrorCode::kInvalidInput, "window {} must be from {} to {}, not {}", field, least, kMost, value);
    }
    return {};
  };
  COHORT_CHECK(check("kernel", window.kernel, 1));
  COHORT_CHECK(check("stride", window.stride, 1));
  COHORT_CHECK(check("dilation", window.dilation, 1));
  COHORT_CHECK(check("pad_begin", window.pad_begin, least_pad));
  return check("pad_end", window.pad_end, least_pad);
}

/// Number of window positions along spatial axis `i` of `extent` elements.
Result<std::int64_t> window_positions(const Window& window, std::size_t i, std::int64_t extent, bool ceil_mode) {
  const std::int64_t padded = extent + window.pad_begin[i] + window.pad_end[i];
  const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
  const std::int64_t room = padded - reach;
  // Rounded up, a window that is too long by less than a stride is a place, as in PyTorch.
  if (room < 0 && (!ceil_mode || room <= -window.stride[i]))
    return fail(ErrorCode::kInvalidInput, "window reaches over {} elements along {}, but x has {} with padding", reach,
                axis_name(i, window.kernel.size()), padded);
  if (!ceil_mode) return room / window.stride[i] + 1;
  const std::int64_t positions = (room + window.stride[i] - 1) / window.stride[i] + 1;
  const bool last_starts_behind = (positions - 1) * window.stride[i] >= extent + window.pad_begin[i];
  return last_starts_behind ? positions - 1 : positions;
}

/// Window positions along all spatial axes of x, behind `y`.
Result<Shape> with_positions(Shape y, const Window& window, const Shape& x, bool ceil_mode) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    COHORT_TRY(const std::int64_t positions, window_positions(window, i, x[i + 2], ceil_mode));
    y.push_back(positions);
  }
  return y;
}

/// Weights or biases of several models, stacked along a leading axis, as those of one convolution whose channels are
/// theirs one behind another.
Shape joined_models(Shape shape, std::size_t rank) {
  if (shape.size() != rank + 1) return shape;
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  return shape;
}

/// [first, second, kernel...]
Shape kernel_shape(std::int64_t first, std::int64_t second, const Window& window) {
  Shape shape{first, second};
  shape.insert(shape.end(), window.kernel.begin(), window.kernel.end());
  return shape;
}

}  // namespace

Result<Shape> output(const Convolution& convolution, const Shapes& shapes) {
  const Shape& x = shapes[0];
  const Shape w = joined_models(shapes[1], x.size());
  COHORT_TRY(const std::size_t rank, spatial_rank(x));
  COHORT_CHECK(expect_rank("w", w, x.size(), "[K, C/groups, R, S], with as many dimensions as x"));
  COHORT_CHECK(check_window(convolution.window, rank));
  const std::int64_t groups = convolution.groups;
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {} and K = {}, and {} does not", x[1], w[0], groups);
  COHORT_CHECK(expect_shape("w", w, kernel_shape(w[0], x[1] / groups, convolution.window)));
  if (shapes.size() == 3) COHORT_CHECK(expect_shape("b", joined_models(shapes[2], 1), {w[0]}));
  return with_positions({x[0], w[0]}, convolution.window, x, false);
}

Result<Shape> output(const ConvTranspose& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  const Shape w = joined_models(shapes[1], x.size());
  COHORT_TRY(const std::size_t rank, spatial_rank(x));
  COHORT_CHECK(expect_rank("w", w, x.size(), "[C, K/groups, R, S], with as many dimensions as x"));
  constexpr std::int64_t kMostPad = std::int64_t{1} << 30;
  COHORT_CHECK(check_window(op.window, rank, -kMostPad));
  if (op.output_pad.size() != rank)
    return fail(ErrorCode::kInvalidInput, "output_pad must have {} entries, not {}", rank, op.output_pad.size());
  const std::int64_t groups = op.groups;
  if (groups < 1 || x[1] % groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {}, and {} does not", x[1], groups);
  COHORT_CHECK(expect_shape("w", w, kernel_shape(x[1], w[1], op.window)));
  Shape y{x[0], w[1] * groups};
  if (shapes.size() == 3) COHORT_CHECK(expect_shape("b", joined_models(shapes[2], 1), {y[1]}));
  for (std::size_t i = 0; i < rank; ++i) {
    if (op.output_pad[i] < 0 || op.output_pad[i] > kMostPad)
      return fail(ErrorCode::kInvalidInput, "output_pad must be from 0 to {}, not {}", kMostPad, op.output_pad[i]);
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(op.window.stride[i], x[i + 2] - 1, &extent) || extent > (std::int64_t{1} << 60))
      return fail(ErrorCode::kInvalidInput, "{} of y is too large", axis_name(i, rank));
    y.push_back(extent + op.output_pad[i] + op.window.dilation[i] * (op.window.kernel[i] - 1) + 1 -
                op.window.pad_begin[i] - op.window.pad_end[i]);
  }
  return y;
}

namespace {

Result<Shape> pooled(const Window& window, bool ceil_mode, const Shape& x) {
  COHORT_TRY(const std::size_t rank, spatial_rank(x));
  COHORT_CHECK(check_window(window, rank));
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    if (std::max(window.pad_begin[i], window.pad_end[i]) >= reach)
      return fail(ErrorCode::kInvalidInput, "padding along {} must be less than the window, which reaches over {}",
                  axis_name(i, rank), reach);
  }
  return with_positions({x[0], x[1]}, window, x, ceil_mode);
}

}  // namespace

Result<Shape> output(const Pool& pool, const Shapes& shapes) { return pooled(pool.window, pool.ceil_mode, shapes[0]); }

Result<Shape> output(const MaxPoolIndices& op, const Shapes& shapes) {
  if (element_count(shapes[0]) > INT32_MAX)
    return fail(ErrorCode::kInvalidInput, "positions in {} do not fit 32 bits", to_string(shapes[0]));
  return pooled(op.window, op.ceil_mode, shapes[0]);
}

Result<Shape> output(const Gemm& gemm, const Shapes& shapes) {
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

Result<Shape> output(const BatchNormalization& /*attributes*/, const Shapes& shapes) {
  const Shape& x = shapes[0];
  if (x.size() < 2) return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(x));
  constexpr std::string_view kOperands[] = {"scale", "shift", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i) COHORT_CHECK(expect_shape(kOperands[i - 1], shapes[i], {x[1]}));
  return x;
}

Result<Shape> output(const LocalResponseNormalization& lrn, const Shapes& shapes) {
  if (shapes[0].size() < 2)
    return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(shapes[0]));
  if (lrn.size < 1) return fail(ErrorCode::kInvalidInput, "size must be at least 1, not {}", lrn.size);
  return shapes[0];
}

Result<Shape> output(const Activation& /*attributes*/, const Shapes& shapes) { return shapes[0]; }

Result<Shape> output(const Binary& /*attributes*/, const Shapes& shapes) { return broadcast(shapes[0], shapes[1]); }

Result<Shape> output(const Select& /*attributes*/, const Shapes& shapes) {
  COHORT_TRY(const Shape chosen, broadcast(shapes[1], shapes[2]));
  return broadcast(shapes[0], chosen);
}

Result<Shape> output(const Cast& /*attributes*/, const Shapes& shapes) { return shapes[0]; }

Result<Shape> output(const MatMul& op, const Shapes& shapes) {
  Shape a = shapes[0];
  Shape b = shapes[1];
  for (const Shape* shape : {&a, &b}) {
    if (shape->size() < 2)
      return fail(ErrorCode::kInvalidInput, "takes matrices, or stacks of them, not {}", to_string(*shape));
  }
  if (op.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (op.transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.back() != b[b.size() - 2])
    return fail(ErrorCode::kInvalidInput, "{} has {} columns, but {} has {} rows", to_string(shapes[0]), a.back(),
                to_string(shapes[1]), b[b.size() - 2]);
  const std::int64_t rows = a[a.size() - 2];
  const std::int64_t columns = b.back();
  COHORT_TRY(Shape y, broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  y.push_back(rows);
  y.push_back(columns);
  return y;
}

Result<Shape> output(const GroupNormalization& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  if (x.size() < 2) return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(x));
  if (op.groups < 1 || x[1] % op.groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {}, and {} does not", x[1], op.groups);
  const Shape per_group{op.groups};
  const Shape& expected = shapes[1] == per_group ? per_group : Shape{x[1]};
  COHORT_CHECK(expect_shape("scale", shapes[1], expected));
  COHORT_CHECK(expect_shape("shift", shapes[2], shapes[1]));
  return x;
}

Result<Shape> output(const LayerNormalization& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(check_axis(op.axis, x));
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    COHORT_TRY(const Shape together, broadcast(x, shapes[i]));
    if (together != x)
      return fail(ErrorCode::kInvalidInput, "{} does not repeat to {}", to_string(shapes[i]), to_string(x));
  }
  return x;
}

Result<Shape> output(const Softmax& softmax, const Shapes& shapes) {
  COHORT_CHECK(check_axis(softmax.axis, shapes[0]));
  return shapes[0];
}

Result<Shape> output(const Lstm& lstm, const Shapes& shapes) {
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

Result<Shape> output(const Recurrent& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  constexpr std::int64_t kMostHidden = std::int64_t{1} << 24;
  const std::int64_t hidden = op.hidden;
  if (hidden < 1 || hidden > kMostHidden)
    return fail(ErrorCode::kInvalidInput, "hidden must be from 1 to {}, not {}", kMostHidden, hidden);
  const std::int64_t directions = direction_count(op.direction);
  const std::int64_t rows = gate_count(op.cell) * hidden;
  const bool is_lstm = op.cell == RecurrentCell::kLstm;
  const std::size_t functions = op.cell == RecurrentCell::kRnn ? 1 : op.cell == RecurrentCell::kGru ? 2 : 3;
  if (!op.gates.empty() && op.gates.size() != functions * static_cast<std::size_t>(directions))
    return fail(ErrorCode::kInvalidInput, "needs {} functions for each of {} directions, not {} in all", functions,
                directions, op.gates.size());
  if (!is_lstm && (op.has_cell_state || op.has_peepholes))
    return fail(ErrorCode::kInvalidInput, "only an LSTM has a cell state and peepholes");
  COHORT_CHECK(expect_rank("x", x, 3, "[T, N, I]"));
  COHORT_CHECK(expect_shape("w", shapes[1], {directions, rows, x[2]}));
  COHORT_CHECK(expect_shape("r", shapes[2], {directions, rows, hidden}));
  COHORT_CHECK(expect_shape("b", shapes[3], {directions, 2 * rows}));
  std::size_t next = 4;
  const Shape state{directions, x[1], hidden};
  if (op.has_lengths) COHORT_CHECK(expect_shape("lengths", shapes[next++], {x[1]}));
  if (op.has_state) COHORT_CHECK(expect_shape("initial state", shapes[next++], state));
  if (op.has_cell_state) COHORT_CHECK(expect_shape("initial cell state", shapes[next++], state));
  if (op.has_peepholes) COHORT_CHECK(expect_shape("peepholes", shapes[next++], {directions, 3 * hidden}));
  const std::int64_t last_states = op.final_state ? (is_lstm ? 2 : 1) : 0;
  return Shape{x[0] + last_states, directions, x[1], hidden};
}

}  // namespace infer

namespace {

Result<Shape> infer_shape(const OpAttributes& attributes, const std::vector<Shape>& shapes, std::int64_t least) {
  const InputCounts counts = input_counts(attributes);
  if (shapes.size() < counts.least || shapes.size() > counts.most) {
    if (counts.least == counts.most)
      return fail(ErrorCode::kInvalidInput, "takes {} inputs, not {}", counts.least, shapes.size());
    return fail(ErrorCode::kInvalidInput, "takes {} to {} inputs, not {}", counts.least, counts.most, shapes.size());
  }
  for (const Shape& shape : shapes) COHORT_CHECK(check_shape(shape, least));
  COHORT_TRY(Shape y, std::visit([&](const auto& known) { return infer::output(known, shapes); }, attributes));
  COHORT_CHECK(check_shape(y, least));
  return y;
}

}  // namespace

Result<Shape> infer_shape(const OpAttributes& attributes, const std::vector<Shape>& shapes) {
  return infer_shape(attributes, shapes, 1);
}

Result<Shape> infer_shape_with_zeros(const OpAttributes& attributes, const std::vector<Shape>& shapes) {
  return infer_shape(attributes, shapes, 0);
}

}  // namespace cohort
