#pragma once

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
};

/// Makes the host's part of device work one graph launch per region:
///
///     thread    |work|launch|work|launch|launch|sync...      thread    |graph|sync...
///     stream             |== a ==| |== b ==||= c =|    ->    stream       |== a ==||== b ==||= c =|
///
/// A region is a run of tasks of one member on one host thread that ends where the host waits for device
/// work or another thread, and holds at least two launches. Its calls and the host's work between them go;
/// branches, events and order on streams stay, with the gap of a graph between nodes. What waited for a
/// call of the region waits for the graph launch. Places in the launch queue are of single launches and
/// fall away.
/// Errors: kInvalidInput naming a cycle; then the graph is left as it was.
Result<Change> collapse_to_graphs(TaskGraph& graph, const GraphLaunchCosts& costs);

}  // namespace cohort
