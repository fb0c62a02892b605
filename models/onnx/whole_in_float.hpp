#pragma once

#include "models/onnx/importer.hpp"

namespace cohort::onnx {

// Some whole numbers are held in float32 tensors: those of 8 and 16 bits, quantised levels and pixels as a rule, and
// int32 sums of products of them. Where float32 would not compute what their type does, by wrapping around or by
// rounding towards zero, an op is not supported on them.

/// The type, of Type, of input `i` of a node where it holds such numbers, or would at run time; else 0.
std::int64_t whole_type(const ImportState& state, const Node& node, std::size_t i);

/// The type of such numbers among a node's outputs; 0 where there are none.
/// Errors: kInvalidInput where the node would compute with such numbers what float32 does not.
Result<std::int64_t> whole_output_type(const ImportState& state, const Node& node);

/// Whether a node of ONNX's own moves or chooses, so that its results have the type of its inputs.
bool keeps_type(const Node& node);

/// Notes the type that whole_output_type() gave, once the node's outputs have values.
void note_whole_outputs(ImportState& state, const Node& node, std::int64_t type);

}  // namespace cohort::onnx
