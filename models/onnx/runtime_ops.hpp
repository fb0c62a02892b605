#pragma once

#include <vector>

#include "models/onnx/importer.hpp"
#include "models/onnx/rename.hpp"

/// Ops that ONNX Runtime has beside ONNX's own, in the domain com.microsoft: its optimiser and quantiser write them
/// into files. Source: docs/ContribOperators.md of github.com/microsoft/onnxruntime.
namespace cohort::onnx {

/// Whether `node` is one that as_own_ops() knows.
bool is_runtime_op(const Node& node);

/// Nodes of ONNX's own ops that compute what `node` does, in an order in which they can be imported. `import` reads it;
/// `fresh` names tensors between them. Errors: kInvalidInput where an input or attribute asks for something that is not
/// supported.
Result<std::vector<Node>> as_own_ops(NodeImport& import, const Node& node, const Fresh& fresh);

}  // namespace cohort::onnx
