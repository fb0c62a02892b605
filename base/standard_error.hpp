#pragma once

#include <cstdio>
#include <string_view>

namespace cohort {

/// Writes to standard error what can be written there. A pipe that is closed or a full disk behind it ends no work, as
/// the exceptions of fmt::print() would.
inline void write_standard_error(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace cohort
