// Statistics of a minibatch for batch normalisation, and its gradients. Lines as in channels.hpp.

#include <algorithm>
#include <array>
#include <cmath>

#include "executor/onednn/loops/channel_sums.hpp"
#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Bytes for a double for each of 2 C values of every part of the work.
Bytes partial_sums(const ChannelWalk& walk, int threads) {
  return Bytes{walk.by_position ? threads * 2 * walk.channels * std::int64_t{sizeof(double)} : 0};
}

/// Lines cut into parts for threads, as in_parallel() would, but numbered.
template <class Body>
std::int64_t in_parts(const ChannelWalk& walk, int threads, const Body& body) {
  const std::int64_t lines = walk.per_channel();
  const std::int64_t parts =
      std::clamp<std::int64_t>(lines * walk.channels / kGrain, 1, std::min<std::int64_t>(threads, lines));
  in_parallel(static_cast<int>(parts), parts, kGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) body(part, lines * part / parts, lines * (part + 1) / parts);
  });
  return parts;
}

void statistics(const ChannelWalk& walk, int threads, const HostArguments& arguments) {
  const float* const x = arguments.inputs[0];
  float* const y = arguments.outputs[0];
  const std::int64_t channels = walk.channels, lines = walk.per_channel();
  const auto total = static_cast<double>(lines);
  if (!walk.by_position) {
    in_parallel(threads, channels, lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        const Spread spread = plane_statistics(walk, x, c, {0, walk.samples});
        y[c] = static_cast<float>(spread.mean);
        y[channels + c] = static_cast<float>(spread.squares / total);
      }
    });
    return;
  }
  auto* const sums = reinterpret_cast<double*>(arguments.workspace);
  const std::int64_t parts = in_parts(walk, threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    lines_statistics(walk, x, {begin, end}, sums + part * 2 * channels);
  });
  for (std::int64_t part = 1; part < parts; ++part) {
    const double* const more = sums + part * 2 * channels;
    const std::int64_t before = lines * part / parts, count = lines * (part + 1) / parts - before;
    for (std::int64_t c = 0; c < channels; ++c)
      join_spread(static_cast<double>(count), more[c], more[channels + c], static_cast<double>(before), sums[c],
                  sums[channels + c]);
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    y[c] = static_cast<float>(sums[c]);
    y[channels + c] = static_cast<float>(sums[channels + c] / total);
  }
}

/// Of each channel, one behind another: what loops over its elements need.
struct Coefficients {
  const float *mean, *factor, *second, *third;
};

/// dx = factor * (dy - second - (x - mean) * third)
COHORT_VECTORS void gradient_line(const float* x, const float* dy, std::int64_t count, const Coefficients& k,
                                  float* dx) {
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c)
    dx[c] = k.factor[c] * (dy[c] - k.second[c] - (x[c] - k.mean[c]) * k.third[c]);
}

COHORT_VECTORS void gradient_run(const float* x, const float* dy, std::int64_t count, const Coefficients& k,
                                 float* dx) {
  const float mean = *k.mean, factor = *k.factor, second = *k.second, third = *k.third;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = factor * (dy[i] - second - (x[i] - mean) * third);
}

/// Calls by_line(line's first channel 0) or by_run(line, its channel) for every line of the walk, threads sharing them.
template <class ByLine, class ByRun>
void for_each_line(const ChannelWalk& walk, int threads, const ByLine& by_line, const ByRun& by_run) {
  const std::int64_t lines = walk.samples * (walk.by_position ? walk.positions : walk.channels);
  const std::int64_t length = walk.by_position ? walk.channels : walk.positions;
  in_parallel(threads, lines, length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      if (walk.by_position) {
        by_line(line);
      } else {
        by_run(line, line % walk.channels);
      }
    }
  });
}

Coefficients of_channel(const Coefficients& k, std::int64_t c) {
  return {k.mean + c, k.factor + c, k.second + c, k.third + c};
}

/// Distance between the elements of an operand [C].
std::int64_t step_of(const View& view) { return view.shape[0] > 1 ? view.strides[0] : 0; }

/// Puts a channel's sums into the pack.
void put(const double* sums, const float* variance, float epsilon, std::int64_t channels, float* pack) {
  const std::int64_t place = pack_place(channels);
  clear_behind(pack, channels);
  clear_behind(pack, place + channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    pack[c] = static_cast<float>(sums[2 * c] * static_cast<double>(inverse_deviation(variance[c], epsilon)));
    pack[place + c] = static_cast<float>(sums[2 * c + 1]);
  }
}

void weight_gradient(const ChannelWalk& walk, float epsilon, int threads, const HostArguments& arguments) {
  const std::int64_t channels = walk.channels;
  auto* const sums = reinterpret_cast<double*>(arguments.workspace);
  if (walk.by_position) {
    const std::int64_t parts = in_parts(walk, threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      lines_products(walk, {arguments.inputs[0], arguments.inputs[2]}, arguments.inputs[1], {begin, end},
                     sums + part * 2 * channels);
    });
    for (std::int64_t part = 1; part < parts; ++part) {
      for (std::int64_t i = 0; i < 2 * channels; ++i) sums[i] += sums[part * 2 * channels + i];
    }
  } else {
    in_parallel(threads, channels, walk.per_channel(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c)
        plane_products(walk, {arguments.inputs[0], arguments.inputs[2]}, arguments.inputs[1][c], c, {0, walk.samples},
                       sums + 2 * c);
    });
  }
  put(sums, arguments.inputs[1] + channels, epsilon, channels, arguments.outputs[0]);
}

bool is_dense_row_major(const View& view) { return view.strides == dense_strides(view.shape, Layout::kNchw); }

}  // namespace

OwnWays own_ways(const BatchStatistics& /*op*/, const OpCall& call, int threads) {
  const View x = view_of(call, 0);
  const std::optional<ChannelWalk> walk = channel_walk({&x, 1});
  if (!walk || !call.post_ops.empty() || !is_dense_row_major(call.outputs[0])) return {};
  return {{[walk = *walk, threads](const HostArguments& arguments) { statistics(walk, threads, arguments); },
           partial_sums(*walk, threads)}};
}

OwnWays own_ways(const BatchNormalizationWeightGradient& op, const OpCall& call, int threads) {
  const std::array<View, 2> views{view_of(call, 0), view_of(call, 2)};
  const std::optional<ChannelWalk> walk = channel_walk(views);
  if (!walk || !call.post_ops.empty() || !is_dense_row_major(view_of(call, 1)) || call.outputs[0].strides[0] != 1)
    return {};
  const int parts = walk->by_position ? threads : 1;
  return {{[=, walk = *walk, epsilon = op.epsilon](const HostArguments& arguments) {
             weight_gradient(walk, epsilon, threads, arguments);
           },
           Bytes{parts * 2 * walk->channels * std::int64_t{sizeof(double)}}}};
}

OwnWays own_ways(const BatchNormalizationGradient& op, const OpCall& call, int threads) {
  const std::array<View, 3> views{view_of(call, 0), view_of(call, 3), call.outputs[0]};
  const std::optional<ChannelWalk> found = channel_walk(views);
  if (!found || !call.post_ops.empty() || !is_dense_row_major(view_of(call, 2)) || step_of(view_of(call, 4)) != 1)
    return {};
  const std::int64_t scale_step = step_of(view_of(call, 1));
  const auto loop = [=, walk = *found, epsilon = op.epsilon](const HostArguments& arguments) {
    const std::int64_t channels = walk.channels;
    const auto count = static_cast<float>(walk.per_channel());
    auto* const factor = reinterpret_cast<float*>(arguments.workspace);
    float *const second = factor + channels, *const third = second + channels;
    const float *const mean = arguments.inputs[2], *const variance = mean + channels;
    const float *const dscale = arguments.inputs[4], *const dshift = dscale + pack_place(channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      const float inverse = inverse_deviation(variance[c], epsilon);
      factor[c] = arguments.inputs[1][c * scale_step] * inverse;
      second[c] = dshift[c] / count;
      third[c] = dscale[c] * inverse / count;
    }
    const Coefficients k{mean, factor, second, third};
    const float *const x = arguments.inputs[0], *const dy = arguments.inputs[3];
    float* const dx = arguments.outputs[0];
    for_each_line(
        walk, threads,
        [&](std::int64_t line) {
          gradient_line(x + walk.line(0, line), dy + walk.line(1, line), channels, k, dx + walk.line(2, line));
        },
        [&](std::int64_t line, std::int64_t c) {
          gradient_run(x + walk.line(0, line), dy + walk.line(1, line), walk.positions, of_channel(k, c),
                       dx + walk.line(2, line));
        });
  };
  return {{loop, Bytes{3 * found->channels * std::int64_t{sizeof(float)}}}};
}

}  // namespace cohort::onednn
