#include "executor/onednn/loops/row_steps.hpp"

#include <utility>

#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {

std::vector<std::int64_t> position_offsets(const View& view) {
  std::vector<std::int64_t> offsets;
  const Shape shape = reference::without(view.shape, 1);
  reference::for_each_index<1>(shape, {reference::without(view.strides, 1)},
                               [&](const auto& at) { offsets.push_back(at[0]); });
  return offsets;
}

bool has_dense_parameters(const OpCall& call) {
  for (std::size_t i = 1; i < own_input_count(call); ++i) {
    if (!is_dense(view_of(call, i), Layout::kNchw)) return false;
  }
  return true;
}

std::optional<std::vector<FusedStep>> fused_steps(const OpCall& call) {
  std::vector<FusedStep> steps;
  for (const PostOp& post_op : call.post_ops) {
    FusedStep step;
    if (const auto* const add = std::get_if<AddOperand>(&post_op)) {
      step.operand = add->operand;
    } else {
      step.activation = std::get<Activation>(post_op);
      step.loops = activation_loops(step.activation);
      if (step.loops == nullptr) return std::nullopt;
    }
    steps.push_back(step);
  }
  return steps;
}

std::optional<RowSteps> RowSteps::of(const OpCall& call) {
  RowSteps result;
  const View& y = call.outputs[0];
  result.outputs_ = position_offsets(y);
  result.channels_ = y.shape[1];
  result.channel_step_ = y.strides[1];
  result.has_bias_ = own_input_count(call) > 2;
  const auto fused = fused_steps(call);
  if (!fused) return std::nullopt;
  for (const FusedStep& each : *fused) {
    Step step{each};
    if (each.loops == nullptr) {
      const View added = view_of(call, each.operand);
      step.positions = position_offsets(added);
      step.channel_step = added.strides[1];
    }
    result.steps_.push_back(std::move(step));
  }
  return result;
}

namespace {

/// rows[i][k] += bias[k] for channels [begin, end) of `count` rows.
COHORT_VECTORS void add_bias(float* rows, std::int64_t count, std::int64_t channels, std::int64_t begin,
                             std::int64_t end, const float* bias) {
  for (std::int64_t i = 0; i < count; ++i) {
#pragma omp simd
    for (std::int64_t k = begin; k < end; ++k) rows[i * channels + k] += bias[k];
  }
}

}  // namespace

void RowSteps::finish(const HostArguments& arguments, float* rows, std::int64_t first, std::int64_t count,
                      std::int64_t begin, std::int64_t end) const {
  if (has_bias_) add_bias(rows, count, channels_, begin, end, arguments.inputs[2]);
  for (const Step& step : steps_) {
    const auto apply = [&](float* values, std::int64_t number) {
      step.loops({values, 1, number, step.activation.alpha, step.activation.beta, values, 1});
    };
    if (step.loops != nullptr && end - begin == channels_) {
      apply(rows, count * channels_);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      float* const row = rows + i * channels_;
      if (step.loops != nullptr) {
        apply(row + begin, end - begin);
      } else {
        const float* const added = arguments.inputs[step.operand] + step.positions[static_cast<std::size_t>(first + i)];
        for (std::int64_t k = begin; k < end; ++k) row[k] += added[k * step.channel_step];
      }
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    float* const y = arguments.outputs[0] + outputs_[static_cast<std::size_t>(first + i)];
    for (std::int64_t k = begin; k < end; ++k) y[k * channel_step_] = rows[i * channels_ + k];
  }
}

}  // namespace cohort::onednn
