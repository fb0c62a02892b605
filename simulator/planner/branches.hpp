#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "simulator/engine/device_profile.hpp"
#include "simulator/plan/member_classes.hpp"
#include "simulator/planner/choose.hpp"
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

/// Ops of a class that its members compute together: in a schedule each is one op.
struct FusedOps {
  std::vector<std::optional<Strategy>> strategies;  ///< by op of the class; empty: nothing is fused
  std::vector<OpTime> times;                        ///< of those, by op: all members' call, with the host's part
};

/// How members' branches are to run.
struct BranchRequest {
  BranchSchedule kind = BranchSchedule::kStages;
  int streams = 2;                   ///< that a member's ops are spread over
  int sets = 1;                      ///< of so many streams each, that members are spread over
  std::vector<FusedOps> fused = {};  ///< by class, with one set; empty: nothing
};

/// What a call takes on cores: alone on one, beside calls on all others, and on all of them, each with what the host
/// does around it. Absent where it was never recorded.
std::optional<OpTime> core_op_time(CallTimes& times, const DeviceProfile& device, CostKey key, Bytes footprint,
                                   int streams);

/// Schedules of the ops of classes of members on a device, by recorded times; remembered.
class BranchScheduler {
 public:
  /// All arguments must outlive it. `gpu` is null where the device is none; on one, ops share the device's room and
  /// none takes all of it.
  BranchScheduler(std::span<const MemberClass> classes, const DeviceProfile& device, CallTimes& times, Bytes footprint,
                  const GpuDemands* gpu);

  /// Where any member has branches.
  [[nodiscard]] bool has_branches() const;
  /// Where anything of a class is fused, of all its members, one after another where they are not; else of one.
  const OpSchedule& schedule(std::size_t member_class, const BranchRequest& request);
  /// Groups of all members. Members of a class that share streams go through the schedule abreast.
  std::vector<Group> groups(const BranchRequest& request);

 private:
  [[nodiscard]] std::optional<OpTime> op_time(std::size_t member_class, std::size_t op, int streams);
  [[nodiscard]] OpGraph timed_graph(std::size_t member_class, const BranchRequest& request);
  [[nodiscard]] StageCost stage_cost(std::size_t member_class, const OpGraph& graph, const StreamSetting& setting,
                                     const FusedOps* fused) const;
  [[nodiscard]] OpSchedule make(std::size_t member_class, const BranchRequest& request);

  std::span<const MemberClass> classes_;
  const DeviceProfile& device_;
  CallTimes& times_;
  Bytes footprint_;
  const GpuDemands* gpu_;
  using Key = std::tuple<std::size_t, BranchSchedule, int, std::vector<std::optional<Strategy>>>;
  std::map<Key, OpSchedule> known_;
};

}  // namespace cohort
