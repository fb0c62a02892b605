#include "simulator/plan/tensor_layout.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// Dimensions from which on a layout can differ from logical order.
constexpr std::size_t kLeastRank = 4;

/// Ops that treat the second dimension as channels.
bool has_channels(const OpAttributes& attributes) {
  return std::holds_alternative<Convolution>(attributes) || std::holds_alternative<ConvTranspose>(attributes) ||
         std::holds_alternative<Pool>(attributes) || std::holds_alternative<MaxPoolIndices>(attributes) ||
         std::holds_alternative<BatchNormalization>(attributes) ||
         std::holds_alternative<GroupNormalization>(attributes) ||
         std::holds_alternative<LocalResponseNormalization>(attributes) || std::holds_alternative<Resize>(attributes) ||
         std::holds_alternative<ConvolutionWeightGradient>(attributes) ||
         std::holds_alternative<PoolGradient>(attributes) || std::holds_alternative<BatchStatistics>(attributes) ||
         std::holds_alternative<NormalizeByStatistics>(attributes) ||
         std::holds_alternative<BatchNormalizationGradient>(attributes) ||
         std::holds_alternative<BatchNormalizationWeightGradient>(attributes) ||
         std::holds_alternative<GroupNormalizationGradient>(attributes) ||
         std::holds_alternative<GroupNormalizationWeightGradient>(attributes) ||
         std::holds_alternative<LocalResponseNormalizationGradient>(attributes) ||
         std::holds_alternative<ResizeGradient>(attributes);
}

/// Ops that work along the last dimensions.
bool has_rows(const OpAttributes& attributes) {
  return std::holds_alternative<MatMul>(attributes) || std::holds_alternative<LayerNormalization>(attributes) ||
         std::holds_alternative<LayerNormalizationGradient>(attributes) ||
         std::holds_alternative<LayerNormalizationWeightGradient>(attributes);
}

/// Ops whose tensors have nothing to do with each other's layout.
bool separates(const OpAttributes& attributes) {
  return has_channels(attributes) || std::holds_alternative<Reshape>(attributes) ||
         std::holds_alternative<Gemm>(attributes) || std::holds_alternative<GemmWeightGradient>(attributes) ||
         std::holds_alternative<Pack>(attributes) || std::holds_alternative<Unpack>(attributes);
}

template <class Visit>
void for_each_tensor(const Model& model, const Op& op, Visit visit) {
  for (const std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *list) {
      if (model.tensor(id).shape.size() >= kLeastRank) visit(id);
    }
  }
}

}  // namespace

Layout usual_layout(std::string_view device_kind, Precision precision) {
  return device_kind == "cuda" && precision == Precision::kFloat32 ? Layout::kNchw : Layout::kNhwc;
}

std::vector<Layout> tensor_layouts(const Model& model, Layout layout) {
  std::vector<Layout> layouts(model.tensors.size(), layout);
  if (layout == Layout::kNchw) return layouts;
  std::vector<bool> image(model.tensors.size(), false);
  std::vector<std::vector<const Op*>> users(model.tensors.size());
  std::vector<TensorId> pending;
  const auto take = [&](TensorId id) {
    if (image[to_index(id)] || layouts[to_index(id)] == Layout::kNchw) return;
    layouts[to_index(id)] = Layout::kNchw;
    pending.push_back(id);
  };
  for (const Op& op : model.ops) {
    for_each_tensor(model, op, [&](TensorId id) {
      if (has_channels(op.attributes)) image[to_index(id)] = true;
      if (!separates(op.attributes)) users[to_index(id)].push_back(&op);
    });
  }
  // What is unpacked, parameters above all, lies as it was packed.
  for (const Op& op : model.ops) {
    if (std::holds_alternative<Unpack>(op.attributes)) layouts[to_index(op.outputs[0])] = Layout::kNchw;
  }
  for (const Op& op : model.ops) {
    if (has_rows(op.attributes)) for_each_tensor(model, op, take);
  }
  while (!pending.empty()) {
    const TensorId id = pending.back();
    pending.pop_back();
    for (const Op* op : users[to_index(id)]) for_each_tensor(model, *op, take);
  }
  return layouts;
}

Layout layout_alone(const Model& model, const Op& op, Layout layout) {
  const std::vector<Layout> layouts = tensor_layouts(model, layout);
  bool any = false, all = true;
  for_each_tensor(model, op, [&](TensorId id) {
    if (model.tensor(id).role == TensorRole::kWeight) return;
    any = true;
    all = all && layouts[to_index(id)] == Layout::kNchw;
  });
  return any && all ? Layout::kNchw : layout;
}

std::int64_t stack_parts(const View& view) {
  const std::int64_t own = element_count(view.shape);
  std::int64_t spread = own;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1) spread = std::max(spread, view.shape[i] * view.strides[i]);
  }
  return own == 0 ? 1 : spread / own;
}

std::optional<Shape> reshaped_strides(const View& view, const Shape& shape) {
  Shape strides(shape.size(), 1);
  if (element_count(shape) == 0) return dense_strides(shape, Layout::kNchw);
  std::size_t to = shape.size();  // dimensions from here on have their strides
  for (std::size_t from = view.shape.size(); from > 0;) {
    // A run of dimensions whose elements lie at one distance, and as many of the new ones with as many elements.
    std::int64_t run = 1, distance = 1;
    while (from > 0 && (view.shape[from - 1] == 1 || run == 1 || view.strides[from - 1] == run * distance)) {
      --from;
      if (view.shape[from] > 1 && run == 1) distance = view.strides[from];
      run *= view.shape[from];
    }
    std::int64_t filled = 1;
    while (to > 0 && filled * shape[to - 1] <= run) {
      --to;
      strides[to] = filled * distance;
      filled *= shape[to];
    }
    if (filled != run) return std::nullopt;
  }
  return strides;
}

}  // namespace cohort
