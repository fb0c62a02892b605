#include "simulator/schedule/stream_assignment.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/max_cardinality_matching.hpp>
#include <boost/graph/transitive_reduction.hpp>
#include <map>
#include <optional>

namespace cohort {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Directed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

Edges closed_edges(const OpGraph& graph) {
  const OpOrder order(graph);
  Edges edges;
  for (std::uint32_t from = 0; from < graph.size(); ++from) {
    for (std::uint32_t to = from + 1; to < graph.size(); ++to) {
      if (order.before(from, to)) edges.emplace_back(from, to);
    }
  }
  return edges;
}

/// By op: the op that follows it on its chain, from a maximum matching of sources with targets.
std::vector<std::optional<std::uint32_t>> matched_successors(std::size_t ops, const Edges& edges) {
  Undirected bipartite(2 * ops);
  for (const auto& [from, to] : edges) boost::add_edge(from, ops + to, bipartite);
  std::vector<Undirected::vertex_descriptor> mate(2 * ops);
  boost::edmonds_maximum_cardinality_matching(bipartite, mate.data());
  std::vector<std::optional<std::uint32_t>> next(ops);
  for (std::size_t op = 0; op < ops; ++op) {
    if (mate[op] != Undirected::null_vertex()) next[op] = static_cast<std::uint32_t>(mate[op] - ops);
  }
  return next;
}

StreamAssignment assign(const OpGraph& graph, const Edges& chainable, const Edges& reduced) {
  const auto next = matched_successors(graph.size(), chainable);
  std::vector<std::optional<std::uint32_t>> stream(graph.size());
  StreamAssignment result;
  // A chain's first op has no predecessor on it, and stands before the others in topological order.
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (!stream[op]) stream[op] = result.stream_count++;
    if (next[op]) stream[*next[op]] = stream[op];
    result.streams.push_back(*stream[op]);
  }
  result.syncs = static_cast<std::size_t>(std::count_if(reduced.begin(), reduced.end(), [&](const auto& edge) {
    return result.streams[edge.first] != result.streams[edge.second];
  }));
  return result;
}

}  // namespace

Edges reduced_edges(const OpGraph& graph) {
  Directed whole(graph.size());
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    for (const std::uint32_t user : graph.users[op]) boost::add_edge(op, user, whole);
  }
  Directed reduction;
  std::map<Directed::vertex_descriptor, Directed::vertex_descriptor> place;
  std::vector<std::size_t> index(graph.size());
  for (std::size_t op = 0; op < index.size(); ++op) index[op] = op;
  boost::transitive_reduction(whole, reduction, boost::make_assoc_property_map(place), index.data());
  std::vector<std::uint32_t> op_at(graph.size());
  for (const auto& [op, at] : place) op_at[at] = static_cast<std::uint32_t>(op);
  Edges edges;
  for (auto [edge, end] = boost::edges(reduction); edge != end; ++edge)
    edges.emplace_back(op_at[boost::source(*edge, reduction)], op_at[boost::target(*edge, reduction)]);
  std::sort(edges.begin(), edges.end());
  return edges;
}

StreamAssignment assign_least_syncs(const OpGraph& graph) {
  const Edges reduced = reduced_edges(graph);
  return assign(graph, reduced, reduced);
}

StreamAssignment assign_least_streams(const OpGraph& graph) {
  return assign(graph, closed_edges(graph), reduced_edges(graph));
}

}  // namespace cohort
