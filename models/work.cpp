#include <algorithm>

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

/// Operations of an op without its post-ops. A function such as exp or a power counts as one.
class FlopCounter {
 public:
  FlopCounter(const Model& model, const Op& op) : model_(model), op_(op) {}

  std::int64_t operator()(const Convolution& /*op*/) const {
    const Shape& w = input(1);
    return product({outputs(), 2, w[1], w[2], w[3]}) + bias(2);
  }
  std::int64_t operator()(const Pool& pool) const {
    return product({outputs(), pool.window.kernel[0], pool.window.kernel[1]});
  }
  std::int64_t operator()(const Gemm& /*op*/) const { return product({outputs(), 2, input(1).back()}) + bias(2); }
  // The statistics are constants, so that one multiplication and one addition remain.
  std::int64_t operator()(const BatchNormalization& /*op*/) const { return product({outputs(), 2}); }
  // Sum of squares, then scale, offset, power and division.
  std::int64_t operator()(const LocalResponseNormalization& lrn) const {
    return product({outputs(), 2, lrn.size}) + product({outputs(), 4});
  }
  std::int64_t operator()(const Activation& /*op*/) const { return outputs(); }
  std::int64_t operator()(const Binary& /*op*/) const { return outputs(); }
  std::int64_t operator()(const Concat& /*op*/) const { return 0; }
  // Maximum, difference, exponential, sum and division.
  std::int64_t operator()(const Softmax& /*op*/) const { return product({outputs(), 5}); }
  std::int64_t operator()(const Reshape& /*op*/) const { return 0; }
  // Per cell: the gates' matrix rows, 4 biases, 5 functions, 3 products and 1 sum.
  std::int64_t operator()(const Lstm& lstm) const {
    return product({outputs(), 8, input(0)[2] + lstm.hidden}) + product({outputs(), 13});
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
    work.read += bytes_of(tensor);
    if (tensor.role == TensorRole::kWeight) work.parameters += bytes_of(tensor);
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
  return count;
}

}  // namespace cohort
