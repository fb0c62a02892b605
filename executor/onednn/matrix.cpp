#include <algorithm>
#include <iterator>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

/// Samples seen as rows: where a row's elements lie in memory one after another.
struct Rows {
  Shape order;          ///< extents of the sample's dimensions, outermost in memory first
  Shape from;           ///< their strides in logical order
  bool logical = true;  ///< memory order is logical order
};

/// The rows of a view whose samples have the dimensions from `first` on; empty where there are gaps.
std::optional<Rows> rows_of(const View& view, std::size_t first) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = first; d < view.shape.size(); ++d) {
    if (view.shape[d] > 1) dimensions.push_back(d);
  }
  const std::vector<std::size_t> logical = dimensions;
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  const Shape sample(view.shape.begin() + static_cast<std::ptrdiff_t>(first), view.shape.end());
  const Shape strides = reference::row_major_strides(sample);
  Rows rows;
  std::int64_t next = 1;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const std::size_t d = dimensions[i];
    if (view.strides[d] != next) return std::nullopt;
    next *= view.shape[d];
    rows.order.insert(rows.order.begin(), view.shape[d]);
    rows.from.insert(rows.from.begin(), strides[d - first]);
  }
  rows.logical = dimensions == logical;
  return rows;
}

/// Weight columns in the order in which a sample's elements lie.
Rearrange rearrange_columns(const Rows& rows) {
  if (rows.logical) return {};
  return [rows](const std::vector<float>& values) {
    const std::int64_t columns = element_count(rows.order);
    std::vector<float> result;
    result.reserve(values.size());
    for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(columns)) {
      reference::for_each_index<1>(rows.order, {rows.from}, [&](const auto& at) {
        result.push_back(values[row + static_cast<std::size_t>(at[0])]);
      });
    }
    return result;
  };
}

/// A matrix product without model axis, however the call says it.
struct Product {
  std::int64_t samples, inputs, outputs;
  std::int64_t x_stride, y_stride;  ///< between rows
  Rows rows;
  Presentation present;
};

std::vector<Binding> joined(std::vector<Binding> bindings, const std::vector<Binding>& more) {
  bindings.insert(bindings.end(), more.begin(), more.end());
  return bindings;
}

/// As inner products and as matrix products, in turn: which is faster depends on the shape.
Implementations product(const Product& p, const OpCall& call, const dnnl::engine& engine) {
  const std::optional<PostOps> post_ops = make_post_ops(call, p.present);
  if (!post_ops) return {};
  const bool biased = own_input_count(call) == 3;
  const Descriptor x = describe({p.samples, p.inputs}, {p.x_stride, 1});
  const Descriptor y = describe({p.samples, p.outputs}, {p.y_stride, 1});
  std::vector<Binding> shared = joined({bind_input(DNNL_ARG_SRC, 0, x), bind_output(y)}, post_ops->bindings);
  Implementations inner_products;
  {
    Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe_dense({p.outputs, p.inputs}));
    weights.rearrange = rearrange_columns(p.rows);
    std::vector<Binding> bindings = joined({weights}, shared);
    const Descriptor bias = biased ? describe_dense({p.outputs}) : Descriptor();
    if (biased) bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
    const dnnl::inner_product_forward::desc description(dnnl::prop_kind::forward_inference, x,
                                                        describe_any({p.outputs, p.inputs}), bias, y);
    append_implementations(dnnl::inner_product_forward::primitive_desc(description, post_ops->attributes, engine, true),
                           "inner_product/", bindings, inner_products);
  }
  Implementations matmuls;
  {
    Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe({p.inputs, p.outputs}, {1, p.inputs}));
    weights.rearrange = rearrange_columns(p.rows);
    std::vector<Binding> bindings = joined({weights}, shared);
    const Descriptor bias = biased ? describe_dense({1, p.outputs}) : Descriptor();
    if (biased) bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
    const dnnl::matmul::desc description(x, describe_any({p.inputs, p.outputs}), bias, y);
    append_implementations(dnnl::matmul::primitive_desc(description, post_ops->attributes, engine, true), "matmul/",
                           bindings, matmuls);
  }
  Implementations list;
  for (std::size_t i = 0; i < std::max(inner_products.size(), matmuls.size()); ++i) {
    if (i < inner_products.size()) list.push_back(inner_products[i]);
    if (i < matmuls.size()) list.push_back(matmuls[i]);
  }
  return list;
}

/// [B, N, O] seen as [N, B*O]; empty where the models' outputs of a sample do not adjoin.
std::optional<std::int64_t> collapsed_row_stride(const View& view) {
  const Shape& shape = view.shape;
  if (shape[2] > 1 && view.strides[2] != 1) return std::nullopt;
  if (shape[0] > 1 && view.strides[0] != shape[2]) return std::nullopt;
  return shape[1] > 1 ? view.strides[1] : shape[0] * shape[2];
}

/// All models read the same x, and their outputs adjoin: one product with the weights' rows stacked.
Implementations collapsed(const OpCall& call, const View& x, const Rows& rows, const dnnl::engine& engine) {
  const View& y = call.outputs[0];
  const std::optional<std::int64_t> row_stride = collapsed_row_stride(y);
  const bool reads_same = y.shape[0] == 1 || x.strides[0] == 0;
  if (!reads_same || !row_stride) return {};
  const std::int64_t outputs = y.shape[0] * y.shape[2];
  const Presentation present = [outputs](const View& view) -> std::optional<Descriptor> {
    const std::optional<std::int64_t> stride = collapsed_row_stride(view);
    if (!stride) return std::nullopt;
    return describe({view.shape[1], outputs}, {*stride, 1});
  };
  const std::int64_t inputs = shape_of(call.inputs[1])[2];
  return product({y.shape[1], inputs, outputs, y.shape[1] > 1 ? x.strides[1] : inputs, *row_stride, rows, present},
                 call, engine);
}

/// A product per model, as one batched matmul.
Implementations batched(const OpCall& call, const View& x, const Rows& rows, const dnnl::engine& engine) {
  const View& y = call.outputs[0];
  const Shape& w = shape_of(call.inputs[1]);
  const std::int64_t models = w[0], outputs = w[1], inputs = w[2], samples = y.shape[1];
  const bool repeats = models == 1 || x.strides[0] == 0;
  const bool x_dense = (repeats || x.strides[0] == samples * inputs) && (samples == 1 || x.strides[1] == inputs);
  // With the outputs of several models interleaved, oneDNN 2.6's kernel writes where it may not.
  if (!x_dense || !is_dense(y, Layout::kNchw)) return {};
  dnnl::post_ops first;
  std::vector<Binding> bindings;
  if (own_input_count(call) == 3) {
    // As the primitive's own bias a value per model falls to the reference kernel, 290 times slower.
    const Descriptor bias = describe_dense({models, 1, outputs});
    first.append_binary(dnnl::algorithm::binary_add, bias);
    bindings.push_back(bind_input(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, 2, bias));
  }
  const std::optional<PostOps> post_ops = make_post_ops(
      call, [](const View& view) { return std::optional<Descriptor>(describe(view)); }, first, bindings);
  if (!post_ops) return {};
  const Descriptor from = describe_dense({repeats ? 1 : models, samples, inputs});
  const Descriptor to = describe(y);
  Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe({models, inputs, outputs}, {outputs * inputs, 1, inputs}));
  weights.rearrange = rearrange_columns(rows);
  const dnnl::matmul::desc description(from, describe_any({models, inputs, outputs}), to);
  Implementations list;
  append_implementations(dnnl::matmul::primitive_desc(description, post_ops->attributes, engine, true), "matmul/",
                         joined({bind_input(DNNL_ARG_SRC, 0, from), weights, bind_output(to)}, post_ops->bindings),
                         list);
  return list;
}

}  // namespace

Implementations implementations(const Gemm& op, const OpCall& call, const dnnl::engine& engine) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || !is_constant(call, 1)) return {};
  if (own_input_count(call) == 3 && !is_constant(call, 2)) return {};
  const std::optional<Rows> rows = rows_of(*x, op.stacked ? 2 : 1);
  if (!rows) return {};
  if (op.stacked) {
    Implementations list = collapsed(call, *x, *rows, engine);
    Implementations others = batched(call, *x, *rows, engine);
    std::move(others.begin(), others.end(), std::back_inserter(list));
    return list;
  }
  const View& y = call.outputs[0];
  const Shape& w = shape_of(call.inputs[1]);
  if (y.shape[1] > 1 && y.strides[1] != 1) return {};
  const bool many = y.shape[0] > 1;
  return product({y.shape[0], w[1], w[0], many ? x->strides[0] : w[1], many ? y.strides[0] : w[0], *rows,
                  [](const View& view) { return std::optional<Descriptor>(describe(view)); }},
                 call, engine);
}

}  // namespace cohort::onednn
