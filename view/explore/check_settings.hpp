#pragma once

#include <cstddef>
#include <vector>

#include "view/explore/explore_facts.hpp"
#include "view/explore/explore_settings.hpp"

namespace cohort {

/// What is wrong with numbers of models.
std::vector<SettingsProblem> check_counts(const std::vector<int>& models, const ExploreFacts& facts);

/// What is wrong with single fields, and pairs of them that exclude each other.
std::vector<SettingsProblem> check_settings(const ExploreSettings& settings, const ExploreFacts& facts);

/// What is wrong with groups and streams of so many members; of profiles.
std::vector<SettingsProblem> check_groups(const ExploreSettings& settings, const ExploreFacts& facts,
                                          std::size_t members);

}  // namespace cohort
