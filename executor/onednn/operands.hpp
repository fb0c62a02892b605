#pragma once

#include <dnnl.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "executor/onednn/implementation.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::onednn {

Descriptor describe(const Shape& shape, const Shape& strides);
/// Dense where it is but for dimensions of one element, as a member's part of a stack is: the library has its fast ways
/// for dense tensors, and takes strides that nobody steps by for another layout.
Descriptor describe(const View& view);
/// What a call reads as its first input and what it writes, in one order of memory where both may be read in one: an
/// image of one channel, or one position, lies in either order, and the library has its fast ways for equal ones.
struct ReadAndWritten {
  Descriptor x, y;
};
ReadAndWritten describe_alike(const OpCall& call);
/// Dense in logical order.
Descriptor describe_dense(const Shape& shape);
/// Lets the library choose the memory order.
Descriptor describe_any(const Shape& shape);

/// Operand `input` of the call as it lies; constants are dense in logical order.
Descriptor describe_input(const OpCall& call, std::size_t input);
bool is_constant(const OpCall& call, std::size_t input);

/// Whether two views put equal indices at equal offsets.
bool same_strides(const View& a, const View& b);
/// What a slice takes of a view: from `first` elements behind its own first on, in these steps.
struct Stepped {
  Shape strides;
  std::int64_t first = 0;
};
Stepped stepped(const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& step, Shape strides);
/// Strides of a transposed view.
Shape permuted(const Transpose& op, const Shape& strides);
/// Whether elements lie as in a dense tensor of the layout; extents of one have no say.
bool is_dense(const View& view, Layout layout);
/// Whether an input is computed and lies as the first output does.
bool lies_as_output(const OpCall& call, std::size_t input = 0);

/// A view as a matrix: dimensions from some axis on are a row, those before it count the rows.
struct MatrixView {
  std::int64_t rows = 1, columns = 1;
  std::int64_t distance = 0;  ///< elements between the starts of rows; 0 of a single row
};
/// Empty where the elements of a row do not adjoin, or rows lie at several distances.
std::optional<MatrixView> as_matrix(const View& view, std::size_t axis);

/// Whether an operand that broadcasts to `x` has a value for each element of x from `axis` on, whatever stands before,
/// and these adjoin in memory.
bool is_dense_row(const Operand& operand, const Shape& x, std::size_t axis);

Binding bind_input(int argument, std::size_t operand, Descriptor descriptor);
Binding bind_output(Descriptor descriptor);
/// The output as another argument than DNNL_ARG_DST.
Binding bind_output_as(int argument, Descriptor descriptor);

/// Whether resampling, which maps centres to centres, finds the positions in x, of shape `x`, that the op asks for.
bool maps_centres(const Resize& op, const Shape& x);

/// Attributes of a primitive without post-ops: the caller owns its scratchpad.
dnnl::primitive_attr scratchpad_only();

/// Appends what is left of kFakeQuantize where the division by its step has been done: rounding, bounds, and the step
/// again.
void append_levels(const Activation& fake_quantize, dnnl::post_ops& post_ops);

/// How a view is presented to a primitive that sees the call in another shape; empty: not possible.
using Presentation = std::function<std::optional<Descriptor>(const View& view)>;
/// To a primitive that sees it in the call's own shape.
std::optional<Descriptor> as_it_lies(const View& view);

/// Attributes with a caller-owned scratchpad and the call's post-ops.
struct PostOps {
  dnnl::primitive_attr attributes;
  std::vector<Binding> bindings;
};
/// `post_ops` may hold operations that come before the call's own. Empty where an added operand
/// cannot be presented, or the library would compute the chain wrongly.
std::optional<PostOps> make_post_ops(const OpCall& call, const Presentation& present, dnnl::post_ops post_ops = {},
                                     std::vector<Binding> bindings = {});
std::optional<PostOps> make_post_ops(const OpCall& call);

/// The library's name and parameters for an activation: scale * f(x; alpha, beta).
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha, beta;
  float scale = 1;

  friend bool operator==(const Eltwise&, const Eltwise&) = default;
};
/// Empty where it has none.
std::optional<Eltwise> eltwise(const Activation& activation);
/// Whether the library makes 0, a bound or infinity of a NaN here, or is off by percents where the result is small: own
/// loops take these. Behind sums, where one is small beside the others, it may be the library's.
bool goes_wrong(const Activation& activation);

}  // namespace cohort::onednn
