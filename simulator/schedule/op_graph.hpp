#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "models/model.hpp"

namespace cohort {

/// Below this arithmetic intensity (flops a byte moved) an op counts as memory-bound: about where float32
/// arithmetic of CPU cores and of GPUs catches up with their memory.
inline constexpr double kBalancedIntensity = 10;

/// Times of one op.
struct OpTime {
  Nanoseconds alone{};              ///< on one core, or one stream, with nothing beside it
  Nanoseconds beside{};             ///< on one core, or one stream, while the others work, too
  std::optional<Nanoseconds> wide;  ///< on all cores; absent if not possible
};

/// The ops of one model as schedulers see them. Ops are positions in Model::ops, which is a topological order.
struct OpGraph {
  std::vector<std::vector<std::uint32_t>> needs;  ///< by op: those whose results it reads, ascending
  std::vector<std::vector<std::uint32_t>> users;  ///< the same edges the other way
  std::vector<OpTime> times;                      ///< by op
  std::vector<Flops> demand;                      ///< by op: how much of a device it can fill
  std::vector<char> memory_bound;                 ///< by op

  [[nodiscard]] std::size_t size() const { return needs.size(); }
};

/// Edges through tensors, and work; times are zero.
OpGraph op_graph(const Model& model);
/// A graph of `count` ops with edges {from, to}, from < to, and the given times; for graphs without a model.
OpGraph op_graph(std::vector<OpTime> times, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

/// The shortest time for an op with nothing beside it.
Nanoseconds best_alone(const OpTime& time);

/// Which ops must have ended before which others start. Memory: ops^2 bits.
class OpOrder {
 public:
  explicit OpOrder(const OpGraph& graph);

  [[nodiscard]] bool before(std::uint32_t first, std::uint32_t second) const {
    return (after_[first][second / 64] >> (second % 64) & 1U) != 0;
  }
  /// Ops that every path passes through: nothing can run beside them. Ascending, each before the next.
  [[nodiscard]] std::vector<std::uint32_t> cuts() const;

 private:
  std::vector<std::vector<std::uint64_t>> after_;  ///< by op: a bit for each op behind it
};

/// Whether any two ops could run side by side.
bool has_branches(const OpGraph& graph);

}  // namespace cohort
