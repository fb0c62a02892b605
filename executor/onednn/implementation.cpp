#include "executor/onednn/implementation.hpp"

#include <algorithm>
#include <utility>

#include "executor/onednn/operands.hpp"

namespace cohort::onednn {

dnnl::primitive ScaledPrimitive::primitive_for(const Constants& constants) const {
  return dnnl::primitive(descriptor_for(scales(constants)).get());  // the library keeps those made last
}

Descriptor Implementation::wanted(const Binding& binding) const {
  // Operands of post-ops are not among the arguments a primitive descriptor can be asked for.
  if ((binding.argument & DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE) != 0) return binding.descriptor;
  return descriptor.query_md(dnnl::query::exec_arg_md, binding.argument);
}

Descriptor Implementation::stage_of(const Binding& binding) const {
  return binding.staged_order ? *binding.staged_order : wanted(binding);
}

Bytes next_place(Bytes bytes) {
  constexpr std::int64_t kCacheLine = 64;
  return {(bytes.value + kCacheLine - 1) / kCacheLine * kCacheLine};
}

Bytes Implementation::workspace() const {
  Bytes bytes{static_cast<std::int64_t>(descriptor.scratchpad_desc().get_size())};
  for (const Binding& binding : bindings) {
    const auto add = [&bytes](const Descriptor& copy) {
      bytes = next_place(bytes) + Bytes{static_cast<std::int64_t>(copy.get_size())};
    };
    if (!binding.pieces.empty() || binding.make) add(binding.descriptor);
    if (binding.staged) add(stage_of(binding));
  }
  return bytes;
}

void stage_as_wanted(std::initializer_list<int> arguments, const OpCall& call, Implementations& list) {
  for (Implementation& way : list) {
    for (Binding& binding : way.bindings) {
      if (std::find(arguments.begin(), arguments.end(), binding.argument) == arguments.end()) continue;
      const bool constant = binding.source == Binding::Source::kInput && is_constant(call, binding.operand);
      if (!constant && way.wanted(binding) != binding.descriptor) binding.staged = true;
    }
  }
}

void append_plain(Implementations plain, Implementations& list) {
  for (Implementation& way : plain) {
    const bool known = std::any_of(list.begin(), list.end(), [&](const Implementation& each) {
      return each.algorithm == way.algorithm && std::none_of(each.bindings.begin(), each.bindings.end(),
                                                             [](const Binding& binding) { return binding.staged; });
    });
    if (known || way.algorithm.find("ref") != std::string::npos) continue;
    way.algorithm = "plain/" + way.algorithm;
    list.push_back(std::move(way));
  }
}

void append_implementations(dnnl::primitive_desc descriptor, const std::string& prefix,
                            const std::vector<Binding>& bindings, Implementations& list) {
  if (!descriptor) return;
  do {
    list.push_back({prefix + descriptor.impl_info_str(), descriptor, bindings, std::nullopt});
  } while (descriptor.next_impl());
}

}  // namespace cohort::onednn
