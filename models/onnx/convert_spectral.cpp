// Fourier transforms as products with constant matrices of cosines and sines, and the windows for them. Networks
// transform frames of some hundred samples, for which a product is as fast as it needs to be.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

Result<void> check_length(std::int64_t length, std::string_view what) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 20;
  if (length >= 1 && length <= kLongest) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be from 1 to {}, not {}", what, kLongest, length);
}

/// One number of a constant input.
Result<std::int64_t> single_integer(NodeImport& node, std::size_t i, std::string_view what) {
  COHORT_TRY(const std::vector<std::int64_t> values, node.integers(i, what));
  if (values.size() == 1) return values[0];
  return fail(ErrorCode::kInvalidInput, "input {} ({}) must hold one number, not {}", i, what, values.size());
}

/// A transform of `length`, of whose samples the first `samples` may differ from zero.
struct Transform {
  std::int64_t length = 0, samples = 0;
  std::int64_t results = 0;                    ///< the first ones
  bool of_complex = false, to_complex = true;  ///< else real
  bool is_inverse = false;
};

/// What the conjugates that are not given add of a one-sided spectrum.
double times(const Transform& transform, std::int64_t sample) {
  if (transform.to_complex || sample == 0 || 2 * sample == transform.length) return 1;
  return 2;
}

/// The transform's matrix: rows are real and imaginary part of a result, columns those of a sample, real numbers
/// having one part.
/// Errors: kInvalidInput where it would be too large.
Result<std::vector<float>> matrix_of(const Transform& transform) {
  constexpr std::int64_t kMost = std::int64_t{1} << 25;
  const std::int64_t rows = transform.results * (transform.to_complex ? 2 : 1);
  const std::int64_t columns = transform.samples * (transform.of_complex ? 2 : 1);
  if (rows * columns > kMost)
    return fail(ErrorCode::kInvalidInput, "needs a matrix of {} by {} numbers; at most {} in all are supported", rows,
                columns, kMost);
  const auto length = static_cast<double>(transform.length);
  const double scale = transform.is_inverse ? 1 / length : 1;
  const double direction = transform.is_inverse ? 1 : -1;
  std::vector<float> matrix;
  matrix.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t result = 0; result < transform.results; ++result) {
    for (const bool is_imaginary : {false, true}) {
      if (is_imaginary && !transform.to_complex) continue;
      for (std::int64_t sample = 0; sample < transform.samples; ++sample) {
        // The product is reduced first: cosines of small angles are exact to the last place.
        const auto step = static_cast<double>(result * sample % transform.length);
        const double turn = 2 * std::numbers::pi * step / length;
        const double cosine = times(transform, sample) * scale * std::cos(turn);
        const double sine = times(transform, sample) * scale * direction * std::sin(turn);
        matrix.push_back(static_cast<float>(is_imaginary ? sine : cosine));
        if (transform.of_complex) matrix.push_back(static_cast<float>(is_imaginary ? cosine : -sine));
      }
    }
  }
  return matrix;
}

/// A DFT node's transform along an axis of `extent`.
Result<Transform> transform_of(NodeImport& node, std::int64_t extent, bool of_complex) {
  Transform transform;
  transform.of_complex = of_complex;
  COHORT_TRY(const std::int64_t inverse, node.integer("inverse", 0));
  COHORT_TRY(const std::int64_t one_sided, node.integer("onesided", 0));
  transform.is_inverse = inverse != 0;
  transform.to_complex = !transform.is_inverse || one_sided == 0;
  if (!transform.to_complex && !of_complex)
    return fail(ErrorCode::kInvalidInput, "is inverse and onesided, and its input is real");
  transform.length = transform.to_complex ? extent : 2 * (extent - 1);
  if (node.has_input(1)) {
    COHORT_TRY(transform.length, single_integer(node, 1, "dft_length"));
  }
  COHORT_CHECK(check_length(transform.length, "its length"));
  const std::int64_t half = transform.length / 2 + 1;
  transform.samples = std::min(transform.to_complex ? transform.length : half, extent);
  transform.results = one_sided != 0 && transform.to_complex ? half : transform.length;
  return transform;
}

/// The axis of a DFT: an attribute before opset 20, and an input since.
Result<std::size_t> axis_of_dft(NodeImport& node, std::size_t rank) {
  std::int64_t axis = -2;
  if (node.opset() < 20) {
    COHORT_TRY(axis, node.integer("axis", 1));
  } else if (node.has_input(2)) {
    COHORT_TRY(axis, single_integer(node, 2, "axis"));
  }
  COHORT_TRY(const std::size_t normalized, normalize_axis(axis, rank));
  if (normalized + 1 == rank)
    return fail(ErrorCode::kInvalidInput, "axis must not be the last one, which holds real and imaginary part");
  return normalized;
}

/// Exchanges `axis` and the last but one.
Result<TensorId> exchanged(NodeImport& node, std::string_view suffix, TensorId x, std::size_t axis) {
  const std::size_t rank = node.shape_of(x).size();
  if (axis + 2 == rank) return x;
  Transpose transpose;
  for (std::size_t i = 0; i < rank; ++i) transpose.permutation.push_back(static_cast<std::int64_t>(i));
  std::swap(transpose.permutation[axis], transpose.permutation[rank - 2]);
  return node.emit(suffix, std::move(transpose), {x});
}

/// Samples of a frame: its own input, or else those of the window, or of the signal.
Result<std::int64_t> frame_length_of(NodeImport& node, const Constant* window, std::int64_t signal) {
  if (!node.has_input(3)) return window != nullptr ? element_count(window->shape) : signal;
  COHORT_TRY(const std::int64_t length, single_integer(node, 3, "frame length"));
  if (window != nullptr && element_count(window->shape) != length)
    return fail(ErrorCode::kInvalidInput, "frames of {} samples have a window of {}", length,
                element_count(window->shape));
  return length;
}

/// Samples [minibatch, 1, length] of a real signal.
Result<TensorId> real_signal(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  const bool has_parts = shape.size() == 3;
  if (shape.size() < 2 || shape.size() > 3 || (has_parts && shape[2] != 1))
    return fail(ErrorCode::kInvalidInput, "is supported for real signals [minibatch, samples, 1], not {}",
                to_string(shape));
  COHORT_TRY(const TensorId x, node.tensor(0));
  return node.emit_reshape("signal", x, {shape[0], 1, shape[1]});
}

}  // namespace

Result<void> convert_dft(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  const std::size_t rank = shape.size();
  if (rank < 2 || element_count(shape) == 0 || shape.back() > 2)
    return fail(ErrorCode::kInvalidInput, "x must be [..., 1] or [..., 2], real or complex, not {}", to_string(shape));
  COHORT_TRY(const std::size_t axis, axis_of_dft(node, rank));
  COHORT_TRY(const Transform transform, transform_of(node, shape[axis], shape.back() == 2));

  COHORT_TRY(TensorId x, node.tensor(0));
  if (transform.samples < shape[axis]) {
    TensorSlice first{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1), shape};
    first.count[axis] = transform.samples;
    COHORT_TRY(x, node.emit("cut", std::move(first), {x}));
  }
  COHORT_TRY(x, exchanged(node, "to_rows", x, axis));
  Shape result = node.shape_of(x);
  const std::int64_t columns = result[rank - 2] * result[rank - 1];
  COHORT_TRY(x, node.emit_reshape("rows", x, {element_count(result) / columns, columns}));
  const std::int64_t parts = transform.to_complex ? 2 : 1;
  COHORT_TRY(std::vector<float> values, matrix_of(transform));
  COHORT_TRY(const TensorId matrix,
             node.made_weight("matrix", {parts * transform.results, columns}, std::move(values)));
  COHORT_TRY(TensorId y, node.emit("product", Gemm{}, {x, matrix}));
  result[rank - 2] = transform.results;
  result[rank - 1] = parts;
  COHORT_TRY(y, node.emit_reshape(axis + 2 == rank ? "" : "bins", y, result));
  COHORT_TRY(y, exchanged(node, "", y, axis));
  node.set_result(y);
  return {};
}

Result<void> convert_stft(NodeImport& node) {
  const Constant* window = nullptr;
  if (node.has_input(2)) {
    COHORT_TRY(window, node.floats(2, "window"));
  }
  COHORT_TRY(const TensorId x, real_signal(node));
  Transform transform;
  COHORT_TRY(transform.length, frame_length_of(node, window, node.shape_of(x)[2]));
  COHORT_CHECK(check_length(transform.length, "the frame length"));
  transform.samples = transform.length;
  COHORT_TRY(const std::int64_t one_sided, node.integer("onesided", 1));
  transform.results = one_sided != 0 ? transform.length / 2 + 1 : transform.length;
  COHORT_TRY(const std::int64_t step, single_integer(node, 1, "frame step"));
  if (step < 1) return fail(ErrorCode::kInvalidInput, "the frame step must be at least 1, not {}", step);

  // Frames times the matrix: a convolution along the samples.
  COHORT_TRY(std::vector<float> kernels, matrix_of(transform));
  if (window != nullptr) {
    const std::vector<float>& factors = *window->floats();
    for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i] *= factors[i % factors.size()];
  }
  Convolution convolution;
  convolution.window = {{transform.length}, {step}, {0}, {0}, {1}};
  COHORT_TRY(const TensorId w,
             node.made_weight("kernels", {2 * transform.results, 1, transform.length}, std::move(kernels)));
  COHORT_TRY(TensorId y, node.emit("bins", std::move(convolution), {x, w}));
  COHORT_TRY(y, node.emit("frames", Transpose{{0, 2, 1}}, {y}));
  const Shape frames = node.shape_of(y);
  COHORT_TRY(y, node.emit_reshape("", y, {frames[0], frames[1], transform.results, 2}));
  node.set_result(y);
  return {};
}

/// Sums of cosines.
Result<Constant> fold_window(NodeImport& node) {
  COHORT_TRY(const std::int64_t size, single_integer(node, 0, "size"));
  COHORT_TRY(const std::int64_t periodic, node.integer("periodic", 1));
  COHORT_TRY(const std::int64_t data_type, node.integer("output_datatype", Type::kFloat));
  if (!is_floating(data_type))
    return fail(ErrorCode::kInvalidInput, "of {} is not supported, only of floating-point numbers",
                type_name(data_type));
  if (size < 0) return fail(ErrorCode::kInvalidInput, "a window has at least 0 samples, not {}", size);
  COHORT_CHECK(node.claim(size));
  const std::string_view type = node.op_type();
  const double first = type == "HannWindow" ? 0.5 : type == "HammingWindow" ? 25.0 / 46 : 0.42;
  const double third = type == "BlackmanWindow" ? 0.08 : 0;
  const double second = 1 - first + (type == "BlackmanWindow" ? -third : 0);
  const auto period = static_cast<double>(periodic != 0 ? size : size - 1);
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(static_cast<float>(first - second * std::cos(turn) + third * std::cos(2 * turn)));
  }
  return make_constant({size}, std::move(values));
}

}  // namespace cohort::onnx
