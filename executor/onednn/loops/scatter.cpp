#include <algorithm>
#include <optional>

#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/indices.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// y, of adjoining elements, replaced by x or combined with it.
using Write = void (*)(const float* x, std::int64_t count, float* y);

void replace(const float* x, std::int64_t count, float* y) { std::copy_n(x, count, y); }
COHORT_VECTORS void multiply(const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] *= x[i];
}
COHORT_VECTORS void keep_smaller(const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] != y[i] || y[i] < x[i] ? y[i] : x[i];
}
COHORT_VECTORS void keep_larger(const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] != y[i] || y[i] > x[i] ? y[i] : x[i];
}

Write write_of(const std::optional<BinaryKind>& reduction) {
  if (!reduction) return replace;
  if (*reduction == BinaryKind::kAdd) return add_to;
  if (*reduction == BinaryKind::kMul) return multiply;
  return *reduction == BinaryKind::kMin ? keep_smaller : keep_larger;
}

/// Updates [outer, count, inner] of x [outer, extent, inner]; runs of `width` elements have an index of their own.
struct Updates {
  std::int64_t outer = 1, extent = 1, count = 1, inner = 1, width = 1;

  [[nodiscard]] std::int64_t indices() const { return outer * count * inner / width; }

  /// Elements read for a row of x.
  [[nodiscard]] std::int64_t work() const { return inner + inner * count / extent; }

  /// Those that meet rows [begin, end) of the outer * extent.
  void write(Write by, std::int64_t begin, std::int64_t end, const std::int64_t* entries, const float* updates,
             float* y) const {
    const std::int64_t runs = inner / width;
    for (std::int64_t o = begin / extent; o * extent < end; ++o) {
      for (std::int64_t i = o * count * runs; i < (o + 1) * count * runs; ++i) {
        const std::int64_t row = o * extent + entries[i];
        if (row < begin || row >= end) continue;
        by(updates + i * width, width, y + row * inner + i % runs * width);
      }
    }
  }
};

}  // namespace

OwnWays own_ways(const Scatter& op, const OpCall& call, int threads) {
  const bool combines_whole = op.reduction && op.element != ElementType::kFloat32;
  if (!call.post_ops.empty() || !all_row_major(call) || combines_whole) return {};
  const Shape &x = call.outputs[0].shape, updates = view_of(call, 2).shape;
  if (element_count(x) == 0) return {};
  const bool alike = view_of(call, 1).shape[2] == 1;
  const Updates written{x[0], x[1], updates[1], x[2], alike ? x[2] : 1};
  const Write by = write_of(op.reduction);
  const auto loop = [=](const HostArguments& arguments) {
    auto* const entries = reinterpret_cast<std::int64_t*>(arguments.workspace);
    read_indices("Scatter", written.extent, arguments.inputs[1], written.indices(), entries);
    const float *const from = arguments.inputs[0], *const values = arguments.inputs[2];
    float* const to = arguments.outputs[0];
    // An entry may be met several times, in an order that counts: each thread has entries of its own.
    in_parallel(threads, written.outer * written.extent, written.work(), [&](std::int64_t begin, std::int64_t end) {
      std::copy(from + begin * written.inner, from + end * written.inner, to + begin * written.inner);
      written.write(by, begin, end, entries, values, to);
    });
  };
  return {{loop, Bytes{written.indices() * std::int64_t{sizeof(std::int64_t)}}}};
}

}  // namespace cohort::onednn
