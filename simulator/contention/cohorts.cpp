#include "simulator/contention/cohorts.hpp"

#include <algorithm>
#include <limits>

namespace cohort {
namespace {

/// Where kernels of several waves run beside each other, their blocks fall out of step for good. From so many cohorts
/// on, beyond one for each kernel and group of SMs, progress that differs by this part of a block counts as equal: the
/// mean stays the same, and what an event costs is bounded.
constexpr std::size_t kFewCohorts = 24;
constexpr std::size_t kManyCohorts = 64;
constexpr double kCloseProgress = 0.01;
constexpr double kCoarseProgress = 0.04;

constexpr std::uint32_t kNoPart = std::numeric_limits<std::uint32_t>::max();

bool in_order(const Cohort& a, const Cohort& b) {
  if (a.slot != b.slot) return a.slot < b.slot;
  if (a.group != b.group) return a.group < b.group;
  return a.left != b.left ? a.left < b.left : a.place < b.place;
}

}  // namespace

std::uint32_t Cohorts::new_place(const PlacedBlocks& blocks) {
  if (free_places_.empty()) {
    places_.push_back(blocks);
    return static_cast<std::uint32_t>(places_.size() - 1);
  }
  const std::uint32_t place = free_places_.back();
  free_places_.pop_back();
  places_[place] = blocks;
  return place;
}

void Cohorts::add(std::uint32_t slot, const PlacedBlocks& blocks, double now) {
  // While groups of SMs stay as they are, this is its place among those in order.
  const auto behind = std::find_if(cohorts_.begin(), cohorts_.end(), [&](const Cohort& c) { return c.slot > slot; });
  cohorts_.insert(behind, {slot, 0, 1, 0, now, std::numeric_limits<double>::infinity(), new_place(blocks)});
}

double Cohorts::tolerance() const {
  const std::size_t out_of_step = cohorts_.size() - distinct_;
  if (out_of_step <= kFewCohorts) return kSameProgress;
  return out_of_step <= kManyCohorts ? kCloseProgress : kCoarseProgress;
}

/// Leaves the part in the first of its groups in place and appends the others.
void Cohorts::split(std::size_t index, const SmGroups& groups) {
  PlacedBlocks& blocks = places_[cohorts_[index].place];
  std::size_t begin = blocks.begin;
  while (blocks.by_sm[begin] == 0) ++begin;
  blocks.begin = begin;
  const std::uint32_t first = groups.of(begin);
  cohorts_[index].group = first;
  std::size_t other = begin + 1;
  while (other < blocks.end && (blocks.by_sm[other] == 0 || groups.of(other) == first)) ++other;
  if (other == blocks.end) return;
  const PlacedBlocks whole = blocks;
  part_of_group_.assign(groups.size(), kNoPart);
  part_of_group_[first] = cohorts_[index].place;
  for (std::size_t sm = other; sm < whole.end; ++sm) {
    if (whole.by_sm[sm] == 0) continue;
    const std::uint32_t group = groups.of(sm);
    if (part_of_group_[group] == kNoPart) {
      Cohort part = cohorts_[index];
      part.group = group;
      part.place = new_place({{}, 0, sm, sm});
      part_of_group_[group] = part.place;
      cohorts_.push_back(part);
    }
    PlacedBlocks& part = places_[part_of_group_[group]];
    part.end = sm + 1;
    if (group == first) continue;
    part.by_sm[sm] = whole.by_sm[sm];
    part.count += whole.by_sm[sm];
    PlacedBlocks& rest = places_[cohorts_[index].place];
    rest.by_sm[sm] = 0;
    rest.count -= whole.by_sm[sm];
  }
}

void Cohorts::join(Cohort& cohort, const Cohort& other) {
  PlacedBlocks& blocks = places_[cohort.place];
  const PlacedBlocks& more = places_[other.place];
  blocks.add(more);
  cohort.left += (other.left - cohort.left) * static_cast<double>(more.count) / static_cast<double>(blocks.count);
  free_places_.push_back(other.place);
}

/// Makes one of the cohorts before `rest`, the last of those of its rate. Returns their new end.
std::size_t Cohorts::begin_anew(std::size_t begin, std::size_t rest, std::size_t end, double now) {
  Cohort fresh = cohorts_[begin];
  fresh.left = 1;
  fresh.since = now;
  fresh.finish = now + 1 / fresh.rate;
  for (std::size_t i = begin + 1; i < rest; ++i) {
    cohorts_[i].left = 1;
    join(fresh, cohorts_[i]);
  }
  const auto at = [&](std::size_t i) { return cohorts_.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto behind = std::move(at(rest), at(end), at(begin));
  *behind = fresh;
  cohorts_.erase(behind + 1, at(end));
  return begin + (end - rest) + 1;
}

void Cohorts::sort_out(const SmGroups& groups) {
  const std::size_t before = cohorts_.size();
  for (std::size_t i = 0; i < before; ++i) {
    if (groups.size() > 1) {
      split(i, groups);
    } else {
      cohorts_[i].group = 0;
    }
  }
  if (!std::is_sorted(cohorts_.begin(), cohorts_.end(), in_order)) {
    std::sort(cohorts_.begin(), cohorts_.end(), in_order);
  }
  distinct_ = cohorts_.empty() ? 0 : 1;
  for (std::size_t i = 1; i < cohorts_.size(); ++i) {
    if (!same_rate(cohorts_[i - 1], cohorts_[i])) ++distinct_;
  }
  const double tolerated = tolerance();
  std::size_t kept = 0;
  for (std::size_t i = 1; i < cohorts_.size(); ++i) {
    Cohort& last = cohorts_[kept];
    const Cohort& next = cohorts_[i];
    if (same_rate(last, next) && next.left - last.left <= tolerated) {
      join(last, next);
    } else if (++kept != i) {
      cohorts_[kept] = next;
    }
  }
  if (!cohorts_.empty()) cohorts_.resize(kept + 1);
}

}  // namespace cohort
