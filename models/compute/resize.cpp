#include <algorithm>
#include <cmath>
#include <vector>

#include "models/compute/ops.hpp"

namespace cohort::reference {
namespace {

/// What one position of one output axis is made of; `outside`: of nothing in x.
struct Mix {
  std::vector<ResizeTap> taps;
  bool outside = false;
};

/// One axis of a Resize.
class Axis {
 public:
  Axis(const Resize& op, std::size_t axis, std::int64_t extent)
      : op_(op),
        axis_(axis),
        extent_(extent),
        resized_(op.shape[axis]),
        scale_(static_cast<float>(op.scale[axis])),
        crop_begin_(op.crop_begin.empty() ? 0 : op.crop_begin[axis]),
        crop_end_(op.crop_end.empty() ? 1 : op.crop_end[axis]) {}

  [[nodiscard]] Mix mix(std::int64_t at) const {
    const float x = position(static_cast<float>(at));
    if (op_.positions == ResizePositions::kCrop && (x < 0 || x > static_cast<float>(extent_ - 1))) return {{}, true};
    if (op_.mode == ResizeMode::kNearest) return {{{clamped(nearest(x)), 1.0}}, false};
    return {neighbours(static_cast<double>(x)), false};
  }

 private:
  /// Where output position `at` lies in x. In float32, as ONNX Runtime computes it: which element is nearest, and
  /// whether a position is halfway between two, hangs on how the last digit is rounded. Position 2 at a scale of 0.4 is
  /// element 5, which in float64 would be 4, as the float32 nearest to 0.4 is a little more.
  [[nodiscard]] float position(float at) const {
    const auto extent = static_cast<float>(extent_);
    const auto length = static_cast<float>(resized_);
    switch (op_.positions) {
      case ResizePositions::kHalfPixel:
        return (at + 0.5F) / scale_ - 0.5F;
      case ResizePositions::kHalfPixelSymmetric: {
        const float offset = extent / 2 * (1 - length / (scale_ * extent));
        const auto middle = static_cast<double>(at) + 0.5;  // from here on in float64 in ONNX Runtime
        return static_cast<float>(static_cast<double>(offset) + middle / static_cast<double>(scale_) - 0.5);
      }
      case ResizePositions::kPytorchHalfPixel:
        return resized_ > 1 ? (at + 0.5F) / scale_ - 0.5F : 0;
      case ResizePositions::kHalfPixelNearest:
        return (at + 0.5F) / scale_;
      case ResizePositions::kAlignCorners:
        return resized_ > 1 ? at * (extent - 1) / (length - 1) : 0;
      case ResizePositions::kAsymmetric:
        return at / scale_;
      case ResizePositions::kCrop: {
        const float width = (crop_end_ - crop_begin_) * (extent - 1);
        const float inside = resized_ > 1 ? at * width / (length - 1) : width / 2;
        return crop_begin_ * (extent - 1) + inside;
      }
    }
    return at;
  }

  /// What is off halfway by rounding alone counts as halfway, to ONNX Runtime as well.
  [[nodiscard]] std::int64_t nearest(float position) const {
    constexpr double kHalf = 0.5 + 1e-6;
    const auto x = static_cast<double>(position);
    switch (op_.rounding) {
      case ResizeRounding::kPreferFloor:
        return static_cast<std::int64_t>(std::ceil(x - kHalf));
      case ResizeRounding::kPreferCeil:
        return static_cast<std::int64_t>(std::floor(x + kHalf));
      case ResizeRounding::kFloor:
        return static_cast<std::int64_t>(std::floor(x));
      case ResizeRounding::kCeil:
        return static_cast<std::int64_t>(std::ceil(x));
    }
    return 0;
  }

  [[nodiscard]] std::int64_t clamped(std::int64_t at) const { return std::clamp<std::int64_t>(at, 0, extent_ - 1); }

  /// Weight of an element at a distance, in units of the filter's width.
  [[nodiscard]] double filter(double distance) const {
    const double d = std::abs(distance);
    if (op_.mode == ResizeMode::kLinear) return std::max(0.0, 1 - d);
    const auto a = static_cast<double>(op_.cubic_coefficient);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
  }

  [[nodiscard]] std::vector<ResizeTap> neighbours(double x) const {
    const double width = op_.antialias ? std::min(op_.scale[axis_], 1.0) : 1.0;
    const double reach = op_.mode == ResizeMode::kLinear ? 1.0 : 2.0;
    const auto first = static_cast<std::int64_t>(std::floor(x - reach / width)) + 1;
    const auto last = static_cast<std::int64_t>(std::ceil(x + reach / width)) - 1;
    std::vector<ResizeTap> taps;
    double sum = 0;
    for (std::int64_t at = first; at <= last; ++at) {
      const double weight = filter((static_cast<double>(at) - x) * width);
      if (weight == 0 || (op_.exclude_outside && (at < 0 || at >= extent_))) continue;
      taps.push_back({clamped(at), weight});
      sum += weight;
    }
    for (ResizeTap& tap : taps) tap.weight /= sum;
    return taps;
  }

  const Resize& op_;
  std::size_t axis_;
  std::int64_t extent_, resized_;
  float scale_, crop_begin_, crop_end_;
};

class Resampler {
 public:
  Resampler(const Resize& op, const ConstTensor& x, const Tensor& y) : op_(op), x_(x), y_(y), mixes_(y.rank()) {
    for (std::size_t d = 0; d < y.rank(); ++d) {
      const Axis axis(op, d, x.shape[d]);
      for (std::int64_t i = 0; i < y.shape[d]; ++i) mixes_[d].push_back(axis.mix(i));
    }
  }

  void run() const {
    Shape index(y_.rank(), 0);
    write(0, y_.data, index);
  }

 private:
  void write(std::size_t axis, float* to, Shape& index) const {
    if (axis == y_.rank()) {
      *to = element(index);
      return;
    }
    for (index[axis] = 0; index[axis] < y_.shape[axis]; ++index[axis])
      write(axis + 1, to + index[axis] * y_.strides[axis], index);
  }

  [[nodiscard]] const Mix& mix(std::size_t axis, const Shape& index) const {
    return mixes_[axis][static_cast<std::size_t>(index[axis])];
  }

  [[nodiscard]] float element(const Shape& index) const {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (mix(d, index).outside) return op_.outside;
    }
    return static_cast<float>(sum(0, x_.data, index));
  }

  [[nodiscard]] double sum(std::size_t axis, const float* from, const Shape& index) const {
    if (axis == y_.rank()) return static_cast<double>(*from);
    double total = 0;
    for (const ResizeTap& tap : mix(axis, index).taps)
      total += tap.weight * sum(axis + 1, from + tap.at * x_.strides[axis], index);
    return total;
  }

  const Resize& op_;
  const ConstTensor& x_;
  const Tensor& y_;
  std::vector<std::vector<Mix>> mixes_;  ///< by axis, then output position
};

}  // namespace

std::vector<std::vector<ResizeTap>> resize_taps(const Resize& op, std::size_t axis, std::int64_t extent) {
  const Axis along(op, axis, extent);
  std::vector<std::vector<ResizeTap>> taps;
  for (std::int64_t i = 0; i < op.shape[axis]; ++i) taps.push_back(along.mix(i).taps);
  return taps;
}

std::vector<std::int64_t> nearest_elements(const Resize& op, std::size_t axis, std::int64_t extent) {
  const Axis along(op, axis, extent);
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < op.shape[axis]; ++i) elements.push_back(along.mix(i).taps.front().at);
  return elements;
}

void compute(const Resize& op, Inputs inputs, const Tensor& y) { Resampler(op, inputs[0], y).run(); }

}  // namespace cohort::reference
