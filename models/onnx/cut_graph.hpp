#pragma once

#include <string>
#include <vector>

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// Makes the tensors `until` the graph's outputs, and leaves out the nodes, inputs and initialisers that they do not
/// need.
/// Errors: kInvalidInput naming a tensor that no node writes.
Result<void> cut_graph(Graph& graph, const std::vector<std::string>& until);

}  // namespace cohort::onnx
