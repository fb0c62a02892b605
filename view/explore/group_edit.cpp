#include "view/explore/group_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "simulator/planner/variants.hpp"
#include "view/explore/plan_settings.hpp"

namespace cohort {
namespace {

bool is_rest(const ExploreGroup& group) { return group.ops.empty(); }

bool names(const ExploreGroup& group, std::string_view op) {
  return std::find(group.ops.begin(), group.ops.end(), op) != group.ops.end();
}

std::size_t position_of(const ExploreFacts& facts, std::string_view op) {
  const auto found =
      std::find_if(facts.ops.begin(), facts.ops.end(), [&](const ExploredOp& known) { return known.name == op; });
  return static_cast<std::size_t>(found - facts.ops.begin());
}

bool holds(std::span<const Strategy> strategies, Strategy strategy) {
  return std::find(strategies.begin(), strategies.end(), strategy) != strategies.end();
}

/// Of no group yet: `wanted`, or with a number behind it.
std::string free_name(const ExploreSettings& settings, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(settings.groups.begin(), settings.groups.end(),
                       [&](const ExploreGroup& group) { return group.name == name; });
  };
  std::string name = wanted;
  for (int i = 2; taken(name); ++i) name = fmt::format("{}-{}", wanted, i);
  return name;
}

/// The group behind it; no other waits for the one that is gone.
std::vector<ExploreGroup>::iterator erase_group(ExploreSettings& settings, std::vector<ExploreGroup>::iterator group) {
  const std::string name = group->name;
  const auto next = settings.groups.erase(group);
  for (ExploreGroup& other : settings.groups) std::erase(other.after, name);
  return next;
}

void remove_op(ExploreSettings& settings, std::string_view op) {
  for (auto group = settings.groups.begin(); group != settings.groups.end();) {
    const auto found = std::find(group->ops.begin(), group->ops.end(), op);
    if (found == group->ops.end()) {
      ++group;
      continue;
    }
    if (!group->op_streams.empty()) group->op_streams.erase(group->op_streams.begin() + (found - group->ops.begin()));
    group->ops.erase(found);
    if (!group->ops.empty()) {
      ++group;
      continue;
    }
    group = erase_group(settings, group);  // without ops it would be a rest
  }
}

/// Places where a plan that was placed by hand stood are those of another strategy.
void forget_places(ExploreGroup& group) {
  group.streams.clear();
  group.op_streams.clear();
  group.threads = 0;
  group.multiprocessors = 0;
}

/// Groups that a plan placed by hand go where members are from now on.
void follow_members(ExploreSettings& settings) {
  for (ExploreGroup& group : settings.groups) {
    if (group.op_streams.empty()) group.streams.clear();
  }
}

}  // namespace

std::string strategy_name(Strategy strategy) {
  if (strategy == Strategy::kSerial) return "one after another";
  if (strategy == Strategy::kGroupedGemm) return "grouped GEMM";
  return std::string(words(strategy));
}

Strategy rest_strategy(const ExploreSettings& settings) {
  const auto rest = std::find_if(settings.groups.begin(), settings.groups.end(), is_rest);
  return rest != settings.groups.end() ? rest->strategy : Strategy::kSerial;
}

ExploreSettings with_rest_strategy(ExploreSettings settings, Strategy strategy) {
  for (ExploreGroup& group : settings.groups) {
    if (!is_rest(group) || group.strategy == strategy) continue;
    group.strategy = strategy;
    forget_places(group);
  }
  return settings;
}

Strategy strategy_of(const ExploreSettings& settings, std::string_view op) {
  for (const ExploreGroup& group : settings.groups) {
    if (names(group, op)) return group.strategy;
  }
  return rest_strategy(settings);
}

std::vector<Strategy> strategies_for(const ExploreFacts& facts, std::string_view op) {
  std::vector<Strategy> strategies(std::begin(kRestStrategies), std::end(kRestStrategies));
  const std::size_t position = position_of(facts, op);
  if (position == facts.ops.size()) return strategies;
  for (const Strategy strategy : facts.ops[position].strategies) {
    if (!holds(strategies, strategy)) strategies.push_back(strategy);
  }
  return strategies;
}

ExploreSettings with_op_strategy(ExploreSettings settings, const ExploreFacts& facts, const std::string& op,
                                 Strategy strategy) {
  if (!holds(strategies_for(facts, op), strategy) || strategy_of(settings, op) == strategy) return settings;
  remove_op(settings, op);
  const bool has_rest = std::any_of(settings.groups.begin(), settings.groups.end(), is_rest);
  if (strategy == rest_strategy(settings) && has_rest) return settings;
  const std::size_t position = position_of(facts, op);
  const auto fits = [&](const ExploreGroup& group) {
    if (is_rest(group) || group.strategy != strategy || !group.members.empty() || !group.streams.empty()) return false;
    const bool before = position > 0 && names(group, facts.ops[position - 1].name);
    const bool after = position + 1 < facts.ops.size() && names(group, facts.ops[position + 1].name);
    return before || after;
  };
  const auto neighbour = std::find_if(settings.groups.begin(), settings.groups.end(), fits);
  if (neighbour != settings.groups.end()) {
    neighbour->ops.push_back(op);
    std::sort(neighbour->ops.begin(), neighbour->ops.end(), [&](const std::string& a, const std::string& b) {
      return position_of(facts, a) < position_of(facts, b);
    });
    return settings;
  }
  ExploreGroup group;
  group.name = free_name(settings, op);
  group.strategy = strategy;
  group.ops = {op};
  // Named groups stand in the order of their ops, before the rest.
  const auto place = std::find_if(settings.groups.begin(), settings.groups.end(), [&](const ExploreGroup& other) {
    return is_rest(other) || position_of(facts, other.ops.front()) > position;
  });
  settings.groups.insert(place, std::move(group));
  return settings;
}

ExploreSettings with_group_strategy(ExploreSettings settings, std::size_t group, Strategy strategy) {
  if (group >= settings.groups.size() || settings.groups[group].strategy == strategy) return settings;
  settings.groups[group].strategy = strategy;
  forget_places(settings.groups[group]);
  return settings;
}

std::vector<Strategy> strategies_for(const ExploreFacts& facts, const ExploreGroup& group) {
  if (is_rest(group)) return {std::begin(kRestStrategies), std::end(kRestStrategies)};
  std::vector<Strategy> shared = strategies_for(facts, group.ops.front());
  for (const std::string& op : group.ops) {
    const std::vector<Strategy> of_op = strategies_for(facts, op);
    std::erase_if(shared, [&](Strategy strategy) { return !holds(of_op, strategy); });
  }
  return shared;
}

ExploreSettings without_group(ExploreSettings settings, std::size_t group) {
  if (group >= settings.groups.size()) return settings;
  const auto rests = std::count_if(settings.groups.begin(), settings.groups.end(), is_rest);
  if (is_rest(settings.groups[group]) && rests == 1) return settings;
  erase_group(settings, settings.groups.begin() + static_cast<std::ptrdiff_t>(group));
  if (rests == 0) settings.groups.push_back(all_ops(Strategy::kSerial));
  return settings;
}

ExploreSettings with_group_moved(ExploreSettings settings, std::size_t group, int places) {
  const auto target = static_cast<std::ptrdiff_t>(group) + places;
  if (group >= settings.groups.size() || target < 0 || target >= std::ssize(settings.groups)) return settings;
  std::swap(settings.groups[group], settings.groups[static_cast<std::size_t>(target)]);
  return settings;
}

std::size_t member_count(const ExploreSettings& settings, const ExploreFacts& facts) {
  if (!settings.members.empty()) return settings.members.size();
  if (settings.models.size() == 1) {
    return static_cast<std::size_t>(settings.models.front()) * std::max<std::size_t>(1, facts.models.size());
  }
  std::size_t count = 0;
  for (const int models : settings.models) count += static_cast<std::size_t>(models);
  return count;
}

std::vector<std::uint32_t> streams_of_members(const ExploreSettings& settings, const ExploreFacts& facts) {
  const std::size_t count = member_count(settings, facts);
  if (settings.member_streams.size() == count) return settings.member_streams;
  std::vector<std::uint32_t> streams;
  streams.reserve(count);
  for (std::size_t i = 0; i < count; ++i) streams.push_back(stream_in_blocks(i, count, settings.streams));
  for (const Group& group : groups_of(settings, count)) {  // which a plan may have placed by hand
    if (!group.op_streams.empty() || group.streams.empty()) continue;
    const bool all_on_one = group.streams.size() == 1;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const std::size_t place = all_on_one ? 0 : i;
      if (group.members[i] < count && place < group.streams.size()) streams[group.members[i]] = group.streams[place];
    }
  }
  return streams;
}

ExploreSettings with_member_on_stream(ExploreSettings settings, const ExploreFacts& facts, std::size_t member,
                                      std::uint32_t stream) {
  std::vector<std::uint32_t> streams = streams_of_members(settings, facts);
  if (member >= streams.size() || stream >= static_cast<std::uint32_t>(settings.streams)) return settings;
  streams[member] = stream;
  settings.member_streams = std::move(streams);
  follow_members(settings);
  return settings;
}

ExploreSettings with_streams(ExploreSettings settings, const ExploreFacts& facts, int streams) {
  if (streams < 1) return settings;
  const bool is_placed = !settings.member_streams.empty();
  std::vector<std::uint32_t> kept = streams_of_members(settings, facts);
  settings.streams = streams;
  follow_members(settings);
  if (!is_placed) return settings;
  std::uint32_t next = 0;
  for (std::uint32_t& stream : kept) {
    if (stream >= static_cast<std::uint32_t>(streams)) stream = next++ % static_cast<std::uint32_t>(streams);
  }
  settings.member_streams = std::move(kept);
  return settings;
}

}  // namespace cohort
