#include "executor/issue.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// By stream: launch positions below this are known to be done.
using Known = std::vector<std::size_t>;

}  // namespace

std::vector<IssueCommand> issue_order(const Program& program) {
  const std::size_t count = program.steps.size();
  std::vector<Known> known(static_cast<std::size_t>(program.streams), Known(static_cast<std::size_t>(program.streams)));
  std::vector<Known> after_step(count);  // what is known behind each step
  std::vector<std::vector<StepId>> waits(count);
  std::vector<char> has_event(count, 0);

  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = program.steps[i];
    Known& mine = known[to_index(step.stream)];
    std::vector<StepId> dependencies = step.dependencies;
    // Latest first: what a step knows comes from steps before it, so only later ones imply earlier ones.
    std::sort(dependencies.rbegin(), dependencies.rend());
    for (const StepId dependency : dependencies) {
      const std::size_t source = to_index(dependency);
      if (mine[to_index(program.steps[source].stream)] > source) continue;
      waits[i].push_back(dependency);
      has_event[source] = 1;
      for (std::size_t s = 0; s < mine.size(); ++s) mine[s] = std::max(mine[s], after_step[source][s]);
    }
    mine[to_index(step.stream)] = i + 1;
    after_step[i] = mine;
  }

  std::vector<IssueCommand> commands;
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<StepId>(static_cast<std::uint32_t>(i));
    const StreamId stream = program.steps[i].stream;
    for (const StepId source : waits[i]) commands.push_back({IssueCommand::Kind::kWait, source, stream});
    commands.push_back({IssueCommand::Kind::kLaunch, id, stream});
    if (has_event[i] != 0) commands.push_back({IssueCommand::Kind::kRecord, id, stream});
  }
  return commands;
}

}  // namespace cohort
