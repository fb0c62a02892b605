#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// "node n1 (Conv, opset 13)", for messages.
std::string describe(const Node& node);

/// "Conv", or "com.microsoft.MatMulNBits": the type of a node, with its domain where that is not ONNX's own.
std::string type_of(const Node& node);

/// The nodes so that each comes after those whose outputs it reads, otherwise as in the file. What an inner graph does
/// not write is written around it.
/// Errors: kInvalidInput naming a node that reads what nothing writes, writes what has a value, or is in a cycle.
Result<std::vector<std::size_t>> sorted_nodes(const Graph& graph, bool is_inner = false);

/// These tensors and all that they are computed from: nodes' outputs, inputs and constants, by name.
std::set<std::string> tensors_behind(const Graph& graph, const std::vector<std::string>& tensors);

}  // namespace cohort::onnx
