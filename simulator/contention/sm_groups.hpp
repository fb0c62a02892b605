#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/contention/kernel_demand.hpp"

namespace cohort {

/// A set of at most 256 SMs by number.
class SmSet {
 public:
  static SmSet first(int count);

  [[nodiscard]] int size() const;
  [[nodiscard]] bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  [[nodiscard]] SmSet lowest(int count) const;  ///< `count` at most size()
  friend SmSet operator|(const SmSet& a, const SmSet& b);
  friend SmSet operator&(const SmSet& a, const SmSet& b);
  [[nodiscard]] SmSet without(const SmSet& other) const;
  friend bool operator==(const SmSet&, const SmSet&) = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

/// Blocks of one kernel that were placed on an SM together and are equally far.
struct Cohort {
  std::uint32_t slot = 0;  ///< the kernel's
  std::int32_t blocks = 0;
  double left = 1;   ///< part of a block not done at `since`; above 1: whole waves that follow in the same place
  double rate = 0;   ///< blocks a nanosecond
  double since = 0;  ///< when `left` was so
  double finish = 0;
};

/// SMs with equal contents.
struct SmGroup {
  static constexpr std::size_t kMostCohorts = 32;  ///< blocks an SM holds, by validate(GpuProfile)

  SmSet sms;
  int count = 0;  ///< of SMs
  int threads = 0;
  int slots = 0;
  std::int64_t registers = 0;
  std::int64_t shared_memory = 0;
  std::size_t cohort_count = 0;
  std::array<Cohort, kMostCohorts> cohorts;  ///< ascending by slot, then by `left`

  [[nodiscard]] std::span<Cohort> live() { return {cohorts.data(), cohort_count}; }
  [[nodiscard]] std::span<const Cohort> live() const { return {cohorts.data(), cohort_count}; }
  /// Blocks of a kernel that still fit each of the SMs.
  [[nodiscard]] int room(const KernelDemand& kernel, std::uint32_t slot) const;
  [[nodiscard]] bool same_contents(const SmGroup& other, double tolerance) const;
  /// Makes one of cohorts of a kernel that are nearly equally far.
  void join_cohorts(double tolerance);
  /// Takes over the SMs of a group of the same contents; progress becomes the mean over all SMs.
  void join(const SmGroup& other);
  /// Equal for groups of the same kernels and numbers of blocks, and rarely for others.
  [[nodiscard]] std::uint64_t key() const;
};

/// All SMs of a device, grouped by contents.
class SmGroups {
 public:
  explicit SmGroups(const GpuProfile& gpu);

  [[nodiscard]] std::vector<SmGroup>& all() { return groups_; }
  [[nodiscard]] const std::vector<SmGroup>& all() const { return groups_; }

  /// Places up to `blocks` blocks, most room first, ties to the lowest SM; in whole clusters. Returns how many.
  std::int64_t place(const KernelDemand& kernel, std::uint32_t slot, std::int64_t blocks, double now);
  /// Takes a cohort off each SM of a group and returns its blocks on all of them.
  std::int64_t remove(SmGroup& group, std::size_t cohort, const KernelDemand& kernel);
  /// Joins groups of equal contents; `left` of every cohort must hold for the same moment.
  void merge();
  /// Parts of a block by which progress may differ and count as equal: grows with the number of cohorts.
  [[nodiscard]] double tolerance() const;

 private:
  void add(std::size_t group, const KernelDemand& kernel, std::uint32_t slot, int blocks, double now);
  /// Moves `part` of a group into one of its own and returns where that is.
  std::size_t split(std::size_t group, const SmSet& part);

  std::vector<SmGroup> groups_;
  std::vector<int> rooms_;
  std::vector<std::uint16_t> table_;  ///< of merge()
};

}  // namespace cohort
