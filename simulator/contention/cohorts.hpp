#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/contention/sm_groups.hpp"
#include "simulator/contention/sm_room.hpp"

namespace cohort {

/// Two cohorts this close in progress are one: far below what matters, far above what rounding makes.
inline constexpr double kSameProgress = 1e-9;

/// Blocks of one kernel that are equally far and run at the same rate, wherever on the device.
struct Cohort {
  std::uint32_t slot = 0;   ///< the kernel's
  std::uint32_t group = 0;  ///< of SMs
  double left = 1;          ///< part of a block not done at `since`; above 1: whole waves that follow in the same place
  double rate = 0;          ///< blocks a nanosecond
  double since = 0;         ///< when `left` was so
  double finish = 0;
  std::uint32_t place = 0;  ///< which of Cohorts' places holds its blocks
};

inline bool same_rate(const Cohort& a, const Cohort& b) { return a.slot == b.slot && a.group == b.group; }

/// All that runs on a device.
class Cohorts {
 public:
  [[nodiscard]] std::span<Cohort> all() { return cohorts_; }
  [[nodiscard]] std::span<const Cohort> all() const { return cohorts_; }
  [[nodiscard]] const PlacedBlocks& blocks(const Cohort& cohort) const { return places_[cohort.place]; }

  /// Blocks that begin now, in group 0 for the time being.
  void add(std::uint32_t slot, const PlacedBlocks& blocks, double now);
  /// Takes those out for which `gone(cohort)` holds, after it has returned.
  template <typename Gone>
  void remove_if(Gone gone);

  /// Where `ended(cohort)` holds other blocks of the kernel take the place of those that ended.
  template <typename Ended>
  void begin_anew(Ended ended, double now);

  /// Tells cohorts apart by groups of SMs, joins those of a kernel and group that are nearly equally far, and puts all
  /// in order of slot, group and progress. `left` must hold for the same moment.
  void sort_out(const SmGroups& groups);

  /// Parts of a block by which progress may differ and count as equal: grows with how far kernels are out of step.
  [[nodiscard]] double tolerance() const;

 private:
  std::uint32_t new_place(const PlacedBlocks& blocks);
  void split(std::size_t cohort, const SmGroups& groups);
  void join(Cohort& cohort, const Cohort& other);
  std::size_t begin_anew(std::size_t begin, std::size_t rest, std::size_t end, double now);

  std::vector<Cohort> cohorts_;
  std::size_t distinct_ = 0;  ///< pairs of kernel and group among them, when they were sorted out
  std::vector<PlacedBlocks> places_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> part_of_group_;  ///< of split()
};

template <typename Gone>
void Cohorts::remove_if(Gone gone) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cohorts_.size(); ++i) {
    if (gone(cohorts_[i])) {
      free_places_.push_back(cohorts_[i].place);
    } else if (kept++ != i) {
      cohorts_[kept - 1] = cohorts_[i];
    }
  }
  cohorts_.resize(kept);
}

template <typename Ended>
void Cohorts::begin_anew(Ended ended, double now) {
  for (std::size_t begin = 0; begin < cohorts_.size();) {
    std::size_t end = begin + 1;
    while (end < cohorts_.size() && same_rate(cohorts_[begin], cohorts_[end])) ++end;
    std::size_t rest = begin;  // those that end come first, and what begins has most left
    while (rest < end && ended(cohorts_[rest])) ++rest;
    if (rest > begin) end = begin_anew(begin, rest, end, now);
    begin = end;
  }
}

}  // namespace cohort
