// Softmax losses and gradients along an axis whose elements lie at one distance.

#include <algorithm>
#include <array>
#include <cmath>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

COHORT_VECTORS float largest_of(const float* x, std::int64_t count) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

COHORT_VECTORS float sum_of_exp(const float* x, std::int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += vector_exp(x[i] - largest);
  return sum;
}

/// y = factor * exp(x - shift)
COHORT_VECTORS void scaled_exp(const float* x, std::int64_t count, float shift, float factor, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = factor * vector_exp(x[i] - shift);
}

COHORT_VECTORS float product_of(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

COHORT_VECTORS float plain_sum(const float* x, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

COHORT_VECTORS void softmax_gradient(const float* y, const float* dy, std::int64_t count, float sum, float* dx) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] * (dy[i] - sum);
}

COHORT_VECTORS void log_softmax_gradient(const float* y, const float* dy, std::int64_t count, float sum, float* dx) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] - vector_exp(y[i]) * sum;
}

/// Rows of classes: [M, N, K, ...] of which all but M and K count as samples.
struct Rows {
  std::int64_t members = 1, samples = 1, classes = 1;
  std::int64_t x_member = 0, x_sample = 0, dx_member = 0, dx_sample = 0, label_member = 0, label_sample = 0;
};

/// Empty where a sample's classes do not adjoin, or samples do not lie at one distance: of images in the layout where
/// channels adjoin, and of matrices.
std::optional<Rows> rows_of(const View& x, const View& dx, const View& labels, bool stacked) {
  const std::size_t lead = stacked ? 1 : 0, axis = lead + 1;
  Rows rows;
  rows.members = stacked ? x.shape[0] : 1;
  rows.classes = x.shape[axis];
  const auto distance = [&](const View& view, bool has_classes) -> std::optional<std::int64_t> {
    if (has_classes && view.shape[axis] > 1 && view.strides[axis] != 1) return std::nullopt;
    std::int64_t count = 1, step = 0;
    for (std::size_t d = view.shape.size(); d-- > lead;) {
      if ((has_classes && d == axis) || view.shape[d] == 1) continue;
      if (count == 1) step = view.strides[d];
      if (view.strides[d] != count * step) return std::nullopt;
      count *= view.shape[d];
    }
    return step;
  };
  const auto from = distance(x, true), to = distance(dx, true), of_labels = distance(labels, false);
  if (!from || !to || !of_labels) return std::nullopt;
  rows.samples = element_count(x.shape) / (rows.members * rows.classes);
  rows.x_sample = *from;
  rows.dx_sample = *to;
  rows.label_sample = *of_labels;
  if (!stacked || rows.members == 1) return rows;
  rows.x_member = x.strides[0];
  rows.dx_member = dx.strides[0];
  rows.label_member = labels.strides[0];
  return rows;
}

/// The class of a sample; absent where it does not count.
std::optional<std::int64_t> class_of(const SoftmaxCrossEntropy& op, float label, std::int64_t classes) {
  const std::int32_t value = reference::whole(label);
  if (op.ignored && value == *op.ignored) return std::nullopt;
  if (value >= 0 && value < classes) return value;
  throw DeviceError(fmt::format("SoftmaxCrossEntropy: label {} is none of 0 to {}", value, classes - 1));
}

/// Samples of member `m` that count. Throws where a label is out of range.
std::int64_t counted(const SoftmaxCrossEntropy& op, const Rows& rows, const float* labels) {
  std::int64_t count = 0;
  for (std::int64_t n = 0; n < rows.samples; ++n) {
    if (class_of(op, labels[n * rows.label_sample], rows.classes)) ++count;
  }
  return count;
}

void loss(const SoftmaxCrossEntropy& op, const Rows& rows, int threads, std::int64_t y_step,
          const HostArguments& arguments) {
  auto* const losses = reinterpret_cast<float*>(arguments.workspace);
  for (std::int64_t m = 0; m < rows.members; ++m) {
    const float* const x = arguments.inputs[0] + m * rows.x_member;
    const float* const labels = arguments.inputs[1] + m * rows.label_member;
    const std::int64_t count = counted(op, rows, labels);
    in_parallel(threads, rows.samples, 8 * rows.classes, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const float* const row = x + n * rows.x_sample;
        const std::optional<std::int64_t> right = class_of(op, labels[n * rows.label_sample], rows.classes);
        losses[n] = 0;
        if (!right) continue;
        const float largest = largest_of(row, rows.classes);
        losses[n] = std::log(sum_of_exp(row, rows.classes, largest)) - (row[*right] - largest);
      }
    });
    double sum = 0;
    for (std::int64_t n = 0; n < rows.samples; ++n) sum += static_cast<double>(losses[n]);
    if (op.reduction == LossReduction::kMean) sum /= static_cast<double>(std::max<std::int64_t>(count, 1));
    arguments.outputs[0][m * y_step] = static_cast<float>(sum);
  }
}

void loss_gradient(const SoftmaxCrossEntropy& op, const Rows& rows, int threads, const HostArguments& arguments) {
  for (std::int64_t m = 0; m < rows.members; ++m) {
    const float* const x = arguments.inputs[0] + m * rows.x_member;
    const float* const labels = arguments.inputs[1] + m * rows.label_member;
    float* const dx = arguments.outputs[0] + m * rows.dx_member;
    const std::int64_t count = counted(op, rows, labels);
    const float factor =
        op.reduction == LossReduction::kMean ? 1.0F / static_cast<float>(std::max<std::int64_t>(count, 1)) : 1.0F;
    in_parallel(threads, rows.samples, 8 * rows.classes, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const float* const row = x + n * rows.x_sample;
        float* const to = dx + n * rows.dx_sample;
        const std::optional<std::int64_t> right = class_of(op, labels[n * rows.label_sample], rows.classes);
        if (!right) {
          std::fill_n(to, rows.classes, 0.0F);
          continue;
        }
        const float largest = largest_of(row, rows.classes);
        scaled_exp(row, rows.classes, largest, factor / sum_of_exp(row, rows.classes, largest), to);
        to[*right] -= factor;
      }
    });
  }
}

}  // namespace

OwnWays own_ways(const SoftmaxGradient& op, const OpCall& call, int threads) {
  const View y = view_of(call, 0), dy = view_of(call, 1), &dx = call.outputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t classes = dx.shape[axis];
  if (!call.post_ops.empty() || element_count(dx.shape) == 0) return {};
  // All but the axis is rows, at one distance in all three, where the axis lies innermost.
  std::array<std::int64_t, 3> steps{};
  const std::array<const View*, 3> views{&y, &dy, &dx};
  for (std::size_t i = 0; i < views.size(); ++i) {
    const View& view = *views[i];
    if (classes > 1 && view.strides[axis] != 1) return {};
    std::int64_t count = 1;
    for (std::size_t d = view.shape.size(); d-- > 0;) {
      if (d == axis || view.shape[d] == 1) continue;
      if (count == 1) steps[i] = view.strides[d];
      if (view.strides[d] != count * steps[i]) return {};
      count *= view.shape[d];
    }
  }
  const std::int64_t rows = element_count(dx.shape) / classes;
  return {{[=, logarithm = op.logarithm](const HostArguments& arguments) {
    in_parallel(threads, rows, classes, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* const from = arguments.inputs[0] + row * steps[0];
        const float* const by = arguments.inputs[1] + row * steps[1];
        float* const to = arguments.outputs[0] + row * steps[2];
        if (logarithm) {
          log_softmax_gradient(from, by, classes, plain_sum(by, classes), to);
        } else {
          softmax_gradient(from, by, classes, product_of(from, by, classes), to);
        }
      }
    });
  }}};
}

OwnWays own_ways(const SoftmaxCrossEntropy& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), labels = view_of(call, 1);
  const std::optional<Rows> rows = rows_of(x, x, labels, op.stacked);
  if (!rows || !call.post_ops.empty()) return {};
  const std::int64_t y_step = op.stacked && rows->members > 1 ? call.outputs[0].strides[0] : 0;
  return {{[=, rows = *rows](const HostArguments& arguments) { loss(op, rows, threads, y_step, arguments); },
           Bytes{rows->samples * std::int64_t{sizeof(float)}}}};
}

OwnWays own_ways(const SoftmaxCrossEntropyGradient& op, const OpCall& call, int threads) {
  const std::optional<Rows> rows = rows_of(view_of(call, 0), call.outputs[0], view_of(call, 1), op.loss.stacked);
  if (!rows || !call.post_ops.empty()) return {};
  return {{[=, rows = *rows](const HostArguments& arguments) { loss_gradient(op.loss, rows, threads, arguments); }}};
}

}  // namespace cohort::onednn
