#pragma once

#include <cstddef>
#include <string>

#include "simulator/what_if/rank_what_ifs.hpp"

namespace cohort {

/// A ranked table for people, with why each is where it is.
std::string print(const WhatIfRanking& ranking, std::size_t most_rows = 10);

/// "launch removal saves 5.19 ms, overlap costs 1.20 us; thread 7 busy 100%; confidence low: no figures of ..."
std::string explanation_of(const WhatIfPrediction& prediction);

}  // namespace cohort
