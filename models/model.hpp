#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
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
};

struct Tensor {
  std::string name;
  Shape shape;
  TensorRole role = TensorRole::kActivation;
  ElementType element = ElementType::kFloat32;
};

struct Op {
  std::string name;  ///< unique in its model
  OpAttributes attributes;
  std::vector<PostOp> post_ops;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

/// Number of leading inputs that are the op's own; the rest are operands of its post-ops.
std::size_t own_input_count(const Op& op);

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

/// Checks what every reader and rewrite must leave true: names unique, ids in range, every tensor
/// written before it is read and written once, shapes as infer_shape gives them.
/// Errors: kInvalidInput naming the op or tensor.
Result<void> validate(const Model& model);

/// What one op costs, from shapes alone.
/// Units: flops count a multiply-add as 2; bytes are 4 an element, each tensor moved once.
struct OpWork {
  Flops flops;
  Bytes read;
  Bytes written;
  Bytes parameters;  ///< the part of `read` that is weights

  friend bool operator==(const OpWork&, const OpWork&) = default;
};

OpWork work_of(const Model& model, const Op& op);
/// Sum over all ops.
OpWork work_of(const Model& model);
/// Number of weight elements.
std::int64_t parameter_count(const Model& model);

/// Names an op's cost up to equality: attributes, post-ops and the shapes of all operands. Two ops
/// with the same signature are interchangeable for a cost table, whatever model they come from.
std::string signature_of(const Model& model, const Op& op);

/// Weight values by TensorId; null for tensors that are not weights. Whole numbers stand there by
/// their bits, as ElementType says. Shared, never written after they are made.
using WeightValues = std::shared_ptr<const std::vector<float>>;
struct Weights {
  std::vector<WeightValues> by_tensor;

  [[nodiscard]] const WeightValues& of(TensorId id) const { return by_tensor[to_index(id)]; }
};

/// He-normal-sized uniform values for matrices and kernels, small values for the rest; equal seeds
/// give equal values.
Weights random_weights(const Model& model, std::uint64_t seed);

struct LoadedModel {
  Model model;
  Weights weights;
};

/// Rewrites a model to what inference runs: BatchNormalization folded into the convolution before
/// it, a Reshape that only flattens removed before a Gemm, activations and residual additions made
/// post-ops of the op that produces their input, ops nothing reads removed. Outputs keep their
/// names and, up to float32 rounding, their values. Op names of what remains do not change.
LoadedModel simplify(LoadedModel loaded);

}  // namespace cohort
