#include <algorithm>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/rows.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// The call as products of [O, N] and [N, I], one for each model.
struct Factors {
  std::int64_t models, samples, inputs, outputs;
  Shape x, dy;            ///< strides: model, sample
  std::int64_t row;       ///< distance between packs
  std::int64_t bias = 0;  ///< place of db; 0: there is none
};

Factors factors_of(const GemmWeightGradient& op, const OpCall& call) {
  const View &x = std::get<View>(call.inputs[0]), &dy = std::get<View>(call.inputs[1]), &dw = call.outputs[0];
  const std::size_t sample = op.stacked ? 1 : 0;
  Factors f{};
  f.models = op.stacked ? dy.shape[0] : 1;
  f.samples = dy.shape[sample];
  f.outputs = dy.shape[sample + 1];
  f.inputs = element_count(Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(sample) + 1, x.shape.end()));
  const auto strides = [&](const View& view, std::int64_t width) {
    const std::int64_t distance = f.samples > 1 ? view.strides[sample] : width;
    return Shape{f.models > 1 ? view.strides[0] : f.samples * distance, distance};
  };
  f.x = strides(x, f.inputs);
  f.dy = strides(dy, f.outputs);
  f.row = f.models > 1 ? dw.strides[0] : f.inputs * f.outputs;
  if (op.bias) f.bias = pack_place(f.inputs * f.outputs);
  return f;
}

/// What primitives leave undone: zeros behind dw and db, and where `sums_bias` db itself.
Loop finish(const Factors& f, bool sums_bias) {
  return [=](const HostArguments& arguments) {
    for (std::int64_t m = 0; m < f.models; ++m) {
      float* const pack = arguments.outputs[0] + m * f.row;
      clear_behind(pack, f.inputs * f.outputs);
      if (f.bias == 0) continue;
      clear_behind(pack, f.bias + f.outputs);
      if (!sums_bias) continue;
      std::fill_n(pack + f.bias, f.outputs, 0.0F);
      add_columns(arguments.inputs[1] + m * f.dy[0], f.samples, f.dy[1], f.outputs, pack + f.bias);
    }
  };
}

Implementations matmuls(const Factors& f, Binding x, const dnnl::engine& engine) {
  Descriptor dy, dw, order;
  if (f.models > 1) {
    const bool repeats = f.x[0] == 0;
    order =
        describe({repeats ? 1 : f.models, f.samples, f.inputs}, {repeats ? f.samples * f.inputs : f.x[0], f.x[1], 1});
    dy = describe({f.models, f.outputs, f.samples}, {f.dy[0], 1, f.dy[1]});
    dw = describe({f.models, f.outputs, f.inputs}, {f.row, f.inputs, 1});
  } else {
    order = describe({f.samples, f.inputs}, {x.staged ? f.inputs : f.x[1], 1});
    dy = describe({f.outputs, f.samples}, {1, f.dy[1]});
    dw = describe_dense({f.outputs, f.inputs});
  }
  x.argument = DNNL_ARG_WEIGHTS;
  if (!x.staged) x.descriptor = order;
  const std::vector<Binding> bindings = {x, bind_input(DNNL_ARG_SRC, 1, dy), bind_output_as(DNNL_ARG_DST, dw)};
  Implementations list;
  append_implementations(dnnl::matmul::primitive_desc({dy, order, dw}, scratchpad_only(), engine, true), "matmul/",
                         bindings, list);
  for (Implementation& way : list) way.after = finish(f, /*sums_bias=*/true);
  return list;
}

Implementations inner_products(const Factors& f, Binding x, const OpCall& call, const dnnl::engine& engine) {
  const Descriptor from = describe({f.samples, f.inputs}, {x.staged ? f.inputs : f.x[1], 1});
  const Descriptor dy = describe({f.samples, f.outputs}, {f.dy[1], 1});
  const Descriptor dw = describe_dense({f.outputs, f.inputs});
  const Descriptor db = f.bias > 0 ? describe_dense({f.outputs}) : Descriptor();
  if (!x.staged) x.descriptor = from;
  std::vector<Binding> bindings = {x, bind_input(DNNL_ARG_DIFF_DST, 1, dy), bind_output_as(DNNL_ARG_DIFF_WEIGHTS, dw)};
  if (f.bias > 0) {
    bindings.push_back(bind_output_as(DNNL_ARG_DIFF_BIAS, db));
    bindings.back().offset = f.bias;
  }
  const auto list_ways = [&](const Descriptor& order) {
    Implementations ways;
    const dnnl::inner_product_forward::primitive_desc forward({dnnl::prop_kind::forward_training, from, order, db, dy},
                                                              engine, /*allow_empty=*/true);
    if (!forward) return ways;
    const dnnl::inner_product_backward_weights::desc description(from, order, db, dy);
    append_implementations(
        dnnl::inner_product_backward_weights::primitive_desc(description, scratchpad_only(), engine, forward, true),
        "inner_product/", bindings, ways);
    return ways;
  };
  Implementations list = list_ways(describe_any({f.outputs, f.inputs}));
  stage_as_wanted({DNNL_ARG_DIFF_WEIGHTS}, call, list);
  append_plain(list_ways(dw), list);
  for (Implementation& way : list) way.after = finish(f, /*sums_bias=*/false);
  return list;
}

}  // namespace

Implementations implementations(const GemmWeightGradient& op, const OpCall& call, const dnnl::engine& engine) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  const auto* const dy = std::get_if<View>(&call.inputs[1]);
  if (x == nullptr || dy == nullptr || !call.post_ops.empty() || call.outputs[0].strides.back() != 1) return {};
  const std::optional<Rows> rows = rows_of(*x, op.stacked ? 2 : 1);
  if (!rows || !rows_of(*dy, op.stacked ? 2 : 1)) return {};
  const Factors f = factors_of(op, call);
  // Columns of dw are in logical order.
  if (!rows->logical && op.stacked && f.models > 1) return {};
  const Binding from = rows->logical ? bind_input(DNNL_ARG_SRC, 0, {}) : bind_reordered(DNNL_ARG_SRC, 0, *x);
  Implementations list = matmuls(f, from, engine);
  return f.models > 1 ? list : in_turn(list, inner_products(f, from, call, engine));
}

}  // namespace cohort::onednn
