#include "simulator/schedule/stream_assignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/schedule/random_dag.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

bool ordered(const OpGraph& graph, std::uint32_t a, std::uint32_t b) {
  return reaches(graph, a, b) || reaches(graph, b, a);
}

/// The largest set of ops that are unordered by pairs, by trying all sets.
std::uint32_t width(const OpGraph& graph) {
  std::uint32_t widest = 0;
  for (std::uint32_t set = 0; set < 1U << graph.size(); ++set) {
    std::vector<std::uint32_t> ops;
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      if ((set >> op & 1U) != 0) ops.push_back(op);
    }
    bool apart = true;
    for (const std::uint32_t a : ops) {
      for (const std::uint32_t b : ops) apart = apart && (a >= b || !ordered(graph, a, b));
    }
    if (apart) widest = std::max(widest, static_cast<std::uint32_t>(ops.size()));
  }
  return widest;
}

bool keeps_all_parallelism(const OpGraph& graph, const std::vector<std::uint32_t>& streams) {
  for (std::uint32_t a = 0; a < graph.size(); ++a) {
    for (std::uint32_t b = a + 1; b < graph.size(); ++b) {
      if (streams[a] == streams[b] && !ordered(graph, a, b)) return false;
    }
  }
  return true;
}

/// The least streams and the least crossing edges over all assignments that keep all parallelism.
struct Least {
  std::uint32_t streams = UINT32_MAX;
  std::size_t syncs = SIZE_MAX;
};
void try_all(const OpGraph& graph, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges,
             std::vector<std::uint32_t>& streams, std::uint32_t used, Least& least) {
  if (streams.size() == graph.size()) {
    if (!keeps_all_parallelism(graph, streams)) return;
    const auto crosses = [&](const auto& edge) { return streams[edge.first] != streams[edge.second]; };
    const auto syncs = static_cast<std::size_t>(std::count_if(edges.begin(), edges.end(), crosses));
    least.streams = std::min(least.streams, used);
    least.syncs = std::min(least.syncs, syncs);
    return;
  }
  for (std::uint32_t stream = 0; stream <= used; ++stream) {
    streams.push_back(stream);
    try_all(graph, edges, streams, std::max(used, stream + 1), least);
    streams.pop_back();
  }
}

TEST(ReducedEdges, AreThoseThatNoOtherPathImplies) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const OpGraph graph = random_dag(seed, 9, 0.35F);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> expected;
    for (std::uint32_t from = 0; from < graph.size(); ++from) {
      for (const std::uint32_t to : graph.users[from]) {
        const auto implies = [&](std::uint32_t user) { return user != to && reaches(graph, user, to); };
        if (std::none_of(graph.users[from].begin(), graph.users[from].end(), implies)) expected.emplace_back(from, to);
      }
    }
    EXPECT_EQ(reduced_edges(graph), expected) << "seed " << seed;
  }
}

TEST(LeastSyncs, AreTheLeastOfAllAssignmentsThatKeepAllParallelism) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const OpGraph graph = random_dag(seed, 6, seed % 2 == 0 ? 0.25F : 0.45F);
    Least least;
    std::vector<std::uint32_t> streams;
    try_all(graph, reduced_edges(graph), streams, 0, least);
    const StreamAssignment nimble = assign_least_syncs(graph);
    EXPECT_TRUE(keeps_all_parallelism(graph, nimble.streams)) << "seed " << seed;
    EXPECT_EQ(nimble.syncs, least.syncs) << "seed " << seed;
    // Every matched edge saves a stream and a sync: ops - streams = edges - syncs.
    EXPECT_EQ(graph.size() - nimble.stream_count, reduced_edges(graph).size() - nimble.syncs) << "seed " << seed;
    EXPECT_EQ(assign_least_streams(graph).stream_count, least.streams) << "seed " << seed;
  }
}

TEST(LeastStreams, AreTheWidthOfTheOrder) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const OpGraph graph = random_dag(seed, 10, 0.25F);
    const StreamAssignment assignment = assign_least_streams(graph);
    EXPECT_EQ(assignment.stream_count, width(graph)) << "seed " << seed;
    EXPECT_TRUE(keeps_all_parallelism(graph, assignment.streams)) << "seed " << seed;
    EXPECT_GE(assign_least_syncs(graph).stream_count, assignment.stream_count) << "seed " << seed;
  }
}

TEST(LeastSyncs, MayTakeMoreStreamsThanTheWidth) {
  const OpGraph graph = crossing();
  EXPECT_THAT(reduced_edges(graph), ElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 3), Pair(2, 4)));
  EXPECT_EQ(assign_least_syncs(graph).stream_count, 3U);    // paths of the reduction meet at c once only
  EXPECT_EQ(assign_least_streams(graph).stream_count, 2U);  // in the closure one passes it by: b -> e
  EXPECT_EQ(assign_least_syncs(graph).syncs, 2U);
}

TEST(StreamAssignment, GivesAChainOneStreamAndLooseOpsOneEach) {
  const OpGraph chain = op_graph(std::vector<OpTime>(4), {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  EXPECT_EQ(assign_least_syncs(chain).stream_count, 1U);
  EXPECT_EQ(assign_least_syncs(chain).syncs, 0U);
  const OpGraph loose = op_graph(std::vector<OpTime>(4), {});
  EXPECT_THAT(assign_least_syncs(loose).streams, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(assign_least_syncs(op_graph(std::vector<OpTime>(), {})).stream_count, 0U);
}

}  // namespace
}  // namespace cohort::testing
