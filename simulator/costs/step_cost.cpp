#include "simulator/costs/step_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace cohort {
namespace {

/// What is not found in the caches makes a call longer by its part of the call's bytes. What was timed in its model
/// found its activations as they are in any step; only how cold its weights are is told by the footprint.
Result<Cost> cost_of(const CostKey& key, const EqualCalls& calls, CostContext context, const CostTable& table) {
  context.footprint = calls.weights;
  COHORT_TRY(Cost cost, table.cost(key, context));
  if (table.in_model(key)) return cost;
  double time = 0;
  for (const Reuse& reuse : calls.reuses) {
    context.footprint = reuse.distance;
    COHORT_TRY(const Cost at, table.cost(key, context));
    time += reuse.part * static_cast<double>(at.time.count());
  }
  cost.time = Nanoseconds(std::llround(time));
  return cost;
}

bool fuses(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.cost.width > 1; });
}

}  // namespace

std::vector<int> neighbours_of(const Program& program, int most) {
  const std::size_t count = program.steps.size();
  const auto streams = static_cast<std::size_t>(program.streams);
  if (streams == 1 || most <= 0) return std::vector<int>(count, 0);
  std::vector<std::vector<std::size_t>> on_stream(streams);
  std::vector<std::int64_t> place(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::size_t>& mine = on_stream[to_index(program.steps[i].stream)];
    place[i] = static_cast<std::int64_t>(mine.size());
    mine.push_back(i);
  }
  // By step and stream: the last step of the stream that must have ended, and the first that must wait.
  std::vector<std::int64_t> before(count * streams, -1);
  std::vector<std::int64_t> after(count * streams);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t s = 0; s < streams; ++s) after[i * streams + s] = static_cast<std::int64_t>(on_stream[s].size());
  }
  const auto for_each_source = [&](std::size_t i, const auto& take) {
    for (const StepId id : program.steps[i].dependencies) take(to_index(id));
    const std::size_t stream = to_index(program.steps[i].stream);
    if (place[i] > 0) take(on_stream[stream][static_cast<std::size_t>(place[i] - 1)]);
  };
  for (std::size_t i = 0; i < count; ++i) {
    for_each_source(i, [&](std::size_t from) {
      for (std::size_t s = 0; s < streams; ++s)
        before[i * streams + s] = std::max(before[i * streams + s], before[from * streams + s]);
      std::int64_t& own = before[i * streams + to_index(program.steps[from].stream)];
      own = std::max(own, place[from]);
    });
  }
  for (std::size_t i = count; i-- > 0;) {
    for_each_source(i, [&](std::size_t from) {
      for (std::size_t s = 0; s < streams; ++s)
        after[from * streams + s] = std::min(after[from * streams + s], after[i * streams + s]);
      std::int64_t& own = after[from * streams + to_index(program.steps[i].stream)];
      own = std::min(own, place[i]);
    });
  }
  std::vector<int> neighbours(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t s = 0; s < streams; ++s) {
      if (s != to_index(program.steps[i].stream) && before[i * streams + s] + 1 < after[i * streams + s])
        ++neighbours[i];
    }
    neighbours[i] = std::min(neighbours[i], most);
  }
  return neighbours;
}

Result<std::vector<StepCost>> step_costs(const Program& program, const CostTable& table, int cores) {
  const std::vector<int> neighbours = neighbours_of(program, cores - 1);
  const bool among_fused = fuses(program), among_teams = most_threads(program) > 1;
  std::vector<StepCost> costs(program.steps.size());
  for (const EqualCalls& calls : reuse_distances(program)) {
    std::map<int, StepCost> known;  // by neighbours
    for (const StepId id : calls.steps) {
      const Step& step = program.step(id);
      const int beside = neighbours[to_index(id)];
      const auto [place, is_new] = known.try_emplace(beside);
      if (is_new) {
        const Result<Cost> alone = cost_of(step.cost, calls, {{}, 0, among_fused, among_teams}, table);
        if (!alone) return in_context(step.task, alone.error());
        COHORT_TRY(const Cost slowed, cost_of(step.cost, calls, {{}, beside, among_fused, among_teams}, table));
        // Streams whose steps are on several cores, too, share members: what one reads another wrote.
        place->second = {*alone, beside, among_teams ? std::max(alone->time, slowed.time) : slowed.time};
      }
      costs[to_index(id)] = place->second;
    }
  }
  return costs;
}

}  // namespace cohort
