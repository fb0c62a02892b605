#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "simulator/schedule/op_schedule.hpp"

namespace cohort {

/// Ops of a stage that data connects; they run one after another on one stream.
using StageGroup = std::vector<std::uint32_t>;
/// Time of a stage of two or more groups.
using StageCost = std::function<Nanoseconds(std::span<const StageGroup* const> groups)>;

/// For streams with their own cores: groups are packed longest first onto the least loaded stream; a stage takes the
/// longest stream and a hand-off.
StageCost core_stage_cost(const OpGraph& graph, const StreamSetting& setting);

/// The same where streams share a device: a stage takes no less than the ops' times, each by the part of the device
/// that it uses (`shares`, by op, from 0 to 1), one after another.
StageCost shared_stage_cost(const OpGraph& graph, const StreamSetting& setting, std::vector<double> shares);

/// Limits of the search.
struct StageOptions {
  std::size_t most_ops = 3;         ///< in a group
  std::size_t most_groups = 8;      ///< in a stage
  std::size_t most_states = 16;     ///< kept of those with equally many ops done; more make it exact, and slow
  std::size_t most_stages = 4000;   ///< looked at from one state
  std::size_t most_followed = 100;  ///< of those
  bool keep_chains = true;          ///< ops with nothing beside a single edge between them count as one
  bool barriers = false;            ///< of the schedule that is made
};

/// Stages that follow one another, in each of them groups side by side.
struct StageSchedule {
  OpSchedule schedule;
  std::vector<std::vector<StageGroup>> stages;
  bool exact = true;  ///< no limit on states or stages was met: the least cost that the group limits allow
};

/// IOS's dynamic programme: over the sets of ops that may be done at some moment (closed under what they
/// need) the least time to get there, where one stage leads from set to set. A stage's groups are its
/// components, so that two ops that share a predecessor in the stage are in one group; a stage of one group
/// runs its ops in turn, each as is best for it alone. Ops that every path passes through cut the model into
/// parts, and a stage never reaches across one: with a lone group's time the sum of its ops nothing is lost.
///
/// Differs from IOS: states are searched forward with at most `most_states` for each number of ops done (the
/// best by time so far and least time to come), so that a search takes a second, not an hour; ops are
/// never merged into one, for inside a model there is no strategy that could run that.
/// Source: Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021, arXiv:2011.01302.
StageSchedule schedule_stages(const OpGraph& graph, const StreamSetting& setting, const StageCost& cost,
                              const StageOptions& options = {});

}  // namespace cohort
