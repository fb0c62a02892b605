#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "models/onnx/graph.hpp"
#include "models/op.hpp"

namespace cohort::onnx {

/// The constants that training changes, and which of the file's weights each is made of. Nodes that read nothing but
/// constants are computed while a file is read, and layers take weights in layouts of their own: training the results
/// is training the weights only where each result has a weight's elements as they are, and no weight has two of them.
class LearnedConstants {
 public:
  /// An initialiser. Training changes lists of numbers, and no single ones.
  void add(const std::string& name, const Constant& constant);
  /// `name` is called `as` as well.
  void copy(const std::string& name, const std::string& as);
  void erase(const std::string& name) { origin_of_.erase(name); }
  [[nodiscard]] bool has(std::string_view name) const { return origin_of_.count(name) > 0; }
  /// Whether training changes it in a file read for training.
  [[nodiscard]] bool is_trained(std::string_view name) const;
  /// The node, all of whose inputs are constant, is computed. `for_training`: the file is read to train what is in it.
  void compute(const Node& node, bool for_training);
  /// An op reads the constant as the weight `id`.
  void read(std::string_view name, TensorId id);
  /// Weights that have to stay tensors, so that nodes and layers which change or share them are computed in each step.
  [[nodiscard]] std::set<std::string> not_as_constants() const;

 private:
  using Names = std::set<std::string>;
  /// What a constant is made of.
  struct Origin {
    Names weights;
    bool is_changed = false;  ///< it has something else than their elements
  };

  [[nodiscard]] Origin origin_of(const Node& node) const;
  [[nodiscard]] bool joins_weights(const Node& node, const Origin& origin) const;

  std::map<std::string, Origin, std::less<>> origin_of_;
  std::map<std::string, Names> forms_;   ///< in which ops read each weight
  std::map<std::string, Names> wholes_;  ///< of what is part of other weights
  Names changed_;                        ///< of which ops read something else than their elements
};

}  // namespace cohort::onnx
