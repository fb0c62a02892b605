// Layer normalisation and its gradients, over rows whose elements adjoin in memory.

#include <algorithm>
#include <array>
#include <cmath>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

struct Moments {
  float mean, inverse;  ///< of the standard deviation
};

COHORT_VECTORS Moments moments_of(const float* x, std::int64_t count, float epsilon) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(count);
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1.0F / std::sqrt(squares / static_cast<float>(count) + epsilon)};
}

/// As if the mean were 0.
COHORT_VECTORS Moments root_mean_square_of(const float* x, std::int64_t count, float epsilon) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < count; ++i) squares += x[i] * x[i];
  return {0, 1.0F / std::sqrt(squares / static_cast<float>(count) + epsilon)};
}

/// `shift` may be null.
COHORT_VECTORS void normalize_row(const float* x, Moments m, const float* scale, const float* shift, std::int64_t count,
                                  float* y) {
  if (shift == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - m.mean) * m.inverse * scale[i];
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - m.mean) * m.inverse * scale[i] + shift[i];
}

/// dx of one row.
COHORT_VECTORS void gradient_row(const float* x, const float* scale, const float* dy, std::int64_t count, float epsilon,
                                 float* dx) {
  const Moments m = moments_of(x, count, epsilon);
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t i = 0; i < count; ++i) {
    const float given = dy[i] * scale[i];
    sum += given;
    product += given * (x[i] - m.mean);
  }
  const auto n = static_cast<float>(count);
  const float mean_given = sum / n, slope = product * m.inverse * m.inverse / n;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    dx[i] = m.inverse * (dy[i] * scale[i] - mean_given - (x[i] - m.mean) * slope);
}

/// Adds one row to the sums of dscale and dshift.
COHORT_VECTORS void add_row(const float* x, const float* dy, std::int64_t count, float epsilon, float* scale,
                            float* shift) {
  const Moments m = moments_of(x, count, epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    scale[i] += dy[i] * (x[i] - m.mean) * m.inverse;
    shift[i] += dy[i];
  }
}

}  // namespace

OwnWays own_ways(const LayerNormalization& op, const OpCall& call, int threads) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  const auto from = x != nullptr ? as_matrix(*x, axis) : std::nullopt;
  const auto to = as_matrix(call.outputs[0], axis);
  if (!from || !to || !call.post_ops.empty()) return {};
  const std::size_t count = own_input_count(call);
  for (std::size_t i = 1; i < count; ++i) {  // one value for each column
    if (!is_dense_row(call.inputs[i], x->shape, axis)) return {};
  }
  return {{[matrix = *from, epsilon = op.epsilon, centred = op.centred, to = to->distance, shifted = count > 2,
            threads](const HostArguments& arguments) {
    in_parallel(threads, matrix.rows, 2 * matrix.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* const first = arguments.inputs[0] + row * matrix.distance;
        const Moments m =
            centred ? moments_of(first, matrix.columns, epsilon) : root_mean_square_of(first, matrix.columns, epsilon);
        normalize_row(first, m, arguments.inputs[1], shifted ? arguments.inputs[2] : nullptr, matrix.columns,
                      arguments.outputs[0] + row * to);
      }
    });
  }}};
}

OwnWays own_ways(const LayerNormalizationGradient& op, const OpCall& call, int threads) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const View scale = view_of(call, 1), dy = view_of(call, 2), x = view_of(call, 0), &dx = call.outputs[0];
  const auto from = as_matrix(x, axis), by = as_matrix(dy, axis), to = as_matrix(dx, axis);
  if (!from || !by || !to || !as_matrix(scale, 0) || !call.post_ops.empty()) return {};
  return {{[matrix = *from, epsilon = op.epsilon, by = by->distance, to = to->distance,
            threads](const HostArguments& arguments) {
    in_parallel(threads, matrix.rows, 4 * matrix.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        gradient_row(arguments.inputs[0] + row * matrix.distance, arguments.inputs[1], arguments.inputs[2] + row * by,
                     matrix.columns, epsilon, arguments.outputs[0] + row * to);
    });
  }}};
}

OwnWays own_ways(const LayerNormalizationWeightGradient& op, const OpCall& call, int threads) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const View x = view_of(call, 0), dy = view_of(call, 1);
  const auto from = as_matrix(x, axis), by = as_matrix(dy, axis);
  if (!from || !by || !call.post_ops.empty() || call.outputs[0].strides[0] != 1) return {};
  const MatrixView matrix = *from;
  const std::int64_t parts = std::clamp<std::int64_t>(matrix.rows * matrix.columns / kGrain, 1, threads);
  const std::int64_t place = pack_place(matrix.columns), size = 2 * place;
  const auto loop = [=, epsilon = op.epsilon, by = by->distance](const HostArguments& arguments) {
    auto* const sums = reinterpret_cast<float*>(arguments.workspace);
    float* const pack = arguments.outputs[0];
    // The first part's sums are in the pack itself.
    in_parallel(static_cast<int>(parts), parts, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part) {
        float* const to = part == 0 ? pack : sums + (part - 1) * size;
        std::fill_n(to, size, 0.0F);
        for (std::int64_t row = matrix.rows * part / parts; row < matrix.rows * (part + 1) / parts; ++row)
          add_row(arguments.inputs[0] + row * matrix.distance, arguments.inputs[1] + row * by, matrix.columns, epsilon,
                  to, to + place);
      }
    });
    for (std::int64_t part = 1; part < parts; ++part) {
      for (std::int64_t i = 0; i < size; ++i) pack[i] += sums[(part - 1) * size + i];
    }
  };
  return {{loop, Bytes{(parts - 1) * size * std::int64_t{sizeof(float)}}}};
}

}  // namespace cohort::onednn
