#pragma once

#include <set>
#include <string>

#include "models/onnx/graph.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

/// Extents of a graph's inputs, with open ones filled in.
class InputShapes {
 public:
  InputShapes(const Graph& graph, const ReadOptions& options);

  /// Errors: kInvalidInput naming a dimension that nothing sets.
  Result<Shape> of(const GraphInput& input);

  /// Errors: kInvalidInput naming one of options.dims that set nothing.
  [[nodiscard]] Result<void> all_used() const;

 private:
  [[nodiscard]] bool is_minibatch(const GraphInput& input, std::size_t axis) const;

  const ReadOptions& options_;
  std::set<std::string> minibatch_names_;
  std::set<std::string> used_;
};

/// Makes the inputs that options.fixed names constants of the graph.
/// Errors: kInvalidInput naming the input, and what its value must be.
Result<void> fix_inputs(Graph& graph, const ReadOptions& options);

}  // namespace cohort::onnx
