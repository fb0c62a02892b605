#include "models/padding.hpp"
#include "models/training/rules.hpp"

namespace cohort::training {

Result<void> gradient(const Concat& op, OpGradient& at) {
  const TensorId dy = at.dy();
  const auto axis = static_cast<std::size_t>(op.axis);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < at.input_count(); ++i) {
    const Shape shape = at.x_shape(i);
    TensorSlice slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
    slice.start[axis] = start;
    start += shape[axis];
    if (!at.wants(i)) continue;
    at.give(i, shape == at.y_shape() ? dy : at.add(fmt::format("dx{}", i), std::move(slice), {dy}));
  }
  return {};
}

Result<void> gradient(const Reshape& /*op*/, OpGradient& at) {
  if (const auto uniform = at.uniform_dy()) {
    at.give_uniform(0, *uniform);
    return {};
  }
  at.give(0, at.reshape("dx", at.dy(), at.x_shape(0)));
  return {};
}

Result<void> gradient(const Transpose& op, OpGradient& at) {
  Transpose back{std::vector<std::int64_t>(op.permutation.size())};
  for (std::size_t d = 0; d < op.permutation.size(); ++d)
    back.permutation[static_cast<std::size_t>(op.permutation[d])] = static_cast<std::int64_t>(d);
  at.give(0, at.add("dx", std::move(back), {at.dy()}));
  return {};
}

Result<void> gradient(const TensorSlice& op, OpGradient& at) {
  const Shape x = at.x_shape(0);
  Pad pad;
  bool is_block = true;
  for (std::size_t d = 0; d < x.size(); ++d) {
    is_block = is_block && (op.step[d] == 1 || op.count[d] == 1);
    pad.begin.push_back(op.start[d]);
    pad.end.push_back(x[d] - op.start[d] - op.count[d]);
  }
  const TensorId dy = at.dy();
  at.give(
      0, is_block ? at.add("dx", std::move(pad), {dy}) : at.add("dx", TensorSliceGradient{op.start, op.step, x}, {dy}));
  return {};
}

/// Padding by a constant is undone by the opposite one. The others gather along each axis in turn.
Result<void> gradient(const Pad& op, OpGradient& at) {
  TensorId dx = at.dy();
  if (op.mode == PadMode::kConstant) {
    Pad back;
    for (const std::int64_t pad : op.begin) back.begin.push_back(-pad);
    for (const std::int64_t pad : op.end) back.end.push_back(-pad);
    at.give(0, at.add("dx", std::move(back), {dx}));
    return {};
  }
  for (std::size_t d = 0; d < op.begin.size(); ++d) {
    if (op.begin[d] == 0 && op.end[d] == 0) continue;
    const std::int64_t extent = at.x_shape(0)[d];
    const TensorId indices = at.whole_constant(fmt::format("from{}", d), padded_from(op, d, extent));
    dx = at.add(fmt::format("dx.axis{}", d), GatherGradient{static_cast<std::int64_t>(d), extent}, {indices, dx});
  }
  at.give(0, dx);
  return {};
}

Result<void> gradient(const Gather& op, OpGradient& at) {
  const std::int64_t extent = at.x_shape(0)[static_cast<std::size_t>(op.axis)];
  at.give(0, at.add("dx", GatherGradient{op.axis, extent}, {at.x(1), at.dy()}));
  return {};
}

namespace {

/// Of x [O, E, I] the elements that a Scatter's updates go to, whose indices are [O, n, I or 1]: [O, n, I].
TensorId scattered_to(OpGradient& at, std::string_view what, TensorId x, const Shape& shape) {
  const auto name = [&](std::string_view suffix) { return fmt::format("{}.{}", what, suffix); };
  std::vector<std::int64_t> rows, others;
  for (std::int64_t e = 0; e < shape[1]; ++e) rows.push_back(e * shape[2]);
  for (std::int64_t o = 0; o < shape[0]; ++o) {
    for (std::int64_t i = 0; i < shape[2]; ++i) others.push_back(o * shape[1] * shape[2] + i);
  }
  const TensorId row = at.add(name("rows"), Gather{0}, {at.whole_constant(name("starts"), rows), at.x(1)});
  const TensorId other = at.reshape(name("across"), at.whole_constant(name("others"), others), {shape[0], 1, shape[2]});
  const TensorId places = at.add(name("places"), Binary{BinaryKind::kAdd, ElementType::kInt32}, {row, other});
  return at.add(name("taken"), Gather{0}, {at.reshape(name("flat"), x, {element_count(shape)}), places});
}

/// Whether each update is the last that meets its element and stays, int32, of the indices' shape.
TensorId stays(OpGradient& at) {
  constexpr auto kWhole = ElementType::kInt32;
  const Shape indices = at.x_shape(1), entries{indices[0], at.x_shape(0)[1], indices[2]};
  std::vector<std::int64_t> numbers;
  for (std::int64_t j = 0; j < indices[1]; ++j) numbers.push_back(j);
  const TensorId column = at.reshape("column", at.whole_constant("numbers", numbers), {1, indices[1], 1});
  const TensorId number = at.add("number", Expand{indices}, {column});
  const TensorId none = at.add("none", Expand{entries}, {at.whole_constant("zero", {0})});
  const TensorId last = at.add("last", Scatter{std::nullopt, kWhole}, {none, at.x(1), number});
  return at.add("stays", Binary{BinaryKind::kEqual, kWhole}, {scattered_to(at, "winner", last, entries), number});
}

}  // namespace

/// Of a sum, or of updates that stay.
Result<void> gradient(const Scatter& op, OpGradient& at) {
  if (op.reduction && *op.reduction != BinaryKind::kAdd) return at.refuse();
  const TensorId dy = at.dy();
  const Shape x = at.x_shape(0), updates = at.x_shape(2);
  if (at.wants(0) && op.reduction) at.give(0, dy);
  if (at.wants(0) && !op.reduction) {
    const TensorId nothing = at.add("nothing", Expand{updates}, {at.scalar(0)});
    at.give(0, at.add("dx", Scatter{}, {dy, at.x(1), nothing}));
  }
  if (!at.wants(2)) return {};
  TensorId d_updates = scattered_to(at, "dy", dy, x);
  if (!op.reduction) d_updates = at.add("du", Select{}, {stays(at), d_updates, at.scalar(0)});
  at.give(2, d_updates);
  return {};
}

Result<void> gradient(const Expand& /*op*/, OpGradient& at) {
  at.give_sum(0, at.dy());
  return {};
}

/// Each repeated axis as two: repeats and the extent; summed over the repeats.
Result<void> gradient(const Tile& op, OpGradient& at) {
  const Shape x = at.x_shape(0);
  Shape split;
  Reduce sum{ReduceKind::kSum, {}, false};
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (op.repeats[d] != 1) {
      sum.axes.push_back(static_cast<std::int64_t>(split.size()));
      split.push_back(op.repeats[d]);
    }
    split.push_back(x[d]);
  }
  if (sum.axes.empty()) {
    at.give(0, at.dy());
    return {};
  }
  const TensorId repeats = at.reshape("repeats", at.dy(), std::move(split));
  at.give(0, at.add("dx", std::move(sum), {repeats}));
  return {};
}

Result<void> gradient(const Resize& op, OpGradient& at) {
  at.give(0, at.add("dx", ResizeGradient{op, at.x_shape(0)}, {at.dy()}));
  return {};
}

}  // namespace cohort::training
