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

/// Which tensors ops want in one layout.
class LayoutGraph {
 public:
  explicit LayoutGraph(const Model& model) : model_(model), users_(model.tensors.size()) {
    for (const Op& op : model.ops) {
      if (separates(op.attributes)) continue;
      for_each_tensor(model, op, [&](TensorId id) { users_[to_index(id)].push_back(&op); });
    }
  }

  /// By tensor: whether it is one of `seeds` or goes with one, other than through those that are `fixed`. What is fixed
  /// is not reached.
  [[nodiscard]] std::vector<bool> reached(const std::vector<TensorId>& seeds, const std::vector<bool>& fixed) const {
    std::vector<bool> found(model_.tensors.size(), false);
    std::vector<TensorId> pending;
    const auto take = [&](TensorId id) {
      if (fixed[to_index(id)] || found[to_index(id)]) return;
      found[to_index(id)] = true;
      pending.push_back(id);
    };
    for (const TensorId id : seeds) take(id);
    while (!pending.empty()) {
      const TensorId id = pending.back();
      pending.pop_back();
      for (const Op* op : users_[to_index(id)]) for_each_tensor(model_, *op, take);
    }
    return found;
  }

 private:
  const Model& model_;
  std::vector<std::vector<const Op*>> users_;  ///< by tensor
};

}  // namespace

Layout usual_layout(std::string_view device_kind, Precision precision) {
  return device_kind == "cuda" && precision == Precision::kFloat32 ? Layout::kNchw : Layout::kNhwc;
}

std::vector<Layout> tensor_layouts(const Model& model, Layout layout) {
  if (layout == Layout::kNchw) return std::vector<Layout>(model.tensors.size(), layout);
  const LayoutGraph graph(model);
  std::vector<TensorId> images, rows;
  for (const Op& op : model.ops) {
    for_each_tensor(model, op, [&](TensorId id) {
      if (has_channels(op.attributes)) images.push_back(id);
      if (has_rows(op.attributes)) rows.push_back(id);
    });
  }
  std::vector<bool> fixed(model.tensors.size(), false);
  for (const TensorId id : images) fixed[to_index(id)] = true;
  const std::vector<bool> near_images = graph.reached(images, std::vector<bool>(model.tensors.size(), false));
  const std::vector<bool> near_rows = graph.reached(rows, fixed);
  std::vector<Layout> layouts(model.tensors.size(), layout);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const bool is_image = fixed[i] || (near_images[i] && !near_rows[i]);
    if (model.tensors[i].shape.size() >= kLeastRank && !is_image) layouts[i] = Layout::kNchw;
  }
  // What is unpacked, parameters above all, lies as it was packed.
  for (const Op& op : model.ops) {
    if (std::holds_alternative<Unpack>(op.attributes)) layouts[to_index(op.outputs[0])] = Layout::kNchw;
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
