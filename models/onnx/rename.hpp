#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// What tensors are called instead. Names that are not in it stay.
using Names = std::map<std::string, std::string, std::less<>>;
/// Makes a name, from the file's, that nothing else has.
using Fresh = std::function<std::string(const std::string&)>;

/// The node with other names; what its own graphs define gets fresh ones.
Node renamed(const Node& node, const Names& names, const Fresh& fresh);

/// A graph inside of a node: what it defines gets fresh names, what it reads from outside those of `names`.
Graph renamed(const Graph& graph, Names names, const Fresh& fresh);

/// Names of tensors that the node reads: its inputs, and what its graphs read from outside. Some may be empty.
std::vector<std::string> reads_of(const Node& node);

}  // namespace cohort::onnx
