#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/schedule/op_graph.hpp"
#include "simulator/schedule/stream_assignment.hpp"

namespace cohort {

struct ScheduledOp {
  std::uint32_t op = 0;
  std::uint32_t stream = 0;
  bool wide = false;        ///< on all cores, with nothing beside it; then on stream 0
  std::uint32_t stage = 0;  ///< where stages are kept apart: its number, never falling

  friend bool operator==(const ScheduledOp&, const ScheduledOp&) = default;
};

/// Every op of a model once, in launch order, which is a topological order.
struct OpSchedule {
  std::vector<ScheduledOp> ops;
  std::uint32_t streams = 1;
  bool barriers = false;   ///< each stage waits for the whole one before it
  Nanoseconds expected{};  ///< the schedule's own estimate, which knows less than the simulator
};

/// Number of streams, and the cost of passing from one to another.
struct StreamSetting {
  std::uint32_t streams = 2;
  Nanoseconds handoff{};  ///< from an op's end to the start of one on another stream that waits for it
};

/// List scheduling: among ready ops the one with the longest path to the end goes first, on the stream where it ends
/// soonest, or on all cores if it is the only ready op and that ends sooner.
/// Source: HEFT's ranks, Topcuoglu et al., IEEE TPDS 13(3), 2002. O(ops * log(ops) + edges + ops * streams).
OpSchedule schedule_list(const OpGraph& graph, const StreamSetting& setting);

/// An assignment's chains on `setting.streams` streams at most, in the model's order: each chain goes where
/// it can begin soonest. Ops that nothing can run beside take all cores where that is faster.
OpSchedule schedule_chains(const OpGraph& graph, const StreamAssignment& assignment, const StreamSetting& setting);

/// Opara's streams and order: an op inherits the stream of its first predecessor whose stream nobody has
/// inherited yet, else opens one; of what is ready memory-bound and compute-bound ops are launched in turn,
/// the smaller demand first. Streams beyond `setting.streams` are folded as in schedule_chains().
/// Source: Chen et al., "Opara", arXiv:2312.10351.
OpSchedule schedule_opara(const OpGraph& graph, const StreamSetting& setting);

/// The streams that Opara opens, before they are folded.
StreamAssignment opara_streams(const OpGraph& graph);

struct ScheduleGroupOptions {
  int cores = 1;  ///< of wide ops
  std::string prefix = {};
  std::vector<std::optional<Strategy>> fused = {};  ///< by op: how members compute it together; empty: nothing
  std::vector<std::uint32_t> streams = {};          ///< by member: what its ops' streams count from; empty: 0
};

/// Groups that run the schedule for each of `members`, which share the model's structure: a concurrent one
/// with streams for its ops for each stretch beside one another, a serial one on all cores for each stretch of wide
/// ops, a fused one for each stretch of ops that members compute together on one stream, or on all cores. Names are the
/// prefix and a number. Stages are not kept apart where anything is fused.
std::vector<Group> schedule_groups(const OpSchedule& schedule, const Model& model,
                                   std::span<const std::uint32_t> members, const ScheduleGroupOptions& options);

}  // namespace cohort
