// Gradients of group normalisation, sample by sample: sums over channels, then over groups.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "executor/onednn/loops/channel_sums.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"

namespace cohort::onednn {
namespace {

/// Of each channel of one sample.
struct Sums {
  explicit Sums(std::int64_t channels)
      : mean(static_cast<std::size_t>(channels)),
        inverse(mean),
        statistics(2 * mean.size()),
        products(2 * mean.size()) {}

  std::vector<float> mean;     ///< of its group
  std::vector<float> inverse;  ///< of its group's standard deviation
  std::vector<double> statistics, products;
};

/// [first, last) of each group.
template <class Visit>
void for_each_group(std::int64_t channels, std::int64_t groups, const Visit& visit) {
  for (std::int64_t first = 0; first < channels; first += channels / groups) visit(first, first + channels / groups);
}

/// A walk of {x, dy, ...}.
void sum_sample(const ChannelWalk& walk, std::int64_t groups, float epsilon, const Gradient& from, std::int64_t n,
                Sums& sums) {
  sample_statistics(walk, from.x, {n, n + 1}, sums.statistics.data());
  const auto positions = static_cast<double>(walk.positions);
  for_each_group(walk.channels, groups, [&](std::int64_t first, std::int64_t last) {
    Spread spread;
    double seen = 0;
    for (std::int64_t c = first; c < last; ++c, seen += positions)
      join_spread(positions, sums.statistics[static_cast<std::size_t>(c)],
                  sums.statistics[static_cast<std::size_t>(walk.channels + c)], seen, spread.mean, spread.squares);
    const auto count = static_cast<std::size_t>(last - first);
    std::fill_n(sums.mean.begin() + first, count, static_cast<float>(spread.mean));
    std::fill_n(sums.inverse.begin() + first, count,
                static_cast<float>(1 / std::sqrt(spread.squares / seen + static_cast<double>(epsilon))));
  });
  sample_products(walk, from, sums.mean.data(), {n, n + 1}, sums.products.data());
}

/// Elements of one position or one channel: dx = factor * dy - shift - (x - mean) * slope.
struct Line {
  const float *x, *dy;
  float* dx;
  std::int64_t count;
};
COHORT_VECTORS void write_channels(const Line& l, const float* mean, const float* factor, const float* shift,
                                   const float* slope) {
#pragma omp simd
  for (std::int64_t c = 0; c < l.count; ++c) l.dx[c] = factor[c] * l.dy[c] - shift[c] - (l.x[c] - mean[c]) * slope[c];
}
COHORT_VECTORS void write_positions(const Line& l, float mean, float factor, float shift, float slope) {
#pragma omp simd
  for (std::int64_t i = 0; i < l.count; ++i) l.dx[i] = factor * l.dy[i] - shift - (l.x[i] - mean) * slope;
}

/// Where a channel's element lies in scale, [C] or [groups].
std::vector<std::int64_t> places_of(const View& scale, std::int64_t channels) {
  std::vector<std::int64_t> places;
  const std::int64_t step = scale.shape[0] > 1 ? scale.strides[0] : 0;
  for (std::int64_t c = 0; c < channels; ++c) places.push_back(c / (channels / scale.shape[0]) * step);
  return places;
}

struct Gradients {
  ChannelWalk walk;
  std::int64_t groups;
  float epsilon;
  std::vector<std::int64_t> scale;

  void write_sample(const HostArguments& arguments, std::int64_t n, Sums& sums) const {
    const Gradient from{arguments.inputs[0], arguments.inputs[2]};
    sum_sample(walk, groups, epsilon, from, n, sums);
    const auto channels = static_cast<std::size_t>(walk.channels);
    std::vector<float> factor(channels), shift(channels), slope(channels);
    const double count = static_cast<double>(walk.channels / groups * walk.positions);
    for_each_group(walk.channels, groups, [&](std::int64_t first, std::int64_t last) {
      double sum = 0, product = 0;
      for (auto c = static_cast<std::size_t>(first); c < static_cast<std::size_t>(last); ++c) {
        const auto own = static_cast<double>(arguments.inputs[1][scale[c]]);
        product += own * sums.products[2 * c];
        sum += own * sums.products[2 * c + 1];
      }
      for (auto c = static_cast<std::size_t>(first); c < static_cast<std::size_t>(last); ++c) {
        const auto inverse = static_cast<double>(sums.inverse[c]);
        factor[c] = arguments.inputs[1][scale[c]] * sums.inverse[c];
        shift[c] = static_cast<float>(sum * inverse / count);
        slope[c] = static_cast<float>(product * inverse * inverse * inverse / count);
      }
    });
    const std::int64_t lines = walk.by_position ? walk.positions : walk.channels;
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t line = n * lines + i;
      const auto c = static_cast<std::size_t>(i);
      const Line l{from.x + walk.line(0, line), from.dy + walk.line(1, line), arguments.outputs[0] + walk.line(2, line),
                   walk.by_position ? walk.channels : walk.positions};
      if (walk.by_position) {
        write_channels(l, sums.mean.data(), factor.data(), shift.data(), slope.data());
      } else {
        write_positions(l, sums.mean[c], factor[c], shift[c], slope[c]);
      }
    }
  }
};

}  // namespace

OwnWays own_ways(const GroupNormalizationGradient& op, const OpCall& call, int threads) {
  const std::array<View, 3> views{view_of(call, 0), view_of(call, 2), call.outputs[0]};
  const std::optional<ChannelWalk> walk = channel_walk(views);
  if (!walk || !call.post_ops.empty()) return {};
  const Gradients gradients{*walk, op.groups, op.epsilon, places_of(view_of(call, 1), walk->channels)};
  return {{[=](const HostArguments& arguments) {
    const ChannelWalk& all = gradients.walk;
    in_parallel(threads, all.samples, 4 * all.channels * all.positions, [&](std::int64_t begin, std::int64_t end) {
      Sums sums(all.channels);
      for (std::int64_t n = begin; n < end; ++n) gradients.write_sample(arguments, n, sums);
    });
  }}};
}

OwnWays own_ways(const GroupNormalizationWeightGradient& op, const OpCall& call, int threads) {
  const std::array<View, 2> views{view_of(call, 0), view_of(call, 1)};
  const std::optional<ChannelWalk> found = channel_walk(views);
  if (!found || !call.post_ops.empty() || call.outputs[0].strides[0] != 1) return {};
  const std::int64_t entries = op.per_group ? op.groups : found->channels;
  const std::int64_t per_entry = found->channels / entries, place = pack_place(entries);
  const auto loop = [=, walk = *found, groups = op.groups, epsilon = op.epsilon](const HostArguments& arguments) {
    auto* const all = reinterpret_cast<double*>(arguments.workspace);
    in_parallel(threads, walk.samples, 4 * walk.channels * walk.positions, [&](std::int64_t begin, std::int64_t end) {
      Sums sums(walk.channels);
      for (std::int64_t n = begin; n < end; ++n) {
        sum_sample(walk, groups, epsilon, {arguments.inputs[0], arguments.inputs[1]}, n, sums);
        double* const to = all + n * 2 * walk.channels;
        for (std::size_t c = 0; c < sums.mean.size(); ++c) {
          to[2 * c] = sums.products[2 * c] * static_cast<double>(sums.inverse[c]);
          to[2 * c + 1] = sums.products[2 * c + 1];
        }
      }
    });
    float* const pack = arguments.outputs[0];
    std::fill_n(pack, 2 * place, 0.0F);
    for (std::int64_t e = 0; e < entries; ++e) {
      double scale = 0, shift = 0;
      for (std::int64_t n = 0; n < walk.samples; ++n) {
        for (std::int64_t c = e * per_entry; c < (e + 1) * per_entry; ++c) {
          scale += all[(n * walk.channels + c) * 2];
          shift += all[(n * walk.channels + c) * 2 + 1];
        }
      }
      pack[e] = static_cast<float>(scale);
      pack[place + e] = static_cast<float>(shift);
    }
  };
  return {{loop, Bytes{found->samples * 2 * found->channels * std::int64_t{sizeof(double)}}}};
}

}  // namespace cohort::onednn
