#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "models/op.hpp"

namespace cohort {

enum class OpId : std::uint32_t {};
enum class TensorId : std::uint32_t {};

enum class TensorRole {
  kInput,       ///< given at each step
  kWeight,      ///< constant during inference; values live in Weights
  kActivation,  ///< written by exactly one op
  kState,       ///< lives across steps: first values in Weights, the next ones from the op that updates it
  kSetting,     ///< given at each step, separately to each member: learning rates, random keys
};

struct Tensor {
  std::string name;
  Shape shape;
  TensorRole role = TensorRole::kActivation;
  ElementType element = ElementType::kFloat32;
  bool fixed = false;  ///< a weight that is not learned: a constant of the network's formulas
};

/// The part of a step an op belongs to. Inference is all forward.
enum class Phase { kForward, kBackward, kUpdate };
std::string_view to_string(Phase phase);

struct Op {
  std::string name;  ///< unique in its model
  OpAttributes attributes;
  std::vector<PostOp> post_ops;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  Phase phase = Phase::kForward;
};

/// Number of leading inputs that are the op's own; the rest are operands of its post-ops.
std::size_t own_input_count(const Op& op);

/// Whether the op updates a state in place: its first input is the state, its result the state's next value. True of
/// Update and RunningAverage. All other readers of the state run before it; nothing reads its result within the step.
bool updates_state(const Op& op);

/// A graph of ops at one minibatch size. Ops stand in topological order; OpId and TensorId are
/// positions.
struct Model {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[to_index(id)]; }
  [[nodiscard]] const Op& op(OpId id) const { return ops[to_index(id)]; }
};

/// Checks the invariants of a model: names unique, ids in range, every tensor written before it is read and written
/// once, shapes as infer_shape gives them.
/// Errors: kInvalidInput naming the op or tensor.
Result<void> validate(const Model& model);

/// What one op costs, from shapes alone.
/// Units: flops count a multiply-add as 2; bytes are 4 an element, each tensor moved once.
struct OpWork {
  Flops flops;
  Bytes read;
  Bytes written;
  Bytes parameters;  ///< the part of `read` that is weights, or that an Unpack takes out of a state

  friend bool operator==(const OpWork&, const OpWork&) = default;
};

OpWork work_of(const Model& model, const Op& op);
/// Sum over all ops.
OpWork work_of(const Model& model);
/// Number of weight elements, those that a training step's ops unpack from states included.
std::int64_t parameter_count(const Model& model);

/// What an op's cost depends on: attributes, post-ops and the shapes of all operands. Ops with the same signature cost
/// the same, whatever model they come from.
std::string signature_of(const Model& model, const Op& op);

/// Values of weights, and first values of states, by TensorId; null for other tensors. Whole numbers stand there by
/// their bits, as ElementType says. Shared, never written after they are made.
using WeightValues = std::shared_ptr<const std::vector<float>>;
struct Weights {
  std::vector<WeightValues> by_tensor;

  [[nodiscard]] const WeightValues& of(TensorId id) const { return by_tensor[to_index(id)]; }
};

/// Uniform values with the variance of He's initialisation for matrices and kernels, small values for the rest,
/// including states. Equal seeds give equal values.
Weights random_weights(const Model& model, std::uint64_t seed);

struct LoadedModel {
  Model model;
  Weights weights;
};

/// Optimises a model for inference: makes one op of functions that exporters write as several (recognize_functions())
/// and of ops that compute the same (merge_same_ops()), folds normalisation, scale and bias into the convolution or
/// product before them, adds up convolutions of a tensor, turns activations and residuals into post-ops of what makes
/// their input, also behind a Reshape, drops the unused and tiny weights, and marks products of quantised numbers.
/// Outputs keep names and, up to float32 rounding, values, and ops their names. With `strict_nan` activations stay ops
/// of their own, as oneDNN may turn a NaN into a number within a product, tiny weights stay, and nothing is marked.
LoadedModel simplify(LoadedModel loaded, bool strict_nan = false);

/// The same for a training step, but keeps what gradients read: an activation becomes a post-op only if nothing else
/// reads its input. Updates of states stay last.
LoadedModel simplify_training(LoadedModel loaded, bool strict_nan = false);

}  // namespace cohort
