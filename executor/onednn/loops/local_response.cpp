// Gradient of local response normalisation, where channels adjoin in memory or positions do.

#include <algorithm>
#include <array>
#include <cmath>

#include "executor/onednn/loops/channels.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Positions side by side.
constexpr std::int64_t kStrip = 16;

struct Factors {
  std::int64_t before, behind;  ///< channels of a window
  float alpha, beta, bias;      ///< alpha over the window's size
  bool usual;                   ///< beta is 3/4
};

/// Channels of `width` positions, [channels + size][kStrip], with zeros before and behind.
struct Panel {
  explicit Panel(std::int64_t lines) : values(static_cast<std::size_t>(lines * kStrip), 0.0F) {}
  float* line(std::int64_t c) { return values.data() + c * kStrip; }
  std::vector<float> values;
};

/// The sum that y is divided by a power of, and its power -beta.
COHORT_VECTORS void scale_of(const float* squares, std::int64_t window, const Factors& f, float* scale, float* power) {
  float sum[kStrip] = {};
  for (std::int64_t i = 0; i < window; ++i) {
#pragma omp simd
    for (std::int64_t p = 0; p < kStrip; ++p) sum[p] += squares[i * kStrip + p];
  }
#pragma omp simd
  for (std::int64_t p = 0; p < kStrip; ++p) scale[p] = f.bias + f.alpha * sum[p];
  if (f.usual) {
#pragma omp simd
    for (std::int64_t p = 0; p < kStrip; ++p) power[p] = 1.0F / (std::sqrt(scale[p]) * std::sqrt(std::sqrt(scale[p])));
    return;
  }
  for (std::int64_t p = 0; p < kStrip; ++p) power[p] = std::pow(scale[p], -f.beta);
}

/// dx of one channel: what its own scale gives, less what it adds to those around.
COHORT_VECTORS void combine(const float* products, std::int64_t window, const Factors& f, const float* x,
                            const float* own, float* dx) {
  float sum[kStrip] = {};
  for (std::int64_t i = 0; i < window; ++i) {
#pragma omp simd
    for (std::int64_t p = 0; p < kStrip; ++p) sum[p] += products[i * kStrip + p];
  }
#pragma omp simd
  for (std::int64_t p = 0; p < kStrip; ++p) dx[p] = own[p] - 2.0F * f.alpha * f.beta * x[p] * sum[p];
}

COHORT_VECTORS void multiply(const float* a, const float* b, float* y) {
#pragma omp simd
  for (std::int64_t p = 0; p < kStrip; ++p) y[p] = a[p] * b[p];
}
COHORT_VECTORS void product_over_scale(const float* own, const float* x, const float* scale, float* y) {
#pragma omp simd
  for (std::int64_t p = 0; p < kStrip; ++p) y[p] = own[p] * x[p] / scale[p];
}

/// A panel's channels of `width` positions from memory and back.
void load(const float* from, const ChannelForm& form, std::int64_t channels, std::int64_t width, float* to) {
  if (form.channel == 1) {
    for (std::int64_t p = 0; p < width; ++p) {
      for (std::int64_t c = 0; c < channels; ++c) to[c * kStrip + p] = from[p * form.position + c];
    }
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < width; ++p) to[c * kStrip + p] = from[c * form.channel + p * form.position];
  }
}
void store(const float* from, const ChannelForm& form, std::int64_t channels, std::int64_t width, float* to) {
  if (form.channel == 1) {
    for (std::int64_t p = 0; p < width; ++p) {
      for (std::int64_t c = 0; c < channels; ++c) to[p * form.position + c] = from[c * kStrip + p];
    }
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < width; ++p) to[c * form.channel + p * form.position] = from[c * kStrip + p];
  }
}

void gradient(const ChannelWalk& walk, const Factors& f, const HostArguments& arguments, std::int64_t begin,
              std::int64_t end) {
  const std::int64_t channels = walk.channels, window = f.before + 1 + f.behind;
  Panel x(channels), dy(channels), squares(channels + window), products(channels + window), dx(channels);
  std::array<float, kStrip> scale{}, power{};
  const std::int64_t strips = (walk.positions + kStrip - 1) / kStrip;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t n = i / strips, first = i % strips * kStrip, width = std::min(kStrip, walk.positions - first);
    const auto place = [&](std::size_t tensor) {
      return n * walk.forms[tensor].sample + first * walk.forms[tensor].position;
    };
    load(arguments.inputs[0] + place(0), walk.forms[0], channels, width, x.line(0));
    load(arguments.inputs[1] + place(1), walk.forms[1], channels, width, dy.line(0));
    for (std::int64_t c = 0; c < channels; ++c) multiply(x.line(c), x.line(c), squares.line(f.before + c));
    for (std::int64_t c = 0; c < channels; ++c) {
      scale_of(squares.line(c), window, f, scale.data(), power.data());
      multiply(dy.line(c), power.data(), dx.line(c));
      product_over_scale(dx.line(c), x.line(c), scale.data(), products.line(f.behind + c));
    }
    // Windows that hold this channel are those of `behind` channels before it to `before` behind it.
    for (std::int64_t c = 0; c < channels; ++c) combine(products.line(c), window, f, x.line(c), dx.line(c), dy.line(c));
    store(dy.line(0), walk.forms[2], channels, width, arguments.outputs[0] + place(2));
  }
}

}  // namespace

OwnWays own_ways(const LocalResponseNormalizationGradient& op, const OpCall& call, int threads) {
  const std::array<View, 3> views{view_of(call, 0), view_of(call, 1), call.outputs[0]};
  const std::optional<ChannelWalk> walk = channel_walk(views);
  if (!walk || !call.post_ops.empty()) return {};
  const LocalResponseNormalization& lrn = op.normalization;
  const Factors f{(lrn.size - 1) / 2, lrn.size / 2, lrn.alpha / static_cast<float>(lrn.size),
                  lrn.beta,           lrn.bias,     lrn.beta == 0.75F};
  const std::int64_t strips = (walk->positions + kStrip - 1) / kStrip;
  return {{[=, walk = *walk](const HostArguments& arguments) {
    in_parallel(threads, walk.samples * strips, 8 * kStrip * walk.channels,
                [&](std::int64_t begin, std::int64_t end) { gradient(walk, f, arguments, begin, end); });
  }}};
}

}  // namespace cohort::onednn
