// Batch normalisation by statistics that are given: those of training in inference, or a minibatch's own. The library
// has fast ways for images, and plain loops for all else.

#include "executor/onednn/loops/normalize_channels.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "executor/onednn/loops/channel_sums.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"

namespace cohort::onednn {
namespace {

COHORT_INLINE float normalized(float x, float mean, float factor, float shift, float floor) {
  const float value = (x - mean) * factor + shift;
  return value < floor ? floor : value;
}

/// Of as many channels as elements.
COHORT_VECTORS void normalize_channels(const float* x, std::int64_t count, const ChannelCoefficients& k, float* y) {
  const float* const mean = k.mean;
  const float* const factor = k.factor;
  const float* const shift = k.shift;
  const float floor = k.floor;
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) y[c] = normalized(x[c], mean[c], factor[c], shift[c], floor);
}

COHORT_VECTORS void normalize_each(const ChannelRows& r, const ChannelCoefficients& k) {
  const float* const mean = k.mean;
  const float* const factor = k.factor;
  const float* const shift = k.shift;
  const float floor = k.floor;
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const float* const x = r.x + row * r.x_step;
    float* const y = r.y + row * r.y_step;
#pragma omp simd
    for (std::int64_t c = 0; c < r.channels; ++c) y[c] = normalized(x[c], mean[c], factor[c], shift[c], floor);
  }
}

/// Of one channel.
COHORT_VECTORS void normalize_channel(const float* x, std::int64_t count, const ChannelCoefficients& k, float* y) {
  const float mean = *k.mean, factor = *k.factor, shift = *k.shift, floor = k.floor;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = normalized(x[i], mean, factor, shift, floor);
}

/// A call whose only post-op may be Relu.
class ChannelNormalizer {
 public:
  /// Empty for other post-ops.
  static std::optional<ChannelNormalizer> of(const OpCall& call, int threads) {
    const View& y = call.outputs[0];
    const bool rectified = call.post_ops.size() == 1 && call.post_ops[0] == PostOp{Activation{}};
    if (element_count(y.shape) == 0 || !(call.post_ops.empty() || rectified)) return std::nullopt;
    Shape channel_strides(y.shape.size(), 0);
    channel_strides[1] = 1;
    return ChannelNormalizer{y.shape[1],
                             {y.shape, {y.strides, view_of(call, 0).strides, channel_strides}},
                             rectified ? 0.0F : -INFINITY,
                             threads};
  }

  [[nodiscard]] std::int64_t channels() const { return channels_; }

  /// `mean`, `factor` and `shift` have a value for each channel.
  void run(const HostArguments& arguments, const float* mean, const float* factor, const float* shift) const {
    const auto steps = walk_.run_steps();
    walk_in_parallel(walk_, threads_, [&](const auto& at, std::int64_t count) {
      normalize_run({arguments.inputs[0] + at[1], arguments.outputs[0] + at[0], steps[1], steps[0], steps[2], count},
                    {mean + at[2], factor + at[2], shift + at[2], floor_});
    });
  }

 private:
  ChannelNormalizer(std::int64_t channels, StridedWalk<3> walk, float floor, int threads)
      : channels_(channels), walk_(std::move(walk)), floor_(floor), threads_(threads) {}

  std::int64_t channels_;
  StridedWalk<3> walk_;  ///< of y, x and the channels' values
  float floor_;
  int threads_;
};

/// Whether an operand has a value for each channel, one behind another.
bool is_row(const View& view, std::int64_t channels) {
  return view.shape == Shape{channels} && (channels == 1 || view.strides[0] == 1);
}

}  // namespace

void normalize_run(const ChannelRun& run, const ChannelCoefficients& coefficients) {
  const ChannelCoefficients& k = coefficients;
  const bool is_dense = run.x_step == 1 && run.y_step == 1;
  if (is_dense && run.channel_step == 1) return normalize_channels(run.x, run.count, k, run.y);
  if (is_dense && run.channel_step == 0) return normalize_channel(run.x, run.count, k, run.y);
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t c = i * run.channel_step;
    run.y[i * run.y_step] = normalized(run.x[i * run.x_step], k.mean[c], k.factor[c], k.shift[c], k.floor);
  }
}

void normalize_rows(const ChannelRows& rows, const ChannelCoefficients& coefficients) {
  normalize_each(rows, coefficients);
}

OwnWays own_ways(const BatchNormalization& op, const OpCall& call, int threads) {
  const std::optional<ChannelNormalizer> normalizer = ChannelNormalizer::of(call, threads);
  if (!normalizer) return {};
  for (std::size_t i = 1; i < 5; ++i) {
    if (!is_row(view_of(call, i), normalizer->channels())) return {};
  }
  const bool is_packed = is_constant(call, 4);
  const auto loop = [normalizer = *normalizer, is_packed, epsilon = op.epsilon](const HostArguments& arguments) {
    auto* const factor = reinterpret_cast<float*>(arguments.workspace);
    const float *const scale = arguments.inputs[1], *const variance = arguments.inputs[4];
    for (std::int64_t c = 0; c < normalizer.channels(); ++c)
      factor[c] = scale[c] * (is_packed ? variance[c] : inverse_deviation(variance[c], epsilon));
    normalizer.run(arguments, arguments.inputs[3], factor, arguments.inputs[2]);
  };
  OwnWay way{loop, Bytes{normalizer->channels() * std::int64_t{sizeof(float)}}, /*leads=*/false};
  way.pack = [epsilon = op.epsilon](std::size_t input, const std::vector<float>& values) {
    std::vector<float> packed = values;
    if (input == 4) {
      for (float& value : packed) value = inverse_deviation(value, epsilon);
    }
    return packed;
  };
  return {way};
}

/// Mean and variance are the rows of one operand.
OwnWays own_ways(const NormalizeByStatistics& op, const OpCall& call, int threads) {
  const std::optional<ChannelNormalizer> normalizer = ChannelNormalizer::of(call, threads);
  if (!normalizer) return {};
  const std::int64_t channels = normalizer->channels();
  const bool has_rows = is_row(view_of(call, 1), channels) && is_row(view_of(call, 2), channels);
  if (!has_rows || !is_dense(view_of(call, 3), Layout::kNchw)) return {};
  const auto loop = [normalizer = *normalizer, channels, epsilon = op.epsilon](const HostArguments& arguments) {
    auto* const factor = reinterpret_cast<float*>(arguments.workspace);
    const float *const mean = arguments.inputs[3], *const variance = mean + channels;
    for (std::int64_t c = 0; c < channels; ++c)
      factor[c] = arguments.inputs[1][c] * inverse_deviation(variance[c], epsilon);
    normalizer.run(arguments, mean, factor, arguments.inputs[2]);
  };
  return {{loop, Bytes{channels * std::int64_t{sizeof(float)}}}};
}

}  // namespace cohort::onednn
