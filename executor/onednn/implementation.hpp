#pragma once

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "executor/host/kernel.hpp"
#include "models/op.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::onednn {

using Descriptor = dnnl::memory::desc;

/// Brings constant values into the order a binding's descriptor states.
using Rearrange = std::function<std::vector<float>(const std::vector<float>& values)>;

/// Values of a call's constants, by input.
using Constants = std::function<const std::vector<float>&(std::size_t input)>;
/// Values made of a call's constants.
using FromConstants = std::function<std::vector<float>(const Constants& constants)>;

/// Writes a copy of an operand in another form.
using MakeCopy = std::function<void(const HostArguments& arguments, std::byte* copy)>;

/// Adjoining elements of an operand that move to another place of a copy.
struct Piece {
  std::int64_t there = 0;  ///< elements from the operand's first
  std::int64_t here = 0;   ///< elements from the copy's first
  std::int64_t count = 0;
};

/// What a primitive gets as one of its arguments.
struct Binding {
  enum class Source { kInput, kOutput };

  int argument = 0;  ///< DNNL_ARG_...
  Source source = Source::kInput;
  std::size_t operand = 0;     ///< position among the call's inputs or outputs
  Descriptor descriptor;       ///< how the operand lies in memory; constants: how their values lie
  Rearrange rearrange;         ///< constants only; empty: as they are
  FromConstants made_of = {};  ///< constants only; not empty: what is bound in place of the values
  std::int64_t offset = 0;     ///< elements from the operand's first to the argument's
  /// Not empty, no constant: what `descriptor` describes is a copy in the workspace, made of these pieces before the
  /// primitive, or taken apart into them after it.
  std::vector<Piece> pieces = {};
  /// Not empty, no constant: what `descriptor` describes is a copy in the workspace, which this writes before the
  /// primitive.
  MakeCopy make = {};
  /// The primitive has an order of its own for it: it is reordered into, or out of, a part of the workspace.
  bool staged = false;
  /// That order, where the primitive sees the operand in another shape.
  std::optional<Descriptor> staged_order = {};
};

/// Work beside a primitive, on the call's own arguments.
using Loop = std::function<void(const HostArguments& arguments)>;

/// A primitive that has what its outputs are multiplied by built in, and so is another one for other constants.
struct ScaledPrimitive {
  FromConstants scales;
  std::function<dnnl::primitive_desc_base(const std::vector<float>& scales)> descriptor_for;

  [[nodiscard]] dnnl::primitive primitive_for(const Constants& constants) const;
};

/// One of the library's ways to run a call.
struct Implementation {
  std::string algorithm;
  dnnl::primitive_desc_base descriptor;
  std::vector<Binding> bindings;
  std::optional<dnnl::primitive> primitive;  ///< made when a kernel first needs it
  Loop after = {};                           ///< what the primitive leaves undone
  std::optional<ScaledPrimitive> scaled = {};

  /// How the primitive wants the operand of `binding`, which for a constant may be a packed form.
  [[nodiscard]] Descriptor wanted(const Binding& binding) const;
  /// How a staged operand lies in the workspace.
  [[nodiscard]] Descriptor stage_of(const Binding& binding) const;
  /// The primitive's scratchpad, then the copy of each operand in pieces, in another form and of each staged one, in
  /// the order of the bindings.
  [[nodiscard]] Bytes workspace() const;
};

/// Where what follows `bytes` of a workspace may begin.
Bytes next_place(Bytes bytes);

/// The ways to run one op, the library's first choice first; empty where it has none. May throw
/// dnnl::error, which means the same.
using Implementations = std::vector<Implementation>;
Implementations implementations(const Convolution& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Pool& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Gemm& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const BatchNormalization& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const LocalResponseNormalization& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Activation& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Binary& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Concat& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Softmax& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Reshape& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Lstm& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const ConvTranspose& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const MatMul& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const LayerNormalization& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Recurrent& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Transpose& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const TensorSlice& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Reduce& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const Resize& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const ConvolutionWeightGradient& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const GemmWeightGradient& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const PoolGradient& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const ActivationGradient& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const SoftmaxGradient& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const NormalizeByStatistics& op, const OpCall& call, const dnnl::engine& engine);
Implementations implementations(const ResizeGradient& op, const OpCall& call, const dnnl::engine& engine);

/// An op that the library has no way of its own for: plain loops take it.
template <class Op>
Implementations implementations(const Op& /*op*/, const OpCall& /*call*/, const dnnl::engine& /*engine*/) {
  return {};
}

/// Stages the operands of these arguments, but for constants, wherever a primitive wants another order.
void stage_as_wanted(std::initializer_list<int> arguments, const OpCall& call, Implementations& list);

/// Appends those of `plain`, which take computed operands as they lie, that are fast and not in the list already,
/// without staging, as "plain/...".
void append_plain(Implementations plain, Implementations& list);

/// Appends every implementation of `descriptor`, which may be empty, with "`prefix``name`" as algorithm.
void append_implementations(dnnl::primitive_desc descriptor, const std::string& prefix,
                            const std::vector<Binding>& bindings, Implementations& list);

}  // namespace cohort::onednn
