#include "view/compare/compared_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "simulator/report/compare.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/steps/task_steps.hpp"
#include "tracer/text_arg.hpp"
#include "view/timeline/colours.hpp"

namespace cohort {
namespace {

constexpr std::string_view kOpArg = "op";

/// Identities of both traces, told apart by name, op and category.
class Identities {
 public:
  explicit Identities(std::vector<SliceIdentity>& list) : list_(&list) {}

  IdentityId of(const Trace& trace, const Slice& slice, std::string_view name, std::string_view op, bool tells_apart) {
    const std::string_view category = trace.strings[slice.category];
    const Key key{strings_.intern(name), tells_apart ? strings_.intern(op) : StringId(0),
                  tells_apart ? strings_.intern(category) : StringId(0)};
    const auto [found, is_new] = ids_.try_emplace(key, static_cast<IdentityId>(list_->size()));
    if (is_new)
      list_->push_back(
          {std::string(name), std::string(op), "", std::string(op_type(trace, slice)), std::string(category)});
    SliceIdentity& identity = (*list_)[to_index(found->second)];
    if (!tells_apart && identity.group.empty()) identity.group = group_of(trace, slice);
    return found->second;
  }

 private:
  using Key = std::tuple<StringId, StringId, StringId>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::size_t mixed = to_index(std::get<0>(key)) * 0x9E3779B97F4A7C15U + to_index(std::get<1>(key));
      return std::hash<std::size_t>()(mixed * 0x9E3779B97F4A7C15U + to_index(std::get<2>(key)));
    }
  };

  std::vector<SliceIdentity>* list_;
  StringTable strings_;
  std::unordered_map<Key, IdentityId, Hash> ids_;
};

TraceStep whole(const Trace& trace) {
  TraceStep step;
  step.name = "whole trace";
  if (trace.slices.empty()) return step;
  step.window = {trace.slices.front().start, trace.slices.front().end()};
  for (const Slice& slice : trace.slices) {
    step.window.start = std::min(step.window.start, slice.start);
    step.window.end = std::max(step.window.end, slice.end());
  }
  return step;
}

/// Steps that a foreign trace has: device work belongs to the step in which its host gave it, if that is known.
class FoundSteps {
 public:
  explicit FoundSteps(const Trace& trace) : kinds_(trace.strings) {
    StepList list = find_steps(trace);
    if (list.steps.size() < 2) {
      steps_.push_back(whole(trace));
      return;
    }
    steps_ = std::move(list.steps);
    in_windows_ = true;
    if (list.source != StepSource::kAnnotation) return;
    given_.resize(trace.slices.size());
    for (const Flow& flow : trace.flows) given_[to_index(flow.to)] = trace.slice(flow.from).start;
  }

  [[nodiscard]] std::optional<std::uint32_t> of(std::size_t index, const Slice& slice) const {
    if (!in_windows_) return 0;
    Nanoseconds moment = slice.start;
    if (!given_.empty() && given_[index] && is_device_work(kinds_(slice))) moment = *given_[index];
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), moment,
                         [](Nanoseconds time, const TraceStep& step) { return time < step.window.start; });
    if (after == steps_.begin() || !std::prev(after)->window.contains(moment)) return std::nullopt;
    return static_cast<std::uint32_t>(std::prev(after) - steps_.begin());
  }
  std::vector<TraceStep> take() { return std::move(steps_); }

 private:
  SliceKinds kinds_;
  std::vector<TraceStep> steps_;
  bool in_windows_ = false;
  std::vector<std::optional<Nanoseconds>> given_;  ///< by slice: start of the call; empty where steps are the device's
};

void finish(const Trace& trace, KeyedTrace& side) {
  side.compared.resize(trace.slices.size());
  for (const KeyedSlice& slice : side.slices) side.compared[to_index(slice.slice)] = true;
  std::sort(side.slices.begin(), side.slices.end(), [](const KeyedSlice& a, const KeyedSlice& b) {
    return std::tie(a.identity, a.step, a.start, a.slice) < std::tie(b.identity, b.step, b.start, b.slice);
  });
}

using CountByCategory = std::map<std::string_view, std::int64_t>;

std::vector<std::string> counted(const CountByCategory& counts) {
  std::vector<std::string> texts;
  for (const auto& [category, count] : counts) {
    texts.push_back(fmt::format("{} ({})", category.empty() ? "no category" : category, count));
  }
  return texts;
}

void key_tasks(const Trace& trace, Identities& identities, KeyedTrace& side) {
  TaskSteps tasks(trace);
  const TextArg task(trace, kTaskArg);
  const TextArg op(trace, kOpArg);
  CountByCategory others;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    const auto id = task(slice);
    if (!id) {
      ++others[trace.strings[slice.category]];
      continue;
    }
    const auto of_op = op(slice);
    const std::string_view op_name = of_op ? trace.strings[*of_op] : trace.name(slice);
    const IdentityId identity = identities.of(trace, slice, trace.strings[*id], op_name, false);
    side.slices.push_back({identity, tasks.of(slice), slice.start, static_cast<SliceId>(i)});
  }
  side.left_out = counted(others);
  side.steps = std::move(tasks).steps();
  finish(trace, side);
}

std::set<std::string_view> categories_of(const Trace& trace) {
  std::vector<bool> seen(trace.strings.size());
  std::set<std::string_view> categories;
  for (const Slice& slice : trace.slices) {
    if (seen[to_index(slice.category)]) continue;
    seen[to_index(slice.category)] = true;
    categories.insert(trace.strings[slice.category]);
  }
  return categories;
}

void key_names(const Trace& trace, const std::set<std::string_view>& shared, bool with_op, Identities& identities,
               KeyedTrace& side) {
  FoundSteps steps(trace);
  const TextArg op(trace, kOpArg);
  CountByCategory others;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    const std::string_view category = trace.strings[slice.category];
    if (!shared.contains(category)) {
      ++others[category];
      continue;
    }
    const auto step = steps.of(i, slice);
    if (!step) {
      ++side.outside;
      continue;
    }
    const auto of_op = with_op ? op(slice) : std::nullopt;
    const std::string_view op_name = of_op ? trace.strings[*of_op] : std::string_view();
    const IdentityId identity = identities.of(trace, slice, trace.name(slice), op_name, true);
    side.slices.push_back({identity, *step, slice.start, static_cast<SliceId>(i)});
  }
  side.left_out = counted(others);
  side.steps = steps.take();
  finish(trace, side);
}

}  // namespace

std::string_view to_string(MatchedBy matched_by) {
  switch (matched_by) {
    case MatchedBy::kTask:
      return "task id of the plan and iteration";
    case MatchedBy::kOpAndName:
      return "op, name and occurrence in the step";
    case MatchedBy::kName:
      return "name and occurrence in the step";
  }
  return "";
}

KeyedTraces keyed_traces(const Trace& predicted, const Trace& measured) {
  KeyedTraces keyed;
  Identities identities(keyed.identities);
  const PerSide<const Trace*> traces{&predicted, &measured};
  if (TextArg(predicted, kTaskArg).on_any_slice() && TextArg(measured, kTaskArg).on_any_slice()) {
    for (std::size_t side = 0; side < traces.size(); ++side) key_tasks(*traces[side], identities, keyed.sides[side]);
    return keyed;
  }
  const bool with_op = TextArg(predicted, kOpArg).on_any_slice() && TextArg(measured, kOpArg).on_any_slice();
  keyed.matched_by = with_op ? MatchedBy::kOpAndName : MatchedBy::kName;
  const std::set<std::string_view> left = categories_of(predicted);
  const std::set<std::string_view> right = categories_of(measured);
  std::set<std::string_view> shared;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::inserter(shared, shared.end()));
  for (std::size_t side = 0; side < traces.size(); ++side) {
    key_names(*traces[side], shared, with_op, identities, keyed.sides[side]);
  }
  return keyed;
}

}  // namespace cohort
