#include "executor/cuda/own/own_calls.hpp"

#include <algorithm>

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/own/recurrent_steps.hpp"
#include "executor/cuda/own/table.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

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
  std::string_view operator()(const Gather&) const { return "own:gather"; }
  std::string_view operator()(const Scatter&) const { return "own:scatter"; }
  std::string_view operator()(const Select&) const { return "own:map"; }
  std::string_view operator()(const Cast&) const { return "own:map"; }
  std::string_view operator()(const Reduce&) const { return "own:reduce"; }
  std::string_view operator()(const ArgMax&) const { return "own:argmax"; }
  std::string_view operator()(const Resize&) const { return "own:resize"; }
  std::string_view operator()(const Pad&) const { return "own:pad"; }
  std::string_view operator()(const Tile&) const { return "own:pad"; }
  std::string_view operator()(const ConvTranspose&) const { return "own:transposed"; }
  std::string_view operator()(const MaxPoolIndices&) const { return "own:pool"; }
  std::string_view operator()(const GroupNormalization&) const { return "own:groupnorm"; }
  std::string_view operator()(const Pack&) const { return "own:map"; }
  std::string_view operator()(const Unpack&) const { return "own:map"; }
  std::string_view operator()(const ConvolutionWeightGradient&) const { return "own:direct"; }
  std::string_view operator()(const GemmWeightGradient&) const { return "own:dot"; }
  std::string_view operator()(const PoolGradient&) const { return "own:pool"; }
  std::string_view operator()(const ActivationGradient&) const { return "own:map"; }
  std::string_view operator()(const SoftmaxGradient&) const { return "own:softmax"; }
  std::string_view operator()(const SoftmaxCrossEntropy&) const { return "own:softmax"; }
  std::string_view operator()(const SoftmaxCrossEntropyGradient&) const { return "own:softmax"; }
  std::string_view operator()(const BatchStatistics&) const { return "own:batchnorm"; }
  std::string_view operator()(const NormalizeByStatistics&) const { return "own:batchnorm"; }
  std::string_view operator()(const BatchNormalizationWeightGradient&) const { return "own:batchnorm"; }
  std::string_view operator()(const BatchNormalizationGradient&) const { return "own:batchnorm"; }
  std::string_view operator()(const LayerNormalizationGradient&) const { return "own:layernorm"; }
  std::string_view operator()(const LayerNormalizationWeightGradient&) const { return "own:layernorm"; }
  std::string_view operator()(const GroupNormalizationGradient&) const { return "own:groupnorm"; }
  std::string_view operator()(const GroupNormalizationWeightGradient&) const { return "own:groupnorm"; }
  std::string_view operator()(const LocalResponseNormalizationGradient&) const { return "own:lrn"; }
  std::string_view operator()(const LstmGradient&) const { return "own:lstm"; }
  std::string_view operator()(const RecurrentGradient&) const { return "own:gru"; }
  std::string_view operator()(const GatherGradient&) const { return "own:gather"; }
  std::string_view operator()(const TensorSliceGradient&) const { return "own:map"; }
  std::string_view operator()(const ResizeGradient&) const { return "own:resize"; }
  std::string_view operator()(const Dropout&) const { return "own:dropout"; }
  std::string_view operator()(const Update&) const { return "own:update"; }
  std::string_view operator()(const RunningAverage&) const { return "own:map"; }
};

std::string algorithm_of(const OpCall& call) { return std::string(std::visit(Names{}, call.attributes)); }

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
      const auto* const constant = std::get_if<WeightView>(&call_.inputs[i]);
      const std::vector<float> values = constant != nullptr ? own::packed(call_, i, weights) : std::vector<float>{};
      constants_.push_back(values.empty() ? nullptr : store.add(own::bytes_of(values, constant->type)));
    }
    if (const std::vector<std::byte> table = own::table_of(call_); !table.empty()) table_ = store.add(table);
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    return std::make_unique<OwnBound>(*launcher_, kernels(arguments));
  }
  [[nodiscard]] std::vector<own::KernelArguments> kernels(const CallArguments& arguments) const {
    own::Operands operands = own::operands_of(call_, arguments, constants_);
    operands.table = table_;
    return own::kernels_of(call_, operands);
  }

 private:
  OpCall call_;
  KernelLauncher* launcher_;
  std::vector<const void*> constants_;
  const void* table_ = nullptr;
};

constexpr const char* kGrouped = "grouped";
constexpr const char* kSteps = "own:steps";
constexpr const char* kGroupedSteps = "grouped:steps";

std::string_view steps_name(const OpCall& call) { return call.parts.empty() ? kSteps : kGroupedSteps; }

/// Recurrent layers, of one member or several, as products over all of them.
class StepsPrepared final : public PreparedCall {
 public:
  StepsPrepared(own::RecurrentSteps steps, KernelLauncher& launcher, std::span<const std::vector<float>> weights,
                WeightStore& store)
      : steps_(std::move(steps)), launcher_(&launcher), store_(&store) {
    steps_.take_weights(weights, store);
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    return std::make_unique<OwnBound>(*launcher_, steps_.kernels(arguments, *store_));
  }

 private:
  own::RecurrentSteps steps_;
  KernelLauncher* launcher_;
  WeightStore* store_;
};

/// A part's workspace begins at a multiple of 64 bytes.
Bytes part_workspace(const OpCall& part) { return Bytes{(own::workspace_of(part).value + 63) / 64 * 64}; }

/// Ops of several members, each on its own tensors, in few launches.
class GroupedPrepared final : public PreparedCall {
 public:
  GroupedPrepared(const OpCall& call, KernelLauncher& launcher, std::span<const std::vector<float>> weights,
                  WeightStore& store)
      : calls_(parts_of(call)), launcher_(&launcher), store_(&store) {
    for (const OpCall& part : calls_) {
      const auto count =
          static_cast<std::size_t>(std::count_if(part.inputs.begin(), part.inputs.end(), [](const Operand& operand) {
            return std::holds_alternative<WeightView>(operand);
          }));
      parts_.push_back(std::make_unique<OwnPrepared>(part, launcher, weights.first(count), store));
      weights = weights.subspan(count);
    }
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    std::vector<std::vector<own::KernelArguments>> kernels;
    auto input = arguments.inputs.begin();
    std::byte* workspace = arguments.workspace;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto end = input + static_cast<std::ptrdiff_t>(calls_[i].inputs.size());
      kernels.push_back(parts_[i]->kernels({{input, end}, {arguments.outputs[i]}, workspace}));
      input = end;
      if (workspace != nullptr) workspace += part_workspace(calls_[i]).value;
    }
    return std::make_unique<OwnBound>(*launcher_, own::tabled(kernels, *store_));
  }

 private:
  std::vector<OpCall> calls_;
  KernelLauncher* launcher_;
  WeightStore* store_;
  std::vector<std::unique_ptr<OwnPrepared>> parts_;
};

Result<void> check_grouped(const OpCall& call) {
  for (const OpCall& part : parts_of(call)) COHORT_CHECK(own::check_supported(part));
  return {};
}

Alternative grouped_alternative(const OpCall& call) {
  Alternative all{kGrouped, 1, {}, {}, true, {}};
  for (const OpCall& part : parts_of(call)) {
    all.alone = algorithm_of(part);  // the same for all: they are of one kind
    all.workspace += part_workspace(part);
    all.packed_weights += own_alternative(part).packed_weights + own::kTableRoom;
  }
  return all;
}

class OwnCalls final : public CallFactory {
 public:
  explicit OwnCalls(KernelLauncher& launcher) : launcher_(&launcher) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    const bool grouped = !call.parts.empty();
    COHORT_CHECK(grouped ? check_grouped(call) : own::check_supported(call));
    std::vector<Alternative> list{grouped ? grouped_alternative(call) : own_alternative(call)};
    if (const auto steps = own::RecurrentSteps::of(call))
      list.push_back({std::string(steps_name(call)), 1, steps->workspace(), steps->packed_weights(), grouped,
                      grouped ? kSteps : ""});
    for (Alternative& alternative : list) alternative.threads = threads;
    return list;
  }
  /// A sample's values must lie together for a product: lowering copies them where they do not.
  bool accepts_strides(const OpCall& call) const override { return own::takes_samples(call); }
  /// tf32 is a right to round, not a duty.
  std::vector<Precision> precisions() const override {
    return {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16, Precision::kFloat16};
  }
  int cores() const override { return 1; }

  Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const CallChoice& choice,
                                                std::span<const std::vector<float>> weights,
                                                WeightStore& store) const override {
    const std::string& algorithm = choice.algorithm;
    const bool grouped = !call.parts.empty();
    COHORT_CHECK(grouped ? check_grouped(call) : own::check_supported(call));
    COHORT_CHECK(check_weights(call, weights));
    if (algorithm == steps_name(call)) {
      auto steps = own::RecurrentSteps::of(call);
      if (!steps)
        return fail(ErrorCode::kInvalidInput,
                    "{}: \"{}\" is for GRUs and LSTMs in float32, of equal shapes and two steps or more",
                    op_type(call.attributes), algorithm);
      return std::make_unique<StepsPrepared>(*std::move(steps), *launcher_, weights, store);
    }
    if (grouped && algorithm == kGrouped) return std::make_unique<GroupedPrepared>(call, *launcher_, weights, store);
    if (grouped || algorithm != algorithm_of(call))
      return fail(ErrorCode::kInvalidInput, "{}: unknown algorithm \"{}\"; own kernels have only \"{}\"",
                  op_type(call.attributes), algorithm, grouped ? kGrouped : algorithm_of(call));
    return std::make_unique<OwnPrepared>(call, *launcher_, weights, store);
  }

 private:
  KernelLauncher* launcher_;
};

}  // namespace

Alternative own_alternative(const OpCall& call) {
  Alternative alternative{algorithm_of(call), 1, own::workspace_of(call), {}};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool folded = own::is_folded(call) && i > 2 && i < 5;
    const auto* const constant = std::get_if<WeightView>(&call.inputs[i]);
    const std::int64_t copies = std::holds_alternative<Scatter>(call.attributes) && i == 1 ? 2 : 1;  // sorted
    if (constant != nullptr && !folded)
      alternative.packed_weights += Bytes{copies * element_count(constant->shape) * element_bytes(constant->type)};
  }
  alternative.packed_weights += Bytes{static_cast<std::int64_t>(own::table_of(call).size())};
  return alternative;
}

Result<own::MapArguments> make_epilogue(const OpCall& call, const CallArguments& arguments, const void* bias,
                                        std::size_t first) {
  if (call.post_ops.size() - first > static_cast<std::size_t>(own::kMaxPostOps))
    return fail(ErrorCode::kInvalidInput, "{}: {} post-ops are more than {}", op_type(call.attributes),
                call.post_ops.size(), own::kMaxPostOps);
  return own::epilogue(call, own::operands_of(call, arguments, {}), bias, first);
}

std::unique_ptr<CallFactory> make_own_calls(KernelLauncher& launcher) { return std::make_unique<OwnCalls>(launcher); }

}  // namespace cohort::cuda
