#include "view/timeline/aggregate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "view/timeline/nesting.hpp"

namespace cohort {
namespace {

class Aggregator {
 public:
  Aggregator(const Timeline& timeline, TimeWindow window) : timeline_(timeline), window_(window) {
    out_.window = window;
    for (const TimelinePart& part : timeline.parts()) by_name_.emplace_back(part.trace->strings.size());
  }

  void add(RowId id) {
    collect(id);
    const TimelineRow& row = timeline_.row(id);
    RowTotal total;
    total.row = id;
    Nesting<std::size_t> nesting;  // positions of names' self times
    Nanoseconds until = window_.start;
    for (const Part& part : parts_) {
      NameTotal& name = name_of(row, part.slice);
      const Nanoseconds time = part.end - part.start;
      ++name.count;
      name.total += time;
      name.self += time;
      if (name.count == 1 || time > name.longest) {
        name.longest = time;
        name.longest_slice = {row.part, part.slice};
      }
      if (const std::size_t* holder = nesting.holder_of(part.start, part.end)) {
        out_.names[*holder].self -= time;
        out_.total -= time;
      }
      nesting.open(part.end, static_cast<std::size_t>(&name - out_.names.data()));
      out_.total += time;
      ++total.count;
      if (part.end > until) total.busy += part.end - std::max(part.start, until);
      until = std::max(until, part.end);
    }
    total.busy_share = window_.length() > Nanoseconds(0)
                           ? static_cast<double>(total.busy.count()) / static_cast<double>(window_.length().count())
                           : 0;
    out_.count += total.count;
    out_.rows.push_back(total);
  }

  AreaTotals finish() {
    std::sort(out_.names.begin(), out_.names.end(), [](const NameTotal& a, const NameTotal& b) {
      return a.self != b.self ? a.self > b.self : std::tie(a.name, a.part) < std::tie(b.name, b.part);
    });
    return std::move(out_);
  }

 private:
  /// What of a slice lies inside the window.
  struct Part {
    Nanoseconds start{};
    Nanoseconds end{};
    SliceId slice{};
  };

  void collect(RowId id) {
    const TimelineRow& row = timeline_.row(id);
    parts_.clear();
    for (std::size_t l = 0; l < row.lanes; ++l) {
      const Lane& lane = timeline_.lane(row.lane(l));
      const std::size_t to = lane.first_starting(window_.end);
      for (std::size_t i = lane.first_from(window_.start); i < to; ++i) {
        parts_.push_back({std::max(lane.start(i), window_.start), std::min(lane.end(i), window_.end), lane.slice(i)});
      }
    }
    if (row.lanes < 2) return;
    // What the window cuts on the left starts at one time: the outer ones then come first by their ends, and by lanes,
    // which the order of collection keeps.
    std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
  }

  NameTotal& name_of(const TimelineRow& row, SliceId id) {
    const Slice& slice = timeline_.slice({row.part, id});
    std::uint32_t& position = by_name_[row.part][to_index(slice.name)];
    if (position == 0) {
      NameTotal total;
      total.name = timeline_.name({row.part, id});
      total.part = row.part;
      out_.names.push_back(std::move(total));
      position = static_cast<std::uint32_t>(out_.names.size());
    }
    NameTotal& name = out_.names[position - 1];
    name.is_device = name.is_device || is_device_row(row.kind);
    return name;
  }

  const Timeline& timeline_;
  TimeWindow window_;
  AreaTotals out_;
  std::vector<std::vector<std::uint32_t>> by_name_;  ///< by part and StringId: position among the names and 1
  std::vector<Part> parts_;
};

}  // namespace

std::vector<NameTotal> AreaTotals::top_kernels(std::size_t most) const {
  std::vector<NameTotal> top;
  std::copy_if(names.begin(), names.end(), std::back_inserter(top),
               [](const NameTotal& name) { return name.is_device; });
  std::stable_sort(top.begin(), top.end(), [](const NameTotal& a, const NameTotal& b) { return a.total > b.total; });
  if (top.size() > most) top.resize(most);
  return top;
}

AreaTotals aggregate(const Timeline& timeline, TimeWindow window, std::span<const RowId> rows) {
  Aggregator aggregator(timeline, window);
  for (const RowId row : rows) aggregator.add(row);
  return aggregator.finish();
}

std::string to_tsv(const AreaTotals& totals) {
  std::string out = "name\tcount\ttotal_ns\tself_ns\tmean_ns\tlongest_ns\n";
  for (const NameTotal& name : totals.names) {
    std::string text = name.name;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", text, name.count, name.total.count(), name.self.count(),
                       name.mean().count(), name.longest.count());
  }
  return out;
}

}  // namespace cohort
