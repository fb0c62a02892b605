#pragma once

#include <functional>
#include <set>
#include <string>

#include "models/onnx/graph.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

/// Type and shape of a tensor of the graph. Errors: what computes it cannot be read.
using ComputedTensor = std::function<Result<GraphInput>(const Graph& graph, const std::string& name)>;

/// Tensors that nodes write are no longer computed: those of options.from become inputs, and `fixed` ones constants
/// that have the values of options.fixed. Then what the outputs do not need is left out. Shapes are those that
/// `computed` tells; where it cannot, those of the file, with options.dims for open dimensions, or for all of them.
/// Errors: kInvalidInput naming a tensor that nothing writes or needs, whose shape is not known, or whose value does
/// not fit it.
Result<void> give_tensors(Graph& graph, std::set<std::string> fixed, const ReadOptions& options,
                          const ComputedTensor& computed);

}  // namespace cohort::onnx
