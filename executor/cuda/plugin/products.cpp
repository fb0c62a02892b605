#include "executor/cuda/plugin/products.hpp"

#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/plugin/convolutions.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/plugin/workspace.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

/// Of algorithms behind which a kernel of ours computes db: "lt+own:66.20...".
constexpr std::string_view kOwnBias = "lt+own";

std::string with_own_bias(std::string name) { return name.replace(0, 2, kOwnBias); }
std::string without_own_bias(std::string name) {
  return name.starts_with(kOwnBias) ? name.replace(0, kOwnBias.size(), "lt") : name;
}

class BoundProduct final : public BoundCall {
 public:
  BoundProduct(cublasLtHandle_t handle, const GemmProblem& problem, const GemmProblem::Algorithm& algorithm,
               KernelLauncher& launcher)
      : handle_(handle), problem_(&problem), algorithm_(&algorithm), launcher_(&launcher) {}

  void set_pointers(const GemmProblem::Pointers& pointers) { pointers_ = pointers; }
  void begin_with(const own::KernelArguments& kernel) { before_ = kernel; }
  void finish_with(const own::KernelArguments& kernel) { behind_ = kernel; }

  void launch(StreamHandle stream) override {
    if (before_) launcher_->launch(*before_, stream);
    problem_->run(handle_, *algorithm_, pointers_, native(stream));
    if (behind_) launcher_->launch(*behind_, stream);
  }

 private:
  cublasLtHandle_t handle_;
  const GemmProblem* problem_;
  const GemmProblem::Algorithm* algorithm_;
  KernelLauncher* launcher_;
  GemmProblem::Pointers pointers_;
  std::optional<own::KernelArguments> before_, behind_;
};

Bytes staged_bytes(const LibraryProduct& product) {
  const std::int64_t bytes = product.staged_values * element_bytes(product.form.type);
  return Bytes{(bytes + 63) / 64 * 64};
}

class PreparedProduct final : public PreparedCall {
 public:
  PreparedProduct(OpCall call, LibraryProduct product, cublasLtHandle_t handle, GemmProblem problem,
                  GemmProblem::Algorithm algorithm, KernelLauncher& launcher)
      : call_(std::move(call)),
        product_(std::move(product)),
        handle_(handle),
        problem_(std::move(problem)),
        algorithm_(std::move(algorithm)),
        launcher_(&launcher) {}

  void take_weights(std::span<const std::vector<float>> weights, WeightStore& store) {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const auto* const constant = std::get_if<WeightView>(&call_.inputs[i]);
      constants_.push_back(
          constant == nullptr ? nullptr : store.add(own::bytes_of(own::packed(call_, i, weights), constant->type)));
    }
  }

  /// Parameters lie in one place whatever the slot, so that all that is bound may share the problem's bias.
  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    const own::Operands operands = own::operands_of(call_, arguments, constants_);
    const auto* const gradient = std::get_if<GemmWeightGradient>(&call_.attributes);
    auto bound = std::make_unique<BoundProduct>(handle_, problem_, algorithm_, *launcher_);
    GemmProblem::Pointers pointers{operands.inputs[product_.a].data, operands.inputs[product_.b].data, nullptr,
                                   arguments.outputs[0], nullptr};
    own::ProductRows rows{operands.inputs[0].data, 0, 0, {}};
    if (gradient != nullptr || product_.staged_values > 0)
      rows = own::product_rows(operands.inputs[0], is_stacked(), operands.workspace);
    if (rows.copying) {
      (product_.a == 0 ? pointers.a : pointers.b) = rows.data;
      bound->begin_with(*rows.copying);
    }
    if (product_.c) pointers.c = operands.inputs[*product_.c].data;
    if (product_.bias) problem_.set_bias(operands.inputs[*product_.bias].data);
    if (algorithm_.workspace.value > 0)
      pointers.workspace = aligned_workspace(arguments.workspace + staged_bytes(product_).value);
    bound->set_pointers(pointers);
    if (gradient != nullptr) {
      finish_gradient(*gradient, operands, rows, *bound);
    } else if (product_.fused_post_ops < call_.post_ops.size()) {
      const auto epilogue = make_epilogue(call_, arguments, nullptr, product_.fused_post_ops);
      if (!epilogue) throw DeviceError(epilogue.error().message);
      bound->finish_with(*epilogue);
    }
    return bound;
  }

 private:
  [[nodiscard]] bool is_stacked() const {
    if (const auto* const gemm = std::get_if<Gemm>(&call_.attributes)) return gemm->stacked;
    const auto* const gradient = std::get_if<GemmWeightGradient>(&call_.attributes);
    return gradient != nullptr && gradient->stacked;
  }

  /// What of the pack is neither dw nor by the library.
  void finish_gradient(const GemmWeightGradient& op, const own::Operands& operands, const own::ProductRows& rows,
                       BoundProduct& bound) {
    const bool by_library = product_.form.bias == ProductBias::kGradient;
    const std::int64_t size = call_.outputs[0].shape.back();
    if (by_library) {
      const std::int64_t place = pack_place(product_.weights);
      problem_.set_bias(static_cast<const float*>(operands.y) + place);
      if (place == product_.weights && place + product_.form.rows == size) return;
    }
    if (product_.weights == size) return;
    bound.finish_with(own::product_gradient(op, operands, rows, product_.weights, by_library));
  }

  OpCall call_;
  LibraryProduct product_;
  cublasLtHandle_t handle_;
  GemmProblem problem_;
  GemmProblem::Algorithm algorithm_;
  KernelLauncher* launcher_;
  std::vector<const void*> constants_;  ///< by input; null for views
};

Alternative alternative_of(const OpCall& call, const LibraryProduct& product, const GemmProblem::Algorithm& algorithm) {
  Alternative alternative{algorithm.name, 1, staged_bytes(product) + with_room_to_align(algorithm.workspace), {}};
  alternative.multiprocessors = call.multiprocessors;
  for (const Operand& operand : call.inputs) {
    if (const auto* const constant = std::get_if<WeightView>(&operand))
      alternative.packed_weights += Bytes{element_count(constant->shape) * element_bytes(constant->type)};
  }
  return alternative;
}

bool sums_bias(const OpCall& call) {
  const auto* const gradient = std::get_if<GemmWeightGradient>(&call.attributes);
  return gradient != nullptr && gradient->bias;
}

std::vector<Alternative> list_of(const OpCall& call, const LibraryProduct& product, cublasLtHandle_t handle) {
  std::vector<Alternative> list;
  for (const GemmProblem::Algorithm& algorithm : GemmProblem(product.form).algorithms(handle))
    list.push_back(alternative_of(call, product, algorithm));
  return list;
}

}  // namespace

std::vector<Alternative> Products::alternatives(const OpCall& call) const {
  const auto product = product_of(call);
  if (!product) return {};
  return lists_.of(call_key(call), [&] {
    std::vector<Alternative> list = list_of(call, *product, handle_);
    // Not every form of the product has the epilogue.
    if (!list.empty() || !sums_bias(call)) return list;
    list = list_of(call, *product_of(call, false), handle_);
    for (Alternative& alternative : list) alternative.algorithm = with_own_bias(std::move(alternative.algorithm));
    return list;
  });
}

Result<std::unique_ptr<PreparedCall>> Products::prepare(const OpCall& call, const std::string& algorithm,
                                                        std::span<const std::vector<float>> weights, WeightStore& store,
                                                        KernelLauncher& launcher) const {
  const std::string name = without_own_bias(algorithm);
  auto product = product_of(call, name == algorithm);
  if (!product)
    return fail(ErrorCode::kInvalidInput, "{}: cuBLASLt cannot run it on these strides; use own kernels",
                op_type(call.attributes));
  GemmProblem problem(product->form);
  auto chosen = problem.algorithm(handle_, name);
  if (!chosen)
    return fail(ErrorCode::kInvalidInput, "{}: cuBLASLt {} has no algorithm \"{}\" for it here",
                op_type(call.attributes), cublasLtGetVersion(), algorithm);
  auto prepared = std::make_unique<PreparedProduct>(call, *std::move(product), handle_, std::move(problem),
                                                    *std::move(chosen), launcher);
  prepared->take_weights(weights, store);
  return prepared;
}

}  // namespace cohort::cuda
