#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/sm_room.hpp"

namespace cohort {

/// By Throughput: how much of it a block asks for.
using BlockLoad = std::array<double, kThroughputs>;

/// Which SMs run their blocks at rates of their own.
///
/// While what runs on an SM does not use up a throughput of its own, and its kernels do not slow each other before
/// that, its blocks are as fast as their kernel is anywhere else: such SMs need not be told apart and form group 0,
/// whatever is on them. The others are grouped by equal contents, from 1 on.
class SmGroups {
 public:
  explicit SmGroups(const GpuProfile& gpu);

  /// Blocks that begin and end, with what each asks for.
  void add(const BlockLoad& of_block, const PlacedBlocks& blocks);
  void remove(const BlockLoad& of_block, const PlacedBlocks& blocks);

  /// All into group 0 or, with `neighbours`, all but SMs with several of the kernels.
  void start(std::span<const BlocksBySm* const> kernels, bool neighbours);
  /// SMs of group 0 whose blocks, each at `speed` of what it asks for, may use up a throughput; a few more, never
  /// fewer.
  [[nodiscard]] std::span<const std::uint32_t> find_loaded(double speed);
  void tell_apart(std::uint32_t sm) {
    apart_[sm] = 1;
    any_apart_ = true;
  }
  /// Groups those that are told apart by what they hold of the kernels.
  void sort_out(std::span<const BlocksBySm* const> kernels);

  [[nodiscard]] std::uint32_t of(std::size_t sm) const { return group_[sm]; }
  [[nodiscard]] std::size_t size() const { return counts_.size(); }
  [[nodiscard]] int count(std::uint32_t group) const { return counts_[group]; }  ///< of SMs
  [[nodiscard]] std::size_t first_sm(std::uint32_t group) const { return first_[group]; }

 private:
  /// A block's load in whole parts, rounded up: sums are exact, and none is too low but where a block asks for
  /// kMostLoad.
  using LoadParts = std::uint16_t;
  static constexpr int kPartsOfSm = 256;
  static constexpr int kMostLoad = 65535 / kMostBlocksOnSm;

  [[nodiscard]] static LoadParts parts_of(double load);
  [[nodiscard]] std::uint16_t group_of_contents(std::size_t sm, std::span<const BlocksBySm* const> kernels);

  std::size_t sms_;
  int real_sms_;
  std::array<std::array<LoadParts, kMostSms>, kSmThroughputs> load_{};
  std::array<std::int64_t, kSmThroughputs> sum_{};  ///< of load_
  std::array<std::uint8_t, kMostSms> apart_{};
  bool any_apart_ = false;
  std::array<std::uint16_t, kMostSms> group_{};
  std::vector<int> counts_;             ///< by group
  std::vector<std::size_t> first_;      ///< by group: its first SM
  std::vector<std::uint16_t> of_hash_;  ///< of sort_out(): groups by hash of their contents
  std::vector<std::uint32_t> loaded_;   ///< of find_loaded()
};

}  // namespace cohort
