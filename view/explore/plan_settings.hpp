#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "view/explore/explore_settings.hpp"

namespace cohort {

/// Groups of a plan with so many members, as the settings say.
std::vector<Group> groups_of(const ExploreSettings& settings, std::size_t members);

/// What the settings say of a plan whose device, layout, precision and members are those of `base`. Baselines and
/// algorithms are those that were found for it, where nothing was changed since.
Plan plan_from(const ExploreSettings& settings, Plan base);

/// The settings that make the plan's groups, streams, input and limits again; its members and minibatch are left to
/// the caller. Groups that are alike on each stream become one.
ExploreSettings settings_from(const Plan& plan);

/// Groups and streams carried over to other members, each told by its source and seed: those that go leave their
/// groups, those that come go where no op is named, on the stream with the fewest members.
void move_members(ExploreSettings& settings, std::span<const Member> before, std::span<const Member> after);

}  // namespace cohort
