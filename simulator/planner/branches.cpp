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

/// Each op takes what the host does around it, too; ops that were never recorded (reshapes in place) nothing.
OpGraph BranchScheduler::timed_graph(std::size_t member_class, int streams) {
  const MemberClass& members = classes_[member_class];
  OpGraph graph = op_graph(*members.model);
  if (gpu_ != nullptr) {
    const Nanoseconds gap = gpu_->profile().launch.graph_gap;
    for (std::size_t op = 0; op < graph.size(); ++op) {
      const auto alone = times_.time({members.signatures[op], Strategy::kSerial, 1, 1, ""}, {footprint_, 0});
      if (alone) graph.times[op] = {*alone + gap, *alone + gap, std::nullopt};
    }
    return graph;
  }
  for (std::size_t op = 0; op < graph.size(); ++op) {
    CostKey key{members.signatures[op], Strategy::kSerial, 1, 1, ""};
    const auto alone = times_.time(key, {footprint_, 0});
    const auto beside = times_.time(key, {footprint_, streams - 1});
    key.threads = device_.cores;
    const auto wide = device_.cores > 1 ? times_.time(key, {footprint_, 0}) : std::nullopt;
    if (!alone && !wide) continue;
    OpTime& time = graph.times[op];
    time.alone = alone.value_or(wide.value_or(Nanoseconds(0))) + device_.step_overhead;
    time.beside = beside.value_or(time.alone - device_.step_overhead) + device_.step_overhead;
    if (wide) time.wide = *wide + device_.step_overhead + kWaking;
  }
  return graph;
}

StageCost BranchScheduler::stage_cost(std::size_t member_class, const OpGraph& graph,
                                      const StreamSetting& setting) const {
  if (gpu_ == nullptr) return core_stage_cost(graph, setting);
  const Model& model = *classes_[member_class].model;
  std::vector<double> shares;
  for (std::size_t op = 0; op < graph.size(); ++op)
    shares.push_back(gpu_->share(call_work_of(model, model.ops[op], gpu_->precision()), graph.times[op].alone));
  return shared_stage_cost(graph, setting, std::move(shares));
}

Nanoseconds BranchScheduler::longest_way(std::size_t member_class) {
  const OpGraph graph = op_graph(*classes_[member_class].model);
  std::vector<Nanoseconds> end(graph.size());
  Nanoseconds longest{};
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    for (const std::uint32_t need : graph.needs[op]) end[op] = std::max(end[op], end[need]);
    const CostKey key{classes_[member_class].signatures[op], Strategy::kSerial, 1, 1, ""};
    const auto warm = times_.time(key, {Bytes{0}, 0});
    const auto cold = times_.time(key, {footprint_, 0});
    if (warm && cold) end[op] += std::min(*warm, *cold);
    longest = std::max(longest, end[op]);
  }
  return longest;
}

OpSchedule BranchScheduler::make(std::size_t member_class, BranchSchedule kind, int streams) {
  const OpGraph graph = timed_graph(member_class, streams);
  const Nanoseconds handoff = gpu_ == nullptr ? device_.handoff_latency : gpu_->profile().launch.graph_gap;
  const StreamSetting setting{static_cast<std::uint32_t>(streams), handoff};
  switch (kind) {
    case BranchSchedule::kStages: {
      StageOptions options;
      options.most_groups = std::min<std::size_t>(options.most_groups, setting.streams);
      options.most_states = graph.size() <= kFewOps ? kManyStates : kFewStates;
      return schedule_stages(graph, setting, stage_cost(member_class, graph, setting), options).schedule;
    }
    case BranchSchedule::kStagesApart: {
      OpSchedule apart = schedule(member_class, BranchSchedule::kStages, streams);
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

const OpSchedule& BranchScheduler::schedule(std::size_t member_class, BranchSchedule kind, int streams) {
  const std::tuple key(member_class, kind, streams);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, make(member_class, kind, streams)).first->second;
}

std::vector<Group> BranchScheduler::groups(BranchSchedule kind, int streams) {
  std::vector<Group> all;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const std::string prefix =
        classes_.size() == 1 ? "part-" : "part-" + std::to_string(classes_[c].members.front()) + "-";
    const MemberClass& members = classes_[c];
    for (Group& group :
         schedule_groups(schedule(c, kind, streams), *members.model, members.members, device_.cores, prefix))
      all.push_back(std::move(group));
  }
  return all;
}

}  // namespace cohort
