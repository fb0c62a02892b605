#include "simulator/costs/step_cost.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cohort {
namespace {

/// By stream: position in the stream's list of steps, or nothing yet.
using Clock = std::vector<std::int64_t>;

}  // namespace

Bytes footprint_of(const Program& program) {
  // Of the input only one of the buffers in flight is read in a program step.
  const Bytes input{program.memory.input.value / std::max(1, program.input_buffers)};
  return program.memory.total() - program.memory.input + input;
}

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
  // The last step of each stream that must have ended, and the first that must wait.
  std::vector<Clock> before(count, Clock(streams, -1));
  std::vector<Clock> after(count, Clock(streams));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t s = 0; s < streams; ++s) after[i][s] = static_cast<std::int64_t>(on_stream[s].size());
  }
  const auto sources = [&](std::size_t i) {
    std::vector<std::size_t> from;
    for (const StepId id : program.steps[i].dependencies) from.push_back(to_index(id));
    const std::size_t stream = to_index(program.steps[i].stream);
    if (place[i] > 0) from.push_back(on_stream[stream][static_cast<std::size_t>(place[i] - 1)]);
    return from;
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t from : sources(i)) {
      for (std::size_t s = 0; s < streams; ++s) before[i][s] = std::max(before[i][s], before[from][s]);
      std::int64_t& own = before[i][to_index(program.steps[from].stream)];
      own = std::max(own, place[from]);
    }
  }
  for (std::size_t i = count; i-- > 0;) {
    for (const std::size_t from : sources(i)) {
      for (std::size_t s = 0; s < streams; ++s) after[from][s] = std::min(after[from][s], after[i][s]);
      std::int64_t& own = after[from][to_index(program.steps[i].stream)];
      own = std::min(own, place[i]);
    }
  }
  std::vector<int> neighbours(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t s = 0; s < streams; ++s) {
      if (s != to_index(program.steps[i].stream) && before[i][s] + 1 < after[i][s]) ++neighbours[i];
    }
    neighbours[i] = std::min(neighbours[i], most);
  }
  return neighbours;
}

Result<std::vector<StepCost>> step_costs(const Program& program, const CostTable& table, int cores) {
  const Bytes footprint = footprint_of(program);
  const std::vector<int> neighbours = neighbours_of(program, cores - 1);
  std::map<std::pair<CostKey, int>, StepCost> known;
  std::vector<StepCost> costs;
  costs.reserve(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const auto [place, is_new] = known.try_emplace({step.cost, neighbours[i]});
    if (is_new) {
      const Result<Cost> alone = table.cost(step.cost, {footprint, 0});
      if (!alone) return in_context(step.task, alone.error());
      COHORT_TRY(const Cost beside, table.cost(step.cost, {footprint, neighbours[i]}));
      place->second = {*alone, neighbours[i], beside.time};
    }
    costs.push_back(place->second);
  }
  return costs;
}

}  // namespace cohort
