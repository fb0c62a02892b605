#include "simulator/plan/memory_layout.hpp"

#include <algorithm>
#include <tuple>

namespace cohort {
namespace {

constexpr std::int64_t kAlignment = 64;  // a cache line, and what oneDNN and cuDNN ask for

std::int64_t aligned(Bytes size) { return (size.value + kAlignment - 1) / kAlignment * kAlignment; }

bool all_before(const Buffer& first, const Buffer& second, const StepOrder& order) {
  return std::all_of(first.users.begin(), first.users.end(), [&](StepId a) {
    return std::all_of(second.users.begin(), second.users.end(), [&](StepId b) { return order.before(a, b); });
  });
}

/// Whether the two may be alive at the same time.
bool conflict(const Buffer& a, const Buffer& b, const StepOrder& order) {
  if (a.users.empty() || b.users.empty()) return true;
  return a.users.back() < b.users.front()   ? !all_before(a, b, order)
         : b.users.back() < a.users.front() ? !all_before(b, a, order)
                                            : true;
}

/// Lowest offset where `buffer` overlaps no conflicting one of `placed`.
Bytes first_gap(const Buffer& buffer, const std::vector<const Buffer*>& placed, const StepOrder& order) {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (const Buffer* other : placed) {
    if (conflict(buffer, *other, order))
      taken.emplace_back(other->offset.value, other->offset.value + aligned(other->size));
  }
  std::sort(taken.begin(), taken.end());
  std::int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - offset >= aligned(buffer.size)) break;
    offset = std::max(offset, end);
  }
  return {offset};
}

}  // namespace

ArenaSize lay_out(std::vector<Buffer>& buffers, const StepOrder& order) {
  std::vector<Buffer*> pending;
  for (Buffer& buffer : buffers) {
    if (buffer.kind == BufferKind::kActivation || buffer.kind == BufferKind::kWorkspace) pending.push_back(&buffer);
  }
  std::stable_sort(pending.begin(), pending.end(), [](const Buffer* a, const Buffer* b) {
    const bool a_workspace = a->kind == BufferKind::kWorkspace;
    const bool b_workspace = b->kind == BufferKind::kWorkspace;
    return std::tuple(a_workspace, -a->size.value) < std::tuple(b_workspace, -b->size.value);
  });
  ArenaSize arena;
  std::vector<const Buffer*> placed;
  for (Buffer* buffer : pending) {
    buffer->offset = first_gap(*buffer, placed, order);
    const Bytes end{buffer->offset.value + aligned(buffer->size)};
    arena.total = std::max(arena.total, end);
    if (buffer->kind == BufferKind::kActivation) arena.activations = arena.total;
    placed.push_back(buffer);
  }
  return arena;
}

}  // namespace cohort
