#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace cohort {

enum class TaskId : std::uint32_t {};
enum class ResourceId : std::uint32_t {};
enum class LabelId : std::uint32_t {};
enum class ScopeId : std::uint32_t {};

enum class ResourceKind {
  kStream,        ///< a stream or worker of the device
  kDecodeWorker,  ///< a thread that makes input
  kHostThread,    ///< a thread that launches
  kCopyEngine,    ///< moves data between host and device in one direction
  kDriverLock,    ///< what launches from several threads wait for
  kClock,         ///< holds the moment a recorded window begins
};

/// How a resource serves its tasks.
enum class Discipline {
  kInOrder,      ///< one at a time, in launch order
  kFirstCome,    ///< one at a time, whichever may start first; ties by id
  kOverlapping,  ///< edges alone order its tasks: graph replay lets ops of one stream overlap
};

struct Resource {
  std::string name;
  ResourceKind kind = ResourceKind::kStream;
  Discipline discipline = Discipline::kInOrder;
  std::int32_t device = 0;  ///< of a stream: which GPU it belongs to
};

enum class TaskKind {
  kStep,      ///< a step of a Program
  kInput,     ///< reading, decoding or resizing images
  kLaunch,    ///< host work that launches steps; a recorded call that launched device work
  kCall,      ///< another recorded call of the driver
  kHostWork,  ///< what a host thread did between two calls
  kWait,      ///< the moment a blocking call returns
  kKernel,
  kCopy,
  kMemset,
  kMark,  ///< a moment, no work
};
std::string_view to_string(TaskKind kind);
/// A kernel, copy or memset.
bool is_device_work(TaskKind kind);

struct Task {
  LabelId label{};  ///< the Program's task id, the same in every iteration
  TaskKind kind = TaskKind::kStep;
  ResourceId resource{};
  int cores = 1;              ///< kept busy while the task runs; 0: it only waits
  Nanoseconds duration{};     ///< with its cores to itself
  std::int64_t position = 0;  ///< launch order on its resource; ties by id
  std::int32_t iteration = 0;
  /// Position in Program::steps, or in Trace::slices of what it was recorded as; of host work the call after it.
  std::optional<std::uint32_t> step;
  std::optional<ScopeId> scope;     ///< the op or layer that it belongs to
  std::optional<ResourceId> holds;  ///< a first-come resource that it needs as well
  std::int32_t member = 0;          ///< of the model batch
  float waves = 0;  ///< of a kernel: its blocks, in how many the device holds at a time; below 1 it leaves room
};

/// An op, layer or annotation that tasks belong to.
struct Scope {
  LabelId label{};
  std::optional<ScopeId> parent;
};

enum class EdgeKind {
  kProgramOrder,     ///< one host thread's order, or from one thread to the next
  kStreamOrder,      ///< order on one stream
  kEvent,            ///< data or an event another stream waits for
  kBuffer,           ///< an input buffer that must be free again
  kLaunch,           ///< from a launch to what it launches
  kSynchronisation,  ///< from device work to the return of the call that waits for it
  kResource,         ///< a lock, or a place in a launch queue
  kPinned,           ///< a recorded moment
};
std::string_view to_string(EdgeKind kind);

/// From which moment of its source an edge counts.
enum class Anchor { kStart, kEnd };

/// `to` starts no earlier than the anchor of `from` plus `delay`, and no earlier than `from` starts.
/// A negative delay, on ends only, is overlap that was recorded between ops of one stream.
struct Edge {
  TaskId from{};
  TaskId to{};
  EdgeKind kind = EdgeKind::kEvent;
  Nanoseconds delay{};
  Anchor anchor = Anchor::kEnd;
};

/// Tasks with typed dependencies on resources. Plain lists; launch order on a resource that serves
/// in order needs no edges. The same type for Programs and for recorded traces.
struct TaskGraph {
  std::vector<std::string> labels;
  std::vector<Resource> resources;
  std::vector<Scope> scopes;
  std::vector<Task> tasks;
  std::vector<Edge> edges;

  LabelId add_label(std::string label);
  ResourceId add_resource(std::string name, ResourceKind kind, Discipline discipline = Discipline::kInOrder);
  TaskId add_task(const Task& task);
  void add_edge(TaskId from, TaskId to, EdgeKind kind, Nanoseconds delay = {}, Anchor anchor = Anchor::kEnd);

  [[nodiscard]] const Task& task(TaskId id) const { return tasks[to_index(id)]; }
  [[nodiscard]] const std::string& label(TaskId id) const { return labels[to_index(task(id).label)]; }
};

/// A TaskGraph's structure in the form algorithms walk it. Depends on positions in the graph's
/// lists only: durations may change afterwards.
struct TaskOrder {
  std::vector<TaskId> topological;          ///< edges and launch order both respected
  std::vector<std::vector<TaskId>> queues;  ///< by resource, in launch order; empty for other disciplines
  std::vector<std::uint32_t> first_edge;    ///< by task: where its outgoing edges start in `edges`; one more at the end
  std::vector<std::uint32_t> edges;         ///< positions in TaskGraph::edges, by source
};

/// Tasks of each resource that serves in order, in launch order; O(tasks) where ids ascend with positions.
std::vector<std::vector<TaskId>> queues_of(const TaskGraph& graph);

/// Orders a graph; O(tasks log tasks + edges).
/// Errors: kInvalidInput naming the task whose label, resource, cores, duration or edge is out of
/// range, or the cycle by its tasks' names.
Result<TaskOrder> order_tasks(const TaskGraph& graph);

/// Names the tasks of a cycle that edges and launch order make, for graphs known to have one.
/// Errors: always kInvalidInput.
Result<void> explain_cycle(const TaskGraph& graph);
/// The checks of order_tasks() that come before order.
Result<void> check_ranges(const TaskGraph& graph);

/// What the tasks of a graph may take one after another. Up to it a double holds nanoseconds exactly, and what a
/// thousand tasks take that slow each other down adds up to no more than 63 bits hold.
constexpr Nanoseconds kLongestGraph = std::chrono::hours(100 * 24);
/// Checks that `copies` of the graph, each task with the longest of the delays that follow it, take no longer than
/// that. Errors: kInvalidInput.
Result<void> check_total_time(const TaskGraph& graph, double copies = 1);

}  // namespace cohort
