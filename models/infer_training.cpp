#include <algorithm>

#include "models/infer.hpp"

namespace cohort::infer {

namespace {

Result<void> expect_channels(const Shape& x) {
  if (x.size() >= 2) return {};
  return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(x));
}

Shape packed(const std::vector<Shape>& parts) { return {pack_of(parts).size}; }

/// Axes from `axis` on.
Shape from_axis(const Shape& shape, std::int64_t axis) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()};
}

/// `shape`, behind the model axis of `x` where there is one.
Shape behind_models(bool stacked, const Shape& x, Shape shape) {
  if (stacked && !x.empty()) shape.insert(shape.begin(), x[0]);
  return shape;
}

}  // namespace

Result<Shape> output(const Pack& op, const Shapes& shapes) {
  if (op.offsets.size() != shapes.size())
    return fail(ErrorCode::kInvalidInput, "offsets must have an entry for each of the {} inputs, not {}", shapes.size(),
                op.offsets.size());
  struct Part {
    std::int64_t begin = 0, end = 0;
    std::size_t input = 0;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::int64_t count = element_count(shapes[i]);
    if (op.offsets[i] < 0 || count > op.size || op.offsets[i] > op.size - count)
      return fail(ErrorCode::kInvalidInput, "input {} of {} elements does not fit at {} into a pack of {}", i, count,
                  op.offsets[i], op.size);
    parts.push_back({op.offsets[i], op.offsets[i] + count, i});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin < parts[i - 1].end)
      return fail(ErrorCode::kInvalidInput, "input {} begins at {} of the pack, within input {}, which ends at {}",
                  parts[i].input, parts[i].begin, parts[i - 1].input, parts[i - 1].end);
  }
  return Shape{op.size};
}

Result<Shape> output(const Unpack& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  if (x.size() != 1 && x.size() != 2)
    return fail(ErrorCode::kInvalidInput, "x must be a pack [P] or a state [R, P], not {}", to_string(x));
  COHORT_CHECK(check_shape(op.shape));
  const std::int64_t count = element_count(op.shape);
  if (op.offset < 0 || count > x.back() || op.offset > x.back() - count)
    return fail(ErrorCode::kInvalidInput, "{} from element {} on does not fit into the {} that are packed in {}",
                to_string(op.shape), op.offset, x.back(), to_string(x));
  return op.shape;
}

Result<Shape> output(const ConvolutionWeightGradient& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  const Shape& dy = shapes[1];
  if (x.size() < 3) return fail(ErrorCode::kInvalidInput, "x must be [N, C, H, W], not {}", to_string(x));
  COHORT_CHECK(expect_rank("dy", dy, x.size(), "[N, K, P, Q], with as many dimensions as x"));
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (op.models < 1 || op.models > kMost || op.groups < 1 || op.groups > kMost)
    return fail(ErrorCode::kInvalidInput, "models and groups must be from 1 to {}, not {} and {}", kMost, op.models,
                op.groups);
  if (dy[1] % op.models != 0 || (!op.shared_input && x[1] % op.models != 0))
    return fail(ErrorCode::kInvalidInput, "models must divide the channels {} of x and {} of dy, and {} does not", x[1],
                dy[1], op.models);
  // The convolution of one model.
  Shape own = x;
  if (!op.shared_input) own[1] /= op.models;
  if (own[1] % op.groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {}, and {} does not", own[1], op.groups);
  const std::int64_t outputs = dy[1] / op.models;
  Shape w{outputs, own[1] / op.groups};
  w.insert(w.end(), op.window.kernel.begin(), op.window.kernel.end());
  COHORT_TRY(Shape y, output(Convolution{op.window, op.groups}, {own, w}));
  y[1] *= op.models;
  COHORT_CHECK(expect_shape("dy", dy, y));
  Shape size = packed(op.bias ? std::vector<Shape>{w, {outputs}} : std::vector<Shape>{w});
  if (op.models > 1) size.insert(size.begin(), op.models);
  return size;
}

Result<Shape> output(const GemmWeightGradient& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  const Shape& dy = shapes[1];
  const std::size_t lead = op.stacked ? 1 : 0;
  if (x.size() < lead + 1)
    return fail(ErrorCode::kInvalidInput, "x must be {}, not {}", op.stacked ? "[M, N, ...]" : "[N, ...]",
                to_string(x));
  COHORT_CHECK(expect_rank("dy", dy, lead + 2, op.stacked ? "[M, N, O]" : "[N, O]"));
  Shape expected(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lead) + 1);
  expected.push_back(dy.back());
  COHORT_CHECK(expect_shape("dy", dy, expected));
  const Shape w{dy.back(), element_count(from_axis(x, static_cast<std::int64_t>(lead) + 1))};
  const Shape size = packed(op.bias ? std::vector<Shape>{w, {dy.back()}} : std::vector<Shape>{w});
  return behind_models(op.stacked, x, size);
}

Result<Shape> output(const PoolGradient& op, const Shapes& shapes) {
  const Shape& dy = shapes[0];
  if (dy.size() != op.extents.size() + 2)
    return fail(ErrorCode::kInvalidInput, "dy must be [N, C, P, Q], with an axis for each of the {} extents, not {}",
                op.extents.size(), to_string(dy));
  COHORT_CHECK(check_shape(op.extents));
  Shape x{dy[0], dy[1]};
  x.insert(x.end(), op.extents.begin(), op.extents.end());
  COHORT_CHECK(check_shape(x));
  COHORT_TRY(const Shape y, output(op.pool, {x}));
  COHORT_CHECK(expect_shape("dy", dy, y));
  if (shapes.size() > 1) COHORT_CHECK(expect_shape("x", shapes[1], x));
  return x;
}

Result<Shape> output(const ActivationGradient& op, const Shapes& shapes) {
  COHORT_CHECK(expect_shape("dy", shapes[1], shapes[0]));
  return output(op.activation, shapes);
}

Result<Shape> output(const SoftmaxGradient& op, const Shapes& shapes) {
  COHORT_CHECK(check_axis(op.axis, shapes[0]));
  COHORT_CHECK(expect_shape("dy", shapes[1], shapes[0]));
  return shapes[0];
}

Result<Shape> output(const SoftmaxCrossEntropy& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  const std::size_t lead = op.stacked ? 1 : 0;
  if (x.size() < lead + 2)
    return fail(ErrorCode::kInvalidInput, "x must be {}, not {}", op.stacked ? "[M, N, K, ...]" : "[N, K, ...]",
                to_string(x));
  Shape labels = x;
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(lead) + 1);
  COHORT_CHECK(expect_shape("labels", shapes[1], labels));
  return behind_models(op.stacked, x, {1});
}

Result<Shape> output(const SoftmaxCrossEntropyGradient& op, const Shapes& shapes) {
  COHORT_CHECK(output(op.loss, shapes));
  return shapes[0];
}

Result<Shape> output(const BatchStatistics& /*op*/, const Shapes& shapes) {
  COHORT_CHECK(expect_channels(shapes[0]));
  return Shape{2, shapes[0][1]};
}

Result<Shape> output(const NormalizeByStatistics& /*op*/, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_channels(x));
  COHORT_CHECK(expect_shape("scale", shapes[1], {x[1]}));
  COHORT_CHECK(expect_shape("shift", shapes[2], {x[1]}));
  COHORT_CHECK(expect_shape("statistics", shapes[3], {2, x[1]}));
  return x;
}

Result<Shape> output(const BatchNormalizationWeightGradient& /*op*/, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_channels(x));
  COHORT_CHECK(expect_shape("statistics", shapes[1], {2, x[1]}));
  COHORT_CHECK(expect_shape("dy", shapes[2], x));
  return packed({{x[1]}, {x[1]}});
}

Result<Shape> output(const BatchNormalizationGradient& /*op*/, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_channels(x));
  COHORT_CHECK(expect_shape("scale", shapes[1], {x[1]}));
  COHORT_CHECK(expect_shape("statistics", shapes[2], {2, x[1]}));
  COHORT_CHECK(expect_shape("dy", shapes[3], x));
  COHORT_CHECK(expect_shape("the pack of dscale and dshift", shapes[4], packed({{x[1]}, {x[1]}})));
  return x;
}

Result<Shape> output(const LayerNormalizationGradient& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(check_axis(op.axis, x));
  COHORT_CHECK(expect_shape("scale", shapes[1], from_axis(x, op.axis)));
  COHORT_CHECK(expect_shape("dy", shapes[2], x));
  return x;
}

Result<Shape> output(const LayerNormalizationWeightGradient& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(check_axis(op.axis, x));
  COHORT_CHECK(expect_shape("dy", shapes[1], x));
  return packed({from_axis(x, op.axis), from_axis(x, op.axis)});
}

Result<Shape> output(const GroupNormalizationGradient& op, const Shapes& shapes) {
  COHORT_TRY(const Shape y, output(GroupNormalization{op.groups, op.epsilon}, {shapes[0], shapes[1], shapes[1]}));
  COHORT_CHECK(expect_shape("dy", shapes[2], y));
  return y;
}

Result<Shape> output(const GroupNormalizationWeightGradient& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  COHORT_CHECK(expect_channels(x));
  if (op.groups < 1 || x[1] % op.groups != 0)
    return fail(ErrorCode::kInvalidInput, "groups must divide C = {}, and {} does not", x[1], op.groups);
  COHORT_CHECK(expect_shape("dy", shapes[1], x));
  const Shape part{op.per_group ? op.groups : x[1]};
  return packed({part, part});
}

Result<Shape> output(const LocalResponseNormalizationGradient& op, const Shapes& shapes) {
  COHORT_CHECK(expect_shape("dy", shapes[1], shapes[0]));
  return output(op.normalization, shapes);
}

Result<Shape> output(const LstmGradient& op, const Shapes& shapes) {
  COHORT_TRY(const Shape y, output(Lstm{op.hidden}, shapes));
  COHORT_CHECK(expect_shape("y", shapes[4], y));
  COHORT_CHECK(expect_shape("dy", shapes[5], y));
  return packed({shapes[0], shapes[1], shapes[2], shapes[3]});
}

Result<Shape> output(const RecurrentGradient& op, const Shapes& shapes) {
  COHORT_TRY(const Shape y, output(op.layer, shapes));
  const std::size_t own = shapes.size() - 2;
  COHORT_CHECK(expect_shape("y", shapes[own], y));
  COHORT_CHECK(expect_shape("dy", shapes[own + 1], y));
  std::vector<Shape> parts;
  for (std::size_t i = 0; i < own; ++i) {
    if (!op.layer.has_lengths || i != 4) parts.push_back(shapes[i]);
  }
  return packed(parts);
}

Result<Shape> output(const GatherGradient& op, const Shapes& shapes) {
  const Shape& indices = shapes[0];
  const Shape& dy = shapes[1];
  const std::size_t most = dy.size() - std::min(indices.size(), dy.size());
  if (indices.size() > dy.size() || op.axis < 0 || op.axis > static_cast<std::int64_t>(most))
    return fail(ErrorCode::kInvalidInput, "dy must have the axes of the indices, {}, from axis {} on; it is {}",
                to_string(indices), op.axis, to_string(dy));
  const auto first = static_cast<std::ptrdiff_t>(op.axis);
  const auto behind = first + static_cast<std::ptrdiff_t>(indices.size());
  Shape expected(dy.begin(), dy.begin() + first);
  expected.insert(expected.end(), indices.begin(), indices.end());
  expected.insert(expected.end(), dy.begin() + behind, dy.end());
  COHORT_CHECK(expect_shape("dy", dy, expected));
  Shape x(dy.begin(), dy.begin() + first);
  x.push_back(op.extent);
  x.insert(x.end(), dy.begin() + behind, dy.end());
  return x;
}

Result<Shape> output(const TensorSliceGradient& op, const Shapes& shapes) {
  COHORT_CHECK(check_shape(op.shape));
  if (shapes[0].size() != op.shape.size())
    return fail(ErrorCode::kInvalidInput, "dy must have the {} axes of x {}, not {}", op.shape.size(),
                to_string(op.shape), to_string(shapes[0]));
  COHORT_CHECK(output(TensorSlice{op.start, op.step, shapes[0]}, {op.shape}));
  return op.shape;
}

Result<Shape> output(const ResizeGradient& op, const Shapes& shapes) {
  COHORT_CHECK(check_shape(op.shape));
  COHORT_TRY(const Shape y, output(op.resize, {op.shape}));
  COHORT_CHECK(expect_shape("dy", shapes[0], y));
  return op.shape;
}

Result<Shape> output(const Dropout& op, const Shapes& shapes) {
  const Shape& x = shapes[0];
  if (op.stacked && x.empty()) return fail(ErrorCode::kInvalidInput, "x must be [M, ...], not {}", to_string(x));
  COHORT_CHECK(expect_shape("rate", shapes[1], behind_models(op.stacked, x, {1})));
  COHORT_CHECK(expect_shape("key", shapes[2], behind_models(op.stacked, x, {4})));
  return x;
}

Result<Shape> output(const Update& op, const Shapes& shapes) {
  const Shape& state = shapes[0];
  if ((op.momentum && op.rule != UpdateRule::kSgd) || (op.nesterov && !op.momentum))
    return fail(ErrorCode::kInvalidInput, "only SGD has momentum, and only with momentum can it be Nesterov's");
  COHORT_CHECK(expect_rank("state", state, op.stacked ? 3 : 2, op.stacked ? "[M, R, P]" : "[R, P]"));
  if (state[state.size() - 2] != state_rows(op))
    return fail(ErrorCode::kInvalidInput, "state must have {} rows for this rule, and {} has {}", state_rows(op),
                to_string(state), state[state.size() - 2]);
  COHORT_CHECK(expect_shape("gradient", shapes[1], behind_models(op.stacked, state, {state.back()})));
  COHORT_CHECK(expect_shape("settings", shapes[2], behind_models(op.stacked, state, {kSettingCount})));
  if (op.clip) COHORT_CHECK(expect_shape("the gradient's norm", shapes[3], behind_models(op.stacked, state, {1})));
  return state;
}

Result<Shape> output(const RunningAverage& op, const Shapes& shapes) {
  COHORT_CHECK(expect_rank("state", shapes[0], op.stacked ? 2 : 1, op.stacked ? "[M, S]" : "[S]"));
  COHORT_CHECK(expect_shape("value", shapes[1], shapes[0]));
  return shapes[0];
}

}  // namespace cohort::infer
