#include "executor/cuda/plugin/products.hpp"

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/plugin/convolutions.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/plugin/workspace.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

class BoundProduct final : public BoundCall {
 public:
  BoundProduct(cublasLtHandle_t handle, const GemmProblem& problem, const GemmProblem::Algorithm& algorithm,
               const GemmProblem::Pointers& pointers)
      : handle_(handle), problem_(&problem), algorithm_(&algorithm), pointers_(pointers) {}

  void finish_with(KernelLauncher& launcher, const own::MapArguments& epilogue) {
    launcher_ = &launcher;
    epilogue_ = epilogue;
  }

  void launch(StreamHandle stream) override {
    problem_->run(handle_, *algorithm_, pointers_, native(stream));
    if (launcher_ != nullptr) launcher_->launch(epilogue_, stream);
  }

 private:
  cublasLtHandle_t handle_;
  const GemmProblem* problem_;
  const GemmProblem::Algorithm* algorithm_;
  GemmProblem::Pointers pointers_;
  KernelLauncher* launcher_ = nullptr;
  own::MapArguments epilogue_;
};

class PreparedProduct final : public PreparedCall {
 public:
  PreparedProduct(OpCall call, cublasLtHandle_t handle, GemmProblem problem, GemmProblem::Algorithm algorithm,
                  KernelLauncher& launcher)
      : call_(std::move(call)),
        handle_(handle),
        problem_(std::move(problem)),
        algorithm_(std::move(algorithm)),
        launcher_(&launcher) {}

  void take_weights(std::span<const std::vector<float>> weights, WeightStore& store) {
    w_ = store.add(own::bytes_of(own::packed(call_, 1, weights), call_.outputs[0].type));
    if (own_input_count(call_) < 3) return;
    bias_ = store.add(own::bytes_of(own::packed(call_, 2, weights), call_.outputs[0].type));
    problem_.set_bias(bias_);
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    GemmProblem::Pointers pointers{w_, bias_, arguments.inputs[0], nullptr, arguments.outputs[0], nullptr};
    if (problem_.residual_input()) pointers.residual = arguments.inputs[*problem_.residual_input()];
    if (algorithm_.workspace.value > 0) pointers.workspace = aligned_workspace(arguments.workspace);
    auto bound = std::make_unique<BoundProduct>(handle_, problem_, algorithm_, pointers);
    if (problem_.fused_post_ops() == call_.post_ops.size()) return bound;
    const auto epilogue = make_epilogue(call_, arguments, nullptr, problem_.fused_post_ops());
    if (!epilogue) throw DeviceError(epilogue.error().message);
    bound->finish_with(*launcher_, *epilogue);
    return bound;
  }

 private:
  OpCall call_;
  cublasLtHandle_t handle_;
  GemmProblem problem_;
  GemmProblem::Algorithm algorithm_;
  KernelLauncher* launcher_;
  const void* w_ = nullptr;
  const void* bias_ = nullptr;
};

Alternative alternative_of(const OpCall& call, const GemmProblem::Algorithm& algorithm) {
  Alternative alternative{algorithm.name, 1, with_room_to_align(algorithm.workspace), {}};
  alternative.multiprocessors = call.multiprocessors;
  for (const Operand& operand : call.inputs) {
    if (const auto* const constant = std::get_if<WeightView>(&operand))
      alternative.packed_weights += Bytes{element_count(constant->shape) * element_bytes(constant->type)};
  }
  return alternative;
}

}  // namespace

std::vector<Alternative> Products::alternatives(const OpCall& call) const {
  if (!GemmProblem::fits(call)) return {};
  return lists_.of(call_key(call), [&] {
    std::vector<Alternative> list;
    for (const GemmProblem::Algorithm& algorithm : GemmProblem(call).algorithms(handle_))
      list.push_back(alternative_of(call, algorithm));
    return list;
  });
}

Result<std::unique_ptr<PreparedCall>> Products::prepare(const OpCall& call, const std::string& algorithm,
                                                        std::span<const std::vector<float>> weights, WeightStore& store,
                                                        KernelLauncher& launcher) const {
  if (!GemmProblem::fits(call))
    return fail(ErrorCode::kInvalidInput, "Gemm: cuBLASLt cannot run it on these strides; use \"own:dot\"");
  GemmProblem problem(call);
  auto chosen = problem.algorithm(handle_, algorithm);
  if (!chosen)
    return fail(ErrorCode::kInvalidInput, "Gemm: cuBLASLt {} has no algorithm \"{}\" for it here", cublasLtGetVersion(),
                algorithm);
  auto prepared = std::make_unique<PreparedProduct>(call, handle_, std::move(problem), *std::move(chosen), launcher);
  prepared->take_weights(weights, store);
  return prepared;
}

}  // namespace cohort::cuda
