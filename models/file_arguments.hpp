#pragma once

#include <string_view>

namespace cohort {

// Arguments of a file (ModelSource::arguments) whose name begins so are no open dimensions.

/// Makes an input, or a tensor that is computed, a constant, as --set-input does: {"set-input mask": "1"}.
inline constexpr std::string_view kSetInput = "set-input ";

/// Makes a tensor that is computed an input, as --from does; the value is its place among them: {"from features": "1"}.
inline constexpr std::string_view kFrom = "from ";

/// Makes a tensor an output in place of the file's, as --until does; the value is its place among them: {"until
/// boxes": "1"}.
inline constexpr std::string_view kUntil = "until ";

}  // namespace cohort
