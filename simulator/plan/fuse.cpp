#include "simulator/plan/fuse.hpp"

#include <algorithm>

namespace cohort {
namespace {

tl::unexpected<Error> refuse(const Op& op, Strategy strategy, std::string_view why) {
  return fail(ErrorCode::kInvalidInput, "op {} ({}) cannot be fused by {}: {}", op.name, op_type(op.attributes),
              to_string(strategy), why);
}

/// Ops that treat every channel alike and on its own run on stacked channels unchanged.
bool per_channel(const OpAttributes& attributes) {
  return std::holds_alternative<Activation>(attributes) || std::holds_alternative<Pool>(attributes) ||
         std::holds_alternative<BatchNormalization>(attributes) || std::holds_alternative<Binary>(attributes) ||
         std::holds_alternative<PoolGradient>(attributes) || std::holds_alternative<ActivationGradient>(attributes);
}

/// Those with kernels of their own in each channel.
bool is_convolution(const OpAttributes& attributes) {
  return std::holds_alternative<Convolution>(attributes) || std::holds_alternative<ConvTranspose>(attributes);
}

/// Whether only some of a convolution's parameters are constants: those are joined along their channels, and what is
/// computed along an axis of models.
bool mixes_parameters(const Model& model, const Op& op) {
  const auto is_constant = [&](std::size_t i) { return model.tensor(op.inputs[i]).role == TensorRole::kWeight; };
  return own_input_count(op) > 2 && is_constant(1) != is_constant(2);
}

/// Whether the op combines tensors of other shapes than its result: stacked they would not line up.
bool repeats_tensor(const Model& model, const Op& op) {
  if (!std::holds_alternative<Binary>(op.attributes)) return false;
  const Shape& y = model.tensor(op.outputs[0]).shape;
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
    return model.tensor(id).role != TensorRole::kWeight && model.tensor(id).shape != y;
  });
}

Result<FusedOp> fuse_channels(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input) {
  FusedOp fused{StackForm::kChannels, op.attributes, false};
  if (auto* gradient = std::get_if<ConvolutionWeightGradient>(&fused.attributes)) {
    if (model.tensor(op.inputs[0]).shape.size() != 4) return refuse(op, strategy, "it has no channels to stack");
    if (strategy == Strategy::kDenseConvolution) {
      if (!shared_input) return refuse(op, strategy, "its members do not read the same input; use grouped_convolution");
      if (gradient->groups != 1) return refuse(op, strategy, "it is a grouped convolution's");
      gradient->shared_input = fused.shares_input = true;
    }
    gradient->models = width;
    return fused;
  }
  if (model.tensor(op.outputs[0]).shape.size() != 4) return refuse(op, strategy, "it has no channels to stack");
  if (std::holds_alternative<BatchNormalization>(op.attributes) && !has_constant_parameters(model, op))
    return refuse(op, strategy, "its parameters are no constants");
  if (is_convolution(op.attributes) && mixes_parameters(model, op))
    return refuse(op, strategy, "of its kernel and its bias one is constant and one is not");
  if (auto* convolution = std::get_if<Convolution>(&fused.attributes)) {
    if (strategy == Strategy::kDenseConvolution) {
      if (!shared_input) return refuse(op, strategy, "its members do not read the same input; use grouped_convolution");
      if (convolution->groups != 1) return refuse(op, strategy, "it is a grouped convolution itself");
      fused.shares_input = true;
    } else {
      convolution->groups *= width;
    }
    return fused;
  }
  if (auto* transposed = std::get_if<ConvTranspose>(&fused.attributes);
      transposed != nullptr && model.tensor(op.inputs[1]).role != TensorRole::kWeight) {
    transposed->groups *= width;
    return fused;
  }
  if (!per_channel(op.attributes))
    return refuse(op, strategy, "it does not treat channels one by one; put it in another group");
  return fused;
}

/// Gives an op of a training step a leading model axis; false where it cannot have one.
bool stack_training_op(OpAttributes& attributes) {
  const auto stack = [](bool& stacked) { return stacked = true; };
  if (auto* op = std::get_if<GemmWeightGradient>(&attributes)) return stack(op->stacked);
  if (auto* op = std::get_if<SoftmaxCrossEntropy>(&attributes)) return stack(op->stacked);
  if (auto* op = std::get_if<SoftmaxCrossEntropyGradient>(&attributes)) return stack(op->loss.stacked);
  if (auto* op = std::get_if<Dropout>(&attributes)) return stack(op->stacked);
  if (auto* op = std::get_if<Update>(&attributes)) return stack(op->stacked);
  if (auto* op = std::get_if<RunningAverage>(&attributes)) return stack(op->stacked);
  if (auto* op = std::get_if<SoftmaxGradient>(&attributes)) {
    ++op->axis;
    return true;
  }
  if (auto* op = std::get_if<Reduce>(&attributes)) {
    if (op->axes.empty()) return false;
    for (std::int64_t& axis : op->axes) ++axis;
    return true;
  }
  return std::holds_alternative<ActivationGradient>(attributes);
}

Result<FusedOp> fuse_models(const Model& model, const Op& op, Strategy strategy, bool shared_input) {
  FusedOp fused{StackForm::kModels, op.attributes, false};
  if (auto* gemm = std::get_if<Gemm>(&fused.attributes)) {
    gemm->stacked = true;
    fused.shares_input = shared_input;
    return fused;
  }
  if (std::holds_alternative<MatMul>(op.attributes)) {
    // With a leading axis on one of them only, numpy's broadcasting would pair it with another axis.
    const bool same_rank = model.tensor(op.inputs[0]).shape.size() == model.tensor(op.inputs[1]).shape.size();
    return same_rank ? Result<FusedOp>(fused) : refuse(op, strategy, "its matrices have different numbers of axes");
  }
  if (auto* softmax = std::get_if<Softmax>(&fused.attributes)) {
    ++softmax->axis;
    return fused;
  }
  if (auto* concat = std::get_if<Concat>(&fused.attributes)) {
    ++concat->axis;
    return fused;
  }
  if (stack_training_op(fused.attributes)) return fused;
  const bool elementwise = std::holds_alternative<Activation>(op.attributes) ||
                           std::holds_alternative<Binary>(op.attributes) ||
                           std::holds_alternative<Reshape>(op.attributes);
  if (!elementwise) return refuse(op, strategy, "only matrix products and elementwise ops can be stacked by model");
  return fused;
}

}  // namespace

Result<FusedOp> fuse(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input) {
  // Views of what lies in a buffer already, however that is used.
  if (std::holds_alternative<Pack>(op.attributes) || std::holds_alternative<Unpack>(op.attributes))
    return FusedOp{StackForm::kModels, op.attributes, false};
  if (repeats_tensor(model, op)) return refuse(op, strategy, "it repeats one of its inputs");
  if (strategy == Strategy::kStridedBatch) return fuse_models(model, op, strategy, shared_input);
  return fuse_channels(model, op, strategy, width, shared_input);
}

bool can_fuse(const Model& model, const Op& op, Strategy strategy, int width, bool shared_input) {
  const auto fused = fuse(model, op, strategy, width, shared_input);
  if (!fused) return false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool is_weight = model.tensor(op.inputs[i]).role == TensorRole::kWeight;
    if (is_weight && !fused_weight_shape(model, op, i, fused->form, width)) return false;
  }
  return true;
}

bool has_constant_parameters(const Model& model, const Op& op) {
  return std::all_of(op.inputs.begin() + 1, op.inputs.begin() + static_cast<std::ptrdiff_t>(own_input_count(op)),
                     [&](TensorId id) { return model.tensor(id).role == TensorRole::kWeight; });
}

StackForm operand_form(const Op& op, StackForm form, std::size_t position) {
  return is_convolution(op.attributes) && position > 0 && position < own_input_count(op) ? StackForm::kModels : form;
}

StackForm result_form(const Op& op, StackForm form) {
  return std::holds_alternative<ConvolutionWeightGradient>(op.attributes) ? StackForm::kModels : form;
}

bool is_recurrent(const Op& op) {
  return std::holds_alternative<Lstm>(op.attributes) || std::holds_alternative<Recurrent>(op.attributes);
}

bool runs_as_group(const Op& op, Strategy strategy) {
  return strategy == Strategy::kGroupedGemm || (strategy == Strategy::kStridedBatch && is_recurrent(op));
}

Result<Shape> fused_weight_shape(const Model& model, const Op& op, std::size_t position, StackForm form, int width) {
  Shape shape = model.tensor(op.inputs[position]).shape;
  if (form == StackForm::kModels) {
    const bool lines_up = std::holds_alternative<Gemm>(op.attributes) || std::holds_alternative<Dropout>(op.attributes);
    if (!lines_up) {
      const std::size_t rank = model.tensor(op.outputs[0]).shape.size();
      shape.insert(shape.begin(), rank - std::min(rank, shape.size()), 1);
    }
    shape.insert(shape.begin(), width);
    return shape;
  }
  if (std::holds_alternative<Binary>(op.attributes)) {
    while (!shape.empty() && shape.front() == 1) shape.erase(shape.begin());
    if (shape.size() != 3 || shape[1] != 1 || shape[2] != 1)
      return fail(ErrorCode::kInvalidInput, "op {} cannot be fused: its constant {} has no value per channel", op.name,
                  model.tensor(op.inputs[position]).name);
  }
  shape[0] *= width;
  return shape;
}

}  // namespace cohort
