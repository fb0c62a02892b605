// The part of VariantMaker that tells times before anything is lowered.

#include <algorithm>
#include <numeric>
#include <set>

#include "simulator/planner/variants.hpp"

namespace cohort {

Nanoseconds VariantMaker::op_time(std::size_t member_class, std::size_t op, RestKind rest, int streams) {
  const CostKey key{classes_[member_class].signatures[op], Strategy::kSerial, 1, 1, ""};
  const int neighbours = rest == RestKind::kConcurrent ? streams - 1 : 0;
  const auto one = times_.time(key, {footprint_, neighbours});
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
  const int width = static_cast<int>(members.members.size());
  CostKey key{members.signatures[op], strategy, (width + streams - 1) / streams, 1, ""};
  const auto one = times_.time(key, {footprint_, 0});
  if (streams > 1) return one.value_or(Nanoseconds(0));
  key.threads = case_.device.cores;
  const auto all = times_.time(key, {footprint_, 0});
  if (one && all) return std::min(*one, *all);
  return one.value_or(all.value_or(Nanoseconds(0)));
}

/// What is left of each member when the fused runs are taken out.
std::vector<Nanoseconds> VariantMaker::rest_times(const Variant& variant) {
  std::vector<Nanoseconds> times(case_.models.size());
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::set<std::size_t> fused;
    for (const FusedRun& run : variant.fused) {
      if (run.member_class == c) fused.insert(run.ops.begin(), run.ops.end());
    }
    Nanoseconds time{};
    for (std::size_t op = 0; op < classes_[c].signatures.size(); ++op) {
      if (!fused.contains(op)) time += op_time(c, op, variant.rest, variant.streams);
    }
    for (const std::uint32_t member : classes_[c].members) times[member] = time;
  }
  return times;
}

Nanoseconds VariantMaker::estimate(const Variant& variant) {
  if (variant.rest == RestKind::kBranches) {
    Nanoseconds sum{};
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const auto members = static_cast<std::int64_t>(classes_[c].members.size());
      sum += branches_.schedule(c, variant.branches, variant.streams).expected * members;
    }
    return sum;
  }
  Nanoseconds fused{};
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

/// Every step takes at least its least recorded time and what the host does around it; streams are at best equally
/// loaded, cores at best all busy, and no member is done before its own ops are. Branches of a member run side by
/// side, some ops on all cores: of these only the cores' time holds.
Nanoseconds VariantMaker::bound(const Variant& variant) {
  const int streams = variant.rest == RestKind::kConcurrent ? variant.streams : 1;
  const bool branches = variant.rest == RestKind::kBranches;
  const Nanoseconds overhead = case_.device.step_overhead;
  Nanoseconds in_turn{};
  Nanoseconds core_time{};
  Nanoseconds longest{};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const auto members = static_cast<std::int64_t>(classes_[c].members.size());
    std::vector<std::optional<Strategy>> fused(classes_[c].signatures.size());
    for (const FusedRun& run : variant.fused) {
      for (const std::size_t op : run.ops) {
        if (run.member_class == c) fused[op] = run.strategy;
      }
    }
    Nanoseconds chain{};
    for (std::size_t op = 0; op < fused.size(); ++op) {
      const Op& what = classes_[c].model->ops[op];
      if (std::holds_alternative<Reshape>(what.attributes) && what.post_ops.empty()) continue;  // may cost nothing
      const auto width = static_cast<int>(members / streams);  // of the stream with the fewest
      const bool together = fused[op] && width > 1;
      CostKey key{classes_[c].signatures[op], Strategy::kSerial, 1, 1, ""};
      if (together) {
        key.strategy = *fused[op];
        key.width = width;
      }
      LeastTimes least = least_times(key, together ? RestKind::kSerialBest : variant.rest, streams);
      if (fused[op] && width == 1 && members > streams) {  // some streams compute two together
        const LeastTimes two = least_times({key.signature, *fused[op], 2, 1, ""}, RestKind::kSerialBest, streams);
        least = {std::min(least.alone, two.alone), std::min(least.core_time, two.core_time)};
      }
      if (least.alone == Nanoseconds(0)) continue;
      least.alone += overhead;
      least.core_time += overhead;
      const std::int64_t calls = together ? streams : fused[op] ? std::min<std::int64_t>(members, streams) : members;
      in_turn += least.alone * calls;
      core_time += least.core_time * calls;
      chain += least.alone;
    }
    longest = std::max(longest, chain);
  }
  if (branches) return core_time / case_.device.cores;
  if (case_.gpu != nullptr) core_time = Nanoseconds(0);  // streams share it as its room allows
  return std::max({in_turn / streams, core_time / case_.device.cores, longest});
}

}  // namespace cohort
