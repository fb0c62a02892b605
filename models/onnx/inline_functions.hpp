#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// A function local to a model: nodes that stand for one.
struct Function {
  std::vector<std::string> inputs, outputs;
  std::vector<Node> nodes;
  std::int64_t opset = 0;                          ///< of ONNX's own ops in it
  std::map<std::string, AttributeValue> defaults;  ///< of its attributes
};

/// By domain and name.
using Functions = std::map<std::pair<std::string, std::string>, Function>;

/// Replaces nodes that call functions by what the functions hold, at any depth. Tensors inside get names that nothing
/// else in the graph has.
/// Errors: kInvalidInput naming a function that calls itself or gets more inputs than it takes; and where the graph
/// would become very large.
Result<void> inline_functions(Graph& graph, const Functions& functions);

}  // namespace cohort::onnx
