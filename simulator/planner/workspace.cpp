#include "simulator/planner/workspace.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace cohort {
namespace {

struct Point {
  Nanoseconds time{};
  Bytes workspace;
};

/// A part of the steps: its frontier, fastest first, and what each point is made of.
struct Part {
  std::vector<Point> points;
  std::vector<std::uint32_t> ways;  ///< of a single step: by point
  std::size_t step = 0;
  std::vector<std::unique_ptr<Part>> children;
  std::vector<std::vector<std::uint32_t>> made_of;  ///< by point: the point of each child
};

using Steps = std::vector<std::size_t>;

/// Parts one after another: times add up, workspaces share. What limits the parts is workspace, the largest first.
struct InSeries {
  static Bytes measure(const Point& point) { return point.workspace; }
  static bool comes_first(Bytes a, Bytes b) { return a > b; }
  /// The first point, the fastest, that needs no more than `limit`; the end where all need more.
  static std::size_t best_within(const std::vector<Point>& points, Bytes limit) {
    const auto first =
        std::partition_point(points.begin(), points.end(), [&](const Point& point) { return point.workspace > limit; });
    return static_cast<std::size_t>(first - points.begin());
  }
  static void add(Point& sum, const Point& point) {
    sum.time += point.time;
    sum.workspace = std::max(sum.workspace, point.workspace);
  }
};

/// Parts side by side: the longest time counts, workspaces add up. What limits the parts is time, the shortest first.
struct InParallel {
  static Nanoseconds measure(const Point& point) { return point.time; }
  static bool comes_first(Nanoseconds a, Nanoseconds b) { return a < b; }
  /// The last point, the one with least workspace, that takes no longer than `limit`; the end where all do.
  static std::size_t best_within(const std::vector<Point>& points, Nanoseconds limit) {
    const auto after =
        std::partition_point(points.begin(), points.end(), [&](const Point& point) { return point.time <= limit; });
    return after == points.begin() ? points.size() : static_cast<std::size_t>(after - points.begin()) - 1;
  }
  static void add(Point& sum, const Point& point) {
    sum.time = std::max(sum.time, point.time);
    sum.workspace += point.workspace;
  }
};

class Frontiers {
 public:
  Frontiers(std::span<const std::vector<WorkspaceWay>> ways, const StepOrder& order) : ways_(ways), order_(order) {}

  WorkspaceFrontier run() {
    WorkspaceFrontier result;
    if (ways_.empty()) return result;
    Steps all(ways_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::unique_ptr<Part> whole = part_of(all);
    for (std::uint32_t i = 0; i < whole->points.size(); ++i) {
      WorkspaceChoice choice{whole->points[i].time, whole->points[i].workspace, {}};
      choice.ways.resize(ways_.size());
      fill(*whole, i, choice.ways);
      result.choices.push_back(std::move(choice));
    }
    result.exact = exact_;
    return result;
  }

 private:
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    return order_.stream(StepId(a)) == order_.stream(StepId(b)) || order_.before(StepId(a), StepId(b));
  }

  /// `steps` ascend, so that of two ordered ones the first comes first.
  std::unique_ptr<Part> part_of(const Steps& steps) {
    if (steps.size() == 1) return single(steps.front());
    if (std::vector<Steps> parts = series_parts(steps); parts.size() > 1) return combined<InSeries>(parts);
    if (std::vector<Steps> parts = parallel_parts(steps); parts.size() > 1) return combined<InParallel>(parts);
    exact_ = false;
    std::map<StreamId, Steps> by_stream;
    for (const std::size_t step : steps) by_stream[order_.stream(StepId(step))].push_back(step);
    std::vector<Steps> chains;
    for (auto& [stream, chain] : by_stream) chains.push_back(std::move(chain));
    return combined<InParallel>(chains);
  }

  /// Places in `steps`, by stream.
  [[nodiscard]] std::map<StreamId, Steps> places_by_stream(const Steps& steps) const {
    std::map<StreamId, Steps> places;
    for (std::size_t i = 0; i < steps.size(); ++i) places[order_.stream(StepId(steps[i]))].push_back(i);
    return places;
  }

  /// The first place on a stream that comes after the step at `i`: all behind it do.
  [[nodiscard]] Steps::const_iterator first_after(const Steps& steps, std::size_t i, const Steps& stream) const {
    const auto later = std::upper_bound(stream.begin(), stream.end(), i);
    return std::partition_point(later, stream.end(), [&](std::size_t j) { return !before(steps[i], steps[j]); });
  }

  /// Cut wherever all steps so far come before all others.
  [[nodiscard]] std::vector<Steps> series_parts(const Steps& steps) const {
    const std::map<StreamId, Steps> streams = places_by_stream(steps);
    std::vector<Steps> parts;
    std::size_t open_until = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (parts.empty() || i > open_until) parts.emplace_back();
      parts.back().push_back(steps[i]);
      open_until = std::max(open_until, i);
      for (const auto& [stream, places] : streams) {
        if (places.back() <= open_until || stream == order_.stream(StepId(steps[i]))) continue;
        const auto after = first_after(steps, i, places);
        if (after != places.begin()) open_until = std::max(open_until, *std::prev(after));
      }
    }
    return parts;
  }

  /// Steps that are ordered, through whatever others, are of one part.
  [[nodiscard]] std::vector<Steps> parallel_parts(const Steps& steps) const {
    std::vector<std::size_t> root(steps.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    const std::map<StreamId, Steps> streams = places_by_stream(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const auto& [stream, places] : streams) {
        // Those behind the first are of its part: they are on its stream.
        if (const auto after = first_after(steps, i, places); after != places.end()) root[find(*after)] = find(i);
      }
    }
    std::map<std::size_t, Steps> by_root;
    for (std::size_t i = 0; i < steps.size(); ++i) by_root[find(i)].push_back(steps[i]);
    std::vector<Steps> parts;
    for (auto& [first, part] : by_root) parts.push_back(std::move(part));
    return parts;
  }

  [[nodiscard]] std::unique_ptr<Part> single(std::size_t step) const {
    auto part = std::make_unique<Part>();
    part->step = step;
    std::vector<std::uint32_t> order(ways_[step].size());
    std::iota(order.begin(), order.end(), 0U);
    const auto& ways = ways_[step];
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(ways[a].time, ways[a].workspace) < std::pair(ways[b].time, ways[b].workspace);
    });
    for (const std::uint32_t way : order) {
      if (!part->points.empty() && ways[way].workspace >= part->points.back().workspace) continue;
      part->points.push_back({ways[way].time, ways[way].workspace});
      part->ways.push_back(way);
    }
    return part;
  }

  template <class Together>
  std::unique_ptr<Part> combined(const std::vector<Steps>& parts) {
    auto part = std::make_unique<Part>();
    for (const Steps& steps : parts) part->children.push_back(part_of(steps));
    add_points<Together>(*part);
    return part;
  }

  /// For every limit at which some child changes: each child its best way within it.
  template <class Together>
  static void add_points(Part& part) {
    std::vector<decltype(Together::measure(Point{}))> limits;
    for (const auto& child : part.children) {
      for (const Point& point : child->points) limits.push_back(Together::measure(point));
    }
    std::sort(limits.begin(), limits.end(), Together::comes_first);
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
    for (const auto limit : limits) {
      Point sum;
      std::vector<std::uint32_t> chosen;
      for (const auto& child : part.children) {
        const std::size_t at = Together::best_within(child->points, limit);
        if (at == child->points.size()) break;
        Together::add(sum, child->points[at]);
        chosen.push_back(static_cast<std::uint32_t>(at));
      }
      if (chosen.size() == part.children.size()) add_point(part, sum, std::move(chosen));
    }
  }

  /// Points come in order of time; one that needs no less workspace than the last is beaten by it.
  static void add_point(Part& part, Point point, std::vector<std::uint32_t> made_of) {
    if (!part.points.empty() && point.workspace >= part.points.back().workspace) return;
    if (!part.points.empty() && point.time == part.points.back().time) {
      part.points.pop_back();
      part.made_of.pop_back();
    }
    part.points.push_back(point);
    part.made_of.push_back(std::move(made_of));
  }

  static void fill(const Part& part, std::uint32_t point, std::vector<std::uint32_t>& ways) {
    if (part.children.empty()) ways[part.step] = part.ways[point];
    for (std::size_t c = 0; c < part.children.size(); ++c) fill(*part.children[c], part.made_of[point][c], ways);
  }

  std::span<const std::vector<WorkspaceWay>> ways_;
  const StepOrder& order_;
  bool exact_ = true;
};

}  // namespace

WorkspaceFrontier workspace_frontier(std::span<const std::vector<WorkspaceWay>> ways, const StepOrder& order) {
  return Frontiers(ways, order).run();
}

}  // namespace cohort
