#include "view/timeline/lane.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cohort {
namespace {

/// Fewer slices than this are looked at one by one.
constexpr std::size_t kLeastForLevels = 256;
/// The finest level has at most one item for so many slices.
constexpr std::size_t kSlicesOfAnItem = 8;
constexpr std::size_t kLeastItems = 64;

std::uint64_t unsigned_of(Nanoseconds time) { return static_cast<std::uint64_t>(time.count()); }

/// `weight` of 256 parts of `top`, red and blue at once.
Argb mix(Argb top, Argb below, std::uint32_t weight) {
  constexpr std::uint32_t kRedBlue = 0xff00ffU;
  constexpr std::uint32_t kGreen = 0x00ff00U;
  const std::uint32_t rest = 256 - weight;
  const std::uint32_t red_blue = ((top & kRedBlue) * weight + (below & kRedBlue) * rest + 0x800080U) >> 8U;
  const std::uint32_t green = (((top & kGreen) >> 8U) * weight + ((below & kGreen) >> 8U) * rest + 0x80U) & 0xff00U;
  return 0xff000000U | (red_blue & kRedBlue) | green;
}

}  // namespace

Lane::Lane(std::vector<Nanoseconds> starts, std::vector<Nanoseconds> ends, std::vector<SliceId> slices)
    : starts_(std::move(starts)), ends_(std::move(ends)), slices_(std::move(slices)) {
  build_levels();
}

std::size_t Lane::bytes() const {
  std::size_t sum = starts_.capacity() * (2 * sizeof(Nanoseconds) + sizeof(SliceId));
  for (const LaneLevel& level : levels_) sum += level.items.capacity() * sizeof(LaneItem);
  return sum;
}

/// The least shift at whose level this slice and the one before are one item. Whoever is one at a level is one at all
/// coarser ones.
int Lane::merge_shift(std::size_t position) const {
  const std::uint64_t origin = unsigned_of(starts_.front());
  const std::uint64_t before = unsigned_of(starts_[position - 1]) - origin;
  const std::uint64_t here = unsigned_of(starts_[position]) - origin;
  return static_cast<int>(
      std::bit_width((before ^ here) | unsigned_of(duration(position - 1)) | unsigned_of(duration(position))));
}

void Lane::build_levels() {
  const std::size_t count = size();
  if (count < kLeastForLevels) return;
  std::array<std::size_t, 66> merges{};  // by shift
  for (std::size_t i = 1; i < count; ++i) ++merges[static_cast<std::size_t>(merge_shift(i))];
  std::size_t items = count;
  std::size_t most = count / kSlicesOfAnItem;
  for (std::size_t shift = 0; shift < merges.size() && items > kLeastItems; ++shift) {
    items -= merges[shift];
    if (items > most) continue;
    most = items / 2;
    LaneLevel level;
    level.shift = static_cast<int>(shift);
    level.items.reserve(items);
    const auto add = [&](const LaneItem& next) {
      const bool opens = next.first == 0 || merge_shift(next.first) > level.shift;
      if (opens) {
        level.items.push_back(next);
        return;
      }
      LaneItem& item = level.items.back();
      item.end = next.end;
      item.busy += next.busy;
      if (duration(next.longest) > duration(item.longest)) item.longest = next.longest;
    };
    if (levels_.empty()) {
      for (std::uint32_t i = 0; i < count; ++i) add({starts_[i], ends_[i], duration(i), i, i});
    } else {
      for (const LaneItem& item : levels_.back().items) add(item);
    }
    levels_.push_back(std::move(level));
  }
}

std::size_t Lane::first_from(Nanoseconds time) const {
  auto at = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), time) - ends_.begin());
  while (at > 0 && starts_[at - 1] == time) --at;  // those without a duration
  return at;
}

std::size_t Lane::first_starting(Nanoseconds time) const {
  return static_cast<std::size_t>(std::lower_bound(starts_.begin(), starts_.end(), time) - starts_.begin());
}

std::optional<std::size_t> Lane::at(Nanoseconds time, Nanoseconds tolerance) const {
  const std::size_t next = first_from(time);
  if (next < size() && starts_[next] <= time) return next;
  std::optional<std::size_t> nearest;
  Nanoseconds distance = tolerance;
  if (next > 0 && time - ends_[next - 1] <= distance) {
    nearest = next - 1;
    distance = time - ends_[next - 1];
  }
  if (next < size() && starts_[next] - time <= distance && (!nearest || starts_[next] - time < distance)) {
    nearest = next;
  }
  return nearest;
}

const LaneLevel* Lane::level_for(Nanoseconds resolution) const {
  const LaneLevel* coarsest = nullptr;
  for (const LaneLevel& level : levels_) {
    if (level.shift < 63 && (std::int64_t{1} << level.shift) <= resolution.count()) coarsest = &level;
  }
  return coarsest;
}

namespace {

/// The item that holds a position.
std::size_t item_with(const LaneLevel& level, std::size_t position) {
  const auto after = std::upper_bound(level.items.begin(), level.items.end(), position,
                                      [](std::size_t at, const LaneItem& item) { return at < item.first; });
  return static_cast<std::size_t>(after - level.items.begin()) - 1;
}

}  // namespace

std::optional<std::size_t> Lane::longest_in(TimeWindow window) const {
  const std::size_t from = first_from(window.start);
  const std::size_t to = std::max(from, first_starting(window.end));
  std::optional<std::size_t> longest;
  const auto take = [&](std::size_t position) {
    if (!longest || duration(position) > duration(*longest)) longest = position;
  };
  // Upwards by whole items of ever coarser levels, downwards again near the end.
  std::size_t at = from;
  while (at < to) {
    std::size_t next = at + 1;
    std::size_t best = at;
    for (const LaneLevel& level : levels_) {
      const std::size_t i = item_with(level, at);
      const std::size_t end = i + 1 < level.items.size() ? level.items[i + 1].first : size();
      if (level.items[i].first != at || end > to) break;
      next = end;
      best = level.items[i].longest;
    }
    take(best);
    at = next;
  }
  return longest;
}

std::vector<std::size_t> Lane::at_least(TimeWindow window, Nanoseconds least) const {
  std::vector<std::size_t> wide;
  const std::size_t from = first_from(window.start);
  if (from == size()) return wide;
  const LaneLevel* level = level_for(least);
  if (level == nullptr) {
    for (std::size_t i = from; i < size() && starts_[i] < window.end; ++i) {
      if (duration(i) >= least) wide.push_back(i);
    }
    return wide;
  }
  // What is longer than a level's buckets stands alone in it.
  for (std::size_t i = item_with(*level, from); i < level->items.size(); ++i) {
    const std::size_t longest = level->items[i].longest;
    if (starts_[level->items[i].first] >= window.end) break;
    if (longest >= from && duration(longest) >= least) wide.push_back(longest);
  }
  return wide;
}

Nanoseconds Lane::busy(TimeWindow window) const {
  Nanoseconds sum{};
  const std::size_t to = first_starting(window.end);
  for (std::size_t i = first_from(window.start); i < to; ++i) {
    sum += std::max(Nanoseconds(0), std::min(ends_[i], window.end) - std::max(starts_[i], window.start));
  }
  return sum;
}

void LaneRaster::draw(const Lane& lane, std::span<const Argb> colours, const Look& look, std::span<Argb> line) {
  pixels_.assign(line.size() + 1, Pixel{});  // one more, for what goes on behind the last
  const double scale = static_cast<double>(line.size()) / static_cast<double>(look.window.length().count());
  const auto x_of = [&](Nanoseconds time) { return static_cast<double>((time - look.window.start).count()) * scale; };
  const std::size_t from = lane.first_from(look.window.start);
  const LaneLevel* level = lane.level_for(Nanoseconds(static_cast<std::int64_t>(1 / scale)));
  if (from < lane.size() && level != nullptr) {
    const std::vector<LaneItem>& items = level->items;
    for (std::size_t i = item_with(*level, from); i < items.size() && items[i].start < look.window.end; ++i) {
      const LaneItem& item = items[i];
      const double busy = static_cast<double>(item.busy.count()) * scale;
      add({x_of(item.start), x_of(item.end), busy, item.longest + 1, item.busy == item.end - item.start});
    }
  } else {
    for (std::size_t i = from; i < lane.size() && lane.start(i) < look.window.end; ++i) {
      const double x = x_of(lane.start(i));
      const double end = x_of(lane.end(i));
      add({x, end, end - x, static_cast<std::uint32_t>(i + 1), true});
    }
  }
  colour(lane, colours, look, line);
}

void LaneRaster::colour(const Lane& lane, std::span<const Argb> colours, const Look& look, std::span<Argb> line) const {
  // All colours first: looking them up waits for memory, and one wait need not follow the other.
  for (std::size_t x = 0; x < line.size(); ++x) {
    const std::uint32_t number = pixels_[x].number;
    line[x] = number == 0 ? look.background : colours[to_index(lane.slice(number - 1))];
  }
  constexpr float kWhole = 0.999F;
  const auto faintest = static_cast<float>(look.faintest);
  for (std::size_t x = 0; x < line.size(); ++x) {
    const float share = pixels_[x].share;
    const float opacity = share >= kWhole ? 1.0F : faintest + (1 - faintest) * share;
    line[x] = mix(line[x], look.background, static_cast<std::uint32_t>(opacity * 256 + 0.5F));
  }
}

/// Without a branch that depends on the slices: what a processor guesses wrong costs more than all the rest.
void LaneRaster::put(std::size_t x, double share, std::uint32_t number) {
  Pixel& pixel = pixels_[x];
  const auto added = static_cast<float>(share);
  const bool wins = added > pixel.weight;
  pixel.share += added;
  pixel.weight = wins ? added : pixel.weight;
  pixel.number = wins ? number : pixel.number;
}

void LaneRaster::add(const Span& span) {
  const double length = span.to - span.from;
  if (length >= 1 || span.from < 0 || span.to >= static_cast<double>(pixels_.size() - 1)) {
    add_wide(span);
    return;
  }
  // Most of them: a part in one pixel, the rest, or nothing, in the next.
  constexpr double kShortest = 1e-6;  // what has no length still shows
  const auto first = static_cast<std::size_t>(span.from);
  const double density = span.is_slice ? 1 : span.busy / std::max(length, kShortest);
  const double rest = std::max(0.0, span.to - static_cast<double>(first + 1)) * density;
  put(first, std::max(kShortest, span.busy - rest), span.number);
  put(first + 1, rest, span.number);
}

void LaneRaster::add_wide(const Span& span) {
  const std::size_t count = pixels_.size() - 1;
  const auto width = static_cast<double>(count);
  if (span.from >= width || span.to < 0) return;
  const double from = std::max(0.0, span.from);
  const double to = std::min(width, span.to);
  const double length = span.to - span.from;
  const double density = span.is_slice || length <= 0 ? 1 : span.busy / length;
  const auto first = static_cast<std::size_t>(from);
  const auto last = static_cast<std::size_t>(to);
  if (last <= first) {
    constexpr double kShortest = 1e-6;
    put(first, std::max(kShortest, (to - from) * density), span.number);
    return;
  }
  // What is wide enough to be told apart from what is before it begins with a thin line.
  constexpr double kEdgeFrom = 4;
  const bool has_edge = span.is_slice && length >= kEdgeFrom && span.from >= 0;
  put(first, (static_cast<double>(first + 1) - from) * density * (has_edge ? 0.4 : 1), span.number);
  if (has_edge) pixels_[first].share = std::min(pixels_[first].share, 0.6F);
  for (std::size_t x = first + 1; x < last; ++x) {
    if (span.is_slice) {
      pixels_[x] = {1, 1, span.number};
    } else {
      put(x, density, span.number);
    }
  }
  put(last, (to - static_cast<double>(last)) * density, span.number);
}

}  // namespace cohort
