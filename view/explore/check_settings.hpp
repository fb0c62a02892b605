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

/// Whether what was asked with `a` holds with `b`, numbers of models and ways to run them apart. What is given may also
/// be what is taken where nothing is.
bool same_input_and_limits(const ExploreSettings& a, const ExploreSettings& b, const ExploreFacts& facts);

/// What is wrong with groups and streams of so many members; of profiles.
std::vector<SettingsProblem> check_groups(const ExploreSettings& settings, const ExploreFacts& facts,
                                          std::size_t members);

}  // namespace cohort
