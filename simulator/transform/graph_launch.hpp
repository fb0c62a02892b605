#pragma once

#include <optional>

#include "simulator/transform/change.hpp"

namespace cohort {

/// What launching a captured graph costs.
struct GraphLaunchCosts {
  Nanoseconds call{2000};     ///< host time of one launch
  Nanoseconds node{200};      ///< and for each node
  Nanoseconds latency{7000};  ///< from the start of the launch to the first node's start; at least the call
  Nanoseconds gap{500};       ///< between two nodes of a chain
  /// Gaps longer than this were waits for something else; they stay.
  Nanoseconds most_gap{5000};
  /// Work and calls of the host that take longer are more than what leads to a launch; they stay. Frameworks take 5 to
  /// 50 us from one launch to the next.
  Nanoseconds most_work{100'000};
  /// In place of `node` where all nodes are on one stream; absent: they cost the same.
  std::optional<Nanoseconds> chain_node = std::nullopt;
  Nanoseconds stream{};  ///< host time for each further stream that the nodes are on
};

struct GraphCollapse {
  Change change;
  Nanoseconds removed{};  ///< work and calls of the host between launches, which go with them
  /// Of threads that launch: what is longer than `most_work`, and calls that no capture takes, waiting ones aside.
  Nanoseconds kept{};
};

/// Makes the host's part of device work one graph launch per region:
///
///     thread    |work|launch|work|launch|launch|sync...      thread    |graph|sync...
///     stream             |== a ==| |== b ==||= c =|    ->    stream       |== a ==||== b ==||= c =|
///
/// A region is a run of tasks of one member on one host thread that holds at least two launches. It ends where the host
/// waits for device work or another thread, makes a call that no capture takes (refuses_capture()), copies pageable
/// memory, or works longer than launching takes: all of these stay as they were.
///
///     thread    |launch|launch|cudaMalloc|launch|launch|            thread    |graph|cudaMalloc|graph|
///
/// The calls of a region and the host's work between them go; branches, events and order on streams stay, with the gap
/// of a graph between nodes. What waited for a call of the region waits for the graph launch. Places in the launch
/// queue are of single launches and fall away. Errors: kInvalidInput naming a cycle; then the graph is left as it was.
Result<GraphCollapse> collapse_to_graphs(TaskGraph& graph, const GraphLaunchCosts& costs);

}  // namespace cohort
