#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Numbers of a CSV table, and one or more columns kept as they stand.
struct CsvTable {
  std::vector<std::string> features;  ///< names of the columns of numbers, in the file's order
  std::size_t rows = 0;
  std::vector<float> values;       ///< row by row
  std::vector<std::string> texts;  ///< of the columns that were asked for, in that order, row by row
};

/// Reads a table after RFC 4180 whose first line names its columns. `text_columns` are kept as text, all others must be
/// finite numbers.
/// Errors: kInvalidInput with the line, from 1, and the column: a column that is missing or named twice, a row of
/// another length, a field that is empty or no number.
Result<CsvTable> parse_csv(std::string_view text, std::span<const std::string> text_columns);

}  // namespace cohort
