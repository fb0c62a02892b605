#include "training/csv_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/spelling.hpp"

namespace cohort {
namespace {

/// One row after another.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  /// Into `fields`. False at the end. Empty lines are passed over.
  Result<bool> next(std::vector<std::string>& fields) {
    fields.clear();
    while (!rest_.empty() && (rest_.front() == '\n' || rest_.front() == '\r')) step();
    if (rest_.empty()) return false;
    row_line_ = line_;
    while (true) {
      COHORT_TRY(std::string field, take_field());
      fields.push_back(std::move(field));
      if (rest_.empty() || rest_.front() != ',') break;
      step();
    }
    return true;
  }
  /// In which the last row begins.
  [[nodiscard]] std::size_t line() const { return row_line_; }

 private:
  void step() {
    if (rest_.front() == '\n') ++line_;
    rest_.remove_prefix(1);
  }

  Result<std::string> take_field() {
    if (rest_.empty() || rest_.front() != '"') {
      const std::size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
      std::string field(rest_.substr(0, end));
      rest_.remove_prefix(end);
      return field;
    }
    const std::size_t opened = line_;
    std::string field;
    step();
    while (!rest_.empty()) {
      if (rest_.front() == '"') {
        step();
        if (rest_.empty() || rest_.front() != '"') return field;
      }
      field.push_back(rest_.front());
      step();
    }
    return fail(ErrorCode::kInvalidInput, "line {}: a quote is opened and never closed", opened);
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
};

std::optional<float> number_of(std::string_view field) {
  const std::size_t first = field.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  field = field.substr(first, field.find_last_not_of(" \t") - first + 1);
  if (field.starts_with('+')) field.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// What becomes of each column.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::optional<std::size_t>> as_text;  ///< position among the texts; absent: a number
};

Result<Columns> columns_of(std::vector<std::string> header, std::span<const std::string> text_columns) {
  std::set<std::string> seen;
  for (const std::string& name : header) {
    if (!seen.insert(name).second) return fail(ErrorCode::kInvalidInput, "line 1: two columns are named \"{}\"", name);
  }
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
