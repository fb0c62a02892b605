#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "simulator/simulate.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "simulator/transform/change.hpp"
#include "tracer/trace.hpp"

namespace cohort {

enum class FuseChoice {
  kNone,
  kAuto,   ///< kernels that leave so much of the device free that one for all members is faster
  kNamed,  ///< those that are asked for by name
};

/// What is different from the run that was traced. Everything composes.
struct WhatIf {
  int models = 1;               ///< members of each trace
  std::optional<int> streams;   ///< sets of streams that members share; as many as members unless given
  int launch_threads = 1;       ///< sets of host threads
  FuseChoice fuse = FuseChoice::kNone;
  std::vector<std::string> fused;  ///< patterns of kernels, ops or layers (select_named())
  bool graphs = false;
  bool shared_input = false;    ///< copies to the device are made once for all members of a trace
  std::optional<int> buffers;   ///< input is copied ahead, so many steps
  std::vector<std::pair<std::string, double>> scale;  ///< device work by pattern, times faster
  bool mixed_precision = false;
  double copy_speed = 1;        ///< copies from and to the host, times faster

  [[nodiscard]] bool any() const;
};

/// One part of the gain over the baseline.
struct GainPart {
  std::string cause;
  Nanoseconds gain{};
};

struct WhatIfPrediction {
  std::size_t members = 1;
  Nanoseconds single{};     ///< the traced step as it was, alone on an idle device
  Nanoseconds baseline{};   ///< all members' steps as they were, one after another
  Nanoseconds step_time{};  ///< all members' steps, so changed
  double speedup = 1;       ///< baseline / step time
  double steps_per_second = 0;  ///< over all members
  Nanoseconds lower_bound{};    ///< critical path, or all work over capacity
  Nanoseconds longest_path{};
  Nanoseconds device_time{};    ///< kernel time by the part of the device it fills
  Nanoseconds upper_bound{};    ///< members, so changed, one after another, each on an idle device
  Binding binding;
  std::vector<GainPart> gain;           ///< adds up to baseline - step time
  std::vector<std::string> confidence;  ///< why it is not high; empty: it is
  std::vector<std::pair<std::string, Change>> changes;
  Trace trace;  ///< kind kPredicted
};

/// Traces made ready for what-ifs: one step each, alone on an idle device.
struct WhatIfCase {
  std::vector<const Trace*> traces;
  std::vector<TraceGraph> graphs;  ///< by trace; made with in_flight false
};

/// Errors: kUsage for numbers out of range; kNegativeAnswer naming what the traces cannot answer, as
/// fusing ops that no kernel belongs to.
Result<WhatIfPrediction> predict_what_if(const WhatIfCase& what_if_case, const WhatIf& what_if);

/// A simulated task graph as a timeline; slices of host threads and streams, flows from launches.
Trace timeline_trace(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device);

}  // namespace cohort
