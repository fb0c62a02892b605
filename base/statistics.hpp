#pragma once

#include <vector>

#include "base/units.hpp"

namespace cohort {

/// Value below which `position` (0 to 1) of the samples lie, linear between neighbours; at least one sample, in any
/// order.
double quantile(std::vector<double> samples, double position);
Nanoseconds quantile(std::vector<Nanoseconds> samples, double position);

/// At least one sample, in any order.
double median(std::vector<double> samples);
Nanoseconds median(std::vector<Nanoseconds> samples);

}  // namespace cohort
