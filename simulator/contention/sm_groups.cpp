#include "simulator/contention/sm_groups.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
constexpr std::size_t kTable = 2 * kMostSms;
constexpr int kTableShift = 64 - 9;
static_assert(kTable == 1 << (64 - kTableShift));
constexpr std::uint16_t kNoGroup = 0;

}  // namespace

SmGroups::SmGroups(const GpuProfile& gpu) : sms_(padded_sms(gpu)), real_sms_(gpu.sms), counts_{gpu.sms}, first_{0} {}

SmGroups::LoadParts SmGroups::parts_of(double load) {
  return static_cast<LoadParts>(std::min(std::ceil(load * kPartsOfSm), double{kMostLoad}));
}

void SmGroups::add(const BlockLoad& of_block, const PlacedBlocks& blocks) {
  for (std::size_t k = 0; k < kSmThroughputs; ++k) {
    const LoadParts parts = parts_of(of_block[k]);
    if (parts == 0) continue;
    sum_[k] += parts * blocks.count;
    for (std::size_t sm = blocks.begin; sm < blocks.end; ++sm) {
      load_[k][sm] = static_cast<LoadParts>(load_[k][sm] + blocks.by_sm[sm] * parts);
    }
  }
}

void SmGroups::remove(const BlockLoad& of_block, const PlacedBlocks& blocks) {
  for (std::size_t k = 0; k < kSmThroughputs; ++k) {
    const LoadParts parts = parts_of(of_block[k]);
    if (parts == 0) continue;
    sum_[k] -= parts * blocks.count;
    for (std::size_t sm = blocks.begin; sm < blocks.end; ++sm) {
      load_[k][sm] = static_cast<LoadParts>(load_[k][sm] - blocks.by_sm[sm] * parts);
    }
  }
}

void SmGroups::start(std::span<const BlocksBySm* const> kernels, bool neighbours) {
  if (any_apart_) apart_.fill(0);
  any_apart_ = false;
  if (!neighbours || kernels.size() < 2) return;
  std::array<std::uint8_t, kMostSms> kinds{};
  for (const BlocksBySm* kernel : kernels) {
    for (std::size_t sm = 0; sm < sms_; ++sm) {
      kinds[sm] = static_cast<std::uint8_t>(kinds[sm] + ((*kernel)[sm] > 0 ? 1 : 0));
    }
  }
  for (std::size_t sm = 0; sm < sms_; ++sm) apart_[sm] = kinds[sm] > 1 ? 1 : 0;
  any_apart_ = true;
}

std::span<const std::uint32_t> SmGroups::find_loaded(double speed) {
  loaded_.clear();
  const double fits = std::min(kPartsOfSm / std::max(speed, 1.0 / kPartsOfSm), kMostLoad - 1.0);
  const auto most = static_cast<LoadParts>(fits);
  std::array<std::uint8_t, kMostSms> more{};
  std::uint8_t any = 0;
  for (std::size_t k = 0; k < kSmThroughputs; ++k) {
    if (sum_[k] <= most) continue;
    for (std::size_t sm = 0; sm < sms_; ++sm) {
      more[sm] = static_cast<std::uint8_t>(more[sm] | (load_[k][sm] > most ? 1 : 0));
      any = static_cast<std::uint8_t>(any | more[sm]);
    }
  }
  for (std::size_t sm = 0; any != 0 && sm < sms_; ++sm) {
    if (more[sm] != 0 && apart_[sm] == 0) loaded_.push_back(static_cast<std::uint32_t>(sm));
  }
  return loaded_;
}

void SmGroups::sort_out(std::span<const BlocksBySm* const> kernels) {
  if (counts_.size() > 1) group_.fill(0);
  counts_.assign(1, real_sms_);
  first_.assign(1, 0);
  if (!any_apart_) return;
  of_hash_.assign(kTable, kNoGroup);
  for (std::size_t sm = 0; sm < static_cast<std::size_t>(real_sms_); ++sm) {
    if (apart_[sm] == 0) continue;
    group_[sm] = group_of_contents(sm, kernels);
    ++counts_[group_[sm]];
    --counts_[0];
  }
}

std::uint16_t SmGroups::group_of_contents(std::size_t sm, std::span<const BlocksBySm* const> kernels) {
  std::uint64_t hash = 0;
  for (const BlocksBySm* kernel : kernels) hash = (hash ^ (*kernel)[sm]) * kMix;
  const auto same = [&](std::size_t other) {
    return std::all_of(kernels.begin(), kernels.end(), [&](const BlocksBySm* k) { return (*k)[sm] == (*k)[other]; });
  };
  std::size_t at = hash >> kTableShift;
  while (of_hash_[at] != kNoGroup && !same(first_[of_hash_[at]])) at = (at + 1) % kTable;
  if (of_hash_[at] == kNoGroup) {
    of_hash_[at] = static_cast<std::uint16_t>(counts_.size());
    counts_.push_back(0);
    first_.push_back(sm);
  }
  return of_hash_[at];
}

}  // namespace cohort
