#include "view/timeline/details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "view/timeline/colours.hpp"
#include "view/timeline/names.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostLinks = 8;
constexpr std::size_t kNameLength = 120;

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

std::optional<std::string> with_unit(std::string_view name, std::int64_t value) {
  if (ends_with(name, "_ns")) return format_time(Nanoseconds(value));
  if (ends_with(name, "_us") && std::abs(value) < kMostTime.count() / 1000)
    return format_time(Nanoseconds(value * 1000));
  const bool is_bytes = name == "bytes" || name == "Bytes" || ends_with(name, " bytes") || ends_with(name, "_bytes") ||
                        name == "shared memory";
  if (is_bytes && value >= 0) return fmt::format("{} ({} bytes)", format_bytes({value}), value);
  return std::nullopt;
}

/// "(GB/s)" at the end of "memory bandwidth (GB/s)", "%" at that of "est. achieved occupancy %".
std::string_view unit_in_name(std::string_view name) {
  if (ends_with(name, "%")) return "%";
  const std::size_t open = name.rfind('(');
  if (open == std::string_view::npos || !ends_with(name, ")")) return {};
  return name.substr(open + 1, name.size() - open - 2);
}

std::string percent(Nanoseconds part, Nanoseconds whole) {
  return fmt::format("{:.1f}%", 100 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

/// The step of a program that a slice belongs to.
struct StepOfSlice {
  std::string name;
  TimeWindow window;
};

/// Of traces whose slices say which step they belong to: from the first to the last of them, looked for around it.
std::optional<StepOfSlice> iteration_of(const Timeline& timeline, SliceRef ref) {
  const Trace& trace = timeline.trace(ref);
  const auto key = trace.strings.find(kIterationArg);
  const auto iteration = trace.integer_arg(timeline.slice(ref), key);
  if (!iteration) return std::nullopt;
  const TimeWindow own = timeline.window(ref);
  TimeWindow all = own;
  for (const TimelineRow& row : timeline.rows()) {
    if (row.part != ref.part) continue;
    for (std::size_t l = 0; l < row.lanes; ++l) {
      const Lane& lane = timeline.lane(row.lane(l));
      const auto is_same = [&](std::size_t i) {
        return trace.integer_arg(trace.slice(lane.slice(i)), key) == iteration;
      };
      const std::size_t middle = lane.first_from(own.start);
      for (std::size_t i = middle; i < lane.size() && is_same(i); ++i) all.end = std::max(all.end, lane.end(i));
      for (std::size_t i = middle; i > 0 && is_same(i - 1); --i) all.start = std::min(all.start, lane.start(i - 1));
    }
  }
  return StepOfSlice{fmt::format("step {}", *iteration), all};
}

/// PyTorch's range around it.
std::optional<StepOfSlice> annotated_step_of(const Timeline& timeline, SliceRef ref) {
  const TimeWindow own = timeline.window(ref);
  for (std::size_t r = 0; r < timeline.rows().size(); ++r) {
    const TimelineRow& row = timeline.rows()[r];
    const bool may_hold = row.kind == RowKind::kRanges || row.kind == RowKind::kHostThread;
    if (row.part != ref.part || !may_hold) continue;
    const bool own_side = is_device_row(timeline.row(timeline.place(ref)->row).kind) == (row.kind == RowKind::kRanges);
    if (!own_side) continue;
    for (std::size_t l = 0; l < row.lanes; ++l) {
      const Lane& lane = timeline.lane(row.lane(l));
      const auto at = lane.at(own.start, Nanoseconds(0));
      if (!at || lane.start(*at) > own.start || lane.end(*at) <= own.start) continue;
      const SliceRef step{row.part, lane.slice(*at)};
      if (step != ref && timeline.name(step).starts_with("ProfilerStep#"))
        return StepOfSlice{std::string(timeline.name(step)), timeline.window(step)};
    }
  }
  return std::nullopt;
}

class Describer {
 public:
  Describer(const Timeline& timeline, SliceRef ref, const SliceFlows& flows)
      : timeline_(timeline), ref_(ref), flows_(flows) {}

  std::vector<DetailLine> describe() {
    const Trace& trace = timeline_.trace(ref_);
    const Slice& slice = timeline_.slice(ref_);
    add("name", std::string(trace.name(slice)));
    add("kind", fmt::format("{}{}{}", op_type(trace, slice), slice.category == StringId{} ? "" : ", ",
                            trace.strings[slice.category]));
    const auto place = timeline_.place(ref_);
    if (place) add("row", timeline_.full_title(place->row));
    const TimeWindow own = timeline_.window(ref_);
    const Nanoseconds origin = timeline_.window().start;
    add("start", fmt::format("{} ({} ns)", format_time(own.start - origin), (own.start - origin).count()));
    add("end", fmt::format("{} ({} ns)", format_time(own.end - origin), (own.end - origin).count()));
    add("duration", fmt::format("{} ({} ns)", format_time(own.length()), own.length().count()));
    if (place) add_step(own);
    if (const auto slack = trace.integer_arg(slice, "slack_ns")) {
      add("slack", *slack == 0 ? std::string("none: on the critical path") : format_time(Nanoseconds(*slack)));
    }
    add_links("after", "more before it", flows_.incoming, &FlowLink::from);
    add_links("leads to", "more after it", flows_.outgoing, &FlowLink::to);
    if (slice.args) {
      for (const auto& [name, value] : trace.args[to_index(*slice.args)]) {
        if (trace.strings[name] == "slack_ns") continue;
        add(std::string(trace.strings[name]), arg_text(trace, trace.strings[name], value));
      }
    }
    return std::move(lines_);
  }

 private:
  void add(std::string name, std::string value, std::optional<SliceRef> leads_to = std::nullopt) {
    lines_.push_back({std::move(name), std::move(value), leads_to});
  }

  void add_step(TimeWindow own) {
    auto step = iteration_of(timeline_, ref_);
    if (!step) step = annotated_step_of(timeline_, ref_);
    if (!step || step->window.length() <= Nanoseconds(0)) return;
    add("share of its step", fmt::format("{} of {} ({})", percent(own.length(), step->window.length()), step->name,
                                         format_time(step->window.length())));
  }

  void add_links(const char* name, const char* more, const std::vector<FlowLink>& links, SliceRef FlowLink::*end) {
    for (std::size_t i = 0; i < std::min(links.size(), kMostLinks); ++i) {
      const SliceRef other = links[i].*end;
      const TimeWindow own = timeline_.window(ref_);
      const TimeWindow there = timeline_.window(other);
      const Nanoseconds apart = end == &FlowLink::to ? there.start - own.end : own.start - there.end;
      add(name,
          fmt::format("{} ({}, {} {})", shortened(short_name(timeline_.name(other)), kNameLength), links[i].name,
                      format_time(Nanoseconds(std::abs(apart.count()))),
                      apart < Nanoseconds(0) ? "overlap" : "between"),
          other);
    }
    if (links.size() > kMostLinks) add(more, fmt::format("{}", links.size() - kMostLinks));
  }

  const Timeline& timeline_;
  SliceRef ref_;
  const SliceFlows& flows_;
  std::vector<DetailLine> lines_;
};

}  // namespace

std::vector<DetailLine> details_of(const Timeline& timeline, SliceRef ref, const SliceFlows& flows) {
  if (!timeline.contains(ref)) return {};
  return Describer(timeline, ref, flows).describe();
}

std::string arg_text(const Trace& trace, std::string_view name, const ArgValue& value) {
  if (const auto* text = std::get_if<StringId>(&value)) return std::string(trace.strings[*text]);
  if (const auto* nested = std::get_if<NestedJson>(&value)) return std::string(trace.strings[nested->text]);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  const std::string_view unit = unit_in_name(name);
  const std::string tail = unit.empty() ? std::string() : unit == "%" ? std::string(unit) : fmt::format(" {}", unit);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return with_unit(name, *integer).value_or(fmt::format("{}{}", *integer, tail));
  }
  return fmt::format("{:.6g}{}", std::get<double>(value), tail);
}

std::string hover_text(const Timeline& timeline, SliceRef ref) {
  return fmt::format("{}  {}", shortened(short_name(timeline.name(ref)), kNameLength),
                     format_time(timeline.window(ref).length()));
}

}  // namespace cohort
