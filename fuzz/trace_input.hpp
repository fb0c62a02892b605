#pragma once

#include <string_view>

namespace cohort {

/// Reads bytes as a trace and does with what comes out what commands do: write it, read that again,
/// summarise it, look for steps. Aborts, saying why, where what is written does not read back the same.
void check_trace_input(std::string_view bytes);

}  // namespace cohort
