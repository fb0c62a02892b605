#include "executor/cuda/plugin/product_form.hpp"

#include <algorithm>

#include "executor/cuda/own/lowering.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

/// Bytes, at most 64, to whose multiples all of these steps from an aligned place lead.
std::uint32_t aligned_to(std::initializer_list<std::int64_t> steps, DataType type) {
  std::uint32_t bytes = 64;
  for (const std::int64_t step : steps) {
    while ((step * element_bytes(type)) % bytes != 0) bytes /= 2;
  }
  return bytes;
}

/// Shape and strides of an operand, constants as they are stored.
struct Placed {
  Shape shape, strides;
  std::int64_t offset = 0;
  DataType type = DataType::kFloat32;
};
Placed placed(const OpCall& call, std::size_t input) {
  if (const auto* const view = std::get_if<View>(&call.inputs[input]))
    return {view->shape, view->strides, view->offset, view->type};
  return {shape_of(call.inputs[input]), own::packed_strides(call, input), 0,
          std::get<WeightView>(call.inputs[input]).type};
}
Placed placed(const View& view) { return {view.shape, view.strides, view.offset, view.type}; }

/// A matrix of `rows` by `columns` whose elements lie such steps apart; empty where neither is one.
std::optional<StoredMatrix> stored(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                                   std::int64_t column_step, std::int64_t batch) {
  StoredMatrix matrix;
  matrix.batch = batch;
  if (columns == 1 || column_step == 1) {
    matrix.step = rows == 1 ? columns : row_step;
    return matrix.step >= columns ? std::optional(matrix) : std::nullopt;
  }
  if (rows != 1 && row_step != 1) return std::nullopt;
  matrix.transposed = true;
  matrix.step = column_step;
  return matrix.step >= rows ? std::optional(matrix) : std::nullopt;
}

/// The last two axes of `tensor`, from member to member `batch`.
std::optional<StoredMatrix> last_two(const Placed& tensor, std::int64_t batch) {
  const std::size_t rank = tensor.shape.size();
  auto matrix =
      stored(tensor.shape[rank - 2], tensor.shape[rank - 1], tensor.strides[rank - 2], tensor.strides[rank - 1], batch);
  if (matrix) {
    const bool one = (matrix->transposed ? tensor.shape[rank - 1] : tensor.shape[rank - 2]) == 1;
    matrix->alignment = aligned_to({tensor.offset, one ? 0 : matrix->step, batch}, tensor.type);
  }
  return matrix;
}

void set_common(ProductForm& form, const OpCall& call) {
  form.type = call.outputs[0].type;
  form.precision = call.precision;
  form.multiprocessors = call.multiprocessors;
}

/// What is left to a kernel of ours must not be asked to add a constant, nor what the product overwrites.
bool can_finish_product(const OpCall& call) {
  return std::all_of(call.post_ops.begin(), call.post_ops.end(), [&](const PostOp& post_op) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) return true;
    const View* const view = std::get_if<View>(&call.inputs[add->operand]);
    return view != nullptr && view->buffer != call.outputs[0].buffer;
  });
}

/// A residual that comes first becomes C, a Relu behind it and the bias the epilogue.
void fuse_post_ops(const OpCall& call, std::size_t lead, LibraryProduct& product) {
  ProductForm& form = product.form;
  if (!call.post_ops.empty()) {
    const auto* const add = std::get_if<AddOperand>(&call.post_ops.front());
    const View* const view = add == nullptr ? nullptr : std::get_if<View>(&call.inputs[add->operand]);
    std::optional<StoredMatrix> c;
    if (view != nullptr) c = last_two(placed(*view), lead > 0 ? view->strides[0] : 0);
    if (c && !c->transposed) {
      product.c = add->operand;
      form.c = c;
      product.fused_post_ops = 1;
    }
  }
  if (product.fused_post_ops == call.post_ops.size()) return;
  const auto* const activation = std::get_if<Activation>(&call.post_ops[product.fused_post_ops]);
  if (activation == nullptr || activation->kind != ActivationKind::kRelu) return;
  form.relu = true;
  ++product.fused_post_ops;
}

/// Rows of x [N, ...] or [M, N, ...], where they lie or in the workspace.
std::optional<StoredMatrix> rows_of(const OpCall& call, bool stacked, bool in_logical_order, std::int64_t inner,
                                    LibraryProduct& product) {
  const Placed x = placed(call, 0);
  const std::size_t lead = stacked ? 1 : 0;
  const own::Tensor tensor{nullptr, x.shape, x.strides, x.type};
  own::ProductRows rows{nullptr, stacked ? x.strides[0] : 0, x.strides[lead], {}};
  if (in_logical_order) {
    product.staged_values = own::product_row_values(x.shape, x.strides, stacked);
    rows = own::product_rows(tensor, stacked, nullptr);
  }
  auto matrix = stored(x.shape[lead], inner, rows.sample, 1, rows.model);
  if (matrix) {
    const std::int64_t offset = product.staged_values > 0 ? 0 : x.offset;
    matrix->alignment = aligned_to({offset, x.shape[lead] > 1 ? matrix->step : 0, rows.model}, x.type);
  }
  return matrix;
}

/// y [N, O] = x [N, I] w [O, I]^T
std::optional<LibraryProduct> form_of(const Gemm& op, const OpCall& call) {
  const View& y = call.outputs[0];
  const std::size_t lead = op.stacked ? 1 : 0;
  const Placed w = placed(call, 1);
  LibraryProduct product;
  ProductForm& form = product.form;
  set_common(form, call);
  form.batch = op.stacked ? y.shape[0] : 1;
  form.rows = y.shape[lead];
  form.columns = y.shape[lead + 1];
  form.inner = w.shape[lead + 1];
  const bool computed = std::holds_alternative<View>(call.inputs[1]);
  const auto a = rows_of(call, op.stacked, computed, form.inner, product);
  auto b = last_two(w, op.stacked ? w.strides[0] : 0);
  const auto result = last_two(placed(y), op.stacked ? y.strides[0] : 0);
  if (!a || !b || !result || b->transposed || result->transposed || !can_finish_product(call)) return std::nullopt;
  b->transposed = true;  // rows of w are columns of the product
  if (!computed) b->alignment = 64;
  form.a = *a;
  form.b = *b;
  form.y = *result;
  fuse_post_ops(call, lead, product);
  if (own_input_count(call) < 3) return product;
  const Placed bias = placed(call, 2);
  if (bias.shape.back() > 1 && bias.strides.back() != 1) return std::nullopt;
  form.bias = ProductBias::kAdded;
  form.bias_batch = op.stacked ? bias.strides[0] : 0;
  form.bias_alignment = aligned_to({bias.offset, form.bias_batch}, bias.type);
  product.bias = 2;
  return product;
}

/// The one step from member to member of a stack with `leading` axes, over which x may repeat; empty where there are
/// several.
std::optional<std::int64_t> batch_step(const Placed& x, const Shape& leading) {
  const own::Tensor tensor{nullptr, x.shape, x.strides, x.type};
  Shape all = leading;
  all.insert(all.end(), x.shape.end() - 2, x.shape.end());
  const Shape strides = own::broadcast(tensor, all);
  std::int64_t step = 0, behind = 1;
  bool any = false;
  for (std::size_t d = leading.size(); d-- > 0;) {
    if (leading[d] == 1) continue;
    if (!any) step = strides[d];
    if (any && strides[d] != step * behind) return std::nullopt;
    any = true;
    behind *= leading[d];
  }
  return step;
}

std::optional<LibraryProduct> form_of(const MatMul& op, const OpCall& call) {
  const View& y = call.outputs[0];
  const Placed a = placed(call, 0), b = placed(call, 1);
  const Shape leading(y.shape.begin(), y.shape.end() - 2);
  const auto a_step = batch_step(a, leading), b_step = batch_step(b, leading), y_step = batch_step(placed(y), leading);
  if (!a_step || !b_step || !y_step || !can_finish_product(call)) return std::nullopt;
  LibraryProduct product;
  ProductForm& form = product.form;
  set_common(form, call);
  form.batch = element_count(leading);
  form.rows = y.shape[y.shape.size() - 2];
  form.columns = y.shape.back();
  form.inner = a.shape[a.shape.size() - (op.transpose_a ? 2 : 1)];
  const auto first = last_two(a, *a_step), second = last_two(b, *b_step), result = last_two(placed(y), *y_step);
  if (!first || !second || !result || result->transposed) return std::nullopt;
  form.a = *first;
  form.b = *second;
  form.y = *result;
  form.a.transposed = first->transposed != op.transpose_a;
  form.b.transposed = second->transposed != op.transpose_b;
  return product;
}

/// dw [O, I] = dy [N, O]^T x [N, I]
std::optional<LibraryProduct> form_of(const GemmWeightGradient& op, const OpCall& call, bool bias_gradient) {
  const View& pack = call.outputs[0];
  const std::size_t lead = op.stacked ? 1 : 0;
  const Placed dy = placed(call, 1);
  LibraryProduct product;
  ProductForm& form = product.form;
  set_common(form, call);
  product.a = 1;
  product.b = 0;
  form.batch = op.stacked ? dy.shape[0] : 1;
  form.rows = dy.shape[lead + 1];
  form.inner = dy.shape[lead];
  form.columns = element_count(shape_of(call.inputs[0])) / (form.batch * form.inner);
  product.weights = form.rows * form.columns;
  auto a = last_two(dy, op.stacked ? dy.strides[0] : 0);
  const auto b = rows_of(call, op.stacked, true, form.columns, product);
  if (!a || !b || pack.strides.back() != 1) return std::nullopt;
  a->transposed = !a->transposed;
  form.a = *a;
  form.b = *b;
  form.y.step = form.columns;
  form.y.batch = op.stacked ? pack.strides[0] : 0;
  form.y.alignment = aligned_to({pack.offset, form.rows > 1 ? form.y.step : 0, form.y.batch}, pack.type);
  if (!op.bias || !bias_gradient) return product;
  form.bias = ProductBias::kGradient;
  form.bias_batch = form.y.batch;
  form.bias_alignment = aligned_to({pack.offset, form.y.batch}, pack.type);
  return product;
}

}  // namespace

std::optional<LibraryProduct> product_of(const OpCall& call, bool bias_gradient) {
  if (!own::check_supported(call)) return std::nullopt;
  if (const auto* const op = std::get_if<Gemm>(&call.attributes)) return form_of(*op, call);
  if (const auto* const op = std::get_if<MatMul>(&call.attributes)) return form_of(*op, call);
  if (const auto* const op = std::get_if<GemmWeightGradient>(&call.attributes))
    return form_of(*op, call, bias_gradient);
  return std::nullopt;
}

}  // namespace cohort::cuda
