#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/op.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::onednn {

using Descriptor = dnnl::memory::desc;

/// Brings constant values into the order a binding's descriptor states.
using Rearrange = std::function<std::vector<float>(const std::vector<float>& values)>;

/// What a primitive gets as one of its arguments.
struct Binding {
  enum class Source { kInput, kOutput };

  int argument = 0;  ///< DNNL_ARG_...
  Source source = Source::kInput;
  std::size_t operand = 0;  ///< position among the call's inputs or outputs
  Descriptor descriptor;    ///< how the operand lies in memory; constants: how their values lie
  Rearrange rearrange;      ///< constants only; empty: as they are
  std::int64_t offset = 0;  ///< elements from the operand's first to the argument's; inputs only
  /// The primitive has an order of its own for it: it is reordered into, or out of, a part of the workspace.
  bool staged = false;
};

/// One of the library's ways to run a call.
struct Implementation {
  std::string algorithm;
  dnnl::primitive_desc_base descriptor;
  std::vector<Binding> bindings;
  std::optional<dnnl::primitive> primitive;  ///< made when a kernel first needs it

  /// How the primitive wants the operand of `binding`, which for a constant may be a packed form.
  [[nodiscard]] Descriptor wanted(const Binding& binding) const;
  /// The primitive's scratchpad, then each staged operand, in the order of the bindings.
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

/// An op that the library has no way of its own for: plain loops take it.
template <class Op>
Implementations implementations(const Op& /*op*/, const OpCall& /*call*/, const dnnl::engine& /*engine*/) {
  return {};
}

/// Appends every implementation of `descriptor`, which may be empty, with "`prefix``name`" as algorithm.
void append_implementations(dnnl::primitive_desc descriptor, const std::string& prefix,
                            const std::vector<Binding>& bindings, Implementations& list);

}  // namespace cohort::onednn
