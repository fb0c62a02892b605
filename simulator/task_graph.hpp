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

enum class ResourceKind {
  kStream,        ///< a stream or worker of the device
  kDecodeWorker,  ///< a thread that makes input
  kHostThread,    ///< the thread that launches
};

/// Something that runs one task at a time, in launch order.
struct Resource {
  std::string name;
  ResourceKind kind = ResourceKind::kStream;
};

enum class TaskKind {
  kStep,    ///< a step of a Program
  kInput,   ///< reading, decoding or resizing images
  kLaunch,  ///< host work that launches steps
};
std::string_view to_string(TaskKind kind);

struct Task {
  LabelId label{};  ///< the Program's task id, the same in every iteration
  TaskKind kind = TaskKind::kStep;
  ResourceId resource{};
  int cores = 1;              ///< kept busy while the task runs; 0: it only waits
  Nanoseconds duration{};     ///< with its cores to itself
  std::int64_t position = 0;  ///< launch order on its resource; ties by id
  std::int32_t iteration = 0;
  std::optional<std::uint32_t> step;  ///< position in Program::steps
};

enum class EdgeKind {
  kProgramOrder,  ///< one host thread's order
  kStreamOrder,   ///< order on one stream across iterations
  kEvent,         ///< data or an event another stream waits for
  kBuffer,        ///< an input buffer that must be free again
  kLaunch,        ///< from a launch to what it launches
};
std::string_view to_string(EdgeKind kind);

/// From which moment of its source an edge counts.
enum class Anchor { kStart, kEnd };

/// `to` starts no earlier than the anchor of `from` plus `delay`.
struct Edge {
  TaskId from{};
  TaskId to{};
  EdgeKind kind = EdgeKind::kEvent;
  Nanoseconds delay{};
  Anchor anchor = Anchor::kEnd;
};

/// Tasks with typed dependencies on resources that serve them in launch order. Plain lists; the
/// order on each resource needs no edges.
struct TaskGraph {
  std::vector<std::string> labels;
  std::vector<Resource> resources;
  std::vector<Task> tasks;
  std::vector<Edge> edges;

  LabelId add_label(std::string label);
  ResourceId add_resource(std::string name, ResourceKind kind);
  TaskId add_task(const Task& task);
  void add_edge(TaskId from, TaskId to, EdgeKind kind, Nanoseconds delay = {}, Anchor anchor = Anchor::kEnd);

  [[nodiscard]] const Task& task(TaskId id) const { return tasks[to_index(id)]; }
  [[nodiscard]] const std::string& label(TaskId id) const { return labels[to_index(task(id).label)]; }
};

/// A TaskGraph's structure in the form algorithms walk it. Depends on positions in the graph's
/// lists only: durations may change afterwards.
struct TaskOrder {
  std::vector<TaskId> topological;          ///< edges and launch order both respected
  std::vector<std::vector<TaskId>> queues;  ///< by resource, in launch order
  std::vector<std::uint32_t> first_edge;    ///< by task: where its outgoing edges start in `edges`; one more at the end
  std::vector<std::uint32_t> edges;         ///< positions in TaskGraph::edges, by source
};

/// Orders a graph; O(tasks log tasks + edges).
/// Errors: kInvalidInput naming the task whose label, resource, cores, duration or edge is out of
/// range, or the cycle by its tasks' names.
Result<TaskOrder> order_tasks(const TaskGraph& graph);

}  // namespace cohort
