#include "simulator/contention/sm_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cohort {
namespace {

/// Two cohorts this close in progress are one: far below what matters, far above what rounding makes.
constexpr double kSameProgress = 1e-9;
/// Where kernels of many streams run out of step nearly every SM becomes a group of its own. Then progress that differs
/// by this part of a block counts as equal: the mean stays the same, and what an event costs is bounded.
constexpr std::size_t kFewCohorts = 48;
constexpr std::size_t kManyCohorts = 128;
constexpr double kCloseProgress = 0.01;
constexpr double kCoarseProgress = 0.04;

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
constexpr std::size_t kTable = 512;                 // twice the most groups there can be
constexpr int kTableShift = 64 - 9;
constexpr std::uint16_t kNoGroup = 0xffff;

int popcount(std::uint64_t word) { return __builtin_popcountll(word); }

}  // namespace

SmSet SmSet::first(int count) {
  SmSet set;
  for (std::size_t w = 0; w < set.words_.size(); ++w) {
    const int here = std::clamp(count - static_cast<int>(w) * 64, 0, 64);
    set.words_[w] = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
  }
  return set;
}

int SmSet::size() const {
  return std::accumulate(words_.begin(), words_.end(), 0,
                         [](int sum, std::uint64_t word) { return sum + popcount(word); });
}

SmSet SmSet::lowest(int count) const {
  SmSet set;
  for (std::size_t w = 0; w < words_.size() && count > 0; ++w) {
    std::uint64_t word = words_[w];
    if (popcount(word) <= count) {
      set.words_[w] = word;
      count -= popcount(word);
      continue;
    }
    for (; count > 0; --count) {
      const std::uint64_t bit = word & (~word + 1);
      set.words_[w] |= bit;
      word ^= bit;
    }
  }
  return set;
}

SmSet operator|(const SmSet& a, const SmSet& b) {
  SmSet set;
  for (std::size_t w = 0; w < set.words_.size(); ++w) set.words_[w] = a.words_[w] | b.words_[w];
  return set;
}

SmSet operator&(const SmSet& a, const SmSet& b) {
  SmSet set;
  for (std::size_t w = 0; w < set.words_.size(); ++w) set.words_[w] = a.words_[w] & b.words_[w];
  return set;
}

SmSet SmSet::without(const SmSet& other) const {
  SmSet set;
  for (std::size_t w = 0; w < words_.size(); ++w) set.words_[w] = words_[w] & ~other.words_[w];
  return set;
}

int SmGroup::room(const KernelDemand& kernel, std::uint32_t slot) const {
  int own = 0;
  for (const Cohort& cohort : live()) {
    if (cohort.slot == slot) own += cohort.blocks;
  }
  std::int64_t room = std::min(slots, kernel.blocks_per_sm - own);
  if (kernel.block.threads > 0) room = std::min<std::int64_t>(room, threads / kernel.block.threads);
  if (kernel.block.registers > 0) room = std::min(room, registers / kernel.block.registers);
  const std::int64_t shared = kernel.block.shared_memory.value;
  if (shared > 0) room = std::min(room, shared_memory / shared);
  return static_cast<int>(std::max<std::int64_t>(room, 0));
}

bool SmGroup::same_contents(const SmGroup& other, double tolerance) const {
  if (cohort_count != other.cohort_count) return false;
  for (std::size_t i = 0; i < cohort_count; ++i) {
    const Cohort& a = cohorts[i];
    const Cohort& b = other.cohorts[i];
    if (a.slot != b.slot || a.blocks != b.blocks || std::abs(a.left - b.left) > tolerance) return false;
  }
  return true;
}

void SmGroup::join_cohorts(double tolerance) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < cohort_count; ++i) {
    Cohort& last = cohorts[kept];
    const Cohort& next = cohorts[i];
    if (last.slot != next.slot || std::abs(next.left - last.left) > tolerance) {
      cohorts[++kept] = next;
      continue;
    }
    const double part = static_cast<double>(next.blocks) / (last.blocks + next.blocks);
    last.left += (next.left - last.left) * part;
    last.blocks += next.blocks;
  }
  cohort_count = cohort_count == 0 ? 0 : kept + 1;
}

void SmGroup::join(const SmGroup& other) {
  const double part = static_cast<double>(other.count) / (count + other.count);
  for (std::size_t i = 0; i < cohort_count; ++i) {
    cohorts[i].left += (other.cohorts[i].left - cohorts[i].left) * part;
  }
  sms = sms | other.sms;
  count += other.count;
}

std::uint64_t SmGroup::key() const {
  std::uint64_t key = cohort_count;
  for (const Cohort& cohort : live()) {
    const std::uint64_t content = std::uint64_t{cohort.slot} << 8 | static_cast<std::uint32_t>(cohort.blocks);
    key = (key ^ content) * kMix;
  }
  return key;
}

SmGroups::SmGroups(const GpuProfile& gpu) {
  SmGroup all;
  all.sms = SmSet::first(gpu.sms);
  all.count = gpu.sms;
  all.threads = gpu.sm.threads;
  all.slots = gpu.sm.blocks;
  all.registers = gpu.sm.registers;
  all.shared_memory = gpu.sm.shared_memory.value;
  groups_.push_back(all);
}

std::size_t SmGroups::split(std::size_t group, const SmSet& part) {
  groups_.push_back(groups_[group]);
  SmGroup& rest = groups_[group];
  SmGroup& taken = groups_.back();
  taken.sms = part;
  taken.count = part.size();
  rest.sms = rest.sms.without(part);
  rest.count -= taken.count;
  return groups_.size() - 1;
}

void SmGroups::add(std::size_t index, const KernelDemand& kernel, std::uint32_t slot, int blocks, double now) {
  SmGroup& group = groups_[index];
  group.threads -= blocks * kernel.block.threads;
  group.slots -= blocks;
  group.registers -= blocks * kernel.block.registers;
  group.shared_memory -= blocks * kernel.block.shared_memory.value;
  const auto live = group.live();
  const auto after = std::find_if(live.begin(), live.end(), [&](const Cohort& c) { return c.slot > slot; });
  const auto at = static_cast<std::size_t>(after - live.begin());
  if (at > 0) {  // blocks that were placed a moment ago by the same dispatch
    Cohort& last = group.cohorts[at - 1];
    if (last.slot == slot && std::abs(last.left - 1) <= kSameProgress) {
      last.blocks += blocks;
      return;
    }
  }
  std::move_backward(group.cohorts.begin() + static_cast<std::ptrdiff_t>(at),
                     group.cohorts.begin() + static_cast<std::ptrdiff_t>(group.cohort_count),
                     group.cohorts.begin() + static_cast<std::ptrdiff_t>(group.cohort_count) + 1);
  ++group.cohort_count;
  group.cohorts[at] = {slot, blocks, 1, 0, now, std::numeric_limits<double>::infinity()};
}

std::int64_t SmGroups::place(const KernelDemand& kernel, std::uint32_t slot, std::int64_t blocks, double now) {
  rooms_.resize(groups_.size());
  std::int64_t total = 0;
  int most = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    rooms_[g] = groups_[g].room(kernel, slot);
    total += std::int64_t{rooms_[g]} * groups_[g].count;
    most = std::max(most, rooms_[g]);
  }
  std::int64_t placed = std::min(blocks, total);
  placed -= placed % kernel.cluster;
  if (placed == 0) return 0;
  // The room that every SM is left with at most, found from above; the rest goes to the lowest SMs at that level.
  int level = placed == total ? 0 : most;
  std::int64_t above = placed == total ? total : 0;
  while (level > 0) {
    std::int64_t more = above;
    for (std::size_t g = 0; g < groups_.size(); ++g) more += rooms_[g] >= level ? groups_[g].count : 0;
    if (more > placed) break;
    above = more;
    --level;
  }
  const auto rest = static_cast<int>(placed - above);
  SmSet at_level;
  if (rest > 0) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (rooms_[g] >= level) at_level = at_level | groups_[g].sms;
    }
    at_level = at_level.lowest(rest);
  }
  const std::size_t before = groups_.size();
  for (std::size_t g = 0; g < before; ++g) {
    if (rooms_[g] < level || rooms_[g] == 0) continue;
    const int here = rooms_[g] - level;
    std::size_t extra = g;
    const SmSet part = groups_[g].sms & at_level;
    if (!part.empty()) {
      if (!(part == groups_[g].sms)) extra = split(g, part);
      add(extra, kernel, slot, here + 1, now);
    }
    if ((part.empty() || extra != g) && here > 0) add(g, kernel, slot, here, now);
  }
  return placed;
}

std::int64_t SmGroups::remove(SmGroup& group, std::size_t index, const KernelDemand& kernel) {
  const int blocks = group.cohorts[index].blocks;
  group.threads += blocks * kernel.block.threads;
  group.slots += blocks;
  group.registers += blocks * kernel.block.registers;
  group.shared_memory += blocks * kernel.block.shared_memory.value;
  std::move(group.cohorts.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            group.cohorts.begin() + static_cast<std::ptrdiff_t>(group.cohort_count),
            group.cohorts.begin() + static_cast<std::ptrdiff_t>(index));
  --group.cohort_count;
  return std::int64_t{blocks} * group.count;
}

double SmGroups::tolerance() const {
  std::size_t cohorts = 0;
  for (const SmGroup& group : groups_) cohorts += group.cohort_count;
  if (cohorts <= kFewCohorts) return kSameProgress;
  return cohorts <= kManyCohorts ? kCloseProgress : kCoarseProgress;
}

void SmGroups::merge() {
  const double tolerated = tolerance();
  if (tolerated > kSameProgress) {
    for (SmGroup& group : groups_) group.join_cohorts(tolerated);
  }
  table_.assign(kTable, kNoGroup);
  std::size_t kept = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::size_t at = groups_[g].key() >> kTableShift;
    while (table_[at] != kNoGroup && !groups_[table_[at]].same_contents(groups_[g], tolerated)) {
      at = (at + 1) % kTable;
    }
    if (table_[at] != kNoGroup) {
      groups_[table_[at]].join(groups_[g]);
      continue;
    }
    table_[at] = static_cast<std::uint16_t>(kept);
    if (kept != g) groups_[kept] = groups_[g];
    ++kept;
  }
  groups_.resize(kept);
}

}  // namespace cohort
