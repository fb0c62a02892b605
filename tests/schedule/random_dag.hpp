#pragma once

#include "simulator/schedule/op_graph.hpp"

namespace cohort::testing {

/// `count` ops with times from 1 to 20 us, each pair with an edge with probability `density`; one op in four
/// is faster on all cores than alone on one.
OpGraph random_dag(std::uint64_t seed, std::size_t count, float density);

/// Whether a path leads from one op to the other.
bool reaches(const OpGraph& graph, std::uint32_t from, std::uint32_t to);

/// a -> c, b -> c, c -> d, c -> e.
OpGraph crossing();

}  // namespace cohort::testing
