#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

#include "tracer/trace.hpp"

namespace cohort {

/// Values of one text argument, by slice, at one look-up of its name.
class TextArg {
 public:
  TextArg(const Trace& trace, std::string_view key) : trace_(&trace), key_(trace.strings.find(key)) {}

  [[nodiscard]] std::optional<StringId> operator()(const Slice& slice) const {
    if (!key_ || !slice.args) return std::nullopt;
    for (const auto& [name, value] : trace_->args[to_index(*slice.args)]) {
      if (name != *key_) continue;
      const auto* text = std::get_if<StringId>(&value);
      return text != nullptr ? std::optional(*text) : std::nullopt;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool on_any_slice() const {
    return key_ && std::any_of(trace_->slices.begin(), trace_->slices.end(),
                               [&](const Slice& slice) { return (*this)(slice).has_value(); });
  }

 private:
  const Trace* trace_;
  std::optional<StringId> key_;
};

}  // namespace cohort
