#pragma once

#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "simulator/engine/device_profile.hpp"
#include "simulator/planner/choose.hpp"
#include "simulator/planner/member_classes.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "simulator/schedule/op_schedule.hpp"
#include "simulator/schedule/stages.hpp"

namespace cohort {

/// Ways to run the branches of one member side by side; see docs/scheduling.md.
enum class BranchSchedule {
  kStages,        ///< IOS's stages, ordered by data only
  kStagesApart,   ///< the same, each stage waiting for the one before
  kList,          ///< list scheduling, the longest way first
  kLeastSyncs,    ///< Nimble's chains
  kLeastStreams,  ///< chains over the closure
  kOpara,
};
inline constexpr BranchSchedule kBranchSchedules[] = {BranchSchedule::kStages,       BranchSchedule::kStagesApart,
                                                      BranchSchedule::kList,         BranchSchedule::kLeastSyncs,
                                                      BranchSchedule::kLeastStreams, BranchSchedule::kOpara};
std::string_view to_string(BranchSchedule schedule);

/// Schedules of the ops of classes of members on a device, by recorded times; remembered.
class BranchScheduler {
 public:
  /// All arguments must outlive it. `gpu` is null where the device is none; on one, ops share the device's room and
  /// none takes all of it.
  BranchScheduler(std::span<const MemberClass> classes, const DeviceProfile& device, CallTimes& times, Bytes footprint,
                  const GpuDemands* gpu);

  /// Where any member has branches.
  [[nodiscard]] bool has_branches() const;
  const OpSchedule& schedule(std::size_t member_class, BranchSchedule kind, int streams);
  /// Groups of all members. Each class's members share streams and go through the schedule abreast.
  std::vector<Group> groups(BranchSchedule kind, int streams);
  /// The longest way through a class's ops, each taking its time alone: no schedule ends sooner.
  Nanoseconds longest_way(std::size_t member_class);

 private:
  [[nodiscard]] OpGraph timed_graph(std::size_t member_class, int streams);
  [[nodiscard]] StageCost stage_cost(std::size_t member_class, const OpGraph& graph,
                                     const StreamSetting& setting) const;
  [[nodiscard]] OpSchedule make(std::size_t member_class, BranchSchedule kind, int streams);

  std::span<const MemberClass> classes_;
  const DeviceProfile& device_;
  CallTimes& times_;
  Bytes footprint_;
  const GpuDemands* gpu_;
  std::map<std::tuple<std::size_t, BranchSchedule, int>, OpSchedule> known_;
};

}  // namespace cohort
