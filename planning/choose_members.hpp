#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Which members to plan for.
struct MemberChoice {
  std::vector<int> counts{1};        ///< of each profile's model: one number for all profiles, or one by profile
  std::filesystem::path file;        ///< JSON of members that differ, as a plan lists them; instead of all others
  bool choose_minibatch = false;     ///< profiles that differ only in minibatch are alternatives
  std::optional<int> choose_models;  ///< instead of `counts`: 1, 2, 4, ... and so many, to choose from
};

/// Members of the profiled models, for each number and minibatch to choose from; else one list. They are named after
/// their model and have seeds from 0. `files` are of the profiles, for messages.
/// Errors: kInvalidInput naming what is wrong with the file of members, or two profiles of the same model; kUsage for
/// models without a minibatch in common.
Result<std::vector<std::vector<Member>>> choose_members(const MemberChoice& choice,
                                                        std::span<const ModelSource> sources,
                                                        std::span<const std::filesystem::path> files);

/// The profiled models at each minibatch that all of them were profiled at, ascending; none where there is no such
/// minibatch.
std::vector<std::vector<ModelSource>> sources_by_minibatch(std::span<const ModelSource> sources);

/// 1, 2, 4, ... and the most.
std::vector<int> numbers_up_to(int most);
/// The same, each as MemberChoice::counts.
std::vector<std::vector<int>> counts_up_to(int most);

/// That many members of each source, "mlp-0"; of further sources of the same name "mlp.2-0". `counts` has one number
/// for all sources or one per source.
std::vector<Member> members_of(std::span<const ModelSource> sources, const std::vector<int>& counts);

}  // namespace cohort
