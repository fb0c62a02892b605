#include "training/csv_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/csv.hpp"
#include "base/spelling.hpp"

namespace cohort {
namespace {

std::optional<float> number_of(std::string_view field) {
  const std::optional<double> value = csv_number(field);
  // What is beyond float32's range would be infinite there.
  if (!value || std::abs(*value) > std::numeric_limits<float>::max()) return std::nullopt;
  return static_cast<float>(*value);
}

/// What becomes of each column.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::optional<std::size_t>> as_text;  ///< position among the texts; absent: a number
};

Result<Columns> columns_of(std::vector<std::string> header, std::span<const std::string> text_columns) {
  COHORT_CHECK(check_csv_columns(header));
  Columns columns{std::move(header), {}};
  columns.as_text.resize(columns.names.size());
  for (std::size_t i = 0; i < text_columns.size(); ++i) {
    const auto found = std::find(columns.names.begin(), columns.names.end(), text_columns[i]);
    if (found == columns.names.end()) {
      const std::vector<std::string_view> known(columns.names.begin(), columns.names.end());
      return fail(ErrorCode::kInvalidInput, "no column \"{}\" in the first line; {}", text_columns[i],
                  known_words(text_columns[i], known));
    }
    columns.as_text[static_cast<std::size_t>(found - columns.names.begin())] = i;
  }
  if (columns.names.size() == text_columns.size())
    return fail(ErrorCode::kInvalidInput, "there is no column of numbers beside {}", fmt::join(text_columns, ", "));
  return columns;
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, std::span<const std::string> text_columns) {
  CsvReader reader(text);
  std::vector<std::string> fields;
  COHORT_TRY(const bool any, reader.next(fields));
  if (!any) return fail(ErrorCode::kInvalidInput, "is empty; the first line must name the columns");
  COHORT_TRY(const Columns columns, columns_of(fields, text_columns));
  CsvTable table;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    if (!columns.as_text[i]) table.features.push_back(columns.names[i]);
  }
  while (true) {
    COHORT_TRY(const bool more, reader.next(fields));
    if (!more) break;
    if (fields.size() != columns.names.size())
      return fail(ErrorCode::kInvalidInput, "line {}: {} fields; the first line names {} columns", reader.line(),
                  fields.size(), columns.names.size());
    table.texts.resize(table.texts.size() + text_columns.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns.as_text[i]) {
        table.texts[table.rows * text_columns.size() + *columns.as_text[i]] = std::move(fields[i]);
        continue;
      }
      const auto number = number_of(fields[i]);
      if (!number)
        return fail(ErrorCode::kInvalidInput, "line {}: column \"{}\" must be a number, not \"{}\"", reader.line(),
                    columns.names[i], fields[i]);
      table.values.push_back(*number);
    }
    ++table.rows;
  }
  if (table.rows == 0) return fail(ErrorCode::kInvalidInput, "has no row below its first line");
  return table;
}

}  // namespace cohort
