#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.hpp"
#include "base/one_or_each.hpp"
#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/report/run_report.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "simulator/transform/change.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

enum class FuseChoice {
  kNone,
  kAuto,   ///< kernels that leave half of the device free, where fusing all of them makes the whole step faster
  kNamed,  ///< those that are asked for by name
};

/// The processes that members run in. Those of several share neither streams, host threads, input nor kernels.
enum class Processes {
  kOne,          ///< all members in one
  kMps,          ///< one each, under MPS: kernels of several run at the same time
  kTimeSlicing,  ///< one each: the GPU runs the kernels of one process at a time
};
/// As the command line has it: "one", "mps", "time-slicing".
std::string_view to_string(Processes processes);

/// What differs from the traced run. All changes can be combined, but for those that processes cannot share.
struct WhatIf {
  std::vector<int> models = {1};  ///< members of each trace: one number for all traces, or one by trace
  std::optional<int> streams;     ///< sets of streams that members of a trace share; default: one per member
  Processes processes = Processes::kOne;
  int launch_threads = 1;  ///< sets of host threads, each as a trace has them, for members of all traces together
  FuseChoice fuse = FuseChoice::kNone;
  std::vector<std::string> fused;  ///< patterns of kernels, ops or layers (select_named())
  bool graphs = false;
  bool shared_input = false;                          ///< copies to the device are made once for all members of a trace
  std::optional<int> buffers;                         ///< number of steps that input is copied ahead
  std::vector<std::pair<std::string, double>> scale;  ///< device work by pattern, times faster
  bool mixed_precision = false;           ///< kernels but those that compute in 16 bits already (computes_in_16_bits())
  double copy_speed = 1;                  ///< copies from and to the host, times faster
  double interconnect_speed = 1;          ///< copies between GPUs and collectives' kernels, times faster
  std::optional<GpuProfile> gpu;          ///< figures of the traces' GPU, calibrated; published ones unless given
  std::optional<int> minibatch;           ///< samples of a member's step
  std::optional<int> recorded_minibatch;  ///< as traced; needed with `minibatch`

  /// Members of one trace, of the trace that has most, and of so many traces together.
  [[nodiscard]] int models_of(std::size_t trace) const { return one_or_each(models, trace); }
  [[nodiscard]] int most_models() const;
  [[nodiscard]] std::size_t members(std::size_t traces) const;
  /// Whether anything is changed: else the recording is replayed.
  [[nodiscard]] bool any() const;
  /// Whether tasks' own times are changed.
  [[nodiscard]] bool retimes() const;

  friend bool operator==(const WhatIf&, const WhatIf&) = default;
};

/// Effect of another minibatch on one member's step.
struct MinibatchGain {
  int recorded = 1;
  int wanted = 1;
  Nanoseconds traced{};     ///< the step as it was
  double more_samples = 1;  ///< factor on samples per second of one member alone
};

/// The baseline is all members' steps one after another, with the wanted minibatch if given. The upper bound is the
/// changed members one after another, each on an idle device.
struct WhatIfPrediction : RunReport {
  Nanoseconds single{};         ///< one step of each trace, with the minibatch asked for, alone on an idle device
  double steps_per_second = 0;  ///< over all members
  Nanoseconds longest_path{};
  Nanoseconds device_time{};  ///< kernel time by the part of the device it fills
  std::optional<MinibatchGain> minibatch;
  std::vector<std::pair<std::string, Change>> changes;
};

/// Traces ready for what-ifs: one step each, alone on an idle device.
struct WhatIfCase {
  std::vector<const Trace*> traces;
  std::vector<std::string> names;                  ///< by trace: its file; where missing the trace's number
  std::vector<TraceGraph> graphs;                  ///< by trace; made with in_flight false
  std::vector<std::optional<TimeWindow>> windows;  ///< by trace: the step; absent: all of it
  std::vector<double> replay_errors;  ///< by trace: of a replay of the step as it was, with what is in flight
  /// Of the first trace's model, at another minibatch.
  struct Second {
    const Trace* trace = nullptr;
    TraceGraph graph;
    int minibatch = 1;
    std::string name;
  };
  std::optional<Second> second;

  /// A step of a trace as a further member, chosen as select_replay_step() does. `name`: of its file.
  /// Errors: as that and build_trace_graph().
  Result<void> add(const Trace& trace, const StepOptions& step, std::string name = {});
  Result<void> add_second(const Trace& trace, const StepOptions& step, int minibatch, std::string name = {});
  [[nodiscard]] std::optional<TimeWindow> window_of(std::size_t index) const;
  /// The first trace whose replay is off by more than kMostReplayError; absent: none is.
  [[nodiscard]] std::optional<std::size_t> unexplained() const;
  /// Of a trace, in messages: "a.json", "trace 1".
  [[nodiscard]] std::string name_of(std::size_t index) const;
};

/// Errors: kUsage for numbers out of range or neither one for all traces nor one for each, for what several processes
/// cannot share, and for a GPU's figures or processes where a CPU was recorded; kInvalidInput naming both traces where
/// they were recorded on different devices; kNegativeAnswer naming what the traces cannot answer, as fusing ops that no
/// kernel belongs to, or a minibatch that they say nothing of; kInterrupted once `cancel`, which may be null, is
/// cancelled, at the end of a simulation. `threads`: 1, or 2 where one more, and half as much memory again, are to
/// spare.
Result<WhatIfPrediction> predict_what_if(const WhatIfCase& what_if_case, const WhatIf& what_if,
                                         const CancelToken* cancel = nullptr, std::size_t threads = 2);

}  // namespace cohort
