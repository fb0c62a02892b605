#include "executor/onednn/kernel.hpp"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/onednn/operands.hpp"

namespace cohort::onednn {
namespace {

class PrimitiveKernel final : public HostKernel {
 public:
  PrimitiveKernel(Implementation& implementation, const OpCall& call, std::span<const std::vector<float>> weights,
                  const dnnl::engine& engine)
      : name_(fmt::format("{} by {}", op_type(call.attributes), implementation.algorithm)),
        stream_(engine),
        after_(implementation.after) {
    std::vector<std::size_t> weight_of(call.inputs.size(), 0);
    std::size_t next = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (is_constant(call, i)) weight_of[i] = next++;
    }
    const Constants constants = [&](std::size_t input) -> const std::vector<float>& {
      return weights[weight_of[input]];
    };
    if (implementation.scaled) {
      primitive_ = implementation.scaled->primitive_for(constants);
    } else {
      if (!implementation.primitive) implementation.primitive.emplace(implementation.descriptor.get());
      primitive_ = *implementation.primitive;
    }
    const Descriptor scratchpad = implementation.descriptor.scratchpad_desc();
    Bytes used{static_cast<std::int64_t>(scratchpad.get_size())};
    for (const Binding& binding : implementation.bindings) {
      if (binding.source == Binding::Source::kInput && is_constant(call, binding.operand)) {
        const Descriptor wanted = implementation.wanted(binding);
        arguments_.emplace(binding.argument, binding.made_of ? pack(binding, wanted, binding.made_of(constants))
                                                             : pack(binding, wanted, constants(binding.operand)));
      } else {
        bind(implementation, binding, used);
      }
    }
    if (scratchpad.get_size() == 0) return;
    workspace_ = dnnl::memory(scratchpad, engine, DNNL_MEMORY_NONE);
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, *workspace_);
  }

  void run(const HostArguments& arguments) override {
    try {
      for (const Argument& each : inputs_) {
        // The library has no const form.
        each.memory.set_data_handle(const_cast<float*>(arguments.inputs[each.operand]) + each.offset);
      }
      for (const Argument& each : outputs_) each.memory.set_data_handle(arguments.outputs[each.operand] + each.offset);
      if (workspace_) workspace_->set_data_handle(arguments.workspace);
      for (const Made& each : made_) {
        each.memory.set_data_handle(arguments.workspace + each.place.value);
        each.make(arguments, arguments.workspace + each.place.value);
      }
      for (const Gathered& each : gathered_) {
        each.memory.set_data_handle(arguments.workspace + each.place.value);
        if (each.is_input) gather(each, arguments);
      }
      for (const Staged& each : staged_) {
        each.there.set_data_handle(arguments.workspace + each.place.value);
        if (each.seen) each.seen->set_data_handle(arguments.workspace + each.place.value);
        if (each.is_input) each.move.execute(stream_, each.arguments);
      }
      primitive_.execute(stream_, arguments_);
      for (const Staged& each : staged_) {
        if (!each.is_input) each.move.execute(stream_, each.arguments);
      }
      for (const Gathered& each : gathered_) {
        if (!each.is_input) scatter(each, arguments);
      }
      if (after_) after_(arguments);
    } catch (const dnnl::error& error) {
      throw DeviceError(
          fmt::format("{}: execute failed with status {} ({})", name_, dnnl_status2str(error.status), error.what()));
    }
  }

 private:
  /// An operand and what it is given to the primitive as.
  struct Argument {
    std::size_t operand = 0;
    std::int64_t offset = 0;
    dnnl::memory memory;
  };

  /// A copy in the workspace of an operand that lies in pieces.
  struct Gathered {
    bool is_input = true;
    std::size_t operand = 0;
    std::int64_t offset = 0;
    Bytes place;
    dnnl::memory memory;
    std::vector<Piece> pieces;
  };

  /// A copy in the workspace of an operand in another form.
  struct Made {
    Bytes place;
    dnnl::memory memory;
    MakeCopy make;
  };

  /// An operand's copy in the workspace, in the primitive's order.
  struct Staged {
    bool is_input = true;
    Bytes place;
    dnnl::memory there;
    std::optional<dnnl::memory> seen;  ///< `there` in the shape in which the primitive sees it
    dnnl::reorder move;                ///< of an input before the primitive, of an output after it
    std::unordered_map<int, dnnl::memory> arguments;
  };

  /// Memory for an operand that is no constant. Places in the workspace are counted as Implementation::workspace()
  /// counts them.
  void bind(const Implementation& implementation, const Binding& binding, Bytes& used) {
    const bool input = binding.source == Binding::Source::kInput;
    const dnnl::memory memory(binding.descriptor, stream_.get_engine(), DNNL_MEMORY_NONE);
    if (binding.make) {
      used = next_place(used);
      made_.push_back({used, memory, binding.make});
      used += Bytes{static_cast<std::int64_t>(binding.descriptor.get_size())};
    } else if (binding.pieces.empty()) {
      (input ? inputs_ : outputs_).push_back({binding.operand, binding.offset, memory});
    } else {
      used = next_place(used);
      gathered_.push_back({input, binding.operand, binding.offset, used, memory, binding.pieces});
      used += Bytes{static_cast<std::int64_t>(binding.descriptor.get_size())};
    }
    if (!binding.staged) {
      arguments_.emplace(binding.argument, memory);
      return;
    }
    const dnnl::memory there = stage(memory, implementation.stage_of(binding), input, used);
    if (!binding.staged_order) {
      arguments_.emplace(binding.argument, there);
      return;
    }
    // The same bytes in the primitive's shape.
    const dnnl::memory seen(implementation.wanted(binding), stream_.get_engine(), DNNL_MEMORY_NONE);
    arguments_.emplace(binding.argument, seen);
    staged_.back().seen = seen;
  }

  static void gather(const Gathered& copy, const HostArguments& arguments) {
    const float* const from = arguments.inputs[copy.operand] + copy.offset;
    auto* const to = static_cast<float*>(copy.memory.get_data_handle());
    for (const Piece& piece : copy.pieces) std::copy_n(from + piece.there, piece.count, to + piece.here);
  }

  static void scatter(const Gathered& copy, const HostArguments& arguments) {
    const auto* const from = static_cast<const float*>(copy.memory.get_data_handle());
    float* const to = arguments.outputs[copy.operand] + copy.offset;
    for (const Piece& piece : copy.pieces) std::copy_n(from + piece.here, piece.count, to + piece.there);
  }

  /// A place for an operand that is `here` behind `used` bytes of the workspace, as Implementation::workspace() counts.
  dnnl::memory stage(const dnnl::memory& here, const Descriptor& wanted, bool is_input, Bytes& used) {
    const dnnl::engine engine = stream_.get_engine();
    dnnl::memory there(wanted, engine, DNNL_MEMORY_NONE);
    const dnnl::memory& from = is_input ? here : there;
    const dnnl::memory& to = is_input ? there : here;
    const dnnl::reorder::primitive_desc move(engine, from.get_desc(), engine, to.get_desc(), scratchpad_only());
    used = next_place(used);
    staged_.push_back({is_input,
                       used,
                       there,
                       std::nullopt,
                       dnnl::reorder(move),
                       {{DNNL_ARG_FROM, from},
                        {DNNL_ARG_TO, to},
                        {DNNL_ARG_SCRATCHPAD, dnnl::memory(move.scratchpad_desc(), engine)}}});
    used += Bytes{static_cast<std::int64_t>(wanted.get_size())};
    return there;
  }

  /// A copy of constant values as the primitive wants them.
  dnnl::memory pack(const Binding& binding, const Descriptor& wanted, const std::vector<float>& values) {
    const dnnl::engine engine = stream_.get_engine();
    const std::vector<float> rearranged = binding.rearrange ? binding.rearrange(values) : std::vector<float>();
    // The library has no const form.
    auto* const ordered = const_cast<float*>(binding.rearrange ? rearranged.data() : values.data());
    dnnl::memory from(binding.descriptor, engine, ordered);
    dnnl::memory to(wanted, engine);
    const dnnl::reorder::primitive_desc description(engine, binding.descriptor, engine, wanted, scratchpad_only());
    dnnl::memory scratchpad(description.scratchpad_desc(), engine);
    dnnl::reorder(description)
        .execute(stream_, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
    stream_.wait();
    return to;
  }

  std::string name_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
  std::optional<dnnl::memory> workspace_;
  std::vector<Gathered> gathered_;
  std::vector<Made> made_;
  std::vector<Staged> staged_;
  Loop after_;
};

}  // namespace

std::unique_ptr<HostKernel> make_kernel(Implementation& implementation, const OpCall& call,
                                        std::span<const std::vector<float>> weights, const dnnl::engine& engine) {
  return std::make_unique<PrimitiveKernel>(implementation, call, weights, engine);
}

}  // namespace cohort::onednn
