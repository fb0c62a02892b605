#include "executor/cuda/plugin/convolution_filters.hpp"

#include "executor/cuda/own/lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda {
namespace {

const ConvolutionWeightGradient* gradient_of(const OpCall& call) {
  return std::get_if<ConvolutionWeightGradient>(&call.attributes);
}

/// [models, K, C/groups, R, S] where the operand lies.
own::Tensor by_models(const OpCall& call, const void* data) {
  const Filters filters = filters_of(call);
  const View& view = gradient_of(call) != nullptr ? call.outputs[0] : std::get<View>(call.inputs[1]);
  own::Tensor result{data, filters.shape, {}, view.type};
  result.shape[0] /= filters.models;
  result.shape.insert(result.shape.begin(), filters.models);
  if (gradient_of(call) != nullptr) {
    result.strides = reference::row_major_strides(result.shape);
    for (std::int64_t& each : result.strides) each *= view.strides.back();
    if (view.shape.size() > 1) result.strides[0] = view.strides[0];
  } else {
    result.strides = view.strides;
    if (result.strides.size() < result.shape.size()) result.strides.insert(result.strides.begin(), 0);
  }
  return result;
}

/// Strides of the copy by the same dimensions.
Shape copy_strides(const Filters& filters) {
  Shape strides = filters.strides;
  strides.insert(strides.begin(), filters.shape[0] / filters.models * filters.strides[0]);
  return strides;
}

Bytes rounded(std::int64_t bytes) { return Bytes{(bytes + 63) / 64 * 64}; }

}  // namespace

Filters filters_of(const OpCall& call) {
  Filters filters;
  const View* images = &call.outputs[0];
  if (const auto* const op = gradient_of(call)) {
    images = &std::get<View>(call.inputs[0]);
    filters.models = op->models;
    const std::int64_t groups = op->shared_input ? op->groups : op->models * op->groups;
    filters.shape = {shape_of(call.inputs[1])[1], images->shape[1] / groups};
    filters.shape.insert(filters.shape.end(), op->window.kernel.begin(), op->window.kernel.end());
  } else {
    filters.shape = shape_of(call.inputs[1]);
    if (filters.shape.size() > images->shape.size()) {
      filters.models = filters.shape[0];
      filters.shape[1] *= filters.shape[0];
      filters.shape.erase(filters.shape.begin());
    }
  }
  const Shape& s = filters.shape;
  filters.strides = reference::row_major_strides(s);
  if (own::channels_last(images->shape, images->strides)) filters.strides = {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
  return filters;
}

bool are_staged(const OpCall& call) {
  if (gradient_of(call) == nullptr && !std::holds_alternative<View>(call.inputs[1])) return false;
  const own::Tensor there = by_models(call, nullptr);
  const Shape strides = copy_strides(filters_of(call));
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (there.shape[d] != 1 && there.strides[d] != strides[d]) return true;
  }
  return false;
}

bool is_bias_staged(const OpCall& call) {
  if (gradient_of(call) != nullptr || own_input_count(call) < 3) return false;
  const View* const bias = std::get_if<View>(&call.inputs[2]);
  return bias != nullptr && (bias->shape.size() > 1 || (bias->shape[0] > 1 && bias->strides[0] != 1));
}

Bytes staged_filters(const OpCall& call) {
  return are_staged(call) ? rounded(element_count(filters_of(call).shape) * element_bytes(call.outputs[0].type))
                          : Bytes{};
}

Bytes staged_bias(const OpCall& call) {
  return is_bias_staged(call) ? rounded(element_count(shape_of(call.inputs[2])) * element_bytes(call.outputs[0].type))
                              : Bytes{};
}

own::KernelArguments stage_filters(const OpCall& call, const void* from, void* to) {
  return own::copy_of(by_models(call, from), to, copy_strides(filters_of(call)));
}

own::KernelArguments stage_bias(const OpCall& call, const void* from, void* to) {
  const View& bias = std::get<View>(call.inputs[2]);
  return own::copy_of({from, bias.shape, bias.strides, bias.type}, to, reference::row_major_strides(bias.shape));
}

own::KernelArguments unstage_gradient(const OpCall& call, const void* from, void* to) {
  const own::Tensor there = by_models(call, to);
  return own::copy_of({from, there.shape, copy_strides(filters_of(call)), there.type}, to, there.strides);
}

}  // namespace cohort::cuda
