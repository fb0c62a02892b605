// Group normalisation: the spread of every channel in one pass over memory, joined to that of groups; a second pass
// normalises.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "executor/onednn/loops/channel_sums.hpp"
#include "executor/onednn/loops/normalize_channels.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"

namespace cohort::onednn {
namespace {

/// Of each channel of a sample.
struct Coefficients {
  explicit Coefficients(std::int64_t channels) : mean(static_cast<std::size_t>(channels)), factor(mean), shift(mean) {}

  std::vector<float> mean, factor, shift;
};

class GroupNormalizer {
 public:
  GroupNormalizer(const GroupNormalization& op, ChannelWalk walk, const OpCall& call, int threads)
      : walk_(std::move(walk)), groups_(op.groups), epsilon_(static_cast<double>(op.epsilon)) {
    for (std::size_t i = 0; i < 2; ++i) {
      const View operand = view_of(call, i + 1);
      const std::int64_t distance = operand.shape[0] > 1 ? operand.strides[0] : 0;
      const std::int64_t per_entry = walk_.channels / operand.shape[0];
      for (std::int64_t c = 0; c < walk_.channels; ++c) places_[i].push_back(c / per_entry * distance);
    }
    const std::int64_t elements = walk_.samples * walk_.channels * walk_.positions;
    threads_ = static_cast<int>(std::clamp<std::int64_t>(elements / kGrain, 1, threads));
    lines_ = walk_.by_position ? walk_.positions : walk_.channels;
    // Samples are the parts for threads; fewer samples are cut.
    cuts_ = std::clamp<std::int64_t>((threads_ + walk_.samples - 1) / walk_.samples, 1, lines_);
  }

  void run(const HostArguments& arguments) const {
    const std::int64_t parts = walk_.samples * cuts_, values = 2 * walk_.channels;
    std::vector<double> spreads(static_cast<std::size_t>(parts * values));
    const auto spread_of = [&](std::int64_t part) { return spreads.data() + part * values; };
    if (cuts_ == 1) {  // a sample is written while it is in the caches
      for_each_part(threads_, parts, [&](std::int64_t n) {
        measure(arguments, n, 0, spread_of(n));
        write(arguments, n, 0, spread_of(n));
      });
      return;
    }
    for_each_part(threads_, parts,
                  [&](std::int64_t part) { measure(arguments, part / cuts_, part % cuts_, spread_of(part)); });
    for_each_part(threads_, parts, [&](std::int64_t part) {
      write(arguments, part / cuts_, part % cuts_, spread_of(part / cuts_ * cuts_));
    });
  }

 private:
  /// Lines of sample n that a cut has.
  [[nodiscard]] Range lines_of(std::int64_t n, std::int64_t cut) const {
    return {n * lines_ + lines_ * cut / cuts_, n * lines_ + lines_ * (cut + 1) / cuts_};
  }

  /// Means and sums of squared distances of the channels, as far as they lie in the cut.
  void measure(const HostArguments& arguments, std::int64_t n, std::int64_t cut, double* spreads) const {
    const float* const x = arguments.inputs[0];
    const Range lines = lines_of(n, cut);
    if (walk_.by_position) return lines_statistics(walk_, x, lines, spreads);
    for (std::int64_t line = lines.begin; line < lines.end; ++line) {
      const std::int64_t c = line - n * lines_;
      const Spread spread = plane_statistics(walk_, x, c, {n, n + 1});
      spreads[c] = spread.mean;
      spreads[walk_.channels + c] = spread.squares;
    }
  }

  /// Spread of channels [first, last) of a sample. `spreads`: of its cuts, one behind another.
  [[nodiscard]] Spread spread_of(const double* spreads, std::int64_t first, std::int64_t last) const {
    Spread all;
    double seen = 0;
    for (std::int64_t c = first; c < last; ++c) {
      for (std::int64_t cut = 0; cut < cuts_; ++cut) {
        const Range lines = lines_of(0, cut);
        if (!walk_.by_position && (c < lines.begin || c >= lines.end)) continue;
        const auto count = static_cast<double>(walk_.by_position ? lines.end - lines.begin : walk_.positions);
        const double* const of_cut = spreads + cut * 2 * walk_.channels;
        join_spread(count, of_cut[c], of_cut[walk_.channels + c], seen, all.mean, all.squares);
        seen += count;
      }
    }
    return all;
  }

  [[nodiscard]] Coefficients coefficients(const HostArguments& arguments, const double* spreads) const {
    Coefficients result(walk_.channels);
    const std::int64_t per_group = walk_.channels / groups_;
    const auto elements = static_cast<double>(per_group * walk_.positions);
    for (std::int64_t first = 0; first < walk_.channels; first += per_group) {
      const Spread spread = spread_of(spreads, first, first + per_group);
      const double inverse = 1 / std::sqrt(spread.squares / elements + epsilon_);
      const auto mean = static_cast<float>(spread.mean);
      const double rounded_off = spread.mean - static_cast<double>(mean);
      for (auto c = static_cast<std::size_t>(first); c < static_cast<std::size_t>(first + per_group); ++c) {
        const double factor = inverse * static_cast<double>(arguments.inputs[1][places_[0][c]]);
        result.mean[c] = mean;
        result.factor[c] = static_cast<float>(factor);
        result.shift[c] =
            static_cast<float>(static_cast<double>(arguments.inputs[2][places_[1][c]]) - rounded_off * factor);
      }
    }
    return result;
  }

  void write(const HostArguments& arguments, std::int64_t n, std::int64_t cut, const double* spreads) const {
    const Coefficients all = coefficients(arguments, spreads);
    const Range lines = lines_of(n, cut);
    const float* const x = arguments.inputs[0];
    float* const y = arguments.outputs[0];
    if (walk_.by_position) {
      normalize_rows({x + walk_.line(0, lines.begin), y + walk_.line(1, lines.begin), walk_.forms[0].position,
                      walk_.forms[1].position, lines.end - lines.begin, walk_.channels},
                     {all.mean.data(), all.factor.data(), all.shift.data()});
      return;
    }
    for (std::int64_t line = lines.begin; line < lines.end; ++line) {
      const std::int64_t c = line - n * lines_;
      normalize_run({x + walk_.line(0, line), y + walk_.line(1, line), 1, 1, 0, walk_.positions},
                    {all.mean.data() + c, all.factor.data() + c, all.shift.data() + c});
    }
  }

  ChannelWalk walk_;  ///< of x and y
  std::int64_t groups_;
  double epsilon_;
  int threads_ = 1;
  std::int64_t lines_ = 1;                           ///< of a sample
  std::int64_t cuts_ = 1;                            ///< parts of a sample's lines
  std::array<std::vector<std::int64_t>, 2> places_;  ///< where a channel's lies in scale and shift
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
