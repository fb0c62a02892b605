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
  std::optional<Bytes> weights;                 ///< of all members, with whatever else outlives a step
  std::optional<Bytes> step;                    ///< activations and workspace, at a time
  std::optional<Bytes> activations, workspace;  ///< of the step's, where they are known apart
  std::optional<Bytes> input;                   ///< buffers of all minibatches in flight, where known apart
  std::optional<Bytes> device;                  ///< that there is, where the device is known
  std::string unknown;                          ///< why nothing is known; empty where something is

  [[nodiscard]] std::optional<Bytes> total() const {
    if (!weights || !step) return std::nullopt;
    return *weights + *step + input.value_or(Bytes{});
  }
};

/// What every prediction of a model batch says, whatever it was made from.
struct RunReport {
  std::size_t members = 1;
  Nanoseconds baseline{};  ///< all members' steps one after another
  Nanoseconds step_time{};
  double speedup = 1;         ///< baseline / step time
  Nanoseconds lower_bound{};  ///< critical path, or all work over capacity
  Nanoseconds upper_bound{};  ///< nothing side by side
  Binding binding;
  std::vector<GainPart> gain;  ///< adds up to baseline - step time
  /// The step time if what runs at a time on a GPU took no longer for it, and if none ran beside another.
  Nanoseconds without_contention{};
  Nanoseconds kernels_in_turn{};
  /// Where ops were to be fused only as far as that pays, and nothing is: how much longer the step would take.
  std::optional<Nanoseconds> unfused;
  RunFacts facts;  ///< of the timeline below: critical path, slack, busy parts
  BatchMemory memory;
  std::vector<Doubt> doubts;  ///< worst first
  Trace trace;                ///< kind kPredicted

  /// Low with a grave doubt, high without any.
  [[nodiscard]] Confidence confidence() const;
  /// Grave ones first, else in order.
  void sort_doubts();
  /// Says so where more is needed than the device has.
  void doubt_memory();
  /// Says how far the answer depends on how kernels share a GPU: nothing where both ends of the bracket are within a
  /// twentieth of the step, grave where they are a quarter of it apart. `basis`: what the model of it rests on.
  void doubt_contention(std::string_view basis);
};

}  // namespace cohort
