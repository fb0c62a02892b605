#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "executor/onednn/loops/channels.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"

namespace cohort::onednn {
namespace {

/// So many elements are summed in float32, which vectors hold more of, before the sum goes into a double.
constexpr std::int64_t kChunk = 128;

/// sums[c] of `rows` rows of `channels` adjoining elements less mean[c], squared where `squared`.
template <bool squared>
void sum_columns(const float* x, std::int64_t rows, std::int64_t distance, std::int64_t channels, const float* mean,
                 float* sums) {
  std::fill_n(sums, channels, 0.0F);
  for (std::int64_t row = 0; row < rows; ++row, x += distance) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float centred = x[c] - mean[c];
      sums[c] += squared ? centred * centred : centred;
    }
  }
}

/// Sum of `count` adjoining elements less `mean`, squared where `squared`.
template <bool squared>
float sum_row(const float* x, std::int64_t count, float mean) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const float centred = x[i] - mean;
    sum += squared ? centred * centred : centred;
  }
  return sum;
}

/// What is computed of a stretch of channels of one sample, by position of the channel in the stretch.
struct Stretch {
  explicit Stretch(std::int64_t channels)
      : mean(static_cast<std::size_t>(channels)), factor(mean), shift(mean), chunk(mean), sums(mean.size()) {}

  std::vector<float> mean, factor, shift, chunk;
  std::vector<double> sums;
};

class GroupNormalizer {
 public:
  GroupNormalizer(const GroupNormalization& op, const ChannelWalk& walk, const OpCall& call, int threads)
      : threads_(threads),
        samples_(walk.samples),
        channels_(walk.channels),
        groups_(op.groups),
        positions_(walk.positions),
        epsilon_(static_cast<double>(op.epsilon)),
        x_(walk.forms[0]),
        y_(walk.forms[1]) {
    // By position where channels adjoin, as the loops ask.
    if (walk.by_position) x_.channel = y_.channel = 1;
    for (std::size_t i = 0; i < 2; ++i) {
      const View operand = view_of(call, i + 1);
      const std::int64_t distance = operand.shape[0] > 1 ? operand.strides[0] : 0;
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::int64_t entry = operand.shape[0] == channels_ ? c : c / (channels_ / groups_);
        (i == 0 ? scale_ : shift_).push_back(entry * distance);
      }
    }
  }

  void run(const HostArguments& arguments) const {
    // Samples are the parts for threads; fewer samples are cut into runs of groups.
    const std::int64_t cuts = std::clamp<std::int64_t>((threads_ + samples_ - 1) / samples_, 1, groups_);
    const std::int64_t parts = samples_ * cuts;
    for_each_part(threads_, parts, [&](std::int64_t part) {
      const std::int64_t cut = part % cuts;
      run_part(arguments, part / cuts, groups_ * cut / cuts, groups_ * (cut + 1) / cuts);
    });
  }

 private:
  /// Groups [first, last) of a sample.
  void run_part(const HostArguments& arguments, std::int64_t sample, std::int64_t first, std::int64_t last) const {
    const std::int64_t per_group = channels_ / groups_;
    const std::int64_t begin = first * per_group, count = (last - first) * per_group;
    const float* const x = arguments.inputs[0] + sample * x_.sample + begin * x_.channel;
    float* const y = arguments.outputs[0] + sample * y_.sample + begin * y_.channel;
    Stretch stretch(count);
    const auto elements = static_cast<double>(per_group * positions_);
    // Over each group: to(first channel, sum of its elements or squares).
    const auto each_group = [&](auto to) {
      for (std::int64_t c = 0; c < count; c += per_group) {
        double sum = 0;
        for (std::int64_t i = c; i < c + per_group; ++i) sum += stretch.sums[static_cast<std::size_t>(i)];
        to(static_cast<std::size_t>(c), sum / elements);
      }
    };
    const auto width = static_cast<std::size_t>(per_group);
    // Sums of distances from some element lose fewer digits than sums of elements.
    for (std::int64_t c = 0; c < count; ++c) stretch.mean[static_cast<std::size_t>(c)] = x[c * x_.channel];
    sum<false>(x, stretch);
    for (std::size_t c = 0; c < stretch.sums.size(); ++c)
      stretch.sums[c] += static_cast<double>(stretch.mean[c]) * static_cast<double>(positions_);
    std::vector<double> means;
    each_group([&](std::size_t c, double mean) {
      std::fill_n(stretch.mean.begin() + static_cast<std::ptrdiff_t>(c), width, static_cast<float>(mean));
      means.push_back(mean);
    });
    sum<true>(x, stretch);
    each_group([&](std::size_t c, double variance) {
      const double factor = 1 / std::sqrt(variance + epsilon_);
      for (std::size_t i = c; i < c + width; ++i) {
        const std::size_t channel = static_cast<std::size_t>(begin) + i;
        const double scaled = factor * static_cast<double>(arguments.inputs[1][scale_[channel]]);
        const double rounded_off = means[c / width] - static_cast<double>(stretch.mean[i]);
        stretch.factor[i] = static_cast<float>(scaled);
        stretch.shift[i] =
            static_cast<float>(static_cast<double>(arguments.inputs[2][shift_[channel]]) - rounded_off * scaled);
      }
    });
    write(x, y, stretch);
  }

  template <bool squared>
  void sum(const float* x, Stretch& stretch) const {
    const auto channels = static_cast<std::int64_t>(stretch.sums.size());
    std::fill(stretch.sums.begin(), stretch.sums.end(), 0.0);
    for (std::int64_t at = 0; at < positions_; at += kChunk) {
      const std::int64_t count = std::min(kChunk, positions_ - at);
      if (x_.channel == 1)
        sum_columns<squared>(x + at * x_.position, count, x_.position, channels, stretch.mean.data(),
                             stretch.chunk.data());
      for (std::size_t c = 0; c < stretch.sums.size(); ++c) {
        const float* const row = x + static_cast<std::int64_t>(c) * x_.channel + at;
        stretch.sums[c] +=
            static_cast<double>(x_.channel == 1 ? stretch.chunk[c] : sum_row<squared>(row, count, stretch.mean[c]));
      }
    }
  }

  void write(const float* x, float* y, const Stretch& stretch) const {
    const auto channels = static_cast<std::int64_t>(stretch.mean.size());
    const float* const mean = stretch.mean.data();
    const float* const factor = stretch.factor.data();
    const float* const shift = stretch.shift.data();
    if (x_.channel == 1) {
      for (std::int64_t at = 0; at < positions_; ++at, x += x_.position, y += y_.position) {
        for (std::int64_t c = 0; c < channels; ++c) y[c] = (x[c] - mean[c]) * factor[c] + shift[c];
      }
      return;
    }
    for (std::int64_t c = 0; c < channels; ++c, x += x_.channel, y += y_.channel) {
      for (std::int64_t at = 0; at < positions_; ++at) y[at] = (x[at] - mean[c]) * factor[c] + shift[c];
    }
  }

  int threads_;
  std::int64_t samples_, channels_, groups_, positions_;
  double epsilon_;
  ChannelForm x_, y_;
  std::vector<std::int64_t> scale_, shift_;  ///< where a channel's lies in the operand
};

}  // namespace

OwnWays own_ways(const GroupNormalization& op, const OpCall& call, int threads) {
  const std::array<View, 2> views{view_of(call, 0), call.outputs[0]};
  const std::optional<ChannelWalk> walk = channel_walk(views);
  if (!walk || !call.post_ops.empty()) return {};
  return {{[kernel = GroupNormalizer(op, *walk, call, threads)](const HostArguments& arguments) {
    kernel.run(arguments);
  }}};
}

}  // namespace cohort::onednn
