#include "simulator/schedule/op_graph.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace cohort {
namespace {

void add_edge(OpGraph& graph, std::uint32_t from, std::uint32_t to) {
  graph.needs[to].push_back(from);
  graph.users[from].push_back(to);
}

OpGraph empty_graph(std::size_t count) {
  OpGraph graph;
  graph.needs.resize(count);
  graph.users.resize(count);
  graph.times.resize(count);
  graph.demand.resize(count);
  graph.memory_bound.resize(count);
  return graph;
}

}  // namespace

OpGraph op_graph(const Model& model) {
  OpGraph graph = empty_graph(model.ops.size());
  std::map<TensorId, std::uint32_t> producer;
  for (std::uint32_t op = 0; op < model.ops.size(); ++op) {
    std::set<std::uint32_t> from;
    for (const TensorId input : model.ops[op].inputs) {
      if (const auto found = producer.find(input); found != producer.end()) from.insert(found->second);
    }
    for (const std::uint32_t source : from) add_edge(graph, source, op);
    for (const TensorId output : model.ops[op].outputs) producer[output] = op;
    const OpWork work = work_of(model, model.ops[op]);
    const auto bytes = static_cast<double>((work.read + work.written).value);
    graph.demand[op] = work.flops;
    graph.memory_bound[op] = static_cast<double>(work.flops.value) < kBalancedIntensity * bytes ? 1 : 0;
  }
  return graph;
}

OpGraph op_graph(std::vector<OpTime> times, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  OpGraph graph = empty_graph(times.size());
  graph.times = std::move(times);
  const std::set<std::pair<std::uint32_t, std::uint32_t>> once(edges.begin(), edges.end());
  for (const auto& [from, to] : once) add_edge(graph, from, to);
  return graph;
}

Nanoseconds best_alone(const OpTime& time) { return std::min(time.alone, time.wide.value_or(time.alone)); }

OpOrder::OpOrder(const OpGraph& graph) : after_(graph.size(), std::vector<std::uint64_t>((graph.size() + 63) / 64)) {
  for (std::size_t op = graph.size(); op-- > 0;) {
    for (const std::uint32_t user : graph.users[op]) {
      after_[op][user / 64] |= std::uint64_t{1} << (user % 64);
      for (std::size_t word = 0; word < after_[op].size(); ++word) after_[op][word] |= after_[user][word];
    }
  }
}

std::vector<std::uint32_t> OpOrder::cuts() const {
  const std::size_t count = after_.size();
  std::vector<std::size_t> ordered(count);  // ops before it and ops after it
  for (std::uint32_t op = 0; op < count; ++op) {
    for (std::uint32_t other = 0; other < count; ++other) {
      if (!before(op, other)) continue;
      ++ordered[op];
      ++ordered[other];
    }
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t op = 0; op < count; ++op) {
    if (ordered[op] + 1 == count) found.push_back(op);
  }
  return found;
}

bool has_branches(const OpGraph& graph) { return OpOrder(graph).cuts().size() < graph.size(); }

}  // namespace cohort
