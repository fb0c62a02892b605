#include "simulator/contention/sm_room.hpp"

#include <algorithm>
#include <limits>

namespace cohort {
namespace {

/// More than a product of floats is off and, within kMostRoomOnSm, less than a quotient of whole numbers lacks to the
/// next.
constexpr float kRounding = 1.0F / (1 << 22);
static_assert(kMostRoomOnSm <= 1 << 20);

}  // namespace

std::size_t padded_sms(const GpuProfile& gpu) {
  constexpr std::size_t kVector = 16;
  return (static_cast<std::size_t>(gpu.sms) + kVector - 1) / kVector * kVector;
}

int room_when_empty(const KernelDemand& kernel, const SmLimits& sm) {
  std::int64_t room = std::min(sm.blocks, kernel.blocks_per_sm);
  const auto limit = [&](std::int64_t have, std::int64_t needed) {
    if (needed > 0) room = std::min(room, have / needed);
  };
  limit(sm.threads, kernel.block.threads);
  limit(sm.registers, kernel.block.registers);
  limit(sm.shared_memory.value, kernel.block.shared_memory.value);
  return static_cast<int>(std::max<std::int64_t>(room, 0));
}

void PlacedBlocks::add(const PlacedBlocks& more) {
  begin = count == 0 ? more.begin : std::min(begin, more.begin);
  end = count == 0 ? more.end : std::max(end, more.end);
  count += more.count;
  for (std::size_t sm = more.begin; sm < more.end; ++sm) {
    by_sm[sm] = static_cast<std::uint8_t>(by_sm[sm] + more.by_sm[sm]);
  }
}

void PlacedBlocks::take(const PlacedBlocks& some) {
  count -= some.count;
  for (std::size_t sm = some.begin; sm < some.end; ++sm) {
    by_sm[sm] = static_cast<std::uint8_t>(by_sm[sm] - some.by_sm[sm]);
  }
}

SmRoom::SmRoom(const GpuProfile& gpu) : sms_(padded_sms(gpu)) {
  const Room all = {static_cast<float>(gpu.sm.blocks), static_cast<float>(gpu.sm.threads),
                    static_cast<float>(gpu.sm.registers), static_cast<float>(gpu.sm.shared_memory.value)};
  for (std::size_t kind = 0; kind < kKinds; ++kind) std::fill_n(left_[kind].begin(), gpu.sms, all[kind]);
}

SmRoom::Room SmRoom::room_of_block(const KernelDemand& kernel) {
  return {1, static_cast<float>(kernel.block.threads), static_cast<float>(kernel.block.registers),
          static_cast<float>(kernel.block.shared_memory.value)};
}

void SmRoom::find_fitting(const KernelDemand& kernel, const BlocksBySm& own) {
  std::array<float, kMostSms> fitting;
  const auto most = static_cast<float>(kernel.blocks_per_sm);
  for (std::size_t sm = 0; sm < sms_; ++sm)
    fitting[sm] = std::min(most - static_cast<float>(own[sm]), left_[kSlots][sm]);
  const Room needed = room_of_block(kernel);
  for (const std::size_t kind : {kThreads, kRegisters, kSharedMemory}) {
    if (needed[kind] == 0) continue;
    const float part = (1 + kRounding) / needed[kind];
    for (std::size_t sm = 0; sm < sms_; ++sm) fitting[sm] = std::min(fitting[sm], left_[kind][sm] * part);
  }
  for (std::size_t sm = 0; sm < sms_; ++sm) fitting_[sm] = static_cast<std::int16_t>(std::max(fitting[sm], 0.0F));
}

int SmRoom::most_fitting() const {
  std::int16_t most = 0;
  for (std::size_t sm = 0; sm < sms_; ++sm) most = std::max(most, fitting_[sm]);
  return most;
}

/// Blocks that fit before every SM is left with room for `level` at most.
std::int64_t SmRoom::blocks_above(int level) const {
  static_assert(kMostBlocksOnSm * kMostSms <= std::numeric_limits<std::int16_t>::max());
  std::int16_t blocks = 0;
  for (std::size_t sm = 0; sm < sms_; ++sm) {
    const auto above = std::max<std::int16_t>(static_cast<std::int16_t>(fitting_[sm] - level), 0);
    blocks = static_cast<std::int16_t>(blocks + above);
  }
  return blocks;
}

/// The least room that so many blocks can leave every SM with at most.
int SmRoom::level_of(std::int64_t blocks) const {
  int level = 0;
  for (int enough = most_fitting(); level < enough;) {
    const int middle = (level + enough) / 2;
    if (blocks_above(middle) <= blocks) {
      enough = middle;
    } else {
      level = middle + 1;
    }
  }
  return level;
}

PlacedBlocks SmRoom::place(const KernelDemand& kernel, const BlocksBySm& own, std::int64_t blocks) {
  PlacedBlocks placed;
  find_fitting(kernel, own);
  placed.count = std::min(blocks, blocks_above(0));
  placed.count -= placed.count % kernel.cluster;
  if (placed.count == 0) return placed;
  const int level = level_of(placed.count);
  std::int64_t rest = placed.count - blocks_above(level);
  if (rest < placed.count) {
    placed.end = sms_;
    for (std::size_t sm = 0; sm < sms_; ++sm) {
      placed.by_sm[sm] =
          static_cast<std::uint8_t>(std::max<std::int16_t>(static_cast<std::int16_t>(fitting_[sm] - level), 0));
    }
  }
  // The rest goes to the lowest SMs at that level.
  for (std::size_t sm = 0; rest > 0; ++sm) {
    if (fitting_[sm] < level) continue;
    if (placed.end == 0) placed.begin = sm;
    placed.end = std::max(placed.end, sm + 1);
    ++placed.by_sm[sm];
    --rest;
  }
  const Room taken = room_of_block(kernel);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (taken[kind] == 0) continue;
    for (std::size_t sm = placed.begin; sm < placed.end; ++sm) {
      left_[kind][sm] -= static_cast<float>(placed.by_sm[sm]) * taken[kind];
    }
  }
  return placed;
}

void SmRoom::give_back(const KernelDemand& kernel, const PlacedBlocks& blocks) {
  const Room given = room_of_block(kernel);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (given[kind] == 0) continue;
    for (std::size_t sm = blocks.begin; sm < blocks.end; ++sm) {
      left_[kind][sm] += static_cast<float>(blocks.by_sm[sm]) * given[kind];
    }
  }
}

}  // namespace cohort
