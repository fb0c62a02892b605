#include "models/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/overloaded.hpp"

namespace cohort {

namespace {

std::string canonical_window(const Window& window) {
  return fmt::format("kernel={} stride={} pad={}+{} dilation={}", fmt::join(window.kernel, "x"),
                     fmt::join(window.stride, "x"), fmt::join(window.pad_begin, "x"), fmt::join(window.pad_end, "x"),
                     fmt::join(window.dilation, "x"));
}

std::string_view activation_gradient_name(ActivationKind kind) {
  constexpr std::string_view kNames[] = {"ReluGradient",
                                         "LeakyReluGradient",
                                         "EluGradient",
                                         "SigmoidGradient",
                                         "TanhGradient",
                                         "ClipGradient",
                                         "SeluGradient",
                                         "HardSigmoidGradient",
                                         "HardSwishGradient",
                                         "SoftplusGradient",
                                         "SoftsignGradient",
                                         "GeluGradient",
                                         "GeluTanhGradient",
                                         "ErfGradient",
                                         "MishGradient",
                                         "SqrtGradient",
                                         "NegGradient",
                                         "AbsGradient",
                                         "ExpGradient",
                                         "LogGradient",
                                         "ReciprocalGradient",
                                         "FloorGradient",
                                         "CeilGradient",
                                         "RoundGradient",
                                         "ThresholdedReluGradient",
                                         "CeluGradient",
                                         "SwishGradient",
                                         "SignGradient",
                                         "SinGradient",
                                         "CosGradient",
                                         "AsinGradient",
                                         "AcosGradient",
                                         "AtanGradient",
                                         "SinhGradient",
                                         "CoshGradient",
                                         "AsinhGradient",
                                         "AcoshGradient",
                                         "AtanhGradient",
                                         "FakeQuantizeGradient"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view activation_name(ActivationKind kind) {
  std::string_view name = activation_gradient_name(kind);
  name.remove_suffix(std::string_view("Gradient").size());
  return name;
}

std::string_view binary_name(BinaryKind kind) {
  constexpr std::string_view kNames[] = {
      "Add",        "Sub",       "Mul",        "Div",   "Pow",  "Min",         "Max",     "PRelu",          "Mod",
      "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And",
      "Or",         "Xor"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view reduce_name(ReduceKind kind) {
  constexpr std::string_view kNames[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                         "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                         "ReduceLogSum", "ReduceLogSumExp"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view recurrent_name(RecurrentCell cell) {
  constexpr std::string_view kNames[] = {"RNN", "GRU", "LSTM"};
  return kNames[static_cast<std::size_t>(cell)];
}

std::string_view recurrent_gradient_name(RecurrentCell cell) {
  constexpr std::string_view kNames[] = {"RNNGradient", "GRUGradient", "LSTMGradient"};
  return kNames[static_cast<std::size_t>(cell)];
}

std::string_view update_name(UpdateRule rule) {
  constexpr std::string_view kNames[] = {"SgdUpdate", "AdamUpdate", "AdamWUpdate"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::string canonical_activation(const Activation& activation, std::string_view name) {
  switch (activation.kind) {
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kElu:
    case ActivationKind::kThresholdedRelu:
    case ActivationKind::kCelu:
    case ActivationKind::kSwish:
      return fmt::format("{} alpha={}", name, activation.alpha);
    case ActivationKind::kSelu:
    case ActivationKind::kHardSigmoid:
      return fmt::format("{} alpha={} beta={}", name, activation.alpha, activation.beta);
    case ActivationKind::kFakeQuantize:
      return fmt::format("{} step={} from={}", name, activation.alpha, activation.beta);
    case ActivationKind::kClip:
      return fmt::format("{} from={} to={}", name, activation.alpha, activation.beta);
    default:
      return std::string(name);
  }
}

std::string canonical_activation(const Activation& activation) {
  return canonical_activation(activation, activation_name(activation.kind));
}

std::string canonical_element(ElementType element) { return element == ElementType::kInt32 ? " int32" : ""; }

std::string canonical_gates(const std::vector<Gate>& gates) {
  std::string text;
  for (const Gate& gate : gates)
    text += fmt::format("{}{}:{}:{}", text.empty() ? " gates=" : ",", static_cast<int>(gate.function), gate.alpha,
                        gate.beta);
  return text;
}

/// Of a recurrent layer.
constexpr std::string_view kQuantizedRows = " 8-bit weights";

std::string canonical_recurrent(const Recurrent& r, std::string_view name) {
  std::string text = fmt::format("{} hidden={}", name, r.hidden);
  constexpr std::string_view kDirections[] = {"", " reverse", " bidirectional"};
  text += kDirections[static_cast<std::size_t>(r.direction)];
  text += canonical_gates(r.gates);
  if (r.clip != 0) text += fmt::format(" clip={}", r.clip);
  const auto flag = [&](bool set, std::string_view flagged) {
    if (set) text += flagged;
  };
  flag(r.linear_before_reset, " linear_before_reset");
  flag(r.couple_gates, " couple_gates");
  flag(r.has_lengths, " +lengths");
  flag(r.has_state, " +state");
  flag(r.has_cell_state, " +cell_state");
  flag(r.has_peepholes, " +peepholes");
  flag(r.final_state, " final_state");
  flag(r.quantized_weights, kQuantizedRows);
  return text;
}

std::string canonical_resize(const Resize& r, std::string_view name) {
  std::string text = fmt::format("{} mode={} positions={} rounding={} to={} scale={}", name, static_cast<int>(r.mode),
                                 static_cast<int>(r.positions), static_cast<int>(r.rounding), fmt::join(r.shape, "x"),
                                 fmt::join(r.scale, "x"));
  if (r.positions == ResizePositions::kCrop)
    text += fmt::format(" crop={}+{} outside={}", fmt::join(r.crop_begin, ","), fmt::join(r.crop_end, ","), r.outside);
  if (r.mode == ResizeMode::kCubic) text += fmt::format(" cubic={}", r.cubic_coefficient);
  if (r.exclude_outside) text += " exclude_outside";
  if (r.antialias) text += " antialias";
  return text;
}

std::string canonical_pad(const Pad& p) {
  constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};
  return fmt::format("Pad {} {}+{}{}{}", kModes[static_cast<std::size_t>(p.mode)], fmt::join(p.begin, ","),
                     fmt::join(p.end, ","), p.mode == PadMode::kConstant ? fmt::format(" value={}", p.value) : "",
                     canonical_element(p.element));
}

std::string canonical_eight_bits(const std::optional<EightBits>& bits) {
  return bits ? fmt::format(" 8-bit step={} from={}", bits->step, bits->from) : "";
}

std::string canonical_blocks(const std::optional<QuantizedWeights>& weights) {
  return weights ? fmt::format(" {}-bit weights block={}", weights->bits, weights->block) : "";
}

/// Attributes as text; the op's name first. Ops without attributes are just their name.
class Canonical {
 public:
  explicit Canonical(std::string_view type) : type_(type) {}

  std::string operator()(const Convolution& c) const {
    return fmt::format("{} {} groups={}{}", type_, canonical_window(c.window), c.groups,
                       canonical_eight_bits(c.eight_bits));
  }
  std::string operator()(const ConvTranspose& c) const {
    return fmt::format("{} {} output_pad={} groups={}", type_, canonical_window(c.window), fmt::join(c.output_pad, "x"),
                       c.groups);
  }
  std::string operator()(const Pool& p) const {
    return fmt::format("{} {}{}{}", type_, canonical_window(p.window), p.ceil_mode ? " ceil" : "",
                       p.count_include_pad ? " count_pad" : "");
  }
  std::string operator()(const MaxPoolIndices& p) const {
    return fmt::format("{} {}{}{}", type_, canonical_window(p.window), p.ceil_mode ? " ceil" : "",
                       p.column_major ? " column_major" : "");
  }
  std::string operator()(const Gemm& g) const {
    return fmt::format("{}{}{}{}", type_, stacked(g.stacked), canonical_eight_bits(g.eight_bits),
                       canonical_blocks(g.quantized_weights));
  }
  std::string operator()(const MatMul& m) const {
    return fmt::format("{}{}{}", type_, m.transpose_a ? " transpose_a" : "", m.transpose_b ? " transpose_b" : "");
  }
  std::string operator()(const BatchNormalization& b) const { return with_epsilon(b.epsilon); }
  std::string operator()(const GroupNormalization& g) const {
    return fmt::format("{} groups={} epsilon={}", type_, g.groups, g.epsilon);
  }
  std::string operator()(const LayerNormalization& l) const {
    return fmt::format("{} axis={} epsilon={}{}", type_, l.axis, l.epsilon, l.centred ? "" : " root_mean_square");
  }
  std::string operator()(const LocalResponseNormalization& l) const {
    return fmt::format("{} size={} alpha={} beta={} bias={}", type_, l.size, l.alpha, l.beta, l.bias);
  }
  std::string operator()(const Activation& a) const { return canonical_activation(a); }
  std::string operator()(const Binary& b) const { return std::string(type_) + canonical_element(b.element); }
  std::string operator()(const Select& s) const { return std::string(type_) + canonical_element(s.element); }
  std::string operator()(const Cast& c) const {
    return fmt::format("{} {} to {}", type_, to_string(c.from), c.to_truth ? "truth" : to_string(c.to));
  }
  std::string operator()(const Concat& c) const { return fmt::format("{} axis={}", type_, c.axis); }
  std::string operator()(const Softmax& s) const { return fmt::format("{} axis={}", type_, s.axis); }
  std::string operator()(const Reshape& /*op*/) const { return std::string(type_); }
  std::string operator()(const Lstm& l) const {
    return fmt::format("{} hidden={}{}", type_, l.hidden, l.quantized_weights ? kQuantizedRows : "");
  }
  std::string operator()(const Recurrent& r) const { return canonical_recurrent(r, type_); }
  std::string operator()(const Transpose& t) const {
    return fmt::format("{} {}", type_, fmt::join(t.permutation, ","));
  }
  std::string operator()(const TensorSlice& s) const {
    return fmt::format("{} {} by {} count {}", type_, fmt::join(s.start, ","), fmt::join(s.step, ","),
                       fmt::join(s.count, ","));
  }
  std::string operator()(const Pad& p) const { return canonical_pad(p); }
  std::string operator()(const Gather& g) const { return fmt::format("{} axis={}", type_, g.axis); }
  std::string operator()(const Scatter& s) const {
    const std::string reduction = s.reduction ? fmt::format(" {}", op_type(Binary{*s.reduction})) : "";
    return fmt::format("{}{}{}", type_, reduction, s.element == ElementType::kInt32 ? " int32" : "");
  }
  std::string operator()(const Expand& e) const { return fmt::format("{} {}", type_, fmt::join(e.shape, "x")); }
  std::string operator()(const Tile& t) const { return fmt::format("{} {}", type_, fmt::join(t.repeats, "x")); }
  std::string operator()(const Resize& r) const { return canonical_resize(r, type_); }
  std::string operator()(const Reduce& r) const {
    return fmt::format("{} {}{}", type_, fmt::join(r.axes, ","), r.keep_axes ? "" : " dropped");
  }
  std::string operator()(const ArgMax& a) const {
    const std::string of_several = a.count == 1 ? "" : fmt::format(" {}{}", a.count, a.smallest ? " smallest" : "");
    return fmt::format("{} axis={}{}{}{}", type_, a.axis, a.keep_axis ? "" : " dropped", a.last ? " last" : "",
                       of_several);
  }
  std::string operator()(const Pack& p) const {
    return fmt::format("{} at {} size={}", type_, fmt::join(p.offsets, ","), p.size);
  }
  std::string operator()(const Unpack& u) const {
    return fmt::format("{} from {} {}", type_, u.offset, fmt::join(u.shape, "x"));
  }
  std::string operator()(const ConvolutionWeightGradient& c) const {
    return fmt::format("{} {} groups={}{} models={}{}", type_, canonical_window(c.window), c.groups,
                       c.bias ? " +bias" : "", c.models, c.shared_input ? " shared_input" : "");
  }
  std::string operator()(const GemmWeightGradient& g) const {
    return fmt::format("{}{}{}", type_, g.bias ? " +bias" : "", stacked(g.stacked));
  }
  std::string operator()(const PoolGradient& p) const {
    return fmt::format("{} of {}", (*this)(p.pool), fmt::join(p.extents, "x"));
  }
  std::string operator()(const ActivationGradient& a) const { return canonical_activation(a.activation, type_); }
  std::string operator()(const SoftmaxGradient& s) const { return fmt::format("{} axis={}", type_, s.axis); }
  std::string operator()(const SoftmaxCrossEntropy& s) const {
    return fmt::format("{}{}{}{}", type_, s.reduction == LossReduction::kSum ? " sum" : "",
                       s.ignored ? fmt::format(" ignored={}", *s.ignored) : "", stacked(s.stacked));
  }
  std::string operator()(const SoftmaxCrossEntropyGradient& s) const { return (*this)(s.loss); }
  std::string operator()(const BatchStatistics& /*op*/) const { return std::string(type_); }
  std::string operator()(const NormalizeByStatistics& n) const { return with_epsilon(n.epsilon); }
  std::string operator()(const BatchNormalizationWeightGradient& n) const { return with_epsilon(n.epsilon); }
  std::string operator()(const BatchNormalizationGradient& n) const { return with_epsilon(n.epsilon); }
  std::string operator()(const LayerNormalizationGradient& n) const {
    return fmt::format("{} axis={} epsilon={}", type_, n.axis, n.epsilon);
  }
  std::string operator()(const LayerNormalizationWeightGradient& n) const {
    return fmt::format("{} axis={} epsilon={}", type_, n.axis, n.epsilon);
  }
  std::string operator()(const GroupNormalizationGradient& n) const {
    return fmt::format("{} groups={} epsilon={}", type_, n.groups, n.epsilon);
  }
  std::string operator()(const GroupNormalizationWeightGradient& n) const {
    return fmt::format("{} groups={} epsilon={}{}", type_, n.groups, n.epsilon, n.per_group ? " per_group" : "");
  }
  std::string operator()(const LocalResponseNormalizationGradient& n) const { return (*this)(n.normalization); }
  std::string operator()(const LstmGradient& l) const { return fmt::format("{} hidden={}", type_, l.hidden); }
  std::string operator()(const RecurrentGradient& r) const { return canonical_recurrent(r.layer, type_); }
  std::string operator()(const GatherGradient& g) const {
    return fmt::format("{} axis={} of {}", type_, g.axis, g.extent);
  }
  std::string operator()(const TensorSliceGradient& s) const {
    return fmt::format("{} {} by {} of {}", type_, fmt::join(s.start, ","), fmt::join(s.step, ","),
                       fmt::join(s.shape, "x"));
  }
  std::string operator()(const ResizeGradient& r) const {
    return fmt::format("{} of {}", canonical_resize(r.resize, type_), fmt::join(r.shape, "x"));
  }
  std::string operator()(const Dropout& d) const {
    return fmt::format("{} salt={}{}", type_, d.salt, stacked(d.stacked));
  }
  std::string operator()(const Update& u) const {
    return fmt::format("{}{}{}{}{}", type_, u.momentum ? " momentum" : "", u.nesterov ? " nesterov" : "",
                       u.clip ? " clip" : "", stacked(u.stacked));
  }
  std::string operator()(const RunningAverage& r) const {
    return fmt::format("{} momentum={}{}", type_, r.momentum, stacked(r.stacked));
  }

 private:
  static std::string_view stacked(bool set) { return set ? " stacked" : ""; }
  [[nodiscard]] std::string with_epsilon(float epsilon) const { return fmt::format("{} epsilon={}", type_, epsilon); }

  std::string_view type_;
};

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return INT64_MAX;
  }
  return count;
}

Result<void> check_shape(const Shape& shape, std::int64_t least) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < least)
      return fail(ErrorCode::kInvalidInput, "dimension {} of shape {} must be at least {}", i, to_string(shape), least);
  }
  if (element_count(shape) > kMostElements)
    return fail(ErrorCode::kInvalidInput, "shape {} has more than 2^40 elements", to_string(shape));
  // Also where another extent is 0: what is added to them must not overflow.
  const auto too_long =
      std::find_if(shape.begin(), shape.end(), [](std::int64_t each) { return each > kMostElements; });
  if (too_long != shape.end())
    return fail(ErrorCode::kInvalidInput, "dimension {} of shape {} is more than 2^40", too_long - shape.begin(),
                to_string(shape));
  return {};
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string_view to_string(ElementType type) { return type == ElementType::kInt32 ? "int32" : "float32"; }

std::int64_t gate_count(RecurrentCell cell) {
  constexpr std::int64_t kCounts[] = {1, 3, 4};
  return kCounts[static_cast<std::size_t>(cell)];
}

std::int64_t direction_count(Direction direction) { return direction == Direction::kBidirectional ? 2 : 1; }

bool is_predicate(BinaryKind kind) { return kind >= BinaryKind::kEqual; }

bool is_bitwise(BinaryKind kind) { return kind >= BinaryKind::kBitwiseAnd && kind <= BinaryKind::kBitwiseXor; }

bool is_training_op(const OpAttributes& attributes) {
  return std::visit([]<class Known>(const Known& /*op*/) { return TrainingOp<Known>; }, attributes);
}

std::string_view op_type(const OpAttributes& attributes) {  // NOLINT(readability-function-size): a table
  using Name = std::string_view;
  return std::visit(
      Overloaded{
          [](const Convolution&) -> Name { return "Convolution"; },
          [](const ConvTranspose&) -> Name { return "ConvTranspose"; },
          [](const Pool& pool) -> Name { return pool.kind == PoolKind::kMax ? "MaxPool" : "AveragePool"; },
          [](const MaxPoolIndices&) -> Name { return "MaxPoolIndices"; },
          [](const Gemm&) -> Name { return "Gemm"; },
          [](const MatMul&) -> Name { return "MatMul"; },
          [](const BatchNormalization&) -> Name { return "BatchNormalization"; },
          [](const GroupNormalization&) -> Name { return "GroupNormalization"; },
          [](const LayerNormalization&) -> Name { return "LayerNormalization"; },
          [](const LocalResponseNormalization&) -> Name { return "LocalResponseNormalization"; },
          [](const Activation& activation) { return activation_name(activation.kind); },
          [](const Binary& binary) { return binary_name(binary.kind); },
          [](const Select&) -> Name { return "Select"; },
          [](const Cast&) -> Name { return "Cast"; },
          [](const Concat&) -> Name { return "Concat"; },
          [](const Softmax& softmax) -> Name { return softmax.logarithm ? "LogSoftmax" : "Softmax"; },
          [](const Reshape&) -> Name { return "Reshape"; },
          [](const Lstm&) -> Name { return "Lstm"; },
          [](const Recurrent& recurrent) { return recurrent_name(recurrent.cell); },
          [](const Transpose&) -> Name { return "Transpose"; },
          [](const TensorSlice&) -> Name { return "Slice"; },
          [](const Pad&) -> Name { return "Pad"; },
          [](const Gather&) -> Name { return "Gather"; },
          [](const Scatter&) -> Name { return "Scatter"; },
          [](const Expand&) -> Name { return "Expand"; },
          [](const Tile&) -> Name { return "Tile"; },
          [](const Resize&) -> Name { return "Resize"; },
          [](const Reduce& reduce) { return reduce_name(reduce.kind); },
          [](const ArgMax& op) -> Name {
            if (op.count > 1) return "TopK";
            return op.smallest ? "ArgMin" : "ArgMax";
          },
          [](const ActivationGradient& op) { return activation_gradient_name(op.activation.kind); },
          [](const PoolGradient& op) -> Name {
            return op.pool.kind == PoolKind::kMax ? "MaxPoolGradient" : "AveragePoolGradient";
          },
          [](const SoftmaxGradient& op) -> Name { return op.logarithm ? "LogSoftmaxGradient" : "SoftmaxGradient"; },
          [](const RecurrentGradient& op) { return recurrent_gradient_name(op.layer.cell); },
          [](const Update& op) { return update_name(op.rule); },
          [](const Pack&) -> Name { return "Pack"; },
          [](const Unpack&) -> Name { return "Unpack"; },
          [](const ConvolutionWeightGradient&) -> Name { return "ConvolutionWeightGradient"; },
          [](const GemmWeightGradient&) -> Name { return "GemmWeightGradient"; },
          [](const SoftmaxCrossEntropy&) -> Name { return "SoftmaxCrossEntropy"; },
          [](const SoftmaxCrossEntropyGradient&) -> Name { return "SoftmaxCrossEntropyGradient"; },
          [](const BatchStatistics&) -> Name { return "BatchStatistics"; },
          [](const NormalizeByStatistics&) -> Name { return "NormalizeByStatistics"; },
          [](const BatchNormalizationWeightGradient&) -> Name { return "BatchNormalizationWeightGradient"; },
          [](const BatchNormalizationGradient&) -> Name { return "BatchNormalizationGradient"; },
          [](const LayerNormalizationGradient&) -> Name { return "LayerNormalizationGradient"; },
          [](const LayerNormalizationWeightGradient&) -> Name { return "LayerNormalizationWeightGradient"; },
          [](const GroupNormalizationGradient&) -> Name { return "GroupNormalizationGradient"; },
          [](const GroupNormalizationWeightGradient&) -> Name { return "GroupNormalizationWeightGradient"; },
          [](const LocalResponseNormalizationGradient&) -> Name { return "LocalResponseNormalizationGradient"; },
          [](const LstmGradient&) -> Name { return "LstmGradient"; },
          [](const GatherGradient&) -> Name { return "GatherGradient"; },
          [](const TensorSliceGradient&) -> Name { return "SliceGradient"; },
          [](const ResizeGradient&) -> Name { return "ResizeGradient"; },
          [](const Dropout&) -> Name { return "Dropout"; },
          [](const RunningAverage&) -> Name { return "RunningAverage"; },
      },
      attributes);
}

std::string canonical(const OpAttributes& attributes, const std::vector<PostOp>& post_ops) {
  std::string text = std::visit(Canonical(op_type(attributes)), attributes);
  for (const PostOp& post_op : post_ops) {
    text += " + ";
    text += std::visit(Overloaded{
                           [](const AddOperand& add) { return fmt::format("Add({})", add.operand); },
                           [](const Activation& a) { return canonical_activation(a); },
                       },
                       post_op);
  }
  return text;
}

}  // namespace cohort
