#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/report/run_facts.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// One part of the gain over the baseline.
struct GainPart {
  std::string cause;
  Nanoseconds gain{};  ///< negative where it costs
};

/// A reason why a prediction may be off.
struct Doubt {
  bool grave = false;
  std::string why;
};

enum class Confidence { kHigh, kMedium, kLow };
std::string_view to_string(Confidence confidence);

/// Memory of a model batch on its device.
struct BatchMemory {
  std::optional<Bytes> weights;    ///< of all members, and everything else that outlives a step
  std::optional<Bytes> optimizer;  ///< part of the above: state of the optimizer, for training steps
  std::optional<Bytes> gradients;  ///< part of the activations: gradients of parameters, for training steps
  std::optional<Bytes> step;       ///< activations and workspace, at a time
  std::optional<Bytes> activations, workspace;  ///< of the step's, where they are known apart
  std::optional<Bytes> input;                   ///< buffers of all minibatches in flight, where known apart
  std::optional<Bytes> device;                  ///< that there is, where the device is known
  std::string unknown;                          ///< why nothing is known; empty where something is

  [[nodiscard]] std::optional<Bytes> total() const {
    if (!weights || !step) return std::nullopt;
    return *weights + *step + input.value_or(Bytes{});
  }
};

/// What every prediction of a model batch says, from profiles or traces.
struct RunReport {
  std::size_t members = 1;
  Nanoseconds baseline{};  ///< all members' steps one after another
  Nanoseconds step_time{};
  double speedup = 1;         ///< baseline / step time
  Nanoseconds lower_bound{};  ///< critical path, or all work over capacity
  Nanoseconds upper_bound{};  ///< nothing side by side
  Binding binding;
  std::vector<GainPart> gain;  ///< adds up to baseline - step time
  /// The step time if kernels did not slow each other on a GPU, and if they ran one at a time.
  Nanoseconds without_contention{};
  Nanoseconds kernels_in_turn{};
  /// If ops were to be fused only where that pays, and none is: how much longer the step with fusion would be.
  std::optional<Nanoseconds> unfused;
  RunFacts facts;  ///< of the timeline below: critical path, slack, busy parts
  BatchMemory memory;
  std::vector<Doubt> doubts;  ///< worst first
  Trace trace;                ///< kind kPredicted

  /// Low with a grave doubt, high without any.
  [[nodiscard]] Confidence confidence() const;
  /// Grave ones first, else in order.
  void sort_doubts();
  /// Adds a doubt if more memory is needed than the device has.
  void doubt_memory();
  /// Adds a doubt if the answer depends on how kernels share a GPU: none if the bracket is within a twentieth of the
  /// step, grave if it is a quarter wide. `basis`: what the model of sharing rests on.
  void doubt_contention(std::string_view basis);
};

}  // namespace cohort
