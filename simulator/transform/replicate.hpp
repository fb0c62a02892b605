#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "simulator/transform/change.hpp"

namespace cohort {

/// How members of a model batch take turns on a thread or stream that they share.
enum class Turns {
  kInterleaved,  ///< call by call, as recorded moments order them; of one moment, the first member first
  kWhole,        ///< one member's whole part after another
};

struct ReplicateOptions {
  int members = 1;
  int stream_sets = 1;  ///< copies of the device's streams; member m uses copy m % stream_sets
  int thread_sets = 1;  ///< copies of the host's threads, likewise
  Turns turns = Turns::kInterleaved;
  bool one_process = true;       ///< else every member is one of its own, with a driver lock of its own
  bool within_launches = false;  ///< members of a stream take turns op by op, not launch by launch of several ops
  Nanoseconds stream_gap{};      ///< between ops of two members on one stream
};

/// Makes a graph of one member's tasks one of `members` copies, which differ in Task::member.
///
///     members 2, stream sets 2, thread sets 1
///     thread    |launch 0|launch 1|launch 0|launch 1|
///     stream          |== 0 ==|        |== 0 ==|
///     stream #1                |== 1 ==|        |== 1 ==|
///
/// Streams and threads that several members share serve them in `turns`. Launches of several thread
/// sets hold the driver lock of their process. Copies from or to the host hold the device's engine of that direction.
/// Resources of other kinds are shared. The changed graph is checked.
/// Errors: kInvalidInput for a number that is less than 1.
Result<Change> replicate(TaskGraph& graph, const ReplicateOptions& options);

/// Adds another graph's tasks as further members on resources of its own: members that differ. `of`: what tells these
/// from others by their names, as "stream 7 of trace 2"; empty: they keep theirs.
Change append(TaskGraph& graph, const TaskGraph& other, std::string_view of = {});

/// Tasks [first, end) of a graph: the members of one trace as replicate() made them.
struct MemberTasks {
  std::size_t first = 0;
  std::size_t end = 0;
  int members = 1;
  int thread_sets = 1;
};

/// Lets members of traces that append() put together launch from the same `sets` sets of host threads, dealt to one
/// member after another:
///
///     two traces, one set
///     thread    |a|a|a|  thread of trace 2   |b|b|        ->    thread    |a|b|a|a|b|
///
/// Of a trace the thread that launches a kernel first is the first one of its set, and so on; threads that launch no
/// kernels stay its own. Traces take turns so that each has made the same part of its launches; of equal parts the
/// first trace's come first. `parts` in order, from the start of the graph; positions on host threads are made anew.
/// Errors: as order_tasks().
Result<Change> share_threads(TaskGraph& graph, std::span<const MemberTasks> parts, int sets);

/// Lets copies from and to the host hold the engine of their direction, and launches the driver lock
/// of their process, where `lock` is true.
std::size_t hold_shared_engines(TaskGraph& graph, bool lock);

/// Lets the kernels of each GPU run one at a time, in no given order. What they held before they hold no longer.
void hold_turns(TaskGraph& graph);

}  // namespace cohort
