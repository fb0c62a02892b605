#include "executor/onednn/implementation.hpp"

namespace cohort::onednn {

Descriptor Implementation::wanted(const Binding& binding) const {
  // Operands of post-ops are not among the arguments a primitive descriptor can be asked for.
  if ((binding.argument & DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE) != 0) return binding.descriptor;
  return descriptor.query_md(dnnl::query::exec_arg_md, binding.argument);
}

Bytes next_place(Bytes bytes) {
  constexpr std::int64_t kCacheLine = 64;
  return {(bytes.value + kCacheLine - 1) / kCacheLine * kCacheLine};
}

Bytes Implementation::workspace() const {
  Bytes bytes{static_cast<std::int64_t>(descriptor.scratchpad_desc().get_size())};
  for (const Binding& binding : bindings) {
    if (binding.staged) bytes = next_place(bytes) + Bytes{static_cast<std::int64_t>(wanted(binding).get_size())};
  }
  return bytes;
}

void append_implementations(dnnl::primitive_desc descriptor, const std::string& prefix,
                            const std::vector<Binding>& bindings, Implementations& list) {
  if (!descriptor) return;
  do {
    list.push_back({prefix + descriptor.impl_info_str(), descriptor, bindings, std::nullopt});
  } while (descriptor.next_impl());
}

}  // namespace cohort::onednn
