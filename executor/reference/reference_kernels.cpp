#include "executor/reference/reference_kernels.hpp"

#include <stdexcept>
#include <vector>

#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/grouped.hpp"
#include "models/compute/ops.hpp"

namespace cohort {
namespace {

constexpr const char* kAlgorithm = "reference";

/// A prepared call: operands with their constant values, memory to come.
class ReferenceKernel final : public HostKernel {
 public:
  ReferenceKernel(const OpCall& call, std::span<const std::vector<float>> weights)
      : attributes_(call.attributes), post_ops_(call.post_ops), own_inputs_(own_input_count(call)) {
    for (const Operand& operand : call.inputs) {
      if (const auto* const view = std::get_if<View>(&operand)) {
        inputs_.push_back({nullptr, view->shape, view->strides});
        constants_.emplace_back();
      } else {
        const Shape& shape = shape_of(operand);
        inputs_.push_back({nullptr, shape, reference::row_major_strides(shape)});
        constants_.push_back(weights.front());
        weights = weights.subspan(1);
      }
    }
    output_ = {nullptr, call.outputs[0].shape, call.outputs[0].strides};
    if (!post_ops_.empty()) scratch_.resize(static_cast<std::size_t>(element_count(output_.shape)));
  }

  void run(const HostArguments& arguments) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].data = constants_[i].empty() ? arguments.inputs[i] : constants_[i].data();
    }
    output_.data = arguments.outputs[0];
    const std::span<const reference::ConstTensor> own = std::span(inputs_).first(own_inputs_);
    // Post-ops work on a copy, because an added operand may lie where the output does.
    const reference::Tensor result = post_ops_.empty() ? output_
                                                       : reference::Tensor{scratch_.data(), output_.shape,
                                                                           reference::row_major_strides(output_.shape)};
    try {
      std::visit([&](const auto& op) { reference::compute(op, own, result); }, attributes_);
    } catch (const std::range_error& error) {
      throw DeviceError(fmt::format("{}: {}", op_type(attributes_), error.what()));
    }
    if (!post_ops_.empty()) finish(result);
  }

 private:
  void finish(const reference::Tensor& result) const {
    const reference::ConstTensor constant{result.data, result.shape, result.strides};
    for (const PostOp& post_op : post_ops_) {
      if (const auto* const operand = std::get_if<AddOperand>(&post_op)) {
        reference::add(inputs_[operand->operand], result);
      } else {
        reference::compute(std::get<Activation>(post_op), {&constant, 1}, result);
      }
    }
    reference::copy(constant, output_);
  }

  OpAttributes attributes_;
  std::vector<PostOp> post_ops_;
  std::size_t own_inputs_;
  std::vector<reference::ConstTensor> inputs_;
  std::vector<std::vector<float>> constants_;  ///< by input; empty for views
  reference::Tensor output_;
  std::vector<float> scratch_;
};

class ReferenceKernels final : public HostKernels {
 public:
  explicit ReferenceKernels(int cores) : cores_(cores) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (!call.parts.empty()) return grouped_alternatives(*this, call, threads);
    COHORT_CHECK(check_call(call));
    Bytes constants;
    for (const Operand& operand : call.inputs) {
      if (!std::holds_alternative<WeightView>(operand)) continue;
      constants += Bytes{element_count(shape_of(operand)) * std::int64_t{sizeof(float)}};
    }
    return std::vector<Alternative>{{kAlgorithm, threads, Bytes{0}, constants}};
  }

  bool accepts_strides(const OpCall&) const override { return true; }
  int cores() const override { return cores_; }

  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int threads,
                                              std::span<const std::vector<float>> weights) const override {
    if (!call.parts.empty()) return prepare_grouped(*this, call, algorithm, threads, weights);
    COHORT_CHECK(check_call(call));
    if (algorithm != kAlgorithm) {
      return fail(ErrorCode::kInvalidInput, "{}: unknown algorithm \"{}\"; the reference has only \"{}\"",
                  op_type(call.attributes), algorithm, kAlgorithm);
    }
    COHORT_CHECK(check_weights(call, weights));
    return std::make_unique<ReferenceKernel>(call, weights);
  }

  void use_threads(int, std::span<const int>) const override {}

 private:
  int cores_;
};

}  // namespace

std::unique_ptr<HostKernels> make_reference_kernels(int cores) { return std::make_unique<ReferenceKernels>(cores); }

DeviceInfo reference_device_info(int cores) {
  DeviceInfo info;
  info.id = "reference:0";
  info.kind = "reference";
  info.name = "plain loops, for comparison";
  info.cores = cores;
  return info;
}

}  // namespace cohort
