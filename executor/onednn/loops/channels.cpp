#include "executor/onednn/loops/channels.hpp"

#include <algorithm>

#include "simulator/plan/tensor_layout.hpp"

namespace cohort::onednn {

std::optional<ChannelForm> channel_form(const View& view) {
  const auto part = [](const Shape& all) { return Shape(all.begin() + 2, all.end()); };
  const View positions{view.buffer, 0, part(view.shape), part(view.strides), view.type};
  const std::int64_t count = element_count(positions.shape);
  if (count == 1) return ChannelForm{view.strides[0], view.strides[1], view.strides[0]};
  const std::optional<Shape> joined = reshaped_strides(positions, {count});
  if (!joined) return std::nullopt;
  return ChannelForm{view.strides[0], view.strides[1], (*joined)[0]};
}

std::optional<ChannelWalk> channel_walk(std::span<const View> views) {
  const Shape& shape = views[0].shape;
  if (shape.size() < 2 || element_count(shape) == 0) return std::nullopt;
  ChannelWalk walk;
  walk.samples = shape[0];
  walk.channels = shape[1];
  walk.positions = element_count(shape) / (shape[0] * shape[1]);
  for (const View& view : views) {
    const std::optional<ChannelForm> form = channel_form(view);
    if (!form || view.shape != shape) return std::nullopt;
    walk.forms.push_back(*form);
  }
  const auto all = [&](auto adjoins) { return std::all_of(walk.forms.begin(), walk.forms.end(), adjoins); };
  const bool few = walk.channels == 1, one = walk.positions == 1;
  const bool channels_adjoin = all([&](const ChannelForm& form) { return few || form.channel == 1; });
  const bool positions_adjoin = all([&](const ChannelForm& form) { return one || form.position == 1; });
  if (!channels_adjoin && !positions_adjoin) return std::nullopt;
  // Where both do, one of them has one element; the longer makes the lines.
  walk.by_position = channels_adjoin && (!positions_adjoin || walk.channels > walk.positions);
  walk.uniform = all([&](const ChannelForm& form) {
    return walk.samples == 1 || (walk.by_position ? form.sample == walk.positions * form.position
                                                  : form.sample == walk.channels * form.channel);
  });
  return walk;
}

}  // namespace cohort::onednn
