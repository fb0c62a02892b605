#include "tests/schedule/random_dag.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace cohort::testing {

OpGraph random_dag(std::uint64_t seed, std::size_t count, float density) {
  Random random(seed);
  std::vector<OpTime> times;
  for (std::size_t i = 0; i < count; ++i) {
    const auto alone = static_cast<std::int64_t>(1000 + random.below(19000));
    OpTime time{Nanoseconds(alone), Nanoseconds(alone + alone / 5), std::nullopt};
    if (random.below(4) == 0) time.wide = Nanoseconds(alone * 3 / 5);
    times.push_back(time);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t from = 0; from < count; ++from) {
    for (std::uint32_t to = from + 1; to < count; ++to) {
      if (random.uniform(0, 1) < density) edges.emplace_back(from, to);
    }
  }
  return op_graph(std::move(times), edges);
}

bool reaches(const OpGraph& graph, std::uint32_t from, std::uint32_t to) {
  return std::any_of(graph.users[from].begin(), graph.users[from].end(),
                     [&](std::uint32_t user) { return user == to || reaches(graph, user, to); });
}

OpGraph crossing() { return op_graph(std::vector<OpTime>(5), {{0, 2}, {1, 2}, {2, 3}, {2, 4}}); }

}  // namespace cohort::testing
