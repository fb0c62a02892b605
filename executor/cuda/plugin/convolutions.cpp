#include "executor/cuda/plugin/convolutions.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "executor/cuda/own/training_lowering.hpp"
#include "executor/cuda/plugin/convolution_filters.hpp"
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

bool is_plain(const OpCall& call) {
  return is_training_op(call.attributes) || (call.post_ops.empty() && own_input_count(call) < 3);
}

/// Whether a transposed convolution is the gradient of a convolution as cuDNN knows them: no padding is negative, and
/// that convolution makes of the result's extents those of x.
bool is_data_gradient(const ConvTranspose& op, const OpCall& call) {
  const Window& window = op.window;
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    if (window.pad_begin[d] < 0 || window.pad_end[d] < 0) return false;
    const std::int64_t reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t room = call.outputs[0].shape[d + 2] + window.pad_begin[d] + window.pad_end[d] - reach;
    if (room < 0 || room / window.stride[d] + 1 != shape_of(call.inputs[0])[d + 2]) return false;
  }
  return true;
}

/// Groups of one model do not adjoin those of the next where all share the input.
bool is_filter_gradient(const ConvolutionWeightGradient& op, const OpCall& call) {
  const bool shares_groups = op.shared_input && op.models > 1 && op.groups > 1;
  return !shares_groups && std::holds_alternative<View>(call.inputs[1]) && call.outputs[0].strides.back() == 1;
}

bool shares_groups(const Convolution& op, const OpCall& call) {
  const Shape& w = shape_of(call.inputs[1]);
  const std::int64_t models = w.size() > call.outputs[0].shape.size() ? w[0] : 1;
  return op.groups % models != 0 && op.groups > 1;
}

bool is_ours(const OpCall& call) {
  const View* const x = call.inputs.empty() ? nullptr : std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || x->shape.size() != 4 || !can_finish(call) || !own::check_supported(call)) return false;
  if (const auto* const op = std::get_if<Convolution>(&call.attributes)) return !shares_groups(*op, call);
  if (const auto* const op = std::get_if<ConvTranspose>(&call.attributes)) return is_data_gradient(*op, call);
  const auto* const op = std::get_if<ConvolutionWeightGradient>(&call.attributes);
  return op != nullptr && is_filter_gradient(*op, call);
}

bool is_grouped(const OpCall& call) {
  if (const auto* const op = std::get_if<Convolution>(&call.attributes)) return op->groups > 1;
  if (const auto* const op = std::get_if<ConvTranspose>(&call.attributes)) return op->groups > 1;
  const auto* const op = std::get_if<ConvolutionWeightGradient>(&call.attributes);
  return op != nullptr && (op->groups > 1 || (op->models > 1 && !op->shared_input));
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
  BoundConvolution(cudnnHandle_t handle, std::shared_ptr<Descriptor> plan, KernelLauncher& launcher)
      : handle_(handle), plan_(std::move(plan)), launcher_(&launcher) {}

  void set_pack(Descriptor pack) { pack_.emplace(std::move(pack)); }
  void begin_with(const own::KernelArguments& kernel) { before_.push_back(kernel); }
  void finish_with(const own::KernelArguments& kernel) { behind_.push_back(kernel); }

  void launch(StreamHandle stream) override {
    for (const own::KernelArguments& kernel : before_) launcher_->launch(kernel, stream);
    check_cudnn(cudnnSetStream(handle_, native(stream)), "cudnnSetStream");
    check_cudnn(cudnnBackendExecute(handle_, plan_->raw(), pack_->raw()), "cudnnBackendExecute");
    for (const own::KernelArguments& kernel : behind_) launcher_->launch(kernel, stream);
  }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<Descriptor> plan_;
  KernelLauncher* launcher_;
  std::optional<Descriptor> pack_;
  std::vector<own::KernelArguments> before_, behind_;
};

/// What a plan's tensors are, by their names in the graph.
struct NamedPointers {
  std::vector<std::int64_t> ids;
  std::vector<const void*> pointers;

  void add(std::int64_t id, const void* pointer) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
};

Descriptor variant_pack(const NamedPointers& named, const void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, named.ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(named.pointers.size()),
           named.pointers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return pack;
}

class PreparedConvolution final : public PreparedCall {
 public:
  struct Weights {
    const void* w = nullptr;  ///< null: they are no constants
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
    auto bound = std::make_unique<BoundConvolution>(handle_, plan_, *launcher_);
    std::byte* workspace = arguments.workspace;
    NamedPointers named;
    named.add(kXId, arguments.inputs[0]);
    if (const auto* const gradient = std::get_if<ConvolutionWeightGradient>(&call_.attributes)) {
      bind_gradient(*gradient, arguments, *bound, named, workspace);
    } else {
      bind_convolution(arguments, *bound, named, workspace);
    }
    bound->set_pack(variant_pack(named, workspace == nullptr ? nullptr : aligned_workspace(workspace)));
    return bound;
  }

 private:
  /// Space for a copy of so many bytes; the rest is the plan's.
  static std::byte* take(std::byte*& workspace, Bytes size) {
    std::byte* const taken = workspace;
    workspace += size.value;
    return taken;
  }

  void bind_convolution(const CallArguments& arguments, BoundConvolution& bound, NamedPointers& named,
                        std::byte*& workspace) const {
    const void* w = weights_.w != nullptr ? weights_.w : arguments.inputs[1];
    if (are_staged(call_)) {
      std::byte* const copy = take(workspace, staged_filters(call_));
      bound.begin_with(stage_filters(call_, w, copy));
      w = copy;
    }
    const bool biased = own_input_count(call_) > 2;
    const void* bias = !biased || weights_.bias != nullptr ? weights_.bias : arguments.inputs[2];
    if (is_bias_staged(call_)) {
      std::byte* const copy = take(workspace, staged_bias(call_));
      bound.begin_with(stage_bias(call_, bias, copy));
      bias = copy;
    }
    named.add(kWId, w);
    named.add(kYId, arguments.outputs[0]);
    if (fused_ && bias != nullptr) named.add(kBiasId, bias);
    for (std::size_t i = own_input_count(call_); fused_ && i < call_.inputs.size(); ++i)
      named.add(kFirstOperandId + static_cast<std::int64_t>(i), arguments.inputs[i]);
    if (fused_ || is_plain(call_)) return;
    const auto epilogue = make_epilogue(call_, arguments, bias);
    if (!epilogue) throw DeviceError(epilogue.error().message);
    bound.finish_with(*epilogue);
  }

  void bind_gradient(const ConvolutionWeightGradient& op, const CallArguments& arguments, BoundConvolution& bound,
                     NamedPointers& named, std::byte*& workspace) const {
    named.add(kWId, arguments.inputs[1]);
    void* dw = arguments.outputs[0];
    if (are_staged(call_)) {
      dw = take(workspace, staged_filters(call_));
      bound.finish_with(unstage_gradient(call_, dw, arguments.outputs[0]));
    }
    named.add(kYId, dw);
    const std::int64_t weights = element_count(filters_of(call_).shape) / op.models;
    if (weights == call_.outputs[0].shape.back()) return;
    bound.finish_with(own::filter_gradient(op, own::operands_of(call_, arguments, {}), weights, false));
  }

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
    list.push_back({fmt::format("{}{}", prefix, engine_name(engine)), 1,
                    staged_filters(call) + staged_bias(call) + with_room_to_align(engine.workspace),
                    weight_bytes(call)});
}

}  // namespace

Convolutions::Entry& Convolutions::entry(const OpCall& call) const {
  const auto [found, is_new] = entries_.try_emplace(call_key(call));
  Entry& entry = found->second;
  if (is_new && is_ours(call)) {
    // Behind gradients cuDNN does nothing more.
    if (is_plain(call) || std::holds_alternative<Convolution>(call.attributes))
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

/// cuDNN computes groups side by side on streams of its own, and each handle has one set of them. With one handle for
/// all streams, their grouped convolutions would wait for each other there.
cudnnHandle_t Convolutions::handle_for(const OpCall& call, int stream) const {
  return stream == 0 || !is_grouped(call) ? source_.handle : handles_[stream].raw();
}

Result<std::unique_ptr<PreparedCall>> Convolutions::prepare(const OpCall& call, const CallChoice& choice,
                                                            std::span<const std::vector<float>> weights,
                                                            WeightStore& store, KernelLauncher& launcher) const {
  const std::scoped_lock lock(mutex_);
  const std::string& algorithm = choice.algorithm;
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
                "{}: cuDNN {} has no algorithm \"{}\" for it here; its first choice is \"{}\"",
                op_type(call.attributes), cudnnGetVersion(), algorithm, list.empty() ? "none" : list.front().algorithm);
  }
  const auto stored = [&](std::size_t input) -> const void* {
    if (is_training_op(call.attributes) || own_input_count(call) <= input) return nullptr;
    if (!std::holds_alternative<WeightView>(call.inputs[input])) return nullptr;
    return store.add(own::bytes_of(own::packed(call, input, weights), call.outputs[0].type));
  };
  const PreparedConvolution::Weights on_device{stored(1), stored(2)};
  return std::make_unique<PreparedConvolution>(call, handle_for(call, choice.stream), plan, fused, on_device, launcher);
}

}  // namespace cohort::cuda
