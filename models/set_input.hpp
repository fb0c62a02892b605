#pragma once

#include <string_view>

namespace cohort {

/// Begins the name of an argument of a file (ModelSource::arguments) that makes an input a constant, as --set-input
/// does: {"set-input mask": "1"}.
inline constexpr std::string_view kSetInput = "set-input ";

}  // namespace cohort
