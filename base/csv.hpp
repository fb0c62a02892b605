#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// A field of a CSV file after RFC 4180: in quotes where it has to be.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

/// Reads a CSV file after RFC 4180, one row after another. The text must outlive it.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  /// Puts the next row into `fields`; false at the end. Skips empty lines.
  /// Errors: kInvalidInput naming the line, for a quote that is never closed.
  Result<bool> next(std::vector<std::string>& fields);
  /// The line, from 1, in which the last row begins.
  [[nodiscard]] std::size_t line() const { return row_line_; }

 private:
  void step();
  Result<std::string> take_field();

  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
};

/// A finite number, blanks around it allowed; nothing where the field is something else.
std::optional<double> csv_number(std::string_view field);

/// The names of a table's columns. Errors: kInvalidInput where two are the same.
Result<void> check_csv_columns(const std::vector<std::string>& names);

}  // namespace cohort
