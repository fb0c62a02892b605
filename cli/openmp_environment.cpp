#include "cli/openmp_environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace cohort {

void set_openmp_environment(char** argv) {
  constexpr const char* kSpin = "GOMP_SPINCOUNT";
  if (std::getenv(kSpin) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // 50 to some hundred microseconds, by how long the processor pauses; profiles record it as "spin time".
  constexpr const char* kShortSpin = "2000";
  if (::setenv(kSpin, kShortSpin, 1) != 0) return;
  ::execv("/proc/self/exe", argv);  // where that fails, things are as they would have been
}

}  // namespace cohort
