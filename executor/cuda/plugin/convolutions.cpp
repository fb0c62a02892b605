#include "executor/cuda/plugin/convolutions.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/plugin/workspace.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

constexpr std::string_view kFusedPrefix = "cudnn:";
constexpr std::string_view kBarePrefix = "cudnn+own:";
constexpr std::size_t kAll = SIZE_MAX;
/// Bare convolutions listed where cuDNN can do the rest, too: those pay a launch and a round trip to memory.
constexpr std::size_t kFewBare = 2;

/// Everything behind the bare convolution can be done by cuDNN or by a kernel of ours.
bool can_finish(const OpCall& call) {
  if (call.post_ops.size() > static_cast<std::size_t>(own::kMaxPostOps)) return false;
  return std::all_of(call.post_ops.begin(), call.post_ops.end(), [&](const PostOp& post_op) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) return true;
    const View* const view = std::get_if<View>(&call.inputs[add->operand]);
    return view != nullptr && view->buffer != call.outputs[0].buffer;
  });
}

bool is_plain(const OpCall& call) { return call.post_ops.empty() && own_input_count(call) < 3; }

bool is_ours(const OpCall& call) {
  return std::holds_alternative<Convolution>(call.attributes) && call.outputs[0].shape.size() == 4 &&
         std::holds_alternative<View>(call.inputs[0]) && can_finish(call) && own::check_supported(call).has_value();
}

Bytes weight_bytes(const OpCall& call) {
  Bytes bytes;
  for (const Operand& operand : call.inputs) {
    if (const auto* const constant = std::get_if<WeightView>(&operand))
      bytes += Bytes{element_count(constant->shape) * element_bytes(constant->type)};
  }
  return bytes;
}

class BoundConvolution final : public BoundCall {
 public:
  BoundConvolution(cudnnHandle_t handle, std::shared_ptr<Descriptor> plan, Descriptor pack)
      : handle_(handle), plan_(std::move(plan)), pack_(std::move(pack)) {}

  void finish_with(KernelLauncher& launcher, const own::MapArguments& epilogue) {
    launcher_ = &launcher;
    epilogue_ = epilogue;
  }

  void launch(StreamHandle stream) override {
    check_cudnn(cudnnSetStream(handle_, native(stream)), "cudnnSetStream");
    check_cudnn(cudnnBackendExecute(handle_, plan_->raw(), pack_.raw()), "cudnnBackendExecute");
    if (launcher_ != nullptr) launcher_->launch(epilogue_, stream);
  }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<Descriptor> plan_;
  Descriptor pack_;
  KernelLauncher* launcher_ = nullptr;
  own::MapArguments epilogue_;
};

class PreparedConvolution final : public PreparedCall {
 public:
  struct Weights {
    const void* w = nullptr;
    const void* bias = nullptr;
  };
  PreparedConvolution(OpCall call, cudnnHandle_t handle, std::shared_ptr<Descriptor> plan, bool fused, Weights weights,
                      KernelLauncher& launcher)
      : call_(std::move(call)),
        handle_(handle),
        plan_(std::move(plan)),
        fused_(fused),
        weights_(weights),
        launcher_(&launcher) {}

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    std::vector<std::int64_t> ids{kXId, kWId, kYId};
    std::vector<const void*> pointers{arguments.inputs[0], weights_.w, arguments.outputs[0]};
    if (fused_ && weights_.bias != nullptr) {
      ids.push_back(kBiasId);
      pointers.push_back(weights_.bias);
    }
    for (std::size_t i = own_input_count(call_); fused_ && i < call_.inputs.size(); ++i) {
      ids.push_back(kFirstOperandId + static_cast<std::int64_t>(i));
      pointers.push_back(arguments.inputs[i]);
    }
    const void* const workspace = arguments.workspace == nullptr ? nullptr : aligned_workspace(arguments.workspace);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
             pointers.data())
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    pack.finalize();
    auto bound = std::make_unique<BoundConvolution>(handle_, plan_, std::move(pack));
    if (fused_ || is_plain(call_)) return bound;
    const auto epilogue = make_epilogue(call_, arguments, weights_.bias);
    if (!epilogue) throw DeviceError(epilogue.error().message);
    bound->finish_with(*launcher_, *epilogue);
    return bound;
  }

 private:
  OpCall call_;
  cudnnHandle_t handle_;
  std::shared_ptr<Descriptor> plan_;
  bool fused_;
  Weights weights_;
  KernelLauncher* launcher_;
};

}  // namespace

std::string call_key(const OpCall& call) {
  std::string key =
      fmt::format("{} {} {} ", to_string(call.precision), to_string(call.outputs[0].type), call.multiprocessors) +
      canonical(call.attributes, call.post_ops);
  for (const Operand& operand : call.inputs) {
    if (const auto* const view = std::get_if<View>(&operand)) {
      key += fmt::format(" {}/{}@{}{}", fmt::join(view->shape, ","), fmt::join(view->strides, ","), view->offset % 16,
                         view->buffer == call.outputs[0].buffer ? "=" : "");
    } else {
      key += fmt::format(" const {}", fmt::join(shape_of(operand), ","));
    }
  }
  const View& y = call.outputs[0];
  return key + fmt::format(" -> {}/{}@{}", fmt::join(y.shape, ","), fmt::join(y.strides, ","), y.offset % 16);
}

namespace {

std::unique_ptr<ConvolutionGraph> graph_of(const OpCall& call, const EngineSource& source, bool fused) {
  try {
    return std::make_unique<ConvolutionGraph>(call, source, fused);
  } catch (const DeviceError&) {
    return nullptr;  // a pattern that cuDNN does not know; the bare convolution may still do
  }
}

/// None where cuDNN refuses to rank its engines.
std::vector<Engine> engines_of(const OpCall& call, const ConvolutionGraph* graph) {
  if (graph == nullptr) return {};
  try {
    return graph->engines(limits_of(call.precision));
  } catch (const DeviceError&) {
    return {};
  }
}

/// No more than `most`.
void add_engines(const OpCall& call, std::vector<Engine> engines, std::string_view prefix, std::size_t most,
                 std::vector<Alternative>& list) {
  if (engines.size() > most) engines.resize(most);
  for (const Engine& engine : engines)
    list.push_back({fmt::format("{}{}", prefix, engine_name(engine)), 1, with_room_to_align(engine.workspace),
                    weight_bytes(call)});
}

}  // namespace

Convolutions::Entry& Convolutions::entry(const OpCall& call) const {
  const auto [found, is_new] = entries_.try_emplace(call_key(call));
  Entry& entry = found->second;
  if (is_new && is_ours(call)) {
    entry.fused = graph_of(call, source_, true);
    if (!is_plain(call)) entry.bare = graph_of(call, source_, false);
  }
  return entry;
}

const std::vector<Alternative>& Convolutions::list_of(const OpCall& call, Entry& entry) {
  if (!entry.list) {
    std::vector<Alternative>& list = entry.list.emplace();
    std::vector<Engine> fused = engines_of(call, entry.fused.get());
    std::vector<Engine> bare = engines_of(call, entry.bare.get());
    // Behind some activations cuDNN has nothing but its general engine; without them it has its best ones.
    if (fused.size() > 1 || bare.empty()) {
      add_engines(call, std::move(fused), kFusedPrefix, kAll, list);
      add_engines(call, std::move(bare), kBarePrefix, kFewBare, list);
    } else {
      add_engines(call, std::move(bare), kBarePrefix, kAll, list);
      add_engines(call, std::move(fused), kFusedPrefix, kAll, list);
    }
  }
  return *entry.list;
}

std::vector<Alternative> Convolutions::alternatives(const OpCall& call) const {
  const std::scoped_lock lock(mutex_);
  return list_of(call, entry(call));
}

Result<std::unique_ptr<PreparedCall>> Convolutions::prepare(const OpCall& call, const std::string& algorithm,
                                                            std::span<const std::vector<float>> weights,
                                                            WeightStore& store, KernelLauncher& launcher) const {
  const std::scoped_lock lock(mutex_);
  Entry& known = entry(call);
  const bool fused = algorithm.starts_with(kFusedPrefix);
  const std::string_view prefix = fused ? kFusedPrefix : kBarePrefix;
  std::shared_ptr<Descriptor>& plan = known.plans[algorithm];
  const auto engine = engine_from(std::string_view(algorithm).substr(std::min(prefix.size(), algorithm.size())));
  const ConvolutionGraph* const graph = fused ? known.fused.get() : known.bare.get();
  if (plan == nullptr && engine && graph != nullptr) {
    if (std::optional<Descriptor> made = graph->plan(*engine, limits_of(call.precision)))
      plan = std::make_shared<Descriptor>(*std::move(made));
  }
  if (plan == nullptr) {
    const std::vector<Alternative>& list = list_of(call, known);
    return fail(ErrorCode::kInvalidInput,
                "Convolution: cuDNN {} has no algorithm \"{}\" for it here; its first choice is \"{}\"",
                cudnnGetVersion(), algorithm, list.empty() ? "none" : list.front().algorithm);
  }
  PreparedConvolution::Weights on_device;
  on_device.w = store.add(own::bytes_of(own::packed(call, 1, weights), call.outputs[0].type));
  if (own_input_count(call) > 2)
    on_device.bias = store.add(own::bytes_of(own::packed(call, 2, weights), call.outputs[0].type));
  return std::make_unique<PreparedConvolution>(call, source_.handle, plan, fused, on_device, launcher);
}

}  // namespace cohort::cuda
