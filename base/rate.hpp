#pragma once

#include <string>

namespace cohort {

/// Text for people: "53610 samples/s"; of fewer than 10 with three decimals.
std::string format_rate(double samples_per_second);

}  // namespace cohort
