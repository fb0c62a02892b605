#include "executor/cuda/plugin/recurrent.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "executor/cuda/own/recurrent_steps.hpp"
#include "executor/cuda/plugin/convolutions.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/plugin/workspace.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

constexpr std::string_view kPrefix = "lt-steps:";

/// Memory that is nowhere, aligned as the call's will be: for what depends on alignment alone.
CallArguments somewhere(std::span<const OpCall> calls) {
  constexpr std::uintptr_t kAligned = std::uintptr_t{1} << 20U;
  const auto place = [](const View& view) {
    return kAligned + static_cast<std::uintptr_t>(view.offset * element_bytes(view.type) % 64);
  };
  CallArguments arguments;
  for (const OpCall& call : calls) {
    for (const Operand& operand : call.inputs) {
      const View* const view = std::get_if<View>(&operand);
      arguments.inputs.push_back(view == nullptr ? nullptr : reinterpret_cast<const void*>(place(*view)));
    }
    arguments.outputs.push_back(reinterpret_cast<void*>(place(call.outputs[0])));
  }
  arguments.workspace = reinterpret_cast<std::byte*>(kAligned);
  return arguments;
}

bool is_biased(const OpCall& call) { return own_input_count(call) > 3; }

/// The two products of a call.
struct Problems {
  GemmProblem inputs, state;
};

std::uint32_t alignment_of(const void* data, std::int64_t row, std::int64_t batch) {
  constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));
  const auto place = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 64);
  std::uint32_t bytes = 64;
  for (const std::int64_t step : {place, row * kElement, batch * kElement}) {
    while (step % bytes != 0) bytes /= 2;
  }
  return bytes;
}

/// A product of own kernels, of float32 in rows; a sum with what is in y becomes C. Weights are where the store puts
/// them.
ProductForm form_of(const own::GemmArguments& product, const OpCall& call) {
  ProductForm form;
  form.rows = product.rows;
  form.columns = product.columns;
  form.inner = product.inner;
  form.batch = product.batch;
  form.a = {product.x_row, product.x_batch, false, alignment_of(product.x, product.x_row, product.x_batch)};
  form.b = {product.w_row, product.w_batch, true, 64};
  form.y = {product.y_row, product.y_batch, false, alignment_of(product.y, product.y_row, product.y_batch)};
  if (product.post.count > 0) form.c = form.y;
  if (product.bias != nullptr) form.bias = ProductBias::kAdded;
  form.bias_batch = product.bias_batch;
  form.precision = call.precision;
  form.multiprocessors = call.multiprocessors;
  return form;
}

Problems problems_of(const own::RecurrentSteps& steps) {
  const CallArguments arguments = somewhere(steps.calls());
  const OpCall& call = steps.calls().front();
  own::GemmArguments inputs = steps.product_of_inputs(arguments);
  // Weights are not there yet.
  inputs.bias = is_biased(call) ? reinterpret_cast<const void*>(std::uintptr_t{256}) : nullptr;
  return {GemmProblem(form_of(inputs, call)), GemmProblem(form_of(steps.product_of_state(arguments, 1), call))};
}

Bytes library_workspace(const GemmProblem::Algorithm& inputs, const GemmProblem::Algorithm& state) {
  return with_room_to_align(std::max(inputs.workspace, state.workspace));
}

struct Product {
  const GemmProblem* problem = nullptr;
  const GemmProblem::Algorithm* algorithm = nullptr;
  GemmProblem::Pointers pointers;
};

class BoundSteps final : public BoundCall {
 public:
  using Launch = std::variant<Product, own::KernelArguments>;
  BoundSteps(cublasLtHandle_t handle, KernelLauncher& launcher, std::vector<Launch> launches)
      : handle_(handle), launcher_(&launcher), launches_(std::move(launches)) {}

  void launch(StreamHandle stream) override {
    for (const Launch& launch : launches_) {
      if (const auto* const product = std::get_if<Product>(&launch)) {
        product->problem->run(handle_, *product->algorithm, product->pointers, native(stream));
      } else {
        launcher_->launch(std::get<own::KernelArguments>(launch), stream);
      }
    }
  }

 private:
  cublasLtHandle_t handle_;
  KernelLauncher* launcher_;
  std::vector<Launch> launches_;
};

class PreparedSteps final : public PreparedCall {
 public:
  struct Algorithms {
    GemmProblem::Algorithm inputs, state;
  };
  PreparedSteps(cublasLtHandle_t handle, KernelLauncher& launcher, own::RecurrentSteps steps, Problems problems,
                Algorithms algorithms)
      : handle_(handle),
        launcher_(&launcher),
        steps_(std::move(steps)),
        problems_(std::move(problems)),
        algorithms_(std::move(algorithms)) {}

  void take_weights(std::span<const std::vector<float>> weights, WeightStore& store) {
    steps_.take_weights(weights, store);
    store_ = &store;
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    std::byte* const workspace = aligned_workspace(arguments.workspace + steps_.workspace().value);
    std::vector<BoundSteps::Launch> launches;
    for (const own::KernelArguments& kernel : steps_.kernels(arguments, *store_)) {
      const auto* const gemm = std::get_if<own::GemmArguments>(&kernel);
      if (gemm == nullptr) {
        launches.emplace_back(kernel);
        continue;
      }
      const bool first = std::none_of(launches.begin(), launches.end(), [](const BoundSteps::Launch& launch) {
        return std::holds_alternative<Product>(launch);
      });
      if (first && gemm->bias != nullptr) problems_.inputs.set_bias(gemm->bias);
      const GemmProblem::Algorithm& algorithm = first ? algorithms_.inputs : algorithms_.state;
      launches.emplace_back(Product{first ? &problems_.inputs : &problems_.state,
                                    &algorithm,
                                    {gemm->x, gemm->w, gemm->post.count > 0 ? gemm->y : nullptr, gemm->y,
                                     algorithm.workspace.value > 0 ? workspace : nullptr}});
    }
    return std::make_unique<BoundSteps>(handle_, *launcher_, std::move(launches));
  }

 private:
  cublasLtHandle_t handle_;
  KernelLauncher* launcher_;
  WeightStore* store_ = nullptr;
  own::RecurrentSteps steps_;
  Problems problems_;
  Algorithms algorithms_;
};

}  // namespace

bool RecurrentProducts::names(std::string_view algorithm) { return algorithm.starts_with(kPrefix); }

std::vector<Alternative> RecurrentProducts::alternatives(const OpCall& call) const {
  const auto steps = own::RecurrentSteps::of(call);
  if (!steps) return {};
  std::string key;
  for (const OpCall& each : steps->calls()) key += call_key(each) + ";";
  const bool several = steps->calls().size() > 1;
  const std::vector<Alternative> alone = several ? alternatives(steps->calls().front()) : std::vector<Alternative>{};
  return lists_.of(std::move(key), [&] {
    std::vector<Alternative> list;
    const Problems problems = problems_of(*steps);
    const auto inputs = problems.inputs.algorithms(handle_);
    const auto state = problems.state.algorithms(handle_);
    if (inputs.empty() || state.empty()) return list;
    list.push_back({fmt::format("{}{}/{}", kPrefix, inputs[0].name, state[0].name), 1,
                    steps->workspace() + library_workspace(inputs[0], state[0]), steps->packed_weights(), several,
                    alone.empty() ? "" : alone.front().algorithm});
    list.back().multiprocessors = steps->calls().front().multiprocessors;
    return list;
  });
}

Result<std::unique_ptr<PreparedCall>> RecurrentProducts::prepare(const OpCall& call, const std::string& algorithm,
                                                                 std::span<const std::vector<float>> weights,
                                                                 WeightStore& store, KernelLauncher& launcher) const {
  const std::string_view name = std::string_view(algorithm).substr(kPrefix.size());
  const std::size_t slash = std::min(name.find('/'), name.size());
  auto steps = own::RecurrentSteps::of(call);
  if (!steps)
    return fail(ErrorCode::kInvalidInput,
                "{}: \"{}\" is for GRUs and LSTMs in float32, of equal shapes and two steps or more",
                op_type(call.attributes), algorithm);
  Problems problems = problems_of(*steps);
  auto inputs = problems.inputs.algorithm(handle_, name.substr(0, slash));
  auto state = problems.state.algorithm(handle_, name.substr(std::min(slash + 1, name.size())));
  if (!inputs || !state)
    return fail(ErrorCode::kInvalidInput, "{}: cuBLASLt {} has no algorithms \"{}\" for it here",
                op_type(call.attributes), cublasLtGetVersion(), algorithm);
  auto prepared = std::make_unique<PreparedSteps>(handle_, launcher, *std::move(steps), std::move(problems),
                                                  PreparedSteps::Algorithms{*std::move(inputs), *std::move(state)});
  prepared->take_weights(weights, store);
  return prepared;
}

}  // namespace cohort::cuda
