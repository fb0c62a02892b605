#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A colour as QImage keeps it: 0xffRRGGBB.
using Argb = std::uint32_t;

/// Neighbouring slices that a level shows as one.
struct LaneItem {
  Nanoseconds start{};        ///< of the first of them
  Nanoseconds end{};          ///< of the last one
  Nanoseconds busy{};         ///< sum of their durations
  std::uint32_t first = 0;    ///< position of the first of them; the last one is before the next item's first
  std::uint32_t longest = 0;  ///< position of the longest of them
};

/// A coarser view of a lane: time in buckets of 2^shift ns, counted from the lane's start. Slices that start in the
/// same bucket and are shorter than it are one item; longer ones stand alone, so that a level has no more items than
/// the lane has slices, however sparse or crowded it is.
struct LaneLevel {
  int shift = 0;
  std::vector<LaneItem> items;
};

/// Slices beside which nothing else runs: by start, none overlaps the next. What is drawn as one line. Times are those
/// of the timeline, on which parts may be shifted.
class Lane {
 public:
  Lane() = default;
  /// All three of the same length, in order. Time and memory: O(n); levels take about 8 bytes a slice.
  Lane(std::vector<Nanoseconds> starts, std::vector<Nanoseconds> ends, std::vector<SliceId> slices);

  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  [[nodiscard]] Nanoseconds start(std::size_t position) const { return starts_[position]; }
  [[nodiscard]] Nanoseconds end(std::size_t position) const { return ends_[position]; }
  [[nodiscard]] Nanoseconds duration(std::size_t position) const { return ends_[position] - starts_[position]; }
  [[nodiscard]] SliceId slice(std::size_t position) const { return slices_[position]; }
  [[nodiscard]] std::span<const LaneLevel> levels() const { return levels_; }
  [[nodiscard]] std::size_t bytes() const;

  /// Position of the first slice that ends after `time`, or starts at it; size() where there is none. O(log n).
  [[nodiscard]] std::size_t first_from(Nanoseconds time) const;
  /// Position of the first slice that starts at `time` or later. O(log n).
  [[nodiscard]] std::size_t first_starting(Nanoseconds time) const;
  /// The slice that runs at `time`; else the nearest within `tolerance` before or after it.
  [[nodiscard]] std::optional<std::size_t> at(Nanoseconds time, Nanoseconds tolerance) const;
  /// The longest slice that touches a window, by the levels: O(log n) for a window of a few pixels at any zoom.
  [[nodiscard]] std::optional<std::size_t> longest_in(TimeWindow window) const;
  /// Slices in `window` of at least this duration, in order. Time: O(pixels) where `least` lasts a pixel or more.
  [[nodiscard]] std::vector<std::size_t> at_least(TimeWindow window, Nanoseconds least) const;
  /// Time in which slices run inside a window.
  [[nodiscard]] Nanoseconds busy(TimeWindow window) const;

  /// The coarsest level whose buckets last no longer than `resolution`; null: look at the slices themselves.
  [[nodiscard]] const LaneLevel* level_for(Nanoseconds resolution) const;

 private:
  void build_levels();
  [[nodiscard]] int merge_shift(std::size_t position) const;

  std::vector<Nanoseconds> starts_;
  std::vector<Nanoseconds> ends_;
  std::vector<SliceId> slices_;
  std::vector<LaneLevel> levels_;  ///< finest first
};

/// Draws lanes as single lines of pixels. Keeps its scratch memory between lanes.
class LaneRaster {
 public:
  /// How a window is drawn: over as many pixels as the line has.
  struct Look {
    TimeWindow window;
    Argb background = 0xffffffff;
    double faintest = 0.3;  ///< share of a slice's colour where it covers hardly anything of its pixel
  };
  /// Each pixel has the colour of what covers most of it, blended with the background by the share in which anything
  /// runs. `colours` are by SliceId. Time: O(pixels), or O(slices in the window) if they are fewer.
  void draw(const Lane& lane, std::span<const Argb> colours, const Look& look, std::span<Argb> line);

 private:
  struct Pixel {
    float share = 0;           ///< of the pixel's time in which anything runs
    float weight = 0;          ///< share of the slice whose colour it has
    std::uint32_t number = 0;  ///< that slice's position and 1; 0 where nothing runs
  };
  struct Span {
    double from = 0;  ///< pixels
    double to = 0;
    double busy = 0;           ///< pixels of it in which something runs
    std::uint32_t number = 0;  ///< position of the slice whose colour it has, and 1
    bool is_slice = false;     ///< one slice, not several
  };
  void add(const Span& span);
  void add_wide(const Span& span);
  void put(std::size_t x, double share, std::uint32_t number);
  void colour(const Lane& lane, std::span<const Argb> colours, const Look& look, std::span<Argb> line) const;

  std::vector<Pixel> pixels_;
};

}  // namespace cohort
