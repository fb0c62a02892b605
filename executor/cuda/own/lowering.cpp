#include "executor/cuda/own/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/cuda/own/number.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda::own {
namespace {

bool is_constant(const OpCall& call, std::size_t input) {
  return std::holds_alternative<WeightView>(call.inputs[input]);
}

/// Neighbouring elements in memory are neighbouring channels.
bool channels_last(const Shape& shape, const Shape& strides) { return shape[1] > 1 && strides[1] == 1; }

Window2 window_of(const Window& window) {
  Window2 result;
  const auto put = [](const std::vector<std::int64_t>& values, std::int32_t* to) {
    for (std::size_t d = 0; d < 2; ++d) to[d] = static_cast<std::int32_t>(values[d]);
  };
  put(window.kernel, result.kernel);
  put(window.stride, result.stride);
  put(window.pad_begin, result.pad);
  put(window.dilation, result.dilation);
  return result;
}

/// What pooling and convolution have in common.
template <class Arguments>
void set_image(Arguments& kernel, const OpCall& call, const Window& window, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  kernel.type = operands.y_type;
  kernel.window = window_of(window);
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.height = static_cast<std::int32_t>(x.shape[2]);
  kernel.width = static_cast<std::int32_t>(x.shape[3]);
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(x.strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
}

KernelArguments kernel_of(const Convolution& op, const OpCall& call, const Operands& operands) {
  ConvolutionArguments kernel;
  set_image(kernel, call, op.window, operands);
  const Shape& w = operands.inputs[1].shape;
  kernel.group_inputs = static_cast<std::int32_t>(w[1]);
  kernel.group_outputs = static_cast<std::int32_t>(w[0] / op.groups);
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  kernel.w = operands.inputs[1].data;
  kernel.bias = own_input_count(call) > 2 ? operands.inputs[2].data : nullptr;
  return kernel;
}

KernelArguments kernel_of(const ConvTranspose& op, const OpCall& call, const Operands& operands) {
  ConvTransposeArguments kernel;
  set_image(kernel, call, op.window, operands);
  const Shape& w = operands.inputs[1].shape;
  kernel.group_inputs = static_cast<std::int32_t>(w[0] / op.groups);
  kernel.group_outputs = static_cast<std::int32_t>(w[1]);
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  kernel.w = operands.inputs[1].data;
  kernel.bias = own_input_count(call) > 2 ? operands.inputs[2].data : nullptr;
  return kernel;
}

KernelArguments kernel_of(const MaxPoolIndices& op, const OpCall& call, const Operands& operands) {
  MaxIndexArguments kernel;
  set_image(kernel, call, op.window, operands);
  kernel.type = operands.inputs[0].type;
  kernel.column_major = op.column_major;
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  return kernel;
}

KernelArguments kernel_of(const Pool& op, const OpCall& call, const Operands& operands) {
  PoolArguments kernel;
  set_image(kernel, call, op.window, operands);
  for (std::size_t d = 0; d < 2; ++d) kernel.pad_end[d] = static_cast<std::int32_t>(op.window.pad_end[d]);
  kernel.average = op.kind == PoolKind::kAverage;
  kernel.count_include_pad = op.count_include_pad;
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  return kernel;
}

KernelArguments kernel_of(const Gather& op, const OpCall& call, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const Tensor& indices = operands.inputs[1];
  const auto axis = static_cast<std::ptrdiff_t>(op.axis);
  GatherArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.extent = static_cast<std::int32_t>(x.shape[static_cast<std::size_t>(axis)]);
  kernel.axis_step = x.strides[static_cast<std::size_t>(axis)];
  kernel.x = x.data;
  kernel.indices = indices.data;
  kernel.y = operands.y;
  Shape of_x = x.strides;  // indices' dimensions stand where the axis was
  of_x.insert(of_x.erase(of_x.begin() + axis), indices.shape.size(), 0);
  Shape of_indices(x.shape.size() - 1, 0);
  of_indices.insert(of_indices.begin() + axis, indices.strides.begin(), indices.strides.end());
  kernel.x_strides = to_strides(of_x);
  kernel.index_strides = to_strides(of_indices);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

KernelArguments kernel_of(const LocalResponseNormalization& op, const OpCall& call, const Operands& operands) {
  LrnArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.size = static_cast<std::int32_t>(op.size);
  kernel.alpha = op.alpha;
  kernel.beta = op.beta;
  kernel.bias = op.bias;
  kernel.x = operands.inputs[0].data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(operands.inputs[0].strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

KernelArguments kernel_of(const Softmax& op, const OpCall& /*call*/, const Operands& operands) {
  const auto axis = static_cast<std::size_t>(op.axis);
  SoftmaxArguments kernel;
  kernel.type = operands.y_type;
  kernel.logarithm = op.logarithm;
  kernel.lanes = to_extents(reference::without(operands.y_shape, axis));
  kernel.length = static_cast<std::int32_t>(operands.y_shape[axis]);
  kernel.x_step = operands.inputs[0].strides[axis];
  kernel.y_step = operands.y_strides[axis];
  kernel.x = operands.inputs[0].data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(reference::without(operands.inputs[0].strides, axis));
  kernel.y_strides = to_strides(reference::without(operands.y_strides, axis));
  return kernel;
}

KernelArguments kernel_of(const Gemm& op, const OpCall& call, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const std::size_t lead = op.stacked ? 1 : 0;
  GemmArguments kernel;
  kernel.type = operands.y_type;
  kernel.batch = op.stacked ? static_cast<std::int32_t>(operands.y_shape[0]) : 1;
  kernel.rows = static_cast<std::int32_t>(operands.y_shape[lead]);
  kernel.columns = static_cast<std::int32_t>(operands.y_shape[lead + 1]);
  kernel.inner = static_cast<std::int32_t>(operands.inputs[1].shape[lead + 1]);
  kernel.x = x.data;
  kernel.w = operands.inputs[1].data;
  kernel.bias = own_input_count(call) > 2 ? operands.inputs[2].data : nullptr;
  kernel.y = operands.y;
  kernel.x_batch = op.stacked ? x.strides[0] : 0;
  kernel.x_row = x.strides[lead];
  kernel.y_batch = op.stacked ? operands.y_strides[0] : 0;
  kernel.y_row = operands.y_strides[lead];
  kernel.y_column = operands.y_strides[lead + 1];
  kernel.post = post_ops(call, operands);
  if (!op.stacked) {
    for (int i = 0; i < kernel.post.count; ++i) {  // the kernel's index has the models first
      Strides& strides = kernel.post.of[i].strides;
      strides = {{0, strides.of[0], strides.of[1]}};
    }
  }
  return kernel;
}

/// A copy between types, which is what lowering puts where members' inputs and outputs are converted.
bool converts(const OpCall& call) {
  const View* const x = call.inputs.empty() ? nullptr : std::get_if<View>(&call.inputs[0]);
  return std::holds_alternative<Reshape>(call.attributes) && x != nullptr && x->type != call.outputs[0].type;
}

DataType type_of(const Operand& operand) {
  return std::visit([](const auto& view) { return view.type; }, operand);
}

/// Its kernel does no post-ops; they follow in one of their own.
bool finishes_apart(const OpCall& call) {
  return std::holds_alternative<Softmax>(call.attributes) || std::holds_alternative<Lstm>(call.attributes) ||
         std::holds_alternative<Recurrent>(call.attributes) ||
         std::holds_alternative<LayerNormalization>(call.attributes) ||
         std::holds_alternative<GroupNormalization>(call.attributes);
}

tl::unexpected<Error> refuse(const OpCall& call, std::string_view why) {
  return fail(ErrorCode::kInvalidInput, "{}: own kernels cannot run it: {}", op_type(call.attributes), why);
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

Result<void> check_constants(const OpCall& call) {
  const auto constant = [&](std::size_t input) { return input >= call.inputs.size() || is_constant(call, input); };
  const std::size_t own = own_input_count(call);
  if (std::holds_alternative<Convolution>(call.attributes) || std::holds_alternative<ConvTranspose>(call.attributes) ||
      std::holds_alternative<Gemm>(call.attributes) || std::holds_alternative<Lstm>(call.attributes) ||
      std::holds_alternative<Recurrent>(call.attributes) ||
      std::holds_alternative<BatchNormalization>(call.attributes)) {
    if (is_constant(call, 0)) return refuse(call, "its input is a constant");
    for (std::size_t i = 1; i < own; ++i) {
      if (!constant(i)) return refuse(call, "its weights are computed by other ops");
    }
  }
  for (const PostOp& post_op : call.post_ops) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) continue;
    const View* const view = std::get_if<View>(&call.inputs[add->operand]);
    if (finishes_apart(call) && view != nullptr && view->buffer == call.outputs[0].buffer)
      return refuse(call, "what is added to its result lies where the result goes");
  }
  return {};
}

/// [4H, I] as [I, 4H].
std::vector<float> transposed(const std::vector<float>& values, const Shape& shape) {
  std::vector<float> result(values.size());
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto columns = static_cast<std::size_t>(shape[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  }
  return result;
}

/// [K, C, R, S] as [K, R, S, C].
std::vector<float> channels_moved_last(const std::vector<float>& values, const Shape& shape) {
  std::vector<float> result(values.size());
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto filters = static_cast<std::size_t>(shape[0]);
  const std::size_t area = values.size() / (channels * filters);
  for (std::size_t k = 0; k < filters; ++k) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < area; ++i)
        result[(k * area + i) * channels + c] = values[(k * channels + c) * area + i];
    }
  }
  return result;
}

/// Rows of I values, each put in the order of the input's memory.
std::vector<float> rows_reordered(const std::vector<float>& values, const std::vector<std::int64_t>& order) {
  std::vector<float> result(values.size());
  for (std::size_t row = 0; row < values.size(); row += order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) result[row + i] = values[row + static_cast<std::size_t>(order[i])];
  }
  return result;
}

/// Factor (input 1) or addend (input 2) per channel.
std::vector<float> folded(const BatchNormalization& op, std::size_t input,
                          std::span<const std::vector<float>> weights) {
  std::vector<float> result;
  for (std::size_t c = 0; c < weights[0].size(); ++c) {
    const double factor = static_cast<double>(weights[0][c]) /
                          std::sqrt(static_cast<double>(weights[3][c]) + static_cast<double>(op.epsilon));
    const double addend = static_cast<double>(weights[1][c]) - static_cast<double>(weights[2][c]) * factor;
    result.push_back(static_cast<float>(input == 1 ? factor : addend));
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> memory_order(const View& view, std::size_t first) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;  // offset, logical position
  const Shape shape(view.shape.begin() + static_cast<std::ptrdiff_t>(first), view.shape.end());
  const Shape strides(view.strides.begin() + static_cast<std::ptrdiff_t>(first), view.strides.end());
  std::int64_t logical = 0;
  reference::for_each_index<1>(shape, {strides}, [&](const auto& at) { places.emplace_back(at[0], logical++); });
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].first != static_cast<std::int64_t>(i)) return {};
    order.push_back(places[i].second);
  }
  return order;
}

namespace {

/// The sliding window of an op that has one.
const Window* window_of(const OpAttributes& attributes) {
  return std::visit(
      [](const auto& op) -> const Window* {
        if constexpr (requires { op.window; }) {
          return &op.window;
        } else {
          return nullptr;
        }
      },
      attributes);
}

/// Ops with one spatial dimension as ops with two, of which the first is 1.
OpAttributes as_plane(OpAttributes attributes) {
  std::visit(
      [](auto& op) {
        if constexpr (requires { op.window; }) {
          for (auto* const each : {&op.window.kernel, &op.window.stride, &op.window.dilation})
            each->insert(each->begin(), 1);
          for (auto* const each : {&op.window.pad_begin, &op.window.pad_end}) each->insert(each->begin(), 0);
        }
      },
      attributes);
  return attributes;
}

void add_dimension(Shape& shape, Shape& strides) {
  shape.insert(shape.begin() + 2, 1);
  strides.insert(strides.begin() + 2, 0);
}

Operands as_plane(Operands operands) {
  for (Tensor& tensor : operands.inputs) {
    if (tensor.shape.size() == 3) add_dimension(tensor.shape, tensor.strides);
  }
  add_dimension(operands.y_shape, operands.y_strides);
  return operands;
}

}  // namespace

Result<void> check_supported(const OpCall& call) {
  COHORT_CHECK(check_call(call));
  if (const auto* const layer = std::get_if<Recurrent>(&call.attributes); layer != nullptr && !has_kernel(*layer))
    return refuse(call, "there are kernels for plain LSTMs, and for GRUs whose reset gate comes after the product");
  COHORT_CHECK(check_constants(call));
  COHORT_CHECK(check_types(call));
  std::vector<Shape> shapes{call.outputs[0].shape};
  for (const Operand& operand : call.inputs) shapes.push_back(shape_of(operand));
  const bool gemm = std::holds_alternative<Gemm>(call.attributes);
  for (const Shape& shape : shapes) {
    if (shape.size() > static_cast<std::size_t>(kMaxRank)) return refuse(call, "it has more than 6 dimensions");
    if (element_count(shape) > std::numeric_limits<std::int32_t>::max())
      return refuse(call, fmt::format("a tensor of shape {} has 2^31 elements or more", to_string(shape)));
  }
  const std::size_t room = std::holds_alternative<Activation>(call.attributes) ? 1 : 0;
  if (call.post_ops.size() + room > static_cast<std::size_t>(kMaxPostOps))
    return refuse(call, fmt::format("{} post-ops are more than {}", call.post_ops.size(), kMaxPostOps));
  if (window_of(call.attributes) != nullptr && call.outputs[0].shape.size() > 4)
    return refuse(call, "its image has three spatial dimensions");
  if (gemm) {
    const std::size_t lead = std::get<Gemm>(call.attributes).stacked ? 2 : 1;
    if (memory_order(std::get<View>(call.inputs[0]), lead).empty())
      return refuse(call, "the values of a sample do not lie together");
  }
  return {};
}

std::vector<float> packed(const OpCall& call, std::size_t input, std::span<const std::vector<float>> weights) {
  const auto before = std::count_if(call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(input),
                                    [](const Operand& each) { return std::holds_alternative<WeightView>(each); });
  const std::vector<float>& values = weights[static_cast<std::size_t>(before)];
  const Shape& shape = shape_of(call.inputs[input]);
  if (const auto* const normalization = std::get_if<BatchNormalization>(&call.attributes))
    return input < 3 ? folded(*normalization, input, weights) : std::vector<float>{};
  const bool filters =
      std::holds_alternative<Convolution>(call.attributes) || std::holds_alternative<ConvTranspose>(call.attributes);
  if (filters && input == 1 && channels_last(call.outputs[0].shape, call.outputs[0].strides))
    return channels_moved_last(values, shape);
  if (const auto* const gemm = std::get_if<Gemm>(&call.attributes); gemm != nullptr && input == 1)
    return rows_reordered(values, memory_order(std::get<View>(call.inputs[0]), gemm->stacked ? 2 : 1));
  if (std::holds_alternative<Lstm>(call.attributes) && (input == 1 || input == 2)) return transposed(values, shape);
  if (std::holds_alternative<Recurrent>(call.attributes) && (input == 1 || input == 2))
    return transposed(values, {shape[1], shape[2]});
  return values;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values, DataType type) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(element_bytes(type)));
  with_type(type, [&](auto number) {
    for (std::size_t i = 0; i < values.size(); ++i)
      store<decltype(number)>(bytes.data(), static_cast<std::int64_t>(i), values[i]);
  });
  return bytes;
}

const void* advanced(const void* from, std::int64_t elements, DataType type) {
  return static_cast<const std::byte*>(from) + elements * element_bytes(type);
}

void* advanced(void* from, std::int64_t elements, DataType type) {
  return static_cast<std::byte*>(from) + elements * element_bytes(type);
}

Bytes workspace_of(const OpCall& call) {
  if (!std::holds_alternative<Lstm>(call.attributes)) return {};
  const Shape& y = call.outputs[0].shape;
  return Bytes{y[1] * y[2] * static_cast<std::int64_t>(sizeof(float))};
}

std::vector<KernelArguments> kernels_of(const OpCall& call, const Operands& operands) {
  if (element_count(operands.y_shape) == 0) return {};
  if (window_of(call.attributes) != nullptr && operands.y_shape.size() == 3) {
    OpCall plane = call;
    plane.attributes = as_plane(call.attributes);
    return kernels_of(plane, as_plane(operands));
  }
  std::vector<KernelArguments> kernels = std::visit(
      [&](const auto& op) -> std::vector<KernelArguments> {
        if constexpr (requires { kernel_of(op, call, operands); }) {
          return {kernel_of(op, call, operands)};
        } else {
          return map_kernels(call, operands);
        }
      },
      call.attributes);
  if (finishes_apart(call) && !call.post_ops.empty()) kernels.emplace_back(epilogue(call, operands, nullptr, 0));
  return kernels;
}

}  // namespace cohort::cuda::own
