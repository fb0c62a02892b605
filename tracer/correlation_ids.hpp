#pragma once

#include <cstdint>
#include <optional>

#include "tracer/trace.hpp"

namespace cohort {

/// Correlation ids of a trace's slices: what CUPTI gives to a call, and to all that it put on a device.
class CorrelationIds {
 public:
  explicit CorrelationIds(const Trace& trace) : trace_(trace), key_(trace.strings.find("correlation")) {}

  /// Absent where the slice has none, or 0, which stands for none.
  [[nodiscard]] std::optional<std::int64_t> of(const Slice& slice) const {
    const auto id = trace_.integer_arg(slice, key_);
    return id && *id != 0 ? id : std::nullopt;
  }

 private:
  const Trace& trace_;
  std::optional<StringId> key_;  ///< absent: no slice has one
};

}  // namespace cohort
