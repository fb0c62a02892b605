#pragma once

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// Where a mask picks elements that are replaced, exporters list their positions first, and how many these are is known
/// only when a step runs (PyTorch: x[mask] = row, x.masked_scatter(mask, values)). A node of our own, kMaskedUpdate,
/// stands for what they write of it.
void recognise_masked_updates(Graph& graph);

/// Inputs x, mask, values and, for rows, the mask before it was widened along `axes`. With `in_order` values are rows,
/// of which each place of the mask takes the next; else all take the same.
constexpr const char* kMaskedUpdate = "MaskedUpdate";
constexpr const char* kOwnDomain = "cohort";

}  // namespace cohort::onnx
