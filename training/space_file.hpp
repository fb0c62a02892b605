#pragma once

#include <vector>

#include "base/toml.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// [space] of a sweep file into `sweep`: how it is searched, and the values of each hyperparameter.
/// Errors: kInvalidInput naming file, line and key.
Result<void> read_space(const TomlTable& table, Sweep& sweep);

/// [[member]]: one point each. Errors: kInvalidInput naming file, line and key.
Result<std::vector<Point>> read_members(const std::vector<TomlTable>& tables);

}  // namespace cohort
