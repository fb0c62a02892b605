#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/schedule/op_graph.hpp"

namespace cohort {

/// A stream for each op such that any two ops that data leaves unordered are on different streams.
struct StreamAssignment {
  std::vector<std::uint32_t> streams;  ///< by op, numbered by first use
  std::uint32_t stream_count = 0;
  std::size_t syncs = 0;  ///< edges of the reduction that cross streams: each needs an event
};

/// The edges without those that others imply (the minimum equivalent graph), ascending.
std::vector<std::pair<std::uint32_t, std::uint32_t>> reduced_edges(const OpGraph& graph);

/// Nimble's assignment: chains from a maximum matching of the transitive *reduction*, as a bipartite graph
/// of sources and targets. Of all assignments that leave nothing unordered on one stream it has the least
/// syncs, edges minus matched edges; its streams, ops minus matched edges, are a least cover by vertex-
/// disjoint paths of the reduction, and may be more than the width of the order.
/// Source: Kwon et al., "Nimble", NeurIPS 2020, arXiv:2012.02732. O(ops * edges) or better in practice.
StreamAssignment assign_least_syncs(const OpGraph& graph);

/// The same matching over the transitive *closure*: exactly as many streams as the largest set of ops that
/// are unordered by pairs (Dilworth 1950; Fulkerson 1956), and perhaps more syncs.
StreamAssignment assign_least_streams(const OpGraph& graph);

}  // namespace cohort
