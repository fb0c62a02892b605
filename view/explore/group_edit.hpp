#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "view/explore/explore_facts.hpp"
#include "view/explore/explore_settings.hpp"

namespace cohort {

/// Changes that a user makes to groups. All return the changed settings; impossible changes return them as they were.
/// The *rest* is the group without named ops: it has all ops that no other group names.

/// Strategies that the rest can have.
inline constexpr Strategy kRestStrategies[] = {Strategy::kSerial, Strategy::kConcurrent};

/// "serial", "concurrent", "strided batch": as people read it.
std::string strategy_name(Strategy strategy);

Strategy rest_strategy(const ExploreSettings& settings);
ExploreSettings with_rest_strategy(ExploreSettings settings, Strategy strategy);

/// How all members run an op: the first group that names it, else the rest.
Strategy strategy_of(const ExploreSettings& settings, std::string_view op);
/// What an op can be moved to: what the rest can have, and what fuses it.
std::vector<Strategy> strategies_for(const ExploreFacts& facts, std::string_view op);
/// Takes an op out of its groups. With the rest's strategy it joins the rest; else it joins the group of its neighbour
/// in the order of ops, where that has this strategy and all members, or gets a group of its own name.
ExploreSettings with_op_strategy(ExploreSettings settings, const ExploreFacts& facts, const std::string& op,
                                 Strategy strategy);

/// A group's own fields. An empty list of ops makes it a rest of its own, which its members must not have twice.
ExploreSettings with_group_strategy(ExploreSettings settings, std::size_t group, Strategy strategy);
/// What ops of a group can all do.
std::vector<Strategy> strategies_for(const ExploreFacts& facts, const ExploreGroup& group);
/// Its ops join the rest. The last group without ops stays.
ExploreSettings without_group(ExploreSettings settings, std::size_t group);
/// Launches a group one place earlier (-1) or later (1).
ExploreSettings with_group_moved(ExploreSettings settings, std::size_t group, int places);

/// Number of members of all models.
std::size_t member_count(const ExploreSettings& settings, const ExploreFacts& facts);
/// The stream of each member, as given, as groups that were placed by hand have it, or as neighbours share them.
std::vector<std::uint32_t> streams_of_members(const ExploreSettings& settings, const ExploreFacts& facts);
ExploreSettings with_member_on_stream(ExploreSettings settings, const ExploreFacts& facts, std::size_t member,
                                      std::uint32_t stream);
/// Sets the number of streams; members of removed streams are spread over the others.
ExploreSettings with_streams(ExploreSettings settings, const ExploreFacts& facts, int streams);

}  // namespace cohort
