#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// The value of the top-level key "cohort" of a trace file, as one line of JSON.
std::string trace_info_to_json(const TraceInfo& info);
/// Errors: kInvalidInput naming the field ("cohort.kind") and what would be right.
Result<TraceInfo> trace_info_from_json(std::string_view text);

}  // namespace cohort
