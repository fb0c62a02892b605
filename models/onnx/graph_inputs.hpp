#pragma once

#include <set>
#include <string>
#include <utility>

#include "models/onnx/graph.hpp"
#include "models/onnx/onnx_file.hpp"

namespace cohort::onnx {

/// What options.dims has for an open dimension of the input, by position or by name; null where it has nothing.
const std::pair<const std::string, std::int64_t>* given_dim(const GraphInput& input, std::size_t axis,
                                                            const ReadOptions& options);

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

/// The value that `text` gives a tensor: a number, or a list of them with commas, of the tensor's type and shape. Where
/// these are not known (type 0, no shape), whole numbers are int64, one number is a scalar and more are a list.
/// Errors: kInvalidInput saying what the value must be, to be put behind the tensor's name.
Result<Constant> fixed_value(const GraphInput& tensor, const std::string& text);

/// Makes the inputs that options.fixed names constants of the graph, and gives initialisers the values that it has for
/// them. Returns the other names: those of tensors that nodes write, if they are right.
/// Errors: kInvalidInput naming the input, and what its value must be.
Result<std::set<std::string>> fix_inputs(Graph& graph, const ReadOptions& options);

}  // namespace cohort::onnx
