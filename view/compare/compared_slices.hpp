#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

enum class CompareSide : std::uint8_t { kPredicted, kMeasured };
/// One of something for each side.
template <class T>
using PerSide = std::array<T, 2>;

constexpr CompareSide other_side(CompareSide side) {
  return side == CompareSide::kPredicted ? CompareSide::kMeasured : CompareSide::kPredicted;
}

/// How a slice of one trace finds its partner in the other.
enum class MatchedBy {
  kTask,       ///< the plan's task id and the iteration
  kOpAndName,  ///< op, name and category, and its number among these within the step
  kName,       ///< the same without the op, if only one trace has it
};
std::string_view to_string(MatchedBy matched_by);

enum class IdentityId : std::uint32_t {};

/// What is the same in both traces: a task of the plan, or a kernel or call by its name.
struct SliceIdentity {
  std::string name;      ///< task id, else the slice's own name
  std::string op;        ///< of the model; empty where none is noted
  std::string group;     ///< of the plan; empty where none is noted
  std::string op_type;   ///< as timelines call it: "convolution"
  std::string category;  ///< of the first slice
};

/// A slice that can have a partner.
struct KeyedSlice {
  IdentityId identity{};
  std::uint32_t step = 0;  ///< position among the side's steps
  Nanoseconds start{};
  SliceId slice{};
};

/// One side's slices, in order of identity, step, start and id.
struct KeyedTrace {
  std::vector<TraceStep> steps;    ///< iterations of the plan, or what find_steps() found, or the whole trace; in order
  std::vector<KeyedSlice> slices;  ///< those of a step
  std::vector<bool> compared;      ///< by slice of the trace: whether it is among `slices`
  std::vector<std::string> left_out;  ///< categories that only this trace has, with their number of slices; ascending
  std::int64_t outside = 0;           ///< slices that belong to no step
};

/// Two traces in terms of one another.
struct KeyedTraces {
  MatchedBy matched_by = MatchedBy::kTask;
  std::vector<SliceIdentity> identities;
  PerSide<KeyedTrace> sides;
};

/// Tasks where both traces have any, else every slice of a category that both have. Time: O(n log n) in the slices.
KeyedTraces keyed_traces(const Trace& predicted, const Trace& measured);

}  // namespace cohort
