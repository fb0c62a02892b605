#include "simulator/plan/memory_layout.hpp"

#include <algorithm>
#include <tuple>

namespace cohort {
namespace {

constexpr std::int64_t kAlignment = 64;  // a cache line, and what oneDNN and cuDNN ask for

std::int64_t aligned(Bytes size) { return (size.value + kAlignment - 1) / kAlignment * kAlignment; }

/// A buffer and when it is in use.
struct Lifetime {
  Buffer* buffer = nullptr;
  std::int64_t size = 0;   ///< aligned
  bool one_stream = true;  ///< all users on one stream: the last one has the others behind it
};

Lifetime lifetime_of(Buffer& buffer, const StepOrder& order) {
  const std::vector<StepId>& users = buffer.users;
  const bool one_stream = std::all_of(users.begin(), users.end(),
                                      [&](StepId user) { return order.stream(user) == order.stream(users.front()); });
  return {&buffer, aligned(buffer.size), one_stream};
}

/// Whether all users of `first` have finished before any of `second` starts.
bool all_before(const Lifetime& first, const Lifetime& second, const StepOrder& order) {
  const std::vector<StepId>& early = first.buffer->users;
  const std::vector<StepId>& late = second.buffer->users;
  if (first.one_stream && second.one_stream) {
    const bool same = order.stream(early.back()) == order.stream(late.front());
    return same || order.before(early.back(), late.front());
  }
  return std::all_of(early.begin(), early.end(), [&](StepId a) {
    return std::all_of(late.begin(), late.end(), [&](StepId b) { return order.before(a, b); });
  });
}

/// Whether the two may be alive at the same time.
bool conflict(const Lifetime& a, const Lifetime& b, const StepOrder& order) {
  const std::vector<StepId>& a_users = a.buffer->users;
  const std::vector<StepId>& b_users = b.buffer->users;
  if (a_users.empty() || b_users.empty()) return true;
  return a_users.back() < b_users.front()   ? !all_before(a, b, order)
         : b_users.back() < a_users.front() ? !all_before(b, a, order)
                                            : true;
}

/// Lowest offset where `what` overlaps no conflicting one of `placed`, which are in order of offset.
std::int64_t first_gap(const Lifetime& what, const std::vector<Lifetime>& placed, const StepOrder& order) {
  std::int64_t offset = 0;
  for (const Lifetime& other : placed) {
    const std::int64_t begin = other.buffer->offset.value;
    if (begin - offset >= what.size) break;
    if (begin + other.size > offset && conflict(what, other, order)) offset = begin + other.size;
  }
  return offset;
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
  std::vector<Lifetime> placed;
  for (Buffer* buffer : pending) {
    const Lifetime lifetime = lifetime_of(*buffer, order);
    buffer->offset = Bytes{first_gap(lifetime, placed, order)};
    const Bytes end{buffer->offset.value + lifetime.size};
    arena.total = std::max(arena.total, end);
    if (buffer->kind == BufferKind::kActivation) arena.activations = arena.total;
    const auto later = [](const Bytes& offset, const Lifetime& other) { return offset < other.buffer->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer->offset, later), lifetime);
  }
  return arena;
}

}  // namespace cohort
