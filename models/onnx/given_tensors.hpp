#pragma once

#include <functional>
#include <optional>
#include <string>

#include "models/onnx/graph.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

/// Type and shape of a tensor of the graph, where what computes it is supported.
using ComputedTensor = std::function<std::optional<GraphInput>(const Graph& graph, const std::string& name)>;

/// Tensors that nodes write are no longer computed: those of options.from become inputs, those of options.fixed that
/// are no inputs become constants. Nodes, inputs and initialisers that nothing needs then are left out. Shapes are
/// those that `computed` tells; else those that options.dims gives, dimension by dimension; else those of the file.
/// Errors: kInvalidInput naming a tensor that nothing writes or needs, whose shape is not known, or whose value does
/// not fit it.
Result<void> give_tensors(Graph& graph, const ReadOptions& options, const ComputedTensor& computed);

}  // namespace cohort::onnx
