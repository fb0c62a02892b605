#pragma once

#include "models/onnx/importer.hpp"

namespace cohort::onnx {

// Truth values (bool) are held as int32, like whole numbers. Which of the two a tensor is matters where another is cast
// to its type: not 2 but 1 becomes of a 2.

/// Whether input `i` of a node is of truth values by the types of ONNX.
bool is_truth(const ImportState& state, const Node& node, std::size_t i);

/// Notes which outputs of a node are of truth values, once they have values.
void note_truth_outputs(ImportState& state, const Node& node);

}  // namespace cohort::onnx
