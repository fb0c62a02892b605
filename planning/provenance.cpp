#include "planning/provenance.hpp"

#include <fmt/chrono.h>

#include <ctime>

namespace cohort {

std::map<std::string, std::string> provenance() {
  return {{"cohort", COHORT_VERSION}, {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))}};
}

}  // namespace cohort
