#include "executor/cuda/own/own_calls.hpp"

#include "executor/cuda/own/lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda {
namespace {

constexpr std::int64_t kElement = sizeof(float);

struct Names {
  std::string_view operator()(const Convolution&) const { return "own:direct"; }
  std::string_view operator()(const Pool&) const { return "own:pool"; }
  std::string_view operator()(const Gemm&) const { return "own:dot"; }
  std::string_view operator()(const LocalResponseNormalization&) const { return "own:lrn"; }
  std::string_view operator()(const Softmax&) const { return "own:softmax"; }
  std::string_view operator()(const Lstm&) const { return "own:lstm"; }
  std::string_view operator()(const Concat&) const { return "own:concat"; }
  std::string_view operator()(const Reshape&) const { return "own:reshape"; }
  std::string_view operator()(const BatchNormalization&) const { return "own:map"; }
  std::string_view operator()(const Activation&) const { return "own:map"; }
  std::string_view operator()(const Binary&) const { return "own:map"; }
  std::string_view operator()(const MatMul&) const { return "own:matmul"; }
  std::string_view operator()(const LayerNormalization&) const { return "own:layernorm"; }
  std::string_view operator()(const Recurrent&) const { return "own:gru"; }
  std::string_view operator()(const Transpose&) const { return "own:map"; }
  std::string_view operator()(const TensorSlice&) const { return "own:map"; }
  std::string_view operator()(const Expand&) const { return "own:map"; }
  template <class Other>  // check_supported() refuses these
  std::string_view operator()(const Other&) const {
    return "none";
  }
};

std::string algorithm_of(const OpCall& call) { return std::string(std::visit(Names{}, call.attributes)); }

/// `constants` by input, null for views.
own::Operands operands_of(const OpCall& call, const CallArguments& arguments,
                          const std::vector<const float*>& constants) {
  own::Operands operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (const auto* const view = std::get_if<View>(&call.inputs[i])) {
      operands.inputs.push_back({arguments.inputs[i], view->shape, view->strides});
    } else {
      const Shape& shape = shape_of(call.inputs[i]);
      operands.inputs.push_back(
          {i < constants.size() ? constants[i] : nullptr, shape, reference::row_major_strides(shape)});
    }
  }
  operands.y = arguments.outputs[0];
  operands.y_shape = call.outputs[0].shape;
  operands.y_strides = call.outputs[0].strides;
  operands.workspace = reinterpret_cast<float*>(arguments.workspace);
  operands.own_inputs = own_input_count(call);
  return operands;
}

class OwnBound final : public BoundCall {
 public:
  OwnBound(KernelLauncher& launcher, std::vector<own::KernelArguments> kernels)
      : launcher_(&launcher), kernels_(std::move(kernels)) {}

  void launch(StreamHandle stream) override {
    for (const own::KernelArguments& kernel : kernels_) launcher_->launch(kernel, stream);
  }

 private:
  KernelLauncher* launcher_;
  std::vector<own::KernelArguments> kernels_;
};

class OwnPrepared final : public PreparedCall {
 public:
  OwnPrepared(OpCall call, KernelLauncher& launcher, std::span<const std::vector<float>> weights, WeightStore& store)
      : call_(std::move(call)), launcher_(&launcher) {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const bool constant = std::holds_alternative<WeightView>(call_.inputs[i]);
      const std::vector<float> values = constant ? own::packed(call_, i, weights) : std::vector<float>{};
      constants_.push_back(values.empty() ? nullptr : store.add(values));
    }
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    return std::make_unique<OwnBound>(*launcher_, own::kernels_of(call_, operands_of(call_, arguments, constants_)));
  }

 private:
  OpCall call_;
  KernelLauncher* launcher_;
  std::vector<const float*> constants_;
};

class OwnCalls final : public CallFactory {
 public:
  explicit OwnCalls(KernelLauncher& launcher) : launcher_(&launcher) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    COHORT_CHECK(own::check_supported(call));
    Alternative alternative = own_alternative(call);
    alternative.threads = threads;
    return std::vector{alternative};
  }
  /// A sample's values must lie together for a product: lowering copies them where they do not.
  bool accepts_strides(const OpCall& call) const override {
    const auto* const gemm = std::get_if<Gemm>(&call.attributes);
    const View* const x = std::get_if<View>(&call.inputs[0]);
    return gemm == nullptr || x == nullptr || !own::memory_order(*x, gemm->stacked ? 2 : 1).empty();
  }
  int cores() const override { return 1; }

  Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const std::string& algorithm,
                                                std::span<const std::vector<float>> weights,
                                                WeightStore& store) const override {
    COHORT_CHECK(own::check_supported(call));
    COHORT_CHECK(check_weights(call, weights));
    if (algorithm != algorithm_of(call))
      return fail(ErrorCode::kInvalidInput, "{}: unknown algorithm \"{}\"; own kernels have only \"{}\"",
                  op_type(call.attributes), algorithm, algorithm_of(call));
    return std::make_unique<OwnPrepared>(call, *launcher_, weights, store);
  }

 private:
  KernelLauncher* launcher_;
};

}  // namespace

Alternative own_alternative(const OpCall& call) {
  Alternative alternative{algorithm_of(call), 1, own::workspace_of(call), {}};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool folded = std::holds_alternative<BatchNormalization>(call.attributes) && i > 2 && i < 5;
    if (std::holds_alternative<WeightView>(call.inputs[i]) && !folded)
      alternative.packed_weights += Bytes{element_count(shape_of(call.inputs[i])) * kElement};
  }
  return alternative;
}

Result<own::MapArguments> make_epilogue(const OpCall& call, const CallArguments& arguments, const float* bias,
                                        std::size_t first) {
  if (call.post_ops.size() - first > static_cast<std::size_t>(own::kMaxPostOps))
    return fail(ErrorCode::kInvalidInput, "{}: {} post-ops are more than {}", op_type(call.attributes),
                call.post_ops.size(), own::kMaxPostOps);
  return own::epilogue(call, operands_of(call, arguments, {}), bias, first);
}

std::unique_ptr<CallFactory> make_own_calls(KernelLauncher& launcher) { return std::make_unique<OwnCalls>(launcher); }

}  // namespace cohort::cuda
