#include "view/compare/trace_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/device.hpp"
#include "simulator/report/compare.hpp"
#include "tracer/profile_record.hpp"
#include "view/compare/difference_table.hpp"

namespace cohort {
namespace {

constexpr PerSide<CompareSide> kSides{CompareSide::kPredicted, CompareSide::kMeasured};
constexpr std::size_t kPredicted = to_index(CompareSide::kPredicted);
constexpr std::size_t kMeasured = to_index(CompareSide::kMeasured);

/// Stretches of one identity in both sides, one after another.
class IdentityRuns {
 public:
  explicit IdentityRuns(const KeyedTraces& keyed) : keyed_(&keyed) {}

  /// Calls f(identity, predicted slices, measured slices); either may be empty.
  template <class F>
  void for_each(F&& f) const {
    PerSide<std::span<const KeyedSlice>> rest{keyed_->sides[kPredicted].slices, keyed_->sides[kMeasured].slices};
    while (!rest[0].empty() || !rest[1].empty()) {
      IdentityId next{};
      if (rest[0].empty() || rest[1].empty()) {
        next = (rest[0].empty() ? rest[1] : rest[0]).front().identity;
      } else {
        next = std::min(rest[0].front().identity, rest[1].front().identity);
      }
      f(next, take(rest[0], next), take(rest[1], next));
    }
  }

 private:
  static std::span<const KeyedSlice> take(std::span<const KeyedSlice>& rest, IdentityId identity) {
    std::size_t count = 0;
    while (count < rest.size() && rest[count].identity == identity) ++count;
    const auto taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  }

  const KeyedTraces* keyed_;
};

/// Slices of one step, of those of one identity.
std::span<const KeyedSlice> of_step(std::span<const KeyedSlice> slices, std::size_t step) {
  const auto range =
      std::equal_range(slices.begin(), slices.end(), KeyedSlice{{}, static_cast<std::uint32_t>(step), {}, {}},
                       [](const KeyedSlice& a, const KeyedSlice& b) { return a.step < b.step; });
  return {range.first, range.second};
}

Result<CompareSettings> complete(const TraceComparison& comparison, CompareSettings settings) {
  for (const CompareSide side : kSides) {
    auto& step = settings.step[to_index(side)];
    const std::vector<TraceStep>& steps = comparison.steps(side);
    if (!step) step = steps.empty() ? 0 : typical_step(steps);
    if (*step >= steps.size() && !(steps.empty() && *step == 0)) {
      return fail(ErrorCode::kUsage, "the {} trace has no step {}: it has {}", side_labels(comparison)[to_index(side)],
                  *step, steps.size());
    }
  }
  return settings;
}

std::vector<SlicePair> pair_up(const KeyedTraces& keyed, const CompareSettings& settings, const Trace& measured) {
  std::vector<SlicePair> pairs;
  const auto shift =
      static_cast<std::int64_t>(*settings.step[kMeasured]) - static_cast<std::int64_t>(*settings.step[kPredicted]);
  IdentityRuns(keyed).for_each([&](IdentityId identity, std::span<const KeyedSlice> p, std::span<const KeyedSlice> m) {
    while (!p.empty() && !m.empty()) {
      const std::int64_t wanted = p.front().step + shift;
      if (wanted < m.front().step) {
        p = p.subspan(1);
      } else if (wanted > m.front().step) {
        m = m.subspan(1);
      } else {
        // Both in order of their start: what comes first in the one belongs to what comes first in the other.
        const auto of_p = of_step(p, p.front().step);
        const auto of_m = of_step(m, m.front().step);
        for (std::size_t i = 0; i < std::min(of_p.size(), of_m.size()); ++i) {
          pairs.push_back({identity, {of_p[i].step, of_m[i].step}, {of_p[i].slice, of_m[i].slice}});
        }
        p = p.subspan(of_p.size());
        m = m.subspan(of_m.size());
      }
    }
  });
  std::sort(pairs.begin(), pairs.end(), [&](const SlicePair& a, const SlicePair& b) {
    return std::tuple(measured.slice(a.slice[kMeasured]).start, a.slice[kMeasured]) <
           std::tuple(measured.slice(b.slice[kMeasured]).start, b.slice[kMeasured]);
  });
  return pairs;
}

TimeWindow window_of(const TraceComparison& comparison, CompareSide side, std::size_t step) {
  const std::vector<TraceStep>& steps = comparison.steps(side);
  return step < steps.size() ? steps[step].window : TimeWindow();
}

std::vector<std::string> anchors_of(const TraceComparison& comparison, const Overlay& overlay) {
  std::vector<std::string> names;
  std::vector<bool> seen(comparison.keyed().identities.size());
  for (const SlicePair& pair : overlay.pairs) {
    if (pair.step[kPredicted] != *overlay.settings.step[kPredicted] || seen[to_index(pair.identity)]) continue;
    seen[to_index(pair.identity)] = true;
    names.push_back(comparison.identity(pair.identity).name);
  }
  return names;
}

const SlicePair* anchor_of(const TraceComparison& comparison, const Overlay& overlay) {
  for (const SlicePair& pair : overlay.pairs) {
    if (pair.step[kPredicted] == *overlay.settings.step[kPredicted] &&
        comparison.identity(pair.identity).name == overlay.settings.anchor)
      return &pair;
  }
  return nullptr;
}

Result<void> align(const TraceComparison& comparison, Overlay& overlay) {
  PerSide<TimeWindow> windows;
  for (const CompareSide side : kSides) {
    windows[to_index(side)] = window_of(comparison, side, *overlay.settings.step[to_index(side)]);
  }
  overlay.offset[kMeasured] = -windows[kMeasured].start;
  switch (overlay.settings.align) {
    case AlignAt::kStart:
      overlay.offset[kPredicted] = -windows[kPredicted].start;
      break;
    case AlignAt::kEnd:
      overlay.offset[kPredicted] = windows[kMeasured].length() - windows[kPredicted].end;
      break;
    case AlignAt::kAnchor: {
      const SlicePair* anchor = anchor_of(comparison, overlay);
      if (anchor == nullptr) {
        return fail(ErrorCode::kUsage, "\"{}\" is not in both steps: choose another to align them at",
                    overlay.settings.anchor);
      }
      const Nanoseconds at =
          comparison.trace(CompareSide::kMeasured).slice(anchor->slice[kMeasured]).start + overlay.offset[kMeasured];
      overlay.offset[kPredicted] =
          at - comparison.trace(CompareSide::kPredicted).slice(anchor->slice[kPredicted]).start;
      break;
    }
  }
  return {};
}

ComparedTotals totals_of(const TraceComparison& comparison, const Overlay& overlay) {
  ComparedTotals totals;
  const CompareSettings& settings = overlay.settings;
  const bool all = settings.scope == CompareScope::kAllSteps;
  for (const SlicePair& pair : overlay.pairs) totals.pairs += overlay.in_scope(pair) ? 1 : 0;
  for (const CompareSide side : kSides) {
    const std::size_t i = to_index(side);
    std::int64_t slices = 0;
    for (const KeyedSlice& slice : comparison.keyed().sides[i].slices)
      slices += all || slice.step == *settings.step[i] ? 1 : 0;
    totals.unmatched[i] = slices - totals.pairs;
  }
  totals.step = {window_of(comparison, CompareSide::kPredicted, *settings.step[kPredicted]).length(),
                 window_of(comparison, CompareSide::kMeasured, *settings.step[kMeasured]).length()};
  totals.speedup = compare_speedup(comparison.trace(CompareSide::kPredicted), comparison.trace(CompareSide::kMeasured));
  const auto add = [&](const ComparedTime& time) {
    totals.matched.predicted += time.predicted;
    totals.matched.measured += time.measured;
  };
  if (all) {
    for (const DifferenceRow& row : differences(comparison, overlay, DifferencesBy::kTask)) {
      if (row.both()) add(row.time);
    }
    return totals;
  }
  // Not by rows: one may hold further slices of its name that have no partner.
  for (const SlicePair& pair : overlay.pairs) {
    if (overlay.in_scope(pair)) add(times_of(comparison, pair));
  }
  return totals;
}

/// Between two cores, while the trace was recorded or the profile that it is predicted from; zero where it does not
/// say.
Nanoseconds round_trip(const Trace& trace) {
  return Nanoseconds(number_setting(trace.info.device, kRoundTripSetting).value_or(0));
}

}  // namespace

bool Overlay::in_scope(const SlicePair& pair) const {
  return settings.scope == CompareScope::kAllSteps || pair.step[kPredicted] == *settings.step[kPredicted];
}

TraceComparison::TraceComparison(std::shared_ptr<const Trace> predicted, std::shared_ptr<const Trace> measured)
    : traces_{std::move(predicted), std::move(measured)}, keyed_(keyed_traces(*traces_[0], *traces_[1])) {
  different_plans_ = cohort::different_plans(*traces_[kPredicted], *traces_[kMeasured]);
  IdentityRuns(keyed_).for_each([&](IdentityId, std::span<const KeyedSlice> of_p, std::span<const KeyedSlice> of_m) {
    identities_alone_[kPredicted] += of_m.empty() ? 1 : 0;
    identities_alone_[kMeasured] += of_p.empty() ? 1 : 0;
  });
}

std::vector<std::string> TraceComparison::notes() const {
  std::vector<std::string> notes;
  const PerSide<std::string> labels = side_labels(*this);
  for (const CompareSide side : kSides) {
    if (trace(side).slices.empty()) notes.push_back(fmt::format("The {} trace has no slices.", labels[to_index(side)]));
  }
  if (!notes.empty()) return notes;
  const std::int64_t alone = identities_alone_[kPredicted] + identities_alone_[kMeasured];
  const bool none = alone == static_cast<std::int64_t>(keyed_.identities.size());
  if (different_plans_) {
    notes.emplace_back(
        none        ? "The traces are of different plans without a task in common: only sums by op tell them apart."
        : alone > 0 ? "The traces are of different plans: only tasks that both have are compared."
                    : "The traces are of different plans.");
  } else if (none && keyed_.matched_by == MatchedBy::kTask) {
    notes.emplace_back("The traces have no task in common: they are of different plans.");
  } else if (none) {
    notes.emplace_back("The traces have no slice of the same name in common.");
  }
  if (keyed_.matched_by != MatchedBy::kTask) {
    notes.push_back(
        fmt::format("Without task ids of a plan in both, slices are matched by {}.", to_string(keyed_.matched_by)));
  }
  for (const CompareSide side : kSides) {
    const std::vector<std::string>& left_out = keyed_.sides[to_index(side)].left_out;
    if (!left_out.empty()) {
      notes.push_back(fmt::format("Not compared of the {} trace, by category: {}.", labels[to_index(side)],
                                  fmt::join(left_out, ", ")));
    }
    if (const std::int64_t outside = keyed_.sides[to_index(side)].outside; outside > 0) {
      notes.push_back(fmt::format("{} slices of the {} trace belong to no step.", outside, labels[to_index(side)]));
    }
    if (const WallTimes* plan = mostly_disturbed(trace(side))) {
      notes.push_back(
          fmt::format("Other programs kept the machine busy: {} of {} wall times of the plan were left out.",
                      plan->discarded, plan->discarded + static_cast<int>(plan->samples.size())));
    }
  }
  const auto [predicted, measured] = PerSide<Nanoseconds>{round_trip(trace(kSides[0])), round_trip(trace(kSides[1]))};
  const bool same_device = trace(kSides[0]).info.device.name == trace(kSides[1]).info.device.name;
  if (same_device && cores_moved(predicted, measured)) {
    notes.push_back(fmt::format(
        "Cores were moved {}: a round trip between two takes {} in the {} trace and {} in the {} one, which "
        "changes the time of ops on several cores.",
        measured > predicted ? "apart" : "together", format_time(predicted), labels[kPredicted], format_time(measured),
        labels[kMeasured]));
  }
  return notes;
}

Result<Overlay> TraceComparison::overlay(const CompareSettings& settings) const {
  Overlay overlay;
  COHORT_TRY(overlay.settings, complete(*this, settings));
  overlay.pairs = pair_up(keyed_, overlay.settings, trace(CompareSide::kMeasured));
  overlay.anchors = anchors_of(*this, overlay);
  if (overlay.settings.anchor.empty() && !overlay.anchors.empty()) overlay.settings.anchor = overlay.anchors.front();
  COHORT_CHECK(align(*this, overlay));
  for (const CompareSide side : kSides) {
    auto& pair_of = overlay.pair_of[to_index(side)];
    pair_of.resize(trace(side).slices.size());
    for (std::size_t i = 0; i < overlay.pairs.size(); ++i) {
      pair_of[to_index(overlay.pairs[i].slice[to_index(side)])] = static_cast<std::uint32_t>(i);
    }
  }
  overlay.totals = totals_of(*this, overlay);
  return overlay;
}

ComparedTime times_of(const TraceComparison& comparison, const SlicePair& pair) {
  return {comparison.trace(CompareSide::kPredicted).slice(pair.slice[kPredicted]).duration,
          comparison.trace(CompareSide::kMeasured).slice(pair.slice[kMeasured]).duration};
}

std::optional<double> relative_error(const TraceComparison& comparison, const SlicePair& pair) {
  return times_of(comparison, pair).relative_error();
}

Nanoseconds start_shift(const TraceComparison& comparison, const Overlay& overlay, const SlicePair& pair) {
  PerSide<Nanoseconds> starts;
  for (const CompareSide side : kSides) {
    const std::size_t i = to_index(side);
    starts[i] = comparison.trace(side).slice(pair.slice[i]).start + overlay.offset[i];
  }
  return starts[kPredicted] - starts[kMeasured];
}

Timeline comparison_timeline(const TraceComparison& comparison, const Overlay& overlay,
                             const TimelineOptions& options) {
  const PerSide<std::string> labels = side_labels(comparison);
  std::vector<TimelinePart> parts;
  for (const CompareSide side : kSides) {
    parts.push_back({comparison.shared_trace(side), overlay.offset[to_index(side)], labels[to_index(side)]});
  }
  return Timeline(std::move(parts), options);
}

TimeWindow chosen_window(const TraceComparison& comparison, const Overlay& overlay) {
  PerSide<TimeWindow> windows;
  for (const CompareSide side : kSides) {
    const std::size_t i = to_index(side);
    const TimeWindow window = window_of(comparison, side, *overlay.settings.step[i]);
    windows[i] = {window.start + overlay.offset[i], window.end + overlay.offset[i]};
  }
  return {std::min(windows[kPredicted].start, windows[kMeasured].start),
          std::max(windows[kPredicted].end, windows[kMeasured].end)};
}

PerSide<std::string> side_labels(const TraceComparison& comparison) {
  const TraceKind p = comparison.trace(CompareSide::kPredicted).info.kind;
  const TraceKind m = comparison.trace(CompareSide::kMeasured).info.kind;
  if (p == m) return {"first", "second"};
  return {std::string(to_string(p)), std::string(to_string(m))};
}

}  // namespace cohort
