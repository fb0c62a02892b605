#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace cohort {

/// Appends a time as microseconds with exactly three decimals ("12.034"), the form of trace files.
void append_microseconds(std::string& out, Nanoseconds time);

/// Reads microseconds from the text of a JSON number, fraction and exponent included, without going
/// through floating point: a double loses nanoseconds on times since 1970. More than three decimals
/// are rounded to the nearest nanosecond. Absent where the text is no number or does not fit.
std::optional<Nanoseconds> microseconds_from(std::string_view text);

}  // namespace cohort
