#include <algorithm>
#include <iterator>
#include <utility>

#include "executor/onednn/eight_bits.hpp"
#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/rows.hpp"
#include "executor/onednn/windows.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

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

/// Computed weights stay as they lie: what is reordered is x, where its rows are not in logical order.
Binding bind_rows(const OpCall& call, const Rows& rows, Descriptor seen) {
  if (rows.logical || is_constant(call, 1)) return bind_input(DNNL_ARG_SRC, 0, std::move(seen));
  return bind_reordered(DNNL_ARG_SRC, 0, std::get<View>(call.inputs[0]));
}

/// A matrix product without model axis, however the call says it.
struct Product {
  std::int64_t samples, inputs, outputs;
  std::int64_t x_stride, y_stride;  ///< between rows
  Rows rows;
  Presentation present;
  std::optional<EightBits> bits;
};

std::vector<Binding> joined(std::vector<Binding> bindings, const std::vector<Binding>& more) {
  bindings.insert(bindings.end(), more.begin(), more.end());
  return bindings;
}

/// As inner products and as matrix products, in turn: which is faster depends on the shape. `packed`: the library
/// chooses how the weights lie.
Implementations product(const Product& p, const OpCall& call, const PostOps& post_ops, bool packed,
                        const dnnl::engine& engine) {
  const bool biased = own_input_count(call) == 3, constant = is_constant(call, 1);
  const bool reorders = !constant && !p.rows.logical;
  const Descriptor x = describe({p.samples, p.inputs}, {reorders ? p.inputs : p.x_stride, 1});
  const Descriptor y = describe({p.samples, p.outputs}, {p.y_stride, 1});
  const auto* const w = std::get_if<View>(&call.inputs[1]);
  const std::int64_t row = w != nullptr && p.outputs > 1 ? w->strides[0] : p.inputs;
  std::vector<Binding> shared = joined({bind_rows(call, p.rows, x), bind_output(y)}, post_ops.bindings);
  Implementations inner_products;
  {
    Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe({p.outputs, p.inputs}, {row, 1}));
    if (constant) weights.rearrange = rearrange_columns(p.rows);
    std::vector<Binding> bindings = joined({weights}, shared);
    const Descriptor bias = biased ? describe_dense({p.outputs}) : Descriptor();
    if (biased) bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
    const dnnl::inner_product_forward::desc description(
        dnnl::prop_kind::forward_inference, x, packed ? describe_any({p.outputs, p.inputs}) : weights.descriptor, bias,
        y);
    append_implementations(dnnl::inner_product_forward::primitive_desc(description, post_ops.attributes, engine, true),
                           "inner_product/", bindings, inner_products);
  }
  Implementations matmuls;
  {
    Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe({p.inputs, p.outputs}, {1, row}));
    if (constant) weights.rearrange = rearrange_columns(p.rows);
    std::vector<Binding> bindings = joined({weights}, shared);
    const Descriptor bias = biased ? describe_dense({1, p.outputs}) : Descriptor();
    if (biased) bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
    const dnnl::matmul::desc description(x, packed ? describe_any({p.inputs, p.outputs}) : weights.descriptor, bias, y);
    append_implementations(dnnl::matmul::primitive_desc(description, post_ops.attributes, engine, true), "matmul/",
                           bindings, matmuls);
  }
  return in_turn(inner_products, matmuls);
}

Implementations by_eight_bits(const Product& p, const OpCall& call, const dnnl::engine& engine) {
  if (!p.bits) return {};
  return eight_bit_ways({*p.bits, p.samples, p.inputs, p.outputs, p.x_stride,
                         describe({p.samples, p.outputs}, {p.y_stride, 1}), rearrange_columns(p.rows)},
                        call, p.present, engine);
}

/// Constants are packed once. Computed weights are multiplied as they lie; to pack them at every run pays for many
/// samples only.
Implementations product(const Product& p, const OpCall& call, const dnnl::engine& engine) {
  const std::optional<PostOps> post_ops = make_post_ops(call, p.present);
  if (!post_ops) return {};
  if (is_constant(call, 1)) {
    Implementations list = by_eight_bits(p, call, engine);
    Implementations ways = product(p, call, *post_ops, /*packed=*/true, engine);
    std::move(ways.begin(), ways.end(), std::back_inserter(list));
    return list;
  }
  Implementations list = product(p, call, *post_ops, /*packed=*/false, engine);
  Implementations packed = product(p, call, *post_ops, /*packed=*/true, engine);
  stage_as_wanted({DNNL_ARG_WEIGHTS}, call, packed);
  for (Implementation& way : packed) {
    const bool staged = std::any_of(way.bindings.begin(), way.bindings.end(), [](const Binding& binding) {
      return binding.argument == DNNL_ARG_WEIGHTS && binding.staged;
    });
    if (!staged || way.algorithm.rfind("inner_product/", 0) != 0) continue;
    way.algorithm = "packed/" + way.algorithm;
    list.push_back(std::move(way));
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
Implementations collapsed(const Gemm& op, const OpCall& call, const View& x, const Rows& rows,
                          const dnnl::engine& engine) {
  const View& y = call.outputs[0];
  const std::optional<std::int64_t> row_stride = collapsed_row_stride(y);
  const bool reads_same = y.shape[0] == 1 || x.strides[0] == 0;
  if (!reads_same || !row_stride || !is_constant(call, 1)) return {};
  // One bias of all models is read: parameters of one state lie apart.
  const auto* const bias = own_input_count(call) == 3 ? std::get_if<View>(&call.inputs[2]) : nullptr;
  if (bias != nullptr && !is_dense(*bias, Layout::kNchw)) return {};
  const std::int64_t outputs = y.shape[0] * y.shape[2];
  const Presentation present = [outputs](const View& view) -> std::optional<Descriptor> {
    const std::optional<std::int64_t> stride = collapsed_row_stride(view);
    if (!stride) return std::nullopt;
    return describe({view.shape[1], outputs}, {*stride, 1});
  };
  const std::int64_t inputs = shape_of(call.inputs[1])[2];
  return product(
      {y.shape[1], inputs, outputs, y.shape[1] > 1 ? x.strides[1] : inputs, *row_stride, rows, present, op.eight_bits},
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
  if (!is_constant(call, 1) && !rows.logical) return {};
  dnnl::post_ops first;
  std::vector<Binding> bindings;
  if (own_input_count(call) == 3) {
    // As the primitive's own bias a value per model falls to the reference kernel, 290 times slower.
    Binding bias = bind_bias(call, 2);
    bias.descriptor = describe_dense({models, 1, outputs});
    bias.argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
    first.append_binary(dnnl::algorithm::binary_add, bias.descriptor);
    bindings.push_back(std::move(bias));
  }
  const std::optional<PostOps> post_ops = make_post_ops(call, as_it_lies, first, bindings);
  if (!post_ops) return {};
  const Descriptor from = describe_dense({repeats ? 1 : models, samples, inputs});
  const Descriptor to = describe(y);
  const auto* const view = std::get_if<View>(&call.inputs[1]);
  const std::int64_t distance = view != nullptr && models > 1 ? view->strides[0] : outputs * inputs;
  Binding weights = bind_input(DNNL_ARG_WEIGHTS, 1, describe({models, inputs, outputs}, {distance, 1, inputs}));
  if (view == nullptr) weights.rearrange = rearrange_columns(rows);
  const std::vector<Binding> all =
      joined({bind_input(DNNL_ARG_SRC, 0, from), weights, bind_output(to)}, post_ops->bindings);
  const auto list_ways = [&](const Descriptor& order) {
    Implementations ways;
    append_implementations(dnnl::matmul::primitive_desc({from, order, to}, post_ops->attributes, engine, true),
                           "matmul/", all, ways);
    return ways;
  };
  Implementations list = list_ways(describe_any({models, inputs, outputs}));
  if (view == nullptr) return list;
  stage_as_wanted({DNNL_ARG_WEIGHTS}, call, list);
  append_plain(list_ways(weights.descriptor), list);
  return list;
}

/// Whether rows of weights are dense, as those of parameters are.
bool has_dense_rows(const Operand& w) {
  const auto* const view = std::get_if<View>(&w);
  if (view == nullptr) return true;
  const std::size_t column = view->shape.size() - 1, row = column - 1;
  const bool dense_row = view->shape[column] == 1 || view->strides[column] == 1;
  // Members' matrices are seen at one distance, their rows at their length.
  return dense_row && (view->shape[row] == 1 || view->strides[row] == view->shape[column]);
}

}  // namespace

Implementations implementations(const Gemm& op, const OpCall& call, const dnnl::engine& engine) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || !has_dense_rows(call.inputs[1])) return {};
  const std::optional<Rows> rows = rows_of(*x, op.stacked ? 2 : 1);
  if (!rows) return {};
  if (op.stacked) {
    Implementations list = collapsed(op, call, *x, *rows, engine);
    Implementations others = batched(call, *x, *rows, engine);
    std::move(others.begin(), others.end(), std::back_inserter(list));
    return list;
  }
  const View& y = call.outputs[0];
  const Shape& w = shape_of(call.inputs[1]);
  if (y.shape[1] > 1 && y.strides[1] != 1) return {};
  const bool many = y.shape[0] > 1;
  return product({y.shape[0], w[1], w[0], many ? x->strides[0] : w[1], many ? y.strides[0] : w[0], *rows, as_it_lies,
                  op.eight_bits},
                 call, engine);
}

}  // namespace cohort::onednn
