#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/onnx/importer.hpp"

namespace cohort::onnx {

/// A name for the node's op that no other op has: the node's own if possible.
std::string op_name_for(ImportState& state, const Node& node, std::size_t index);

/// Imports nodes one by one and keeps what is wrong with each; nodes behind a wrong one are passed over.
class NodesImport {
 public:
  NodesImport(ImportState& state, const Graph& graph) : state_(state), graph_(graph) {}

  /// `index` is its place in its graph.
  void add(const Node& node, std::size_t index);

  /// One error for all of them.
  [[nodiscard]] Result<void> result() const;

 private:
  /// Its value may be of a type that is not supported.
  [[nodiscard]] bool is_unread_constant(const Node& node) const;
  /// An If with a known condition is the branch taken.
  Result<void> import_if(const Node& node, std::size_t index);
  Result<bool> condition_of(const Node& node, NodeImport& import) const;
  void add_branch(const Node& node, const Graph& branch);

  ImportState& state_;
  const Graph& graph_;
  std::vector<std::string> unsupported_, wrong_;
  std::set<std::string, std::less<>> missing_;  ///< names that stay without a value
};

}  // namespace cohort::onnx
