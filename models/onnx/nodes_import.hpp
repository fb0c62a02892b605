#pragma once

#include <cstdint>
#include <optional>
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
  /// Nodes that loops and lists of a file may become: more are no model that anybody runs node by node.
  static constexpr std::size_t kMostUnrolled = 100'000;
  /// False where the file has become too many.
  bool claim_nodes(std::size_t count) {
    unrolled_ += count;
    return unrolled_ <= kMostUnrolled;
  }

  struct UnsupportedNode {
    std::string type, text;  ///< with its domain; what it is called in messages
  };
  /// What the first node of each type is called, and how many others there are.
  static std::vector<std::string> first_of_each_type(const std::vector<UnsupportedNode>& nodes);

  /// The tensors at which the model can be cut so that nothing wrong is left, in the order in which they are written:
  /// those that nodes read that are left out, and outputs. Where these are more than `most`, as the scores of each
  /// class, those before them that they are computed from. None where nothing but inputs and constants is left.
  [[nodiscard]] std::vector<std::string> last_before_wrong(std::size_t most) const;
  /// In place of tensors those that they are computed from, further and further back as long as they get fewer; none
  /// where they do not become as few as `most`.
  [[nodiscard]] std::set<std::string> merged(std::set<std::string> tensors, std::size_t most) const;
  /// The fewest tensors behind all ops that are not supported that everything after them needs no more than: given as
  /// inputs, they let the rest be computed. None where they are more than `most`, or little is left behind them.
  [[nodiscard]] std::vector<std::string> first_behind_unsupported(std::size_t most) const;
  /// In each step.
  [[nodiscard]] bool is_computed(const std::string& name) const;
  /// Its value may be of a type that is not supported.
  [[nodiscard]] bool is_unread_constant(const Node& node) const;
  /// An If whose condition is known is the branch taken. Else both are computed, and the condition chooses between
  /// their outputs. What a branch may not be computed for, such as a position outside of a tensor, stops the step.
  Result<void> import_if(const Node& node, std::size_t index);
  /// Errors: kInvalidInput where the condition depends on nothing but inputs that are one whole number, truth value or
  /// scalar: such a setting (a sampling rate, a mode) is better fixed than paid for at each step.
  [[nodiscard]] Result<void> check_not_a_setting(const Node& node) const;
  /// Adds the nodes of a branch. Returns the names of its outputs, of which those in missing_ have no value.
  Result<std::vector<std::string>> import_branch(const Node& node, const std::string& attribute,
                                                 const std::string& op_name);
  /// The outputs of an If are those of the one branch or of the other.
  Result<void> choose(const Node& node, const std::string& op_name, const std::vector<std::string>& if_true,
                      const std::vector<std::string>& if_false);
  /// An op of ONNX Runtime is those of ONNX that compute the same.
  Result<void> import_runtime_op(const Node& node);
  void add_branch(const Node& node, const Graph& branch);
  /// The constants of a graph inside of a node, and the names that its nodes read.
  void add_contents(const Graph& inner);
  /// Output `output` of the node is what `name` is.
  void pass_on(const std::string& name, const Node& node, std::size_t output);

  // unroll_loops.cpp
  struct Body;
  /// A Loop or Scan is as many copies of its body as it has turns, which have to be known.
  Result<void> import_loop(const Node& node, std::size_t index);
  Result<void> import_scan(const Node& node, std::size_t index);
  /// Adds what is the same in every turn.
  Result<Body> open_body(const Node& node, const std::string& op_name);
  /// Adds a turn that reads `inputs` as the body's. Returns the names of its outputs; none where a node is wrong.
  Result<std::vector<std::string>> add_turn(const Node& node, const Body& body, std::size_t turn,
                                            const std::vector<std::string>& inputs);
  /// The node's outputs: its states after the last turn, then what each turn gave, stacked along axes.
  Result<void> give(const Node& node, const std::vector<std::string>& states,
                    const std::vector<std::vector<std::string>>& of_turns, const std::vector<std::int64_t>& axes);
  /// Output `output` of the node is what turns gave, one behind the other along a new axis.
  void stack(const Node& node, std::size_t output, const std::vector<std::string>& turns, std::int64_t axis);
  /// Absent where nothing is known of the condition beforehand. Errors: it is no single truth value.
  Result<std::optional<bool>> truth_of(const Node& node, const std::string& name);
  std::string fresh(const std::string& name);

  // sequences.cpp
  struct SequenceOp;
  /// Null where the node is none.
  static const SequenceOp* find_sequence_op(const Node& node);
  /// Whether the node's result is a list of tensors.
  static bool makes_sequence(const Node& node);
  /// Whether the node is an op on lists of tensors, or a supported one that reads one.
  [[nodiscard]] bool is_on_sequences(const Node& node, bool is_supported) const;
  Result<void> import_on_sequences(const Node& node);
  Result<void> import_concat_from_sequence(const Node& node);
  Result<void> import_sequence_at(const Node& node);
  Result<void> import_sequence_construct(const Node& node);
  Result<void> import_sequence_erase(const Node& node);
  Result<void> import_sequence_insert(const Node& node);
  Result<void> import_sequence_length(const Node& node);
  Result<void> import_split_to_sequence(const Node& node);
  /// The tensors of input 0; never null.
  [[nodiscard]] Result<const std::vector<std::string>*> sequence(const Node& node) const;
  /// Errors: kInvalidInput where the input is left out or a sequence itself.
  [[nodiscard]] Result<void> check_element(const Node& node, std::size_t input) const;
  /// What input `input` means as a place below `count` in the sequence of input 0, from whose end negative ones count.
  Result<std::size_t> place_in_sequence(const Node& node, std::size_t input, std::size_t count);
  /// Makes output `output` of the node the list of these; one that is an output of the graph is wrong.
  void set_sequence(const Node& node, std::size_t output, std::vector<std::string> tensors);

  ImportState& state_;
  const Graph& graph_;
  std::vector<std::size_t> order_;  ///< of the graph's own nodes so far
  std::vector<UnsupportedNode> unsupported_;
  std::size_t behind_unsupported_ = 0;  ///< place in order_ behind the last of them
  std::vector<std::string> wrong_;
  std::set<std::string, std::less<>> missing_;                              ///< names that stay without a value
  std::map<std::string, std::vector<std::string>, std::less<>> sequences_;  ///< names of the tensors they hold
  std::size_t listed_ = 0;                                                  ///< entries of all of them
  std::size_t unrolled_ = 0;  ///< nodes that turns of loops and lists have become
};

}  // namespace cohort::onnx
