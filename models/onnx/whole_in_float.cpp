#include "models/onnx/whole_in_float.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

/// What an op does with whole numbers in float32.
enum class Use {
  kNotSupported,
  kKeeps,      ///< moves or chooses: its outputs hold them, too
  kComputes,   ///< the same, where they do not wrap around: of 32 bits
  kReads,      ///< its outputs are of another type
  kQuantises,  ///< its outputs are levels
  kSums,       ///< its outputs are int32
};

constexpr std::pair<std::string_view, Use> kUses[] = {
    {"Abs", Use::kComputes},
    {"Add", Use::kComputes},
    {"ArgMax", Use::kReads},
    {"ArgMin", Use::kReads},
    {"BitShift", Use::kKeeps},
    {"BitwiseAnd", Use::kKeeps},
    {"BitwiseNot", Use::kKeeps},
    {"BitwiseOr", Use::kKeeps},
    {"BitwiseXor", Use::kKeeps},
    {"Cast", Use::kReads},
    {"CastLike", Use::kReads},
    {"CenterCropPad", Use::kKeeps},
    {"Clip", Use::kKeeps},
    {"Compress", Use::kKeeps},
    {"Concat", Use::kKeeps},
    {"ConvInteger", Use::kSums},
    {"CumProd", Use::kComputes},
    {"CumSum", Use::kComputes},
    {"DepthToSpace", Use::kKeeps},
    {"DequantizeLinear", Use::kReads},
    {"DynamicQuantizeLinear", Use::kQuantises},
    {"Einsum", Use::kComputes},
    {"Equal", Use::kReads},
    {"Expand", Use::kKeeps},
    {"EyeLike", Use::kReads},
    {"Flatten", Use::kKeeps},
    {"Gather", Use::kKeeps},
    {"GatherElements", Use::kKeeps},
    {"GatherND", Use::kKeeps},
    {"Greater", Use::kReads},
    {"GreaterOrEqual", Use::kReads},
    {"Identity", Use::kKeeps},
    {"Less", Use::kReads},
    {"LessOrEqual", Use::kReads},
    {"MatMul", Use::kComputes},
    {"MatMulInteger", Use::kSums},
    {"MatMulNBits", Use::kReads},
    {"Max", Use::kKeeps},
    {"MaxPool", Use::kKeeps},
    {"Min", Use::kKeeps},
    {"Mul", Use::kComputes},
    {"Neg", Use::kComputes},
    {"OneHot", Use::kKeeps},
    {"Pad", Use::kKeeps},
    {"QLinearConv", Use::kQuantises},
    {"QLinearMatMul", Use::kQuantises},
    {"QuantizeLinear", Use::kQuantises},
    {"RandomNormalLike", Use::kReads},
    {"RandomUniformLike", Use::kReads},
    {"ReduceL1", Use::kComputes},
    {"ReduceMax", Use::kKeeps},
    {"ReduceMin", Use::kKeeps},
    {"ReduceProd", Use::kComputes},
    {"ReduceSum", Use::kComputes},
    {"ReduceSumSquare", Use::kComputes},
    {"Relu", Use::kKeeps},
    {"Reshape", Use::kKeeps},
    {"ReverseSequence", Use::kKeeps},
    {"Shape", Use::kReads},
    {"Sign", Use::kKeeps},
    {"Size", Use::kReads},
    {"Slice", Use::kKeeps},
    {"SpaceToDepth", Use::kKeeps},
    {"Split", Use::kKeeps},
    {"Squeeze", Use::kKeeps},
    {"Sub", Use::kComputes},
    {"Sum", Use::kComputes},
    {"TensorScatter", Use::kKeeps},
    {"Tile", Use::kKeeps},
    {"Transpose", Use::kKeeps},
    {"Trilu", Use::kKeeps},
    {"Unsqueeze", Use::kKeeps},
    {"Where", Use::kKeeps},
};

template <class T>
T attribute_or(const Node& node, const std::string& name, T otherwise) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  const T* const value = std::get_if<T>(&found->second);
  return value != nullptr ? *value : otherwise;
}

Use use_of(const Node& node) {
  // Nearest positions copy; others compute means, which are rounded in these types.
  if (node.op_type == "Resize" || node.op_type == "Upsample")
    return attribute_or<std::string>(node, "mode", "nearest") == "nearest" ? Use::kKeeps : Use::kNotSupported;
  if (node.op_type.starts_with("Scatter")) {
    const std::string reduction = attribute_or<std::string>(node, "reduction", "none");
    return reduction == "add" || reduction == "mul" ? Use::kComputes : Use::kKeeps;
  }
  const auto* const found =
      std::find_if(std::begin(kUses), std::end(kUses), [&](const auto& use) { return use.first == node.op_type; });
  return found != std::end(kUses) ? found->second : Use::kNotSupported;
}

/// The type of a quantising op's levels, as convert_quantized.cpp finds it.
std::int64_t level_type(const ImportState& state, const Node& node) {
  if (node.op_type == "DynamicQuantizeLinear") return Type::kUint8;
  if (const auto given = attribute_or<std::int64_t>(node, "output_dtype", 0); given != 0) return given;
  const std::int64_t type = whole_type(state, node, node.op_type == "QuantizeLinear" ? 2 : 7);
  return type != 0 ? type : static_cast<std::int64_t>(Type::kUint8);
}

/// Whether the type of the node's results is that of input `i`; others may be exponents or positions.
bool decides(const Node& node, std::size_t i) {
  if (node.op_type == "OneHot") return i == 2;
  return node.op_type != "Pow" || i == 0;
}

/// Others are scales or positions.
bool holds_whole(const Node& node, std::size_t output) {
  return output != 1 || (node.op_type != "DynamicQuantizeLinear" && node.op_type != "MaxPool");
}

/// What was computed as float32 as the whole numbers that it is.
Constant as_whole(Constant constant, std::int64_t type) {
  if (const std::vector<float>* const floats = constant.floats()) {
    std::vector<std::int64_t> values;
    values.reserve(floats->size());
    for (const float value : *floats) values.push_back(std::llround(value));
    return make_constant(std::move(constant.shape), std::move(values), type);
  }
  constant.type = static_cast<std::int32_t>(type);
  return constant;
}

}  // namespace

std::int64_t whole_type(const ImportState& state, const Node& node, std::size_t i) {
  if (i >= node.inputs.size()) return 0;
  const std::string& name = node.inputs[i];
  if (const auto known = state.whole_in_float.find(name); known != state.whole_in_float.end()) return known->second;
  const auto value = state.values.find(name);
  if (value == state.values.end()) return 0;
  const auto* const constant = std::get_if<Constant>(&value->second);
  return constant != nullptr && is_narrow(constant->type) ? constant->type : 0;
}

Result<std::int64_t> whole_output_type(const ImportState& state, const Node& node) {
  const Use use = use_of(node);
  if (use == Use::kQuantises) return level_type(state, node);
  if (use == Use::kSums) return Type::kInt32;
  if (node.op_type == "Cast") {
    const auto to = attribute_or<std::int64_t>(node, "to", 0);
    return is_narrow(to) ? to : 0;
  }
  if (node.op_type == "CastLike") {
    const std::int64_t like = whole_type(state, node, 1);
    return is_narrow(like) ? like : 0;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::int64_t type = decides(node, i) ? whole_type(state, node, i) : 0;
    if (type == 0) continue;
    if (use == Use::kNotSupported || (use == Use::kComputes && is_narrow(type)))
      return fail(ErrorCode::kInvalidInput,
                  "reads {}, numbers of type {}, on which it is not supported; put a Cast to float32 before it",
                  node.inputs[i], type_name(type));
    return use == Use::kReads ? 0 : type;
  }
  return 0;
}

bool keeps_type(const Node& node) { return node.domain.empty() && use_of(node) == Use::kKeeps; }

void note_whole_outputs(ImportState& state, const Node& node, std::int64_t type) {
  if (type == 0) return;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto value = state.values.find(node.outputs[i]);
    if (value == state.values.end() || !holds_whole(node, i)) continue;
    if (auto* const constant = std::get_if<Constant>(&value->second)) {
      *constant = as_whole(std::move(*constant), type);
    } else {
      state.whole_in_float.emplace(node.outputs[i], type);
    }
  }
}

}  // namespace cohort::onnx
