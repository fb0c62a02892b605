#include "simulator/planner/fit_workspace.hpp"

#include <algorithm>
#include <memory>

namespace cohort {
namespace {

/// What lowering asks for one step.
struct Listed {
  CostKey key;
  std::vector<Alternative> ways;
};

/// As in the choice by cost alone: times that were never recorded count as none, and then the library's order decides.
std::vector<std::optional<Nanoseconds>> times_of(const Listed& listed, CallTimes& times, const ChoiceRule& rule) {
  std::vector<std::optional<Nanoseconds>> known;
  for (std::size_t i = 0; i < listed.ways.size(); ++i)
    known.push_back(way_time(times, rule, listed.key, listed.ways, i));
  return known;
}

StepOrder order_of(const Program& program) {
  StepOrder order(program.steps.size());
  for (const Step& step : program.steps) order.add(step.stream, step.dependencies);
  return order;
}

}  // namespace

Result<WorkspaceChoices> WorkspaceChoices::of(const Plan& plan, std::span<const Model* const> models,
                                              const OpCatalog& catalog, CallTimes& times, const ChoiceRule& rule) {
  Plan free = plan;
  free.limits = {};
  free.resolved.reset();
  std::vector<Listed> listed;
  const auto smallest = [&](const CostKey& key, std::span<const Alternative> ways) {
    listed.push_back({key, {ways.begin(), ways.end()}});
    const auto least = std::min_element(
        ways.begin(), ways.end(), [](const Alternative& a, const Alternative& b) { return a.workspace < b.workspace; });
    return static_cast<std::size_t>(least - ways.begin());
  };
  COHORT_TRY(const Program program, lower(free, models, catalog, smallest));
  WorkspaceChoices choices;
  choices.other_memory_ = program.memory.total() - program.memory.workspace;
  for (const Listed& step : listed) {
    const auto known = times_of(step, times, rule);
    const bool any = std::any_of(known.begin(), known.end(), [](const auto& time) { return time.has_value(); });
    const auto asked = [&](std::size_t i) { return known[i] && rule.threads == step.ways[i].threads; };
    bool own_threads = false;
    for (std::size_t i = 0; i < known.size(); ++i) own_threads = own_threads || asked(i);
    std::vector<WorkspaceWay>& ways = choices.ways_.emplace_back();
    auto& algorithms = choices.algorithms_.emplace_back();
    for (std::size_t i = 0; i < known.size(); ++i) {
      if ((any && !known[i]) || (own_threads && step.ways[i].threads != *rule.threads)) continue;
      ways.push_back({known[i].value_or(Nanoseconds(0)), step.ways[i].workspace});
      algorithms.emplace_back(step.ways[i].algorithm, step.ways[i].threads);
    }
  }
  choices.frontier_ = workspace_frontier(choices.ways_, order_of(program));
  return choices;
}

ChooseAlternative WorkspaceChoices::choose_by_step(std::vector<std::uint32_t> ways) const {
  // Lowering asks once for each step, in their order; by then limits may have taken ways off the list.
  const auto next = std::make_shared<std::size_t>(0);
  return [this, ways = std::move(ways), next](const CostKey& /*key*/, std::span<const Alternative> listed) {
    const std::size_t step = (*next)++;
    for (std::size_t i = 0; step < ways.size() && i < listed.size(); ++i) {
      if (algorithms_[step][ways[step]] == std::pair(listed[i].algorithm, listed[i].threads)) return i;
    }
    const auto least = std::min_element(listed.begin(), listed.end(), [](const Alternative& a, const Alternative& b) {
      return a.workspace < b.workspace;
    });
    return static_cast<std::size_t>(least - listed.begin());
  };
}

ChooseAlternative WorkspaceChoices::choose(std::size_t i) const { return choose_by_step(frontier_.choices[i].ways); }

ChooseAlternative WorkspaceChoices::choose_within(Bytes limit) const {
  std::vector<std::uint32_t> chosen;
  for (const std::vector<WorkspaceWay>& ways : ways_) {
    const auto better = [&](const WorkspaceWay& a, const WorkspaceWay& b) {
      const bool a_fits = a.workspace <= limit;
      const bool b_fits = b.workspace <= limit;
      if (a_fits != b_fits) return a_fits;
      return a_fits ? a.time < b.time : a.workspace < b.workspace;
    };
    const auto best = std::min_element(ways.begin(), ways.end(), better);
    chosen.push_back(static_cast<std::uint32_t>(best - ways.begin()));
  }
  return choose_by_step(std::move(chosen));
}

Result<Program> lower_within_limits(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
                                    const WorkspaceChoices& choices, WorkspaceRule rule) {
  if (rule == WorkspaceRule::kEqualShares) {
    Bytes limit = plan.limits.workspace.value_or(Bytes{INT64_MAX});
    if (plan.limits.memory) limit = std::min(limit, *plan.limits.memory - choices.other_memory());
    const auto members = static_cast<std::int64_t>(models.size());
    return lower(plan, models, catalog, choices.choose_within(Bytes{limit.value / members}));
  }
  std::size_t low = 0;
  std::size_t high = choices.frontier().choices.size() - 1;
  Result<Program> fitting = lower(plan, models, catalog, choices.choose(high));
  while (fitting && low < high) {
    const std::size_t middle = low + (high - low) / 2;
    Result<Program> program = lower(plan, models, catalog, choices.choose(middle));
    if (program) {
      fitting = std::move(program);
      high = middle;
    } else if (program.error().code == ErrorCode::kDoesNotFit) {
      low = middle + 1;
    } else {
      return program;
    }
  }
  return fitting;
}

}  // namespace cohort
