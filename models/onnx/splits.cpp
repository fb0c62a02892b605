#include "models/onnx/splits.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace cohort::onnx {
namespace {

/// The one axis that the slice does not have all of, where it takes neighbours and does nothing else.
std::optional<std::size_t> cut_axis(const Op& op, const TensorSlice& slice, const Shape& x) {
  if (!op.post_ops.empty()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (slice.step[d] != 1) return std::nullopt;
    if (slice.count[d] == x[d]) continue;
    if (axis) return std::nullopt;
    axis = d;
  }
  return axis;
}

const TensorSlice& slice_of(const Model& model, OpId id) { return std::get<TensorSlice>(model.op(id).attributes); }

/// Whether the slices, in order, go from the axis' first entry to its last without a gap.
bool are_all(const Model& model, const Split& split, std::int64_t extent) {
  const auto axis = static_cast<std::size_t>(split.axis);
  std::int64_t next = 0;
  for (const OpId id : split.slices) {
    const TensorSlice& slice = slice_of(model, id);
    if (slice.start[axis] != next) return false;
    next += slice.count[axis];
  }
  return next == extent;
}

}  // namespace

std::vector<Split> find_splits(const Model& model) {
  std::map<std::pair<TensorId, std::size_t>, Split> found;
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const Op& op = model.ops[i];
    const auto* slice = std::get_if<TensorSlice>(&op.attributes);
    if (slice == nullptr) continue;
    const auto axis = cut_axis(op, *slice, model.tensor(op.inputs[0]).shape);
    if (!axis) continue;
    Split& split = found[{op.inputs[0], *axis}];
    split.axis = static_cast<std::int64_t>(*axis);
    split.slices.push_back(static_cast<OpId>(i));
  }
  std::vector<Split> splits;
  for (auto& [place, split] : found) {
    const auto& [x, axis] = place;
    std::stable_sort(split.slices.begin(), split.slices.end(), [&, at = axis](OpId a, OpId b) {
      return slice_of(model, a).start[at] < slice_of(model, b).start[at];
    });
    if (are_all(model, split, model.tensor(x).shape[axis])) splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace cohort::onnx
