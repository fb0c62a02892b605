#include "base/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace cohort {

void CsvReader::step() {
  if (rest_.front() == '\n') ++line_;
  rest_.remove_prefix(1);
}

Result<bool> CsvReader::next(std::vector<std::string>& fields) {
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

Result<std::string> CsvReader::take_field() {
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

std::optional<double> csv_number(std::string_view field) {
  const std::size_t first = field.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  field = field.substr(first, field.find_last_not_of(" \t") - first + 1);
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<void> check_csv_columns(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return fail(ErrorCode::kInvalidInput, "line 1: two columns are named \"{}\"", name);
  }
  return {};
}

}  // namespace cohort
