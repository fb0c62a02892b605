#pragma once

#include <cstdio>
#include <cstdlib>

namespace cohort {

/// Ends the fuzzer where something does not hold that must hold whatever the bytes.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace cohort
