// What own kernels can run.

#include <limits>

#include "executor/cuda/own/lowering.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda::own {
namespace {

bool is_constant(const OpCall& call, std::size_t input) {
  return std::holds_alternative<WeightView>(call.inputs[input]);
}

/// A copy between types, which is what lowering puts where members' inputs and outputs are converted.
bool converts(const OpCall& call) {
  const View* const x = call.inputs.empty() ? nullptr : std::get_if<View>(&call.inputs[0]);
  return std::holds_alternative<Reshape>(call.attributes) && x != nullptr && x->type != call.outputs[0].type;
}

DataType type_of(const Operand& operand) {
  return std::visit([](const auto& view) { return view.type; }, operand);
}

tl::unexpected<Error> refuse(const OpCall& call, std::string_view why) {
  return fail(ErrorCode::kInvalidInput, "{}: own kernels cannot run it: {}", op_type(call.attributes), why);
}

/// What has kernels in float32 alone.
bool is_float32_alone(const OpCall& call) {
  return is_training_op(call.attributes) ||
         (std::holds_alternative<BatchNormalization>(call.attributes) && !is_folded(call));
}

/// Kernels read and write one type, but for conversions and whole numbers.
Result<void> check_types(const OpCall& call) {
  const DataType type = call.outputs[0].type;
  if (converts(call)) {
    const bool plain = call.post_ops.empty() && shape_of(call.inputs[0]) == call.outputs[0].shape;
    return plain ? Result<void>() : refuse(call, "it changes the type and more");
  }
  const bool whole_result = holds_whole_numbers(call.attributes);
  if (whole_result && !call.post_ops.empty()) return refuse(call, "what follows it is for numbers, not whole ones");
  if (whole_result && type != DataType::kFloat32) return refuse(call, "its whole numbers need 32 bits");
  if (is_float32_alone(call) && type != DataType::kFloat32) return refuse(call, "in training it computes in float32");
  std::optional<DataType> numbers;
  if (!whole_result) numbers = type;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const DataType of = type_of(call.inputs[i]);
    if (i < own_input_count(call) && holds_whole_numbers(call.attributes, i)) {
      if (of != DataType::kFloat32) return refuse(call, "its whole numbers need 32 bits");
      continue;
    }
    if (of != numbers.value_or(of))
      return refuse(call, fmt::format("it reads {} and {} together", to_string(of), to_string(*numbers)));
    numbers = of;
  }
  return {};
}

/// Parameters that are no constants lie where a training step keeps them.
Result<void> check_parameters(const OpCall& call) {
  const bool filters =
      std::holds_alternative<Convolution>(call.attributes) || std::holds_alternative<ConvTranspose>(call.attributes);
  const bool product = std::holds_alternative<Gemm>(call.attributes);
  const bool others = std::holds_alternative<Lstm>(call.attributes) ||
                      std::holds_alternative<Recurrent>(call.attributes) ||
                      std::holds_alternative<BatchNormalization>(call.attributes);
  if ((filters || product || others) && is_constant(call, 0)) return refuse(call, "its input is a constant");
  if (!filters && !product) return {};
  const auto* const w = std::get_if<View>(&call.inputs[1]);
  if (w == nullptr) return {};
  if (filters && !place_step(w->shape, w->strides)) return refuse(call, "its filters do not lie row by row");
  if (filters && w->shape.size() > call.outputs[0].shape.size() && call.outputs[0].shape.size() != 4)
    return refuse(call, "it is of several models and has no two spatial dimensions");
  if (product && w->shape.back() > 1 && w->strides.back() != 1)
    return refuse(call, "the rows of its weights do not lie dense");
  return {};
}

/// Indices that are computed cannot be sorted beforehand.
Result<void> check_updates(const OpCall& call) {
  constexpr std::int64_t kMostLooks = std::int64_t{1} << 36;
  if (!std::holds_alternative<Scatter>(call.attributes) || is_constant(call, 1)) return {};
  const std::int64_t elements = element_count(call.outputs[0].shape), updates = shape_of(call.inputs[2])[1];
  if (updates == 0 || elements <= kMostLooks / updates) return {};
  return refuse(call, fmt::format("it looks for {} elements among {} indices that are computed, which is too much",
                                  elements, updates));
}

Result<void> check_post_ops(const OpCall& call) {
  const bool can_follow =
      !is_training_op(call.attributes) || std::holds_alternative<NormalizeByStatistics>(call.attributes);
  if (!can_follow && !call.post_ops.empty()) return refuse(call, "nothing can follow it in its kernel");
  const std::size_t room = std::holds_alternative<Activation>(call.attributes) ? 1 : 0;
  if (call.post_ops.size() + room > static_cast<std::size_t>(kMaxPostOps))
    return refuse(call, fmt::format("{} post-ops are more than {}", call.post_ops.size(), kMaxPostOps));
  for (const PostOp& post_op : call.post_ops) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) continue;
    const View* const view = std::get_if<View>(&call.inputs[add->operand]);
    if (finishes_apart(call) && view != nullptr && view->buffer == call.outputs[0].buffer)
      return refuse(call, "what is added to its result lies where the result goes");
  }
  return {};
}

bool is_layer_without_kernel(const OpAttributes& attributes) {
  const auto* const layer = std::get_if<Recurrent>(&attributes);
  const auto* const gradient = std::get_if<RecurrentGradient>(&attributes);
  return (layer != nullptr && !has_kernel(*layer)) || (gradient != nullptr && !has_kernel(gradient->layer));
}

}  // namespace

bool finishes_apart(const OpCall& call) {
  return std::holds_alternative<Softmax>(call.attributes) || std::holds_alternative<Lstm>(call.attributes) ||
         std::holds_alternative<Recurrent>(call.attributes) ||
         std::holds_alternative<LayerNormalization>(call.attributes) ||
         std::holds_alternative<GroupNormalization>(call.attributes) ||
         std::holds_alternative<NormalizeByStatistics>(call.attributes) ||
         (std::holds_alternative<BatchNormalization>(call.attributes) && !is_folded(call));
}

Result<void> check_supported(const OpCall& call) {
  COHORT_CHECK(check_call(call));
  if (is_layer_without_kernel(call.attributes))
    return refuse(call, "there are kernels for plain LSTMs, and for GRUs whose reset gate comes after the product");
  const auto* const places = std::get_if<ArgMax>(&call.attributes);
  if (places != nullptr && places->count > 1) return refuse(call, "its kernel finds one place, not several");
  COHORT_CHECK(check_updates(call));
  COHORT_CHECK(check_parameters(call));
  COHORT_CHECK(check_post_ops(call));
  COHORT_CHECK(check_types(call));
  std::vector<Shape> shapes{call.outputs[0].shape};
  for (const Operand& operand : call.inputs) shapes.push_back(shape_of(operand));
  for (const Shape& shape : shapes) {
    if (shape.size() > static_cast<std::size_t>(kMaxRank)) return refuse(call, "it has more than 6 dimensions");
    if (element_count(shape) > std::numeric_limits<std::int32_t>::max())
      return refuse(call, fmt::format("a tensor of shape {} has 2^31 elements or more", to_string(shape)));
  }
  const Window* const window = window_of(call.attributes);
  if (window != nullptr && window->kernel.size() > 2) return refuse(call, "its image has three spatial dimensions");
  if (!takes_samples(call)) return refuse(call, "the values of a sample do not lie together");
  return {};
}

}  // namespace cohort::cuda::own
