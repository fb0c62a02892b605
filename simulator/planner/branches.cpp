#include "simulator/planner/branches.hpp"

#include <algorithm>
#include <utility>

namespace cohort {
namespace {

// For inception_v3 (124 ops) the search for stages is then exact, and takes milliseconds; for randwire (465 ops) a
// fifth of a second.
constexpr std::size_t kFewOps = 200;
constexpr std::size_t kManyStates = 64;
constexpr std::size_t kFewStates = 4;

/// Null where nothing of the class is fused.
const FusedOps* fused_of(std::size_t member_class, const BranchRequest& request) {
  if (member_class >= request.fused.size() || request.fused[member_class].strategies.empty()) return nullptr;
  return &request.fused[member_class];
}

bool runs_fused(const FusedOps* fused, std::size_t op) { return fused != nullptr && fused->strategies[op]; }

std::vector<std::optional<Strategy>> strategies_of(const FusedOps* fused) {
  return fused == nullptr ? std::vector<std::optional<Strategy>>() : fused->strategies;
}

}  // namespace

std::string_view to_string(BranchSchedule schedule) {
  switch (schedule) {
    case BranchSchedule::kStages:
      return "stages";
    case BranchSchedule::kStagesApart:
      return "stages kept apart";
    case BranchSchedule::kList:
      return "list scheduling";
    case BranchSchedule::kLeastSyncs:
      return "chains with least syncs";
    case BranchSchedule::kLeastStreams:
      return "chains on least streams";
    case BranchSchedule::kOpara:
      return "Opara's order";
  }
  return "";
}

BranchScheduler::BranchScheduler(std::span<const MemberClass> classes, const DeviceProfile& device, CallTimes& times,
                                 Bytes footprint, const GpuDemands* gpu)
    : classes_(classes), device_(device), times_(times), footprint_(footprint), gpu_(gpu) {}

bool BranchScheduler::has_branches() const {
  return std::any_of(classes_.begin(), classes_.end(),
                     [](const MemberClass& members) { return cohort::has_branches(op_graph(*members.model)); });
}

std::optional<OpTime> core_op_time(CallTimes& times, const DeviceProfile& device, CostKey key, Bytes footprint,
                                   int streams) {
  key.threads = 1;
  const auto alone = times.time(key, {footprint, 0});
  const auto beside = times.time(key, {footprint, streams - 1});
  key.threads = device.cores;
  const auto wide = device.cores > 1 ? times.time(key, {footprint, 0}) : std::nullopt;
  if (!alone && !wide) return std::nullopt;
  OpTime time;
  time.alone = alone.value_or(wide.value_or(Nanoseconds(0))) + device.step_overhead;
  time.beside = beside.value_or(time.alone - device.step_overhead) + device.step_overhead;
  if (wide) time.wide = *wide + device.step_overhead + kWaking;
  return time;
}

std::optional<OpTime> BranchScheduler::op_time(std::size_t member_class, std::size_t op, int streams) {
  const CostKey key{classes_[member_class].signatures[op], Strategy::kSerial, 1, 1, ""};
  if (gpu_ == nullptr) return core_op_time(times_, device_, key, footprint_, streams);
  const auto alone = times_.time(key, {footprint_, 0});
  if (!alone) return std::nullopt;
  const Nanoseconds time = *alone + gpu_->profile().launch.graph_gap;
  return OpTime{time, time, std::nullopt};
}

/// Ops that were never recorded (reshapes in place) take no time.
OpGraph BranchScheduler::timed_graph(std::size_t member_class, const BranchRequest& request) {
  const MemberClass& members = classes_[member_class];
  const FusedOps* const fused = fused_of(member_class, request);
  const auto count = static_cast<std::int64_t>(members.members.size());
  const std::int64_t in_turn = fused == nullptr ? 1 : count;
  OpGraph graph = op_graph(*members.model);
  for (std::size_t op = 0; op < graph.size(); ++op) {
    if (runs_fused(fused, op)) {
      graph.times[op] = fused->times[op];
      graph.demand[op] = Flops{graph.demand[op].value * count};
      continue;
    }
    const std::optional<OpTime> one = op_time(member_class, op, request.streams);
    if (!one) continue;
    graph.times[op] = {one->alone * in_turn, one->beside * in_turn, one->wide};
    if (one->wide) graph.times[op].wide = *one->wide * in_turn;
  }
  return graph;
}

StageCost BranchScheduler::stage_cost(std::size_t member_class, const OpGraph& graph, const StreamSetting& setting,
                                      const FusedOps* fused) const {
  if (gpu_ == nullptr) return core_stage_cost(graph, setting);
  const Model& model = *classes_[member_class].model;
  const auto count = static_cast<std::int64_t>(classes_[member_class].members.size());
  std::vector<double> shares;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    CallWork work = call_work_of(model, model.ops[op], gpu_->precision());
    Nanoseconds time = graph.times[op].alone;
    if (runs_fused(fused, op)) {
      work.flops = Flops{work.flops.value * count};
      work.traffic = Bytes{work.traffic.value * count};
      work.outputs *= count;
    } else if (fused != nullptr) {
      time /= count;
    }
    shares.push_back(gpu_->share(work, time));
  }
  return shared_stage_cost(graph, setting, std::move(shares));
}

OpSchedule BranchScheduler::make(std::size_t member_class, const BranchRequest& request) {
  const OpGraph graph = timed_graph(member_class, request);
  const Nanoseconds handoff = gpu_ == nullptr ? device_.handoff_latency : gpu_->profile().launch.graph_gap;
  const StreamSetting setting{static_cast<std::uint32_t>(request.streams), handoff};
  switch (request.kind) {
    case BranchSchedule::kStages: {
      StageOptions options;
      options.most_groups = std::min<std::size_t>(options.most_groups, setting.streams);
      options.most_states = graph.size() <= kFewOps ? kManyStates : kFewStates;
      const StageCost cost = stage_cost(member_class, graph, setting, fused_of(member_class, request));
      return schedule_stages(graph, setting, cost, options).schedule;
    }
    case BranchSchedule::kStagesApart: {
      BranchRequest together = request;
      together.kind = BranchSchedule::kStages;
      OpSchedule apart = schedule(member_class, together);
      apart.barriers = true;
      return apart;
    }
    case BranchSchedule::kLeastSyncs:
      return schedule_chains(graph, assign_least_syncs(graph), setting);
    case BranchSchedule::kLeastStreams:
      return schedule_chains(graph, assign_least_streams(graph), setting);
    case BranchSchedule::kOpara:
      return schedule_opara(graph, setting);
    case BranchSchedule::kList:
      break;
  }
  return schedule_list(graph, setting);
}

const OpSchedule& BranchScheduler::schedule(std::size_t member_class, const BranchRequest& request) {
  Key key(member_class, request.kind, request.streams, strategies_of(fused_of(member_class, request)));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(std::move(key), make(member_class, request)).first->second;
}

std::vector<Group> BranchScheduler::groups(const BranchRequest& request) {
  std::size_t count = 0;
  for (const MemberClass& members : classes_) count += members.members.size();
  std::vector<Group> all;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const MemberClass& members = classes_[c];
    ScheduleGroupOptions options;
    options.cores = device_.cores;
    options.prefix = classes_.size() == 1 ? "part-" : "part-" + std::to_string(members.members.front()) + "-";
    options.fused = strategies_of(fused_of(c, request));
    for (const std::uint32_t member : members.members) {
      if (request.sets == 1) break;
      const std::uint32_t set = stream_in_blocks(member, count, request.sets);
      options.streams.push_back(set * static_cast<std::uint32_t>(request.streams));
    }
    for (Group& group : schedule_groups(schedule(c, request), *members.model, members.members, options))
      all.push_back(std::move(group));
  }
  return all;
}

}  // namespace cohort
