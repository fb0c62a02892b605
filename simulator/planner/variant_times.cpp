// The part of VariantMaker that tells times before anything is lowered.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "simulator/plan/fuse.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

Nanoseconds VariantMaker::op_time(std::size_t member_class, std::size_t op, RestKind rest, int streams) {
  const CostKey key{classes_[member_class].signatures[op], Strategy::kSerial, 1, 1, ""};
  const int neighbours = rest == RestKind::kConcurrent ? streams - 1 : 0;
  const auto one = times_.time(key, {footprint_, neighbours, false, rest == RestKind::kSerialBest});
  CostKey wide = key;
  wide.threads = case_.device.cores;
  const auto all = times_.time(wide, {footprint_, 0});
  const Nanoseconds none{};  // reshapes in place take no time and are never recorded
  if (rest == RestKind::kSerialAllCores) return all.value_or(one.value_or(none));
  if (rest == RestKind::kSerialBest && one && all) return std::min(*one, *all);
  return one.value_or(all.value_or(none));
}

/// On several streams each stream fuses its own members, on one core.
Nanoseconds VariantMaker::fused_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams) {
  const MemberClass& members = classes_[member_class];
  const int all_of_them = static_cast<int>(members.members.size());
  const int width = (all_of_them + streams - 1) / streams;
  if (runs_as_group(members.model->ops[op], strategy))
    return launch_time({{member_class, op, static_cast<std::size_t>(width)}});
  CostKey key{members.signatures[op], strategy, width, 1, ""};
  if (case_.gpu != nullptr && !is_recorded(key))
    return side_by_side({{member_class, op, static_cast<std::size_t>(width)}});
  const auto one = times_.time(key, {footprint_, case_.gpu == nullptr ? streams - 1 : 0});
  if (streams > 1) return one.value_or(Nanoseconds(0));
  key.threads = case_.device.cores;
  const auto all = times_.time(key, {footprint_, 0});
  if (one && all) return std::min(*one, *all);
  return one.value_or(all.value_or(Nanoseconds(0)));
}

/// By class: the ops that are grouped, in the variant's order.
std::vector<std::vector<std::size_t>> VariantMaker::grouped_places(const Variant& variant) const {
  std::vector<std::vector<std::size_t>> places(classes_.size());
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const std::vector<Op>& ops = classes_[c].model->ops;
    for (const std::string& name : variant.grouped) {
      const auto found = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
      places[c].push_back(static_cast<std::size_t>(found - ops.begin()));
    }
  }
  return places;
}

/// All members' op number `i` of those that are grouped.
VariantMaker::LaunchParts VariantMaker::grouped_parts(const std::vector<std::vector<std::size_t>>& places,
                                                      std::size_t i) const {
  LaunchParts parts;
  for (std::size_t c = 0; c < classes_.size(); ++c) parts.push_back({c, places[c][i], classes_[c].members.size()});
  return parts;
}

CostKey VariantMaker::launch_key(const LaunchParts& parts) const {
  std::map<std::string, int> ops;
  int width = 0;
  for (const LaunchPart& part : parts) {
    ops[classes_[part.member_class].signatures[part.op]] += static_cast<int>(part.members);
    width += static_cast<int>(part.members);
  }
  return {grouped_signature(ops), Strategy::kGroupedGemm, width, 1, ""};
}

bool VariantMaker::is_recorded(const CostKey& key) {
  const std::optional<Cost> known = times_.cost(key, {footprint_, 0});
  return known && known->origin != CostOrigin::kAnalytic;
}

/// As recorded; on a GPU a launch that was not has its parts side by side.
Nanoseconds VariantMaker::launch_time(const LaunchParts& parts) {
  const CostKey key = launch_key(parts);
  if (case_.gpu != nullptr && !is_recorded(key)) return side_by_side(parts);
  const std::optional<Cost> known = times_.cost(key, {footprint_, 0});
  return known ? known->time : Nanoseconds(0);
}

/// Of ops in one launch of a GPU.
Nanoseconds VariantMaker::side_by_side(const LaunchParts& parts) {
  std::vector<GpuDemands::Part> ops;
  for (const LaunchPart& part : parts) {
    const MemberClass& members = classes_[part.member_class];
    const CostKey key{members.signatures[part.op], Strategy::kSerial, 1, 1, ""};
    const CallWork work = call_work_of(*members.model, members.model->ops[part.op], case_.gpu->precision());
    const Nanoseconds time = times_.time(key, {footprint_, 0}).value_or(Nanoseconds(0));
    ops.push_back({time, work, part.members});
  }
  return case_.gpu->together(ops);
}

/// A launch that was not recorded takes no less than its longest part alone.
Nanoseconds VariantMaker::least_launch_time(const LaunchParts& parts) {
  const CostKey key = launch_key(parts);
  return is_recorded(key) ? least_time(key).value_or(Nanoseconds(0)) : longest_part(parts);
}

Nanoseconds VariantMaker::longest_part(const LaunchParts& parts) {
  Nanoseconds longest{};
  for (const LaunchPart& part : parts) {
    const CostKey alone{classes_[part.member_class].signatures[part.op], Strategy::kSerial, 1, 1, ""};
    longest = std::max(longest, least_time(alone).value_or(Nanoseconds(0)));
  }
  return longest;
}

/// All grouped launches one after another.
Nanoseconds VariantMaker::grouped_time(const Variant& variant) {
  const auto places = grouped_places(variant);
  Nanoseconds sum{};
  for (std::size_t i = 0; i < variant.grouped.size(); ++i) sum += launch_time(grouped_parts(places, i));
  return sum;
}

/// Of a class: the ops that several members compute by one call.
std::set<std::size_t> VariantMaker::ops_together(const Variant& variant, std::size_t member_class) const {
  const std::vector<std::size_t> grouped = grouped_places(variant)[member_class];
  std::set<std::size_t> together(grouped.begin(), grouped.end());
  for (const FusedRun& run : variant.fused) {
    if (run.member_class == member_class) together.insert(run.ops.begin(), run.ops.end());
  }
  return together;
}

/// What is left of each member when the fused runs and grouped ops are taken out.
std::vector<Nanoseconds> VariantMaker::rest_times(const Variant& variant) {
  std::vector<Nanoseconds> times(case_.models.size());
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const std::set<std::size_t> fused = ops_together(variant, c);
    Nanoseconds time{};
    for (std::size_t op = 0; op < classes_[c].signatures.size(); ++op) {
      if (!fused.contains(op)) time += op_time(c, op, variant.rest, variant.streams);
    }
    for (const std::uint32_t member : classes_[c].members) times[member] = time;
  }
  return times;
}

Nanoseconds VariantMaker::estimate(const Variant& variant) {
  if (variant.rest == RestKind::kBranches) return branches_estimate(variant);
  Nanoseconds fused = variant.grouped.empty() ? Nanoseconds(0) : grouped_time(variant);
  for (const FusedRun& run : variant.fused) {
    for (const std::size_t op : run.ops) fused += fused_time(run.member_class, op, run.strategy, variant.streams);
  }
  const std::vector<Nanoseconds> rest = rest_times(variant);
  const Nanoseconds sum = std::accumulate(rest.begin(), rest.end(), Nanoseconds(0));
  return fused + (variant.rest == RestKind::kConcurrent ? sum / variant.streams : sum);
}

/// The least that any way of running the call was recorded with, warm and alone or as in a program.
std::optional<Nanoseconds> VariantMaker::least_time(const CostKey& key) {
  const auto warm = times_.time(key, {Bytes{0}, 0});
  const auto cold = times_.time(key, {footprint_, 0});
  if (warm && cold) return std::min(*warm, *cold);
  return warm ? warm : cold;
}

/// On one stream; threads as the variant allows. Zero where nothing was recorded: it may cost nothing.
VariantMaker::LeastTimes VariantMaker::least_times(CostKey key, RestKind rest, int streams) {
  key.threads = 1;
  const int cores = case_.device.cores;
  std::optional<Nanoseconds> one;
  if (rest != RestKind::kSerialAllCores || cores == 1) one = least_time(key);
  std::optional<Nanoseconds> all;
  if (streams == 1 && rest != RestKind::kSerialOneThread && cores > 1) {
    key.threads = cores;
    all = least_time(key);
    if (!all && !one) {  // recorded on one thread only
      key.threads = 1;
      one = least_time(key);
    }
  }
  const Nanoseconds none{};
  if (!one && !all) return {none, none};
  LeastTimes least{one ? *one : *all, one ? *one : *all * cores};
  if (all) least = {std::min(least.alone, *all), std::min(least.core_time, *all * cores)};
  return least;
}

VariantMaker::LeastTimes VariantMaker::least_fused_times(std::size_t member_class, std::size_t op, Strategy strategy,
                                                         int width, int streams) {
  const MemberClass& members = classes_[member_class];
  const LaunchParts parts = {{member_class, op, static_cast<std::size_t>(width)}};
  const CostKey key{members.signatures[op], strategy, width, 1, ""};
  if (runs_as_group(members.model->ops[op], strategy)) {
    const Nanoseconds least = least_launch_time(parts);
    return {least, least};
  }
  const LeastTimes least = least_times(key, RestKind::kSerialBest, streams);
  const std::optional<Cost> known = times_.cost(key, {footprint_, 0});
  if (case_.gpu == nullptr || (known && known->origin == CostOrigin::kProfiled)) return least;
  // Lowered, the call may be one that was never recorded, as over a shared input: its members' parts run side by side.
  const Nanoseconds part = longest_part(parts);
  return {std::min(least.alone, part), std::min(least.core_time, part)};
}

/// The calls of one op of a class, each with what it takes at least; no calls where it may cost nothing.
VariantMaker::LeastCalls VariantMaker::least_calls(std::size_t member_class, std::size_t op,
                                                   std::optional<Strategy> fused, const Variant& variant) {
  const MemberClass& mine = classes_[member_class];
  const Op& what = mine.model->ops[op];
  const bool moves = std::holds_alternative<Reshape>(what.attributes) ||
                     std::holds_alternative<Transpose>(what.attributes) ||
                     std::holds_alternative<Pack>(what.attributes) || std::holds_alternative<Unpack>(what.attributes);
  if (moves && what.post_ops.empty()) return {};
  const int streams = variant.rest == RestKind::kConcurrent ? variant.streams : 1;
  const auto members = static_cast<std::int64_t>(mine.members.size());
  const auto width = static_cast<int>(members / streams);  // of the stream with the fewest
  const bool together = fused && width > 1;
  const CostKey key{mine.signatures[op], Strategy::kSerial, 1, 1, ""};
  LeastCalls calls{
      together ? least_fused_times(member_class, op, *fused, width, streams) : least_times(key, variant.rest, streams),
      0};
  if (!together && variant.multiprocessors > 0) {
    const std::string made_for = signature_for(variant.multiprocessors, key.signature);
    const LeastTimes part = least_times({made_for, Strategy::kSerial, 1, 1, ""}, variant.rest, streams);
    calls.each = {std::min(calls.each.alone, part.alone), std::min(calls.each.core_time, part.core_time)};
  }
  if (fused && width == 1 && members > streams) {  // some streams compute two together
    const LeastTimes two = least_fused_times(member_class, op, *fused, 2, streams);
    calls.each = {std::min(calls.each.alone, two.alone), std::min(calls.each.core_time, two.core_time)};
  }
  if (calls.each.alone == Nanoseconds(0)) return {};
  const Nanoseconds overhead = case_.gpu != nullptr ? Nanoseconds(0) : case_.device.step_overhead;
  calls.each.alone += overhead;
  calls.each.core_time += overhead;
  calls.count = together ? streams : fused ? std::min<std::int64_t>(members, streams) : members;
  return calls;
}

/// Every step takes at least its least recorded time and what the host does around it; streams are at best equally
/// loaded, cores at best all busy, and no member is done before its own ops are. Branches of a member run side by
/// side, some ops on all cores: of these only the cores' time holds, and on a GPU the longest way.
Nanoseconds VariantMaker::bound(const Variant& variant) {
  const int streams = variant.rest == RestKind::kConcurrent ? variant.streams : 1;
  const bool branches = variant.rest == RestKind::kBranches;
  if (branches && case_.gpu != nullptr) return branches_bound(variant);
  const auto grouped = grouped_places(variant);
  std::vector<Nanoseconds> launches(variant.grouped.size());
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i] = least_launch_time(grouped_parts(grouped, i));
  Nanoseconds in_turn = std::accumulate(launches.begin(), launches.end(), Nanoseconds(0));
  Nanoseconds core_time{};
  Nanoseconds longest{};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::vector<std::optional<Strategy>> fused(classes_[c].signatures.size());
    for (const FusedRun& run : variant.fused) {
      for (const std::size_t op : run.ops) {
        if (run.member_class == c) fused[op] = run.strategy;
      }
    }
    Nanoseconds chain{};
    for (std::size_t op = 0; op < fused.size(); ++op) {
      if (const auto place = std::find(grouped[c].begin(), grouped[c].end(), op); place != grouped[c].end()) {
        chain += launches[static_cast<std::size_t>(place - grouped[c].begin())];
        continue;
      }
      const LeastCalls calls = least_calls(c, op, fused[op], variant);
      chain += calls.each.alone;
      in_turn += calls.each.alone * calls.count;
      core_time += calls.each.core_time * calls.count;
    }
    longest = std::max(longest, chain);
  }
  if (branches) return core_time / case_.device.cores;
  if (case_.gpu != nullptr) core_time = Nanoseconds(0);  // streams share it as its room allows
  return std::max({in_turn / streams, core_time / case_.device.cores, longest});
}

}  // namespace cohort
