#include "executor/onednn/rows.hpp"

#include <algorithm>

#include "executor/onednn/operands.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {

std::optional<Rows> rows_of(const View& view, std::size_t first) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = first; d < view.shape.size(); ++d) {
    if (view.shape[d] > 1) dimensions.push_back(d);
  }
  const std::vector<std::size_t> logical = dimensions;
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  const Shape sample(view.shape.begin() + static_cast<std::ptrdiff_t>(first), view.shape.end());
  const Shape strides = reference::row_major_strides(sample);
  Rows rows;
  std::int64_t next = 1;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const std::size_t d = dimensions[i];
    if (view.strides[d] != next) return std::nullopt;
    next *= view.shape[d];
    rows.order.insert(rows.order.begin(), view.shape[d]);
    rows.from.insert(rows.from.begin(), strides[d - first]);
  }
  rows.logical = dimensions == logical;
  return rows;
}

Binding bind_reordered(int argument, std::size_t operand, const View& view) {
  Binding binding = bind_input(argument, operand, describe(view));
  binding.staged = true;
  binding.staged_order = describe_dense(view.shape);
  return binding;
}

Implementations in_turn(const Implementations& a, const Implementations& b) {
  Implementations list;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) list.push_back(a[i]);
    if (i < b.size()) list.push_back(b[i]);
  }
  return list;
}

}  // namespace cohort::onednn
