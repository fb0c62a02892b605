#include <algorithm>
#include <set>
#include <utility>

#include "models/model.hpp"

namespace cohort {

namespace {

/// Product of counts that stops at a value whose sums over all ops of a model still fit.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result) || result > kMost) return kMost;
  }
  return result;
}

/// Of a Resize from `x` to `y`: a multiplication and an addition for each element that a position is made of.
std::int64_t resize_work(const Resize& op, const Shape& x, const Shape& y) {
  if (op.mode == ResizeMode::kNearest) return 0;
  std::int64_t work = product({element_count(y), 2});
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (y[d] == x[d]) continue;
    const double widened = op.antialias && op.scale[d] < 1 ? 1 / op.scale[d] : 1;
    work = product({work, static_cast<std::int64_t>((op.mode == ResizeMode::kLinear ? 2 : 4) * widened)});
  }
  return work;
}

/// Operations of an op without its post-ops. A function such as exp or a power counts as one.
class FlopCounter {
 public:
  FlopCounter(const Model& model, const Op& op) : model_(model), op_(op) {}

  std::int64_t operator()(const Convolution& /*op*/) const {
    const Shape& w = input(1);
    return product({outputs(), 2, element_count(Shape(w.begin() + 1, w.end()))}) + bias(2);
  }
  // Each element of x meets the kernels of its group's outputs.
  std::int64_t operator()(const ConvTranspose& /*op*/) const {
    const Shape& w = input(1);
    return product({element_count(input(0)), 2, element_count(Shape(w.begin() + 1, w.end()))}) + bias(2);
  }
  std::int64_t operator()(const Pool& pool) const { return product({outputs(), element_count(pool.window.kernel)}); }
  std::int64_t operator()(const MaxPoolIndices& pool) const {
    return product({outputs(), element_count(pool.window.kernel)});
  }
  std::int64_t operator()(const Gemm& /*op*/) const { return product({outputs(), 2, input(1).back()}) + bias(2); }
  std::int64_t operator()(const MatMul& op) const {
    const Shape& a = input(0);
    return product({outputs(), 2, a[a.size() - (op.transpose_a ? 2 : 1)]});
  }
  // The statistics are constants, so that one multiplication and one addition remain.
  std::int64_t operator()(const BatchNormalization& /*op*/) const { return product({outputs(), 2}); }
  // Sum, difference, square and its sum, then two multiplications and an addition.
  std::int64_t operator()(const GroupNormalization& /*op*/) const { return product({outputs(), 7}); }
  std::int64_t operator()(const LayerNormalization& /*op*/) const { return product({outputs(), 7}); }
  // Sum of squares, then scale, offset, power and division.
  std::int64_t operator()(const LocalResponseNormalization& lrn) const {
    return product({outputs(), 2, lrn.size}) + product({outputs(), 4});
  }
  std::int64_t operator()(const Activation& /*op*/) const { return outputs(); }
  std::int64_t operator()(const Binary& /*op*/) const { return outputs(); }
  std::int64_t operator()(const Select& /*op*/) const { return outputs(); }
  std::int64_t operator()(const Cast& /*op*/) const { return outputs(); }
  // Maximum, difference, exponential, sum and division.
  std::int64_t operator()(const Softmax& /*op*/) const { return product({outputs(), 5}); }
  std::int64_t operator()(const Reduce& /*op*/) const { return element_count(input(0)); }
  std::int64_t operator()(const ArgMax& /*op*/) const { return element_count(input(0)); }
  std::int64_t operator()(const Scatter& op) const { return op.reduction ? element_count(input(2)) : 0; }
  std::int64_t operator()(const Resize& op) const { return resize_work(op, input(0), op.shape); }
  // Per cell: the gates' matrix rows, 4 biases, 5 functions, 3 products and 1 sum.
  std::int64_t operator()(const Lstm& lstm) const {
    return product({outputs(), 8, input(0)[2] + lstm.hidden}) + product({outputs(), 13});
  }
  // Per gate: matrix rows, two biases and the function; per cell up to 6 more products and sums.
  std::int64_t operator()(const Recurrent& r) const {
    const Shape& x = input(0);
    const std::int64_t cells = product({x[0], direction_count(r.direction), x[1], r.hidden});
    return product({cells, gate_count(r.cell), 2, x[2] + r.hidden}) + product({cells, gate_count(r.cell), 3}) +
           (r.cell == RecurrentCell::kRnn ? 0 : product({cells, 6}));
  }
  // Each element of dy meets the x of its kernel.
  std::int64_t operator()(const ConvolutionWeightGradient& op) const {
    const std::int64_t channels = input(0)[1] / (op.shared_input ? 1 : op.models) / op.groups;
    const std::int64_t positions = element_count(input(1));
    return product({positions, 2, channels, element_count(op.window.kernel)}) + (op.bias ? positions : 0);
  }
  std::int64_t operator()(const GemmWeightGradient& op) const {
    const Shape& dy = input(1);
    return product({element_count(input(0)), 2, dy.back()}) + (op.bias ? element_count(dy) : 0);
  }
  std::int64_t operator()(const PoolGradient& op) const {
    return product({element_count(input(0)), element_count(op.pool.window.kernel)});
  }
  std::int64_t operator()(const ActivationGradient& /*op*/) const { return product({outputs(), 2}); }
  // Product and its sum, then difference and product.
  std::int64_t operator()(const SoftmaxGradient& /*op*/) const { return product({outputs(), 4}); }
  // Maximum, difference, exponential and sum.
  std::int64_t operator()(const SoftmaxCrossEntropy& /*op*/) const { return product({element_count(input(0)), 4}); }
  std::int64_t operator()(const SoftmaxCrossEntropyGradient& /*op*/) const { return product({outputs(), 6}); }
  // Sum, difference, square and its sum.
  std::int64_t operator()(const BatchStatistics& /*op*/) const { return product({element_count(input(0)), 4}); }
  std::int64_t operator()(const NormalizeByStatistics& /*op*/) const { return product({outputs(), 4}); }
  // The normalised value in two, its product with dy, and two sums.
  std::int64_t operator()(const BatchNormalizationWeightGradient& /*op*/) const {
    return product({element_count(input(0)), 5});
  }
  std::int64_t operator()(const BatchNormalizationGradient& /*op*/) const { return product({outputs(), 7}); }
  // Statistics, the normalised value, two sums with dy, and the result of them.
  std::int64_t operator()(const LayerNormalizationGradient& /*op*/) const { return product({outputs(), 15}); }
  std::int64_t operator()(const GroupNormalizationGradient& /*op*/) const { return product({outputs(), 15}); }
  std::int64_t operator()(const LayerNormalizationWeightGradient& /*op*/) const {
    return product({element_count(input(0)), 9});
  }
  std::int64_t operator()(const GroupNormalizationWeightGradient& /*op*/) const {
    return product({element_count(input(0)), 9});
  }
  // Sums of squares and of products, then scale, two powers and what joins them.
  std::int64_t operator()(const LocalResponseNormalizationGradient& op) const {
    return product({outputs(), 4, op.normalization.size}) + product({outputs(), 8});
  }
  // The layer again, whose gates are not kept, then two products for each of its own.
  std::int64_t operator()(const LstmGradient& op) const {
    const Shape& x = input(0);
    const std::int64_t cells = product({x[0], x[1], op.hidden});
    return product({cells, 24, x[2] + op.hidden}) + product({cells, 40});
  }
  std::int64_t operator()(const RecurrentGradient& op) const {
    const Shape& x = input(0);
    const Recurrent& layer = op.layer;
    const std::int64_t cells = product({x[0], direction_count(layer.direction), x[1], layer.hidden});
    return product({cells, gate_count(layer.cell), 6, x[2] + layer.hidden}) +
           product({cells, gate_count(layer.cell), 10});
  }
  std::int64_t operator()(const GatherGradient& /*op*/) const { return element_count(input(1)); }
  std::int64_t operator()(const ResizeGradient& op) const { return resize_work(op.resize, op.shape, input(0)); }
  // A random number, a comparison and a product.
  std::int64_t operator()(const Dropout& /*op*/) const { return product({outputs(), 3}); }
  std::int64_t operator()(const Update& op) const {
    const std::int64_t parameters = outputs() / state_rows(op);
    const std::int64_t clip = op.clip ? 1 : 0;
    // Decay and step, of SGD with momentum the velocity; of Adam two moments, their correction, a root and a division.
    if (op.rule != UpdateRule::kSgd) return product({parameters, 16 + clip});
    return product({parameters, 4 + (op.momentum ? 2 : 0) + (op.nesterov ? 2 : 0) + clip});
  }
  std::int64_t operator()(const RunningAverage& /*op*/) const { return product({outputs(), 3}); }
  // Ops that only move elements.
  template <class Moving>
  std::int64_t operator()(const Moving& /*op*/) const {
    return 0;
  }

  [[nodiscard]] std::int64_t outputs() const { return element_count(model_.tensor(op_.outputs[0]).shape); }

 private:
  [[nodiscard]] const Shape& input(std::size_t i) const { return model_.tensor(op_.inputs[i]).shape; }
  [[nodiscard]] std::int64_t bias(std::size_t i) const { return own_input_count(op_) > i ? outputs() : 0; }

  const Model& model_;
  const Op& op_;
};

Bytes bytes_of(const Tensor& tensor) { return {element_count(tensor.shape) * 4}; }

}  // namespace

OpWork work_of(const Model& model, const Op& op) {
  OpWork work;
  const FlopCounter count(model, op);
  work.flops.value = std::visit(count, op.attributes);
  work.flops.value += product({count.outputs(), static_cast<std::int64_t>(op.post_ops.size())});
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto earlier = op.inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(op.inputs.begin(), earlier, op.inputs[i]) != earlier) continue;
    const Tensor& tensor = model.tensor(op.inputs[i]);
    // Of what is packed only the part that is taken out moves.
    const bool unpacks = std::holds_alternative<Unpack>(op.attributes) && i == 0;
    const Bytes bytes = bytes_of(unpacks ? model.tensor(op.outputs[0]) : tensor);
    work.read += bytes;
    if (tensor.role == TensorRole::kWeight || (unpacks && tensor.role == TensorRole::kState)) work.parameters += bytes;
  }
  for (const TensorId id : op.outputs) work.written += bytes_of(model.tensor(id));
  return work;
}

OpWork work_of(const Model& model) {
  OpWork total;
  for (const Op& op : model.ops) {
    const OpWork work = work_of(model, op);
    total.flops += work.flops;
    total.read += work.read;
    total.written += work.written;
    total.parameters += work.parameters;
  }
  return total;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Tensor& tensor : model.tensors) {
    if (tensor.role == TensorRole::kWeight) count += element_count(tensor.shape);
  }
  // Parameters of a training step are parts of a state.
  std::set<std::pair<TensorId, std::int64_t>> counted;
  for (const Op& op : model.ops) {
    const auto* const part = std::get_if<Unpack>(&op.attributes);
    if (part == nullptr || model.tensor(op.inputs[0]).role != TensorRole::kState) continue;
    if (counted.emplace(op.inputs[0], part->offset).second) count += element_count(part->shape);
  }
  return count;
}

}  // namespace cohort
