// The part of VariantMaker that runs branches of members side by side.

#include <algorithm>
#include <set>

#include "simulator/plan/fuse.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {
namespace {

constexpr int kMostBranchStreams = 8;
constexpr int kMostStreamsOfSets = 32;
// With more members all schedules would take too long to simulate: those of the best plans are, once they are known.
constexpr std::size_t kMostMembersToSplit = 4;

}  // namespace

/// 2, 4, ... and all cores, or of a GPU's streams.
std::vector<int> VariantMaker::branch_stream_counts() const {
  const int cores = case_.gpu != nullptr ? kMostBranchStreams : case_.device.cores;
  std::set<int> counts;
  for (int streams = 2; streams <= std::min(cores, kMostBranchStreams); streams *= 2) counts.insert(streams);
  if (cores >= 2 && cores <= kMostBranchStreams) counts.insert(cores);
  return {counts.begin(), counts.end()};
}

/// Members share one set of streams. On a GPU, which has more streams than it has cores, they are also spread over
/// several where nothing of theirs is fused.
std::vector<Variant> VariantMaker::branches_changed(const Variant& variant) const {
  std::vector<Variant> changed;
  if (!variant.grouped.empty() || !branches_.has_branches()) return changed;
  const auto members = static_cast<int>(case_.models.size());
  for (const int streams : branch_stream_counts()) {
    std::set<int> sets{1};
    if (case_.gpu != nullptr && variant.fused.empty()) sets.insert(std::min(members, kMostStreamsOfSets / streams));
    for (const BranchSchedule schedule : kBranchSchedules) {
      if (schedule == BranchSchedule::kStagesApart) continue;  // the same steps, only with more to wait for
      for (const int count : sets) {
        changed.push_back(variant);
        Variant& split = changed.back();
        split.rest = RestKind::kBranches;
        split.streams = streams;
        split.branches = schedule;
        split.branch_sets = count;
        split.multiprocessors = 0;
      }
    }
  }
  return changed;
}

/// Few members that have branches, with nothing fused and one set of streams.
void VariantMaker::add_branches(std::vector<Variant>& variants) const {
  if (case_.models.size() > kMostMembersToSplit) return;
  for (const Variant& rest : rests()) {
    if (rest.rest != RestKind::kSerialBest) continue;  // one for each way to launch
    for (Variant& split : branches_changed(rest)) {
      if (split.branch_sets == 1) variants.push_back(std::move(split));
    }
  }
}

/// All members' call of the op, with what the host does around it. Calls that were never recorded take no time.
OpTime VariantMaker::fused_op_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams) {
  const MemberClass& members = classes_[member_class];
  if (case_.gpu != nullptr) {
    const Nanoseconds time = fused_time(member_class, op, strategy, 1);
    const Nanoseconds gap = time > Nanoseconds(0) ? case_.gpu->profile().launch.graph_gap : time;
    return {time + gap, time + gap, std::nullopt};
  }
  CostKey key{members.signatures[op], strategy, static_cast<int>(members.members.size()), 1, ""};
  if (runs_as_group(members.model->ops[op], strategy)) key = launch_key({{member_class, op, members.members.size()}});
  return core_op_time(times_, case_.device, key, footprint_, streams).value_or(OpTime{});
}

BranchRequest VariantMaker::branch_request(const Variant& variant) {
  BranchRequest request{variant.branches, variant.streams, variant.branch_sets};
  if (variant.fused.empty()) return request;
  request.fused.resize(classes_.size());
  for (const FusedRun& run : variant.fused) {
    FusedOps& fused = request.fused[run.member_class];
    fused.strategies.resize(classes_[run.member_class].signatures.size());
    fused.times.resize(fused.strategies.size());
    for (const std::size_t op : run.ops) {
      fused.strategies[op] = run.strategy;
      fused.times[op] = fused_op_time(run.member_class, op, run.strategy, variant.streams);
    }
  }
  return request;
}

/// As schedules reckon, one class after another, and sets of streams side by side.
Nanoseconds VariantMaker::branches_estimate(const Variant& variant) {
  const BranchRequest request = branch_request(variant);
  Nanoseconds sum{};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const bool of_all = !request.fused.empty() && !request.fused[c].strategies.empty();
    const auto members = static_cast<std::int64_t>(classes_[c].members.size());
    sum += branches_.schedule(c, request).expected * (of_all ? 1 : members);
  }
  return sum / variant.branch_sets;
}

/// Of a GPU, whose streams share it as its room allows: the longest way through a member's ops, each taking its time
/// alone, or that of all members' call.
Nanoseconds VariantMaker::branches_bound(const Variant& variant) {
  const std::vector<Wish> wish = wish_of(variant.fused);
  Nanoseconds longest{};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const OpGraph graph = op_graph(*classes_[c].model);
    const auto width = static_cast<int>(classes_[c].members.size());
    std::vector<Nanoseconds> end(graph.size());
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      for (const std::uint32_t need : graph.needs[op]) end[op] = std::max(end[op], end[need]);
      const CostKey alone{classes_[c].signatures[op], Strategy::kSerial, 1, 1, ""};
      end[op] += wish[c][op] ? least_fused_times(c, op, *wish[c][op], width, 1).alone
                             : least_time(alone).value_or(Nanoseconds(0));
      longest = std::max(longest, end[op]);
    }
  }
  return longest;
}

}  // namespace cohort
