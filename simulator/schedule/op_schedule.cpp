#include "simulator/schedule/op_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <tuple>

namespace cohort {
namespace {

/// When each op would end and each stream be free, as ops are given one by one.
class Timeline {
 public:
  Timeline(const OpGraph& graph, const StreamSetting& setting)
      : graph_(graph),
        setting_(setting),
        ends_(graph.size()),
        streams_(graph.size()),
        free_(std::max<std::uint32_t>(1, setting.streams)) {}

  [[nodiscard]] Nanoseconds start_on(std::uint32_t op, std::uint32_t stream) const {
    Nanoseconds start = free_[stream];
    for (const std::uint32_t need : graph_.needs[op])
      start = std::max(start, ends_[need] + (streams_[need] == stream ? Nanoseconds(0) : setting_.handoff));
    return start;
  }
  [[nodiscard]] std::uint32_t soonest(std::uint32_t op) const {
    std::uint32_t best = 0;
    for (std::uint32_t stream = 1; stream < free_.size(); ++stream) {
      if (start_on(op, stream) < start_on(op, best)) best = stream;
    }
    return best;
  }
  [[nodiscard]] Nanoseconds start_wide() const { return end(); }
  [[nodiscard]] Nanoseconds end() const { return *std::max_element(free_.begin(), free_.end()); }

  void add(std::uint32_t op, std::uint32_t stream, Nanoseconds time) {
    ends_[op] = start_on(op, stream) + time;
    streams_[op] = stream;
    free_[stream] = ends_[op];
    schedule_.ops.push_back({op, stream, false, 0});
  }
  void add_wide(std::uint32_t op) {
    ends_[op] = start_wide() + *graph_.times[op].wide;
    std::fill(free_.begin(), free_.end(), ends_[op]);
    schedule_.ops.push_back({op, 0, true, 0});
  }

  [[nodiscard]] OpSchedule finish() {
    schedule_.streams = static_cast<std::uint32_t>(free_.size());
    schedule_.expected = end();
    return std::move(schedule_);
  }

 private:
  const OpGraph& graph_;
  const StreamSetting& setting_;
  std::vector<Nanoseconds> ends_;
  std::vector<std::uint32_t> streams_;  ///< of ops
  std::vector<Nanoseconds> free_;       ///< when each stream is
  OpSchedule schedule_;
};

/// From an op's start to the end of the model, by the longest way.
std::vector<Nanoseconds> ranks(const OpGraph& graph) {
  std::vector<Nanoseconds> rank(graph.size());
  for (std::size_t op = graph.size(); op-- > 0;) {
    for (const std::uint32_t user : graph.users[op]) rank[op] = std::max(rank[op], rank[user]);
    rank[op] += graph.times[op].alone;
  }
  return rank;
}

std::vector<std::size_t> open_needs(const OpGraph& graph) {
  std::vector<std::size_t> open;
  for (const auto& needs : graph.needs) open.push_back(needs.size());
  return open;
}

OpSchedule fold(const OpGraph& graph, const StreamAssignment& assignment, const StreamSetting& setting,
                std::span<const std::uint32_t> order) {
  std::vector<char> is_cut(graph.size());
  for (const std::uint32_t op : OpOrder(graph).cuts()) is_cut[op] = 1;
  std::vector<std::optional<std::uint32_t>> place(assignment.stream_count);
  Timeline timeline(graph, setting);
  for (const std::uint32_t op : order) {
    const OpTime& time = graph.times[op];
    std::optional<std::uint32_t>& stream = place[assignment.streams[op]];
    if (is_cut[op] != 0 && time.wide && *time.wide < time.alone) {
      timeline.add_wide(op);
      continue;
    }
    if (!stream) stream = timeline.soonest(op);
    timeline.add(op, *stream, is_cut[op] != 0 ? time.alone : time.beside);
  }
  return timeline.finish();
}

std::vector<std::uint32_t> opara_order(const OpGraph& graph) {
  using Waiting = std::set<std::tuple<std::int64_t, std::uint32_t>>;
  Waiting ready[2];  // compute-bound, memory-bound
  std::vector<std::size_t> open = open_needs(graph);
  const auto put = [&](std::uint32_t op) {
    ready[graph.memory_bound[op] != 0 ? 1 : 0].insert({graph.demand[op].value, op});
  };
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (open[op] == 0) put(op);
  }
  std::vector<std::uint32_t> order;
  std::size_t turn = 1;
  while (!ready[0].empty() || !ready[1].empty()) {
    if (ready[turn].empty()) turn = 1 - turn;
    const std::uint32_t op = std::get<1>(*ready[turn].begin());
    ready[turn].erase(ready[turn].begin());
    order.push_back(op);
    for (const std::uint32_t user : graph.users[op]) {
      if (--open[user] == 0) put(user);
    }
    turn = 1 - turn;
  }
  return order;
}

}  // namespace

OpSchedule schedule_list(const OpGraph& graph, const StreamSetting& setting) {
  const std::vector<Nanoseconds> rank = ranks(graph);
  std::vector<std::size_t> open = open_needs(graph);
  std::set<std::pair<Nanoseconds, std::uint32_t>> ready;  // longest way first, then by op
  const auto put = [&](std::uint32_t op) { ready.insert({-rank[op], op}); };
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (open[op] == 0) put(op);
  }
  Timeline timeline(graph, setting);
  while (!ready.empty()) {
    const std::uint32_t op = ready.begin()->second;
    const bool only = ready.size() == 1;
    ready.erase(ready.begin());
    const OpTime& time = graph.times[op];
    const std::uint32_t stream = timeline.soonest(op);
    const Nanoseconds start = timeline.start_on(op, stream);
    // Nothing else is ready, and nothing is under way where this op could start: then it runs alone.
    const Nanoseconds narrow = only && start >= timeline.end() ? time.alone : time.beside;
    if (only && time.wide && timeline.start_wide() + *time.wide < start + narrow) {
      timeline.add_wide(op);
    } else {
      timeline.add(op, stream, narrow);
    }
    for (const std::uint32_t user : graph.users[op]) {
      if (--open[user] == 0) put(user);
    }
  }
  return timeline.finish();
}

OpSchedule schedule_chains(const OpGraph& graph, const StreamAssignment& assignment, const StreamSetting& setting) {
  std::vector<std::uint32_t> order(graph.size());
  for (std::uint32_t op = 0; op < order.size(); ++op) order[op] = op;
  return fold(graph, assignment, setting, order);
}

StreamAssignment opara_streams(const OpGraph& graph) {
  StreamAssignment result;
  std::vector<char> passed_on(graph.size());
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    const auto& needs = graph.needs[op];
    const auto heir =
        std::find_if(needs.begin(), needs.end(), [&](std::uint32_t need) { return passed_on[need] == 0; });
    if (heir != needs.end()) passed_on[*heir] = 1;
    result.streams.push_back(heir != needs.end() ? result.streams[*heir] : result.stream_count++);
  }
  for (const auto& [from, to] : reduced_edges(graph)) {
    if (result.streams[from] != result.streams[to]) ++result.syncs;
  }
  return result;
}

OpSchedule schedule_opara(const OpGraph& graph, const StreamSetting& setting) {
  return fold(graph, opara_streams(graph), setting, opara_order(graph));
}

std::vector<Group> schedule_groups(const OpSchedule& schedule, const Model& model,
                                   std::span<const std::uint32_t> members, const ScheduleGroupOptions& options) {
  const auto fused = [&](const ScheduledOp& op) {
    return options.fused.empty() ? std::optional<Strategy>() : options.fused[op.op];
  };
  assert(!schedule.barriers || options.fused.empty());
  std::vector<Group> groups;
  const ScheduledOp* last = nullptr;
  for (const ScheduledOp& op : schedule.ops) {
    const std::optional<Strategy> strategy = fused(op);
    const bool new_stage = last != nullptr && schedule.barriers && op.stage != last->stage;
    const bool goes_on = last != nullptr && op.wide == last->wide && !new_stage && strategy == fused(*last) &&
                         (!strategy || op.stream == last->stream);
    if (!goes_on) {
      Group group;
      group.name = options.prefix + std::to_string(groups.size() + 1);
      group.members.assign(members.begin(), members.end());
      group.strategy = strategy.value_or(op.wide ? Strategy::kSerial : Strategy::kConcurrent);
      group.threads = op.wide ? options.cores : 0;
      if (strategy && !op.wide) group.streams = {op.stream};
      if (!strategy && !op.wide) group.streams = options.streams;
      if (new_stage) group.after = {groups.back().name};
      groups.push_back(std::move(group));
    }
    groups.back().ops.push_back(model.ops[op.op].name);
    if (!op.wide && !strategy) groups.back().op_streams.push_back(op.stream);
    last = &op;
  }
  return groups;
}

}  // namespace cohort
