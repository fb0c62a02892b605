#include "simulator/plan/memory_layout.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cohort {
namespace {

constexpr std::int64_t kAlignment = 64;  // a cache line, and what oneDNN and cuDNN ask for

std::int64_t aligned(Bytes size) { return (size.value + kAlignment - 1) / kAlignment * kAlignment; }

/// A buffer and when it is in use. The layout looks at these far more often than at anything else, so that what it asks
/// for lies in them.
struct Lifetime {
  Buffer* buffer = nullptr;
  std::int64_t size = 0;  ///< aligned
  StepId first{}, last{};
  StreamId stream{};       ///< of the first user
  bool used = false;       ///< else there are no users
  bool one_stream = true;  ///< all users on one stream: the last one has the others behind it
};

Lifetime lifetime_of(Buffer& buffer, const StepOrder& order) {
  Lifetime lifetime{.buffer = &buffer, .size = aligned(buffer.size)};
  const std::vector<StepId>& users = buffer.users;
  if (users.empty()) return lifetime;
  lifetime.used = true;
  lifetime.first = users.front();
  lifetime.last = users.back();
  lifetime.stream = order.stream(users.front());
  lifetime.one_stream =
      std::all_of(users.begin(), users.end(), [&](StepId user) { return order.stream(user) == lifetime.stream; });
  return lifetime;
}

/// Whether all users of `early` have finished before any of `late` starts.
bool all_before(const Lifetime& early, const Lifetime& late, const StepOrder& order) {
  if (early.one_stream && late.one_stream) return early.stream == late.stream || order.before(early.last, late.first);
  const std::vector<StepId>& these = early.buffer->users;
  const std::vector<StepId>& those = late.buffer->users;
  return std::all_of(these.begin(), these.end(), [&](StepId a) {
    return std::all_of(those.begin(), those.end(), [&](StepId b) { return order.before(a, b); });
  });
}

/// Whether the two may be alive at the same time.
bool conflict(const Lifetime& a, const Lifetime& b, const StepOrder& order) {
  if (!a.used || !b.used) return true;
  return a.last < b.first ? !all_before(a, b, order) : b.last < a.first ? !all_before(b, a, order) : true;
}

/// Buffers on the very same bytes: of any two one is done with before the other is begun. In that order.
struct Cell {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  std::vector<Lifetime> chain;
};

/// Where in a cell's chain a buffer belongs: behind those that end before it begins.
std::size_t place_in(const Cell& cell, const Lifetime& what) {
  const auto behind = std::partition_point(cell.chain.begin(), cell.chain.end(), [&](const Lifetime& other) {
    return other.used && other.last < what.first;
  });
  return static_cast<std::size_t>(behind - cell.chain.begin());
}

/// Whether any buffer of the cell may be alive together with `what`. What comes before a neighbour in the chain comes
/// before all that is behind it, too, so that only the neighbours need a look.
bool conflict(const Lifetime& what, const Cell& cell, const StepOrder& order) {
  if (!what.used) return true;
  const std::size_t place = place_in(cell, what);
  if (place < cell.chain.size() && conflict(what, cell.chain[place], order)) return true;
  return place > 0 && conflict(what, cell.chain[place - 1], order);
}

/// Lowest offset where `what` overlaps no conflicting one of `cells`, which are in order of begin and size.
std::int64_t first_gap(const Lifetime& what, const std::vector<Cell>& cells, const StepOrder& order) {
  std::int64_t offset = 0;
  for (const Cell& cell : cells) {
    if (cell.begin - offset >= what.size) break;
    if (cell.begin + cell.size > offset && conflict(what, cell, order)) offset = cell.begin + cell.size;
  }
  return offset;
}

void place(const Lifetime& what, std::vector<Cell>& cells) {
  const std::pair key(what.buffer->offset.value, what.size);
  auto cell = std::lower_bound(cells.begin(), cells.end(), key, [](const Cell& other, const auto& wanted) {
    return std::pair(other.begin, other.size) < wanted;
  });
  if (cell == cells.end() || std::pair(cell->begin, cell->size) != key)
    cell = cells.insert(cell, {what.buffer->offset.value, what.size, {}});
  const std::size_t at = !what.used ? 0 : place_in(*cell, what);
  cell->chain.insert(cell->chain.begin() + static_cast<std::ptrdiff_t>(at), what);
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
  std::vector<Cell> cells;
  for (Buffer* buffer : pending) {
    const Lifetime lifetime = lifetime_of(*buffer, order);
    buffer->offset = Bytes{first_gap(lifetime, cells, order)};
    const Bytes end{buffer->offset.value + lifetime.size};
    arena.total = std::max(arena.total, end);
    if (buffer->kind == BufferKind::kActivation) arena.activations = arena.total;
    place(lifetime, cells);
  }
  return arena;
}

}  // namespace cohort
