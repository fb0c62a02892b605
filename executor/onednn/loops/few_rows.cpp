// Fully connected layers of few samples, of one model or of several side by side: each weight is read once, and the
// bias and what follows are applied while results are near. The library's products are made for more rows.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/packed_product.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/rows.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// More samples are the library's, for which it has better products. It has none of quantised weights: of more samples
/// the profile says which is faster.
constexpr std::int64_t kMostSamples = 6, kMostQuantized = 32;
/// Of fewer outputs most of a strip would be padding.
constexpr std::int64_t kLeastOutputs = 8;

/// A layer as it is prepared: x [models, samples, inputs], y [models, samples, outputs].
struct FewSamples {
  std::int64_t models = 1, samples = 0, outputs = 0;
  Packing packing = {};
  std::int64_t x_model = 0, x_sample = 0, y_model = 0, y_sample = 0;  ///< elements from one to the next
  bool biased = false;
  /// A tensor that is added, as a residual is.
  struct Added {
    std::size_t operand = 0;
    std::int64_t model = 0, sample = 0;  ///< elements from one to the next
  };
  std::vector<Added> added = {};
  std::vector<std::pair<ActivationLoops, Activation>> functions = {};  ///< of the sum
  int threads = 1;

  [[nodiscard]] std::int64_t strips() const { return (outputs + kLanes - 1) / kLanes; }

  void run(const HostArguments& arguments) const {
    in_parallel(threads, models * strips(), samples * packing.inner * kLanes,
                [&](std::int64_t begin, std::int64_t end) {
                  while (begin < end) {
                    const std::int64_t model = begin / strips(), first = begin % strips();
                    const std::int64_t last = std::min(strips(), first + end - begin);
                    run_strips(arguments, model, first * kLanes, std::min(last * kLanes, outputs));
                    begin += last - first;
                  }
                });
  }

 private:
  /// Outputs [begin, end) of a model.
  void run_strips(const HostArguments& arguments, std::int64_t model, std::int64_t begin, std::int64_t end) const {
    const float* const x = arguments.inputs[0] + model * x_model;
    const float* const w = arguments.inputs[1] + model * packing.size(outputs) + packing.size(begin);
    float* const y = arguments.outputs[0] + model * y_model + begin;
    for (std::int64_t n = 0; n < samples; ++n) begin_row(arguments, model, n, begin, end, y + n * y_sample);
    multiply_packed(samples, end - begin, packing, {x, x_sample}, w, y, y_sample, /*threads=*/1);
    for (const auto& [loops, function] : functions) {
      for (std::int64_t n = 0; n < samples; ++n) {
        float* const row = y + n * y_sample;
        loops({row, 1, end - begin, function.alpha, function.beta, row, 1});
      }
    }
  }

  /// What products are added to. Few outputs at a time, as a tensor that is added may lie where the result will.
  void begin_row(const HostArguments& arguments, std::int64_t model, std::int64_t sample, std::int64_t begin,
                 std::int64_t end, float* row) const {
    const float* const bias = biased ? arguments.inputs[2] + model * outputs : nullptr;
    for (std::int64_t first = begin; first < end; first += kLanes) {
      const std::int64_t count = std::min(kLanes, end - first);
      float sums[kLanes] = {};
      if (bias != nullptr) std::copy_n(bias + first, count, sums);
      for (const Added& each : added) {
        const float* const from = arguments.inputs[each.operand] + model * each.model + sample * each.sample + first;
        for (std::int64_t c = 0; c < count; ++c) sums[c] += from[c];
      }
      std::copy_n(sums, count, row + (first - begin));
    }
  }
};

/// Takes the call's post-ops: tensors to add, and functions of the sum. Returns whether they are in that order, rows of
/// the tensors lie in one piece, and there are loops for the functions.
bool take_post_ops(const OpCall& call, bool stacked, FewSamples& layer) {
  for (const PostOp& post_op : call.post_ops) {
    if (const auto* const add = std::get_if<AddOperand>(&post_op)) {
      const View view = view_of(call, add->operand);
      const bool adjoin = layer.outputs == 1 || view.strides.back() == 1;
      if (!adjoin || !layer.functions.empty()) return false;
      layer.added.push_back({add->operand, stacked ? view.strides[0] : 0, view.strides[stacked ? 1 : 0]});
    } else {
      const auto& activation = std::get<Activation>(post_op);
      const ActivationLoops loops = activation_loops(activation);
      if (loops == nullptr) return false;
      layer.functions.emplace_back(loops, activation);
    }
  }
  return true;
}

/// Empty where rows of x or y do not lie in one piece and in logical order.
std::optional<FewSamples> layer_of(const Gemm& op, const OpCall& call) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  const std::size_t sample = op.stacked ? 1 : 0, output = sample + 1;
  const std::optional<Rows> rows = rows_of(x, output);
  if (!rows || !rows->logical || (y.shape[output] > 1 && y.strides[output] != 1)) return std::nullopt;
  FewSamples layer;
  layer.models = op.stacked ? y.shape[0] : 1;
  layer.samples = y.shape[sample];
  layer.outputs = y.shape[output];
  layer.packing = {shape_of(call.inputs[1]).back(), op.quantized_weights};
  layer.x_model = op.stacked ? x.strides[0] : 0;
  layer.y_model = op.stacked ? y.strides[0] : 0;
  layer.x_sample = x.strides[sample];
  layer.y_sample = y.strides[sample];
  layer.biased = own_input_count(call) > 2;
  return layer;
}

}  // namespace

OwnWays own_ways(const Gemm& op, const OpCall& call, int threads) {
  const bool constant = is_constant(call, 1) && (own_input_count(call) < 3 || is_constant(call, 2));
  if (!constant) return {};
  std::optional<FewSamples> layer = layer_of(op, call);
  if (!layer || !take_post_ops(call, op.stacked, *layer) ||
      layer->samples > (op.quantized_weights ? kMostQuantized : kMostSamples) || layer->outputs < kLeastOutputs)
    return {};
  layer->threads = threads;
  // The library would read several times as much of the weights.
  const bool leads = op.quantized_weights && layer->samples <= kMostSamples;
  OwnWay way{[layer = *layer](const HostArguments& arguments) { layer.run(arguments); }, {}, leads};
  way.pack = [packing = layer->packing, outputs = layer->outputs](std::size_t input, const std::vector<float>& values) {
    return input == 1 ? packing.pack(values, outputs) : values;
  };
  way.padding = Bytes{layer->models * layer->packing.padding(layer->outputs).value};
  return {way};
}

}  // namespace cohort::onednn
