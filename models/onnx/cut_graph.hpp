#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// Makes the tensors `until` the graph's outputs.
/// Errors: kInvalidInput naming a tensor that no node writes.
Result<void> end_at(Graph& graph, const std::vector<std::string>& until);

/// Leaves out the nodes, inputs and initialisers that the graph's outputs do not need.
void leave_out_unneeded(Graph& graph);

/// "--until boxs: no node writes a tensor of that name; did you mean "boxes"?"
tl::unexpected<Error> no_such_tensor(const Graph& graph, std::string_view option, const std::string& name,
                                     bool may_be_input = false);

}  // namespace cohort::onnx
