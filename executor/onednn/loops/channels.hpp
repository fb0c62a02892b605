#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort::onednn {

/// How [N, C, positions] lies: distances in elements.
struct ChannelForm {
  std::int64_t sample = 0, channel = 0, position = 0;
};

/// Empty where the positions of a channel do not lie at one distance.
std::optional<ChannelForm> channel_form(const View& view);

/// Tensors [N, C, positions] of one shape that loops walk side by side. Either channels adjoin in memory, in all of
/// them, and a line is one position's channels; or positions do, and a line is one channel's positions.
struct ChannelWalk {
  std::int64_t samples = 1, channels = 1, positions = 1;
  bool by_position = true;  ///< a line for each position
  bool uniform = true;      ///< a sample's last line is as far from the next one's first as its lines are
  std::vector<ChannelForm> forms;

  /// Where line `line` of all begins in tensor `tensor`: a sample's position, or a sample's channel.
  [[nodiscard]] std::int64_t line(std::size_t tensor, std::int64_t line) const {
    const ChannelForm& form = forms[tensor];
    const std::int64_t step = by_position ? form.position : form.channel;
    if (uniform) return line * step;
    const std::int64_t per_sample = by_position ? positions : channels;
    return line / per_sample * form.sample + line % per_sample * step;
  }
  /// Elements that a channel has in all samples.
  [[nodiscard]] std::int64_t per_channel() const { return samples * positions; }
};

/// Empty where the views lie in different ways, or have no elements.
std::optional<ChannelWalk> channel_walk(std::span<const View> views);

}  // namespace cohort::onednn
