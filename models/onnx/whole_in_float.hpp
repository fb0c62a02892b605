#pragma once

#include "models/onnx/importer.hpp"

namespace cohort::onnx {

// Some whole numbers are held in float32 tensors: those of 8 and 16 bits, quantised levels and pixels as a rule, and
// int32 sums of products of them. Where float32 would not compute what their type does, by wrapping around or by
// rounding towards zero, an op is not supported on them.

/// The type, of Type, of input `i` of a node where its values are held so, or would be at run time; else 0.
std::int64_t whole_type(const ImportState& state, const Node& node, std::size_t i);

/// Notes which outputs of a node hold whole numbers in float32.
/// Errors: kInvalidInput where the node would compute with such numbers what float32 does not.
Result<void> follow_whole(ImportState& state, const Node& node);

}  // namespace cohort::onnx
