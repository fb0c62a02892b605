#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/model.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// What a kind of device ("cpu", "cuda") is best at. Convolutions on tensor cores, and oneDNN's, are for NHWC; of those
/// in float32, without tensor cores, cuDNN 9.19 ranks such first as copy NHWC to NCHW and back in their workspace: 201
/// MiB for resnet18's at minibatch 16, none in NCHW (`cohort devices --ways resnet18 --minibatch 16 --described`, an
/// H200).
Layout usual_layout(std::string_view device_kind, Precision precision);

/// How each tensor of `model` lies in memory in a plan of `layout`, by TensorId. Only those of 4 dimensions and more
/// can differ from it. What convolutions, poolings and the like read and write has the plan's layout, and so has what
/// is computed from it element by element. What matrix products and layer normalisations work on, such as attention's
/// [minibatch, heads, tokens, features], has no channels, and lies in logical order with what is computed from it; so
/// does what has to do with neither, as between two Reshapes. O(ops + tensors).
std::vector<Layout> tensor_layouts(const Model& model, Layout layout);

/// The layout for a plan of `op` alone, which then finds its tensors as they lie in a plan of `layout` of the
/// whole model: logical order where all those of 4 dimensions and more have it.
Layout layout_alone(const Model& model, const Op& op, Layout layout);

/// The strides with which a view's elements, in logical order, are those of a tensor of `shape`; empty where they
/// would have to move. Both have equally many elements.
std::optional<Shape> reshaped_strides(const View& view, const Shape& shape);

/// Of how many equal parts a view is one, where its rows lie so far apart that others of the kind fit between them:
/// 1 where it fills its memory, in whatever order.
std::int64_t stack_parts(const View& view);

}  // namespace cohort
