#include "executor/cuda/plugin/cudnn_convolution.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "executor/cuda/plugin/convolution_filters.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

constexpr std::size_t kFirstChoices = 8;
/// What one heuristic may answer; a convolution has some tens of plans.
constexpr std::int64_t kMostResults = 128;

struct Extents {
  std::vector<std::int64_t> shape, strides;
};

/// Bytes to whose multiples a view's first element is aligned, at most 16. Buffers begin at 64.
std::int64_t alignment(const View& view) {
  std::int64_t bytes = 16;
  while ((view.offset * element_bytes(view.type)) % bytes != 0) bytes /= 2;
  return bytes;
}

cudnnDataType_t cudnn_type(DataType type) {
  return type == DataType::kBfloat16  ? CUDNN_DATA_BFLOAT16
         : type == DataType::kFloat16 ? CUDNN_DATA_HALF
                                      : CUDNN_DATA_FLOAT;
}

Descriptor tensor(std::int64_t id, const Extents& extents, std::int64_t align, cudnnDataType_t type, bool is_virtual) {
  Descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, align)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents.shape)
      .set(CUDNN_ATTR_TENSOR_STRIDES, extents.strides)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  result.finalize();
  return result;
}

Descriptor convolution_of(const Window& window) {
  Descriptor result(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  result.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pad_begin)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.pad_end)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.stride)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilation);
  result.finalize();
  return result;
}

Descriptor pointwise(cudnnPointwiseMode_t mode, const Activation& activation = {}) {
  Descriptor result(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  result.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  switch (activation.kind) {
    case ActivationKind::kLeakyRelu:
      result.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, 1,
                 std::array{static_cast<double>(activation.alpha)}.data());
      break;
    case ActivationKind::kClip:
      result
          .set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1,
               std::array{static_cast<double>(activation.alpha)}.data())
          .set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1,
               std::array{static_cast<double>(activation.beta)}.data());
      break;
    case ActivationKind::kElu:
      result.set(CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE, 1,
                 std::array{static_cast<double>(activation.alpha)}.data());
      break;
    default:
      break;
  }
  result.finalize();
  return result;
}

cudnnPointwiseMode_t mode_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kClip:
      return CUDNN_POINTWISE_RELU_FWD;
    case ActivationKind::kElu:
      return CUDNN_POINTWISE_ELU_FWD;
    case ActivationKind::kSigmoid:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case ActivationKind::kTanh:
      return CUDNN_POINTWISE_TANH_FWD;
    default:
      break;
  }
  throw DeviceError("cuDNN has no such activation behind a convolution");
}

/// Operations one behind the other: each reads what the one before wrote.
class Chain {
 public:
  Chain(const OpCall& call, std::vector<Descriptor>& parts, int operations)
      : y_(call.outputs[0]), parts_(parts), left_(operations) {}

  cudnnBackendDescriptor_t add_tensor(std::int64_t id, const Extents& extents, std::int64_t align) {
    return keep(tensor(id, extents, align, cudnn_type(y_.type), false));
  }
  cudnnBackendDescriptor_t keep(Descriptor part) {
    parts_.push_back(std::move(part));
    return parts_.back().raw();
  }
  /// What the next operation writes: the output if it is the last.
  cudnnBackendDescriptor_t next_result() {
    const bool last = --left_ == 0;
    const Extents extents{y_.shape, y_.strides};
    const cudnnDataType_t type = last ? cudnn_type(y_.type) : CUDNN_DATA_FLOAT;
    result_ = keep(tensor(last ? kYId : next_virtual_++, extents, alignment(y_), type, !last));
    return result_;
  }
  void add_pointwise(cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t operand, const Activation& activation = {}) {
    const cudnnBackendDescriptor_t from = result_;
    const cudnnBackendDescriptor_t how = keep(pointwise(mode, activation));
    const cudnnBackendDescriptor_t to = next_result();
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &from)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
    if (operand != nullptr)
      operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operand);
    operation.finalize();
    operations_.push_back(keep(std::move(operation)));
  }
  void add_convolution(const OpCall& call) {
    if (std::holds_alternative<ConvTranspose>(call.attributes)) return add_data_gradient(call);
    if (std::holds_alternative<ConvolutionWeightGradient>(call.attributes)) return add_filter_gradient(call);
    const cudnnBackendDescriptor_t from = add_image(call, 0, kXId);
    const cudnnBackendDescriptor_t weights = add_filters(call);
    const cudnnBackendDescriptor_t how = keep(convolution_of(std::get<Convolution>(call.attributes).window));
    const cudnnBackendDescriptor_t to = next_result();
    Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &from)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &weights)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
    operation.finalize();
    operations_.push_back(keep(std::move(operation)));
  }
  [[nodiscard]] const std::vector<cudnnBackendDescriptor_t>& operations() const { return operations_; }

 private:
  cudnnBackendDescriptor_t add_image(const OpCall& call, std::size_t input, std::int64_t id) {
    const View& view = std::get<View>(call.inputs[input]);
    return add_tensor(id, {view.shape, view.strides}, alignment(view));
  }
  cudnnBackendDescriptor_t add_filters(const OpCall& call) {
    const Filters filters = filters_of(call);
    const bool in_place = !are_staged(call);
    const auto* const view = in_place ? std::get_if<View>(&call.inputs[1]) : nullptr;
    return add_tensor(kWId, {filters.shape, filters.strides}, view != nullptr ? alignment(*view) : 16);
  }
  /// A transposed convolution is what a convolution's gradient by its input is: of x, its result's gradient.
  void add_data_gradient(const OpCall& call) {
    const cudnnBackendDescriptor_t from = add_image(call, 0, kXId);
    const cudnnBackendDescriptor_t weights = add_filters(call);
    const cudnnBackendDescriptor_t how = keep(convolution_of(std::get<ConvTranspose>(call.attributes).window));
    const cudnnBackendDescriptor_t to = next_result();
    Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &from)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &weights)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0F);
    operation.finalize();
    operations_.push_back(keep(std::move(operation)));
  }
  void add_filter_gradient(const OpCall& call) {
    const cudnnBackendDescriptor_t from = add_image(call, 0, kXId);
    const cudnnBackendDescriptor_t by_result = add_image(call, 1, kWId);
    const cudnnBackendDescriptor_t how =
        keep(convolution_of(std::get<ConvolutionWeightGradient>(call.attributes).window));
    const Filters filters = filters_of(call);
    const cudnnBackendDescriptor_t to =
        add_tensor(kYId, {filters.shape, filters.strides}, are_staged(call) ? 16 : alignment(y_));
    Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &from)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &by_result)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0F);
    operation.finalize();
    operations_.push_back(keep(std::move(operation)));
  }

  const View& y_;
  std::vector<Descriptor>& parts_;
  int left_;
  std::int64_t next_virtual_ = 1000;
  cudnnBackendDescriptor_t result_ = nullptr;
  std::vector<cudnnBackendDescriptor_t> operations_;
};

void add_residual(Chain& chain, const OpCall& call, std::size_t post_op) {
  const std::size_t operand = std::get<AddOperand>(call.post_ops[post_op]).operand;
  const View& view = std::get<View>(call.inputs[operand]);
  const std::int64_t id = kFirstOperandId + static_cast<std::int64_t>(operand);
  chain.add_pointwise(CUDNN_POINTWISE_ADD, chain.add_tensor(id, {view.shape, view.strides}, alignment(view)));
}

}  // namespace

bool is_refused(const Engine& engine, const NumericLimits& limits) {
  return std::any_of(engine.notes.begin(), engine.notes.end(), [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return !limits.tensor_cores;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return !limits.rounds_operands;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return true;
      // Transforms of so large a tile cancel: 5x5 filters over 64 channels, computed so in float32, are off by 1.5% of
      // the outputs' root mean square, beyond what any precision promises. Tiles of 4 and 6 are off by 2e-6 at most.
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return !limits.nondeterministic;
      default:
        return false;
    }
  });
}

namespace {

void take_notes(const Descriptor& from, Engine& engine) {
  engine.notes =
      from.get_enums<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
  std::sort(engine.notes.begin(), engine.notes.end());
}

/// Index, knobs and notes of a configuration the heuristic gave.
Engine describe(const Descriptor& config) {
  Engine engine;
  Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = of.raw();
  std::int64_t count = 0;
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw);
  engine.index = of.get_int64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  take_notes(of, engine);

  std::vector<Descriptor> choices;
  std::vector<cudnnBackendDescriptor_t> raws;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    raws.push_back(choices.back().raw());
  }
  count = 0;
  config.get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS, &count,
             raws.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Knob knob;
    std::int64_t one = 0;
    choices[i].get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &one, &knob.type);
    knob.value = choices[i].get_int64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    engine.knobs.push_back(knob);
  }
  std::sort(engine.knobs.begin(), engine.knobs.end(), [](const Knob& a, const Knob& b) { return a.type < b.type; });
  return engine;
}

int decade(Bytes bytes) {
  int result = 0;
  for (std::int64_t value = bytes.value; value > 0; value /= 10) ++result;
  return result;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// An engine whose preparation fails, or a heuristic that does, is not an alternative; others may well be.
template <class Work>
auto or_none(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const DeviceError&) {
    return {};
  }
}

}  // namespace

NumericLimits limits_of(Precision precision) {
  return {precision != Precision::kFloat32, precision == Precision::kTf32, false};
}

std::string engine_name(const Engine& engine) {
  std::string name = fmt::format("eng{}", engine.index);
  for (std::size_t i = 0; i < engine.knobs.size(); ++i)
    name += fmt::format("{}{}={}", i == 0 ? ':' : ',', static_cast<int>(engine.knobs[i].type), engine.knobs[i].value);
  return name;
}

std::optional<Engine> engine_from(std::string_view name) {
  Engine engine;
  if (!name.starts_with("eng")) return std::nullopt;
  name.remove_prefix(3);
  if (!take_number(name, engine.index)) return std::nullopt;
  while (!name.empty()) {
    if (name[0] != (engine.knobs.empty() ? ':' : ',')) return std::nullopt;
    name.remove_prefix(1);
    int type = 0;
    Knob knob;
    if (!take_number(name, type) || !name.starts_with('=')) return std::nullopt;
    name.remove_prefix(1);
    if (!take_number(name, knob.value)) return std::nullopt;
    knob.type = static_cast<cudnnBackendKnobType_t>(type);
    engine.knobs.push_back(knob);
  }
  return engine;
}

ConvolutionGraph::ConvolutionGraph(const OpCall& call, const EngineSource& source, bool fused) : source_(source) {
  const bool biased = own_input_count(call) > 2;
  const int extra = fused ? (biased ? 1 : 0) + static_cast<int>(call.post_ops.size()) : 0;
  parts_.reserve(static_cast<std::size_t>(8 + 5 * extra));
  Chain chain(call, parts_, 1 + extra);
  chain.add_convolution(call);
  // cuDNN fuses a residual in float32 only before the bias; sums are the same up to rounding.
  const bool residual_first =
      fused && biased && !call.post_ops.empty() && std::holds_alternative<AddOperand>(call.post_ops.front());
  if (residual_first) add_residual(chain, call, 0);
  if (fused && biased) {
    const std::int64_t channels = call.outputs[0].shape[1];
    const Extents extents{{1, channels, 1, 1}, {channels, 1, channels, channels}};
    const View* const bias = std::get_if<View>(&call.inputs[2]);
    const std::int64_t aligned = bias != nullptr && !is_bias_staged(call) ? alignment(*bias) : 16;
    chain.add_pointwise(CUDNN_POINTWISE_ADD, chain.add_tensor(kBiasId, extents, aligned));
  }
  for (std::size_t i = residual_first ? 1 : 0; fused && i < call.post_ops.size(); ++i) {
    if (const auto* const activation = std::get_if<Activation>(&call.post_ops[i])) {
      chain.add_pointwise(mode_of(activation->kind), nullptr, *activation);
    } else {
      add_residual(chain, call, i);
    }
  }
  graph_.emplace(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, chain.operations());
  if (source_.handle != nullptr) graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, source_.handle);
  graph_->finalize();
}

std::vector<Descriptor> ConvolutionGraph::ranked(cudnnBackendHeurMode_t mode) const {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (source_.handle == nullptr) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *source_.properties);
  if (!heuristic.try_finalize()) return {};
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raws;
  for (std::int64_t i = 0; i < kMostResults; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raws.push_back(configs.back().raw());
  }
  std::int64_t count = 0;
  heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostResults, &count, raws.data());
  configs.erase(configs.begin() + std::min(count, kMostResults), configs.end());
  return configs;
}

std::optional<Descriptor> ConvolutionGraph::plan_of(const Descriptor& config) const {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (source_.handle != nullptr) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, source_.handle);
  } else {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *source_.properties);
  }
  if (!plan.try_finalize()) return std::nullopt;
  return plan;
}

std::vector<Engine> ConvolutionGraph::engines(const NumericLimits& limits) const {
  std::vector<Engine> list;
  std::set<std::string> names;
  std::set<int> decades;
  std::set<std::vector<cudnnBackendNumericalNote_t>> classes;
  std::set<std::int64_t> prepared;  // engines, of which each can take a second to compile a kernel
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const Descriptor& config : or_none([&] { return ranked(mode); })) {
      Engine engine = describe(config);
      if (is_refused(engine, limits) || names.contains(engine_name(engine))) continue;
      // Beyond the first choices only another engine's workspace is likely to be another.
      if (list.size() >= kFirstChoices && prepared.contains(engine.index)) continue;
      prepared.insert(engine.index);
      const std::optional<Descriptor> plan = or_none([&] { return plan_of(config); });
      if (!plan) continue;
      engine.workspace = Bytes{plan->get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)};
      const bool new_decade = decades.insert(decade(engine.workspace)).second;
      const bool new_class = classes.insert(engine.notes).second;
      if (list.size() >= kFirstChoices && !new_decade && !new_class) continue;
      names.insert(engine_name(engine));
      list.push_back(std::move(engine));
    }
  }
  return list;
}

std::optional<Descriptor> ConvolutionGraph::plan(const Engine& engine, const NumericLimits& limits) const {
  Descriptor made(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  made.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph_).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, engine.index);
  if (source_.handle == nullptr) made.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *source_.properties);
  if (!made.try_finalize()) return std::nullopt;
  Engine known = engine;
  take_notes(made, known);
  if (is_refused(known, limits)) return std::nullopt;
  std::vector<Descriptor> choices;
  std::vector<cudnnBackendDescriptor_t> raws;
  for (const Knob& knob : engine.knobs) {
    Descriptor& choice = choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob.type)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, knob.value);
    choice.finalize();
    raws.push_back(choice.raw());
  }
  Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, made);
  if (!raws.empty()) config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, raws);
  if (!config.try_finalize()) return std::nullopt;
  return plan_of(config);
}

}  // namespace cohort::cuda
