#include "base/toml.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// What the parser asserts bad input can break (3.3.0); without assertions it is told as any other error.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>

#include "base/overloaded.hpp"
#include "base/spelling.hpp"

namespace cohort {
namespace {

Result<TomlValue> converted(const toml::node& node, std::string_view file) {
  const auto line = static_cast<int>(node.source().begin.line);
  if (const auto* text = node.as_string()) return TomlValue{text->get(), line};
  if (const auto* whole = node.as_integer()) return TomlValue{whole->get(), line};
  if (const auto* number = node.as_floating_point()) return TomlValue{number->get(), line};
  if (const auto* truth = node.as_boolean()) return TomlValue{truth->get(), line};
  if (const auto* list = node.as_array()) {
    std::vector<TomlValue> values;
    for (const toml::node& each : *list) {
      COHORT_TRY(TomlValue value, converted(each, file));
      values.push_back(std::move(value));
    }
    return TomlValue{std::move(values), line};
  }
  const auto* table = node.as_table();
  if (table == nullptr)
    return fail(ErrorCode::kInvalidInput, "{}:{}: a date or time is no value here; write it as text, in quotes", file,
                line);
  TomlEntries entries;
  std::vector<std::pair<toml::source_position, std::size_t>> order;
  for (const auto& [key, value] : *table) {
    COHORT_TRY(TomlValue entry, converted(value, file));
    // A table's own place is where its header or brace is; keys say where a reader sees the entry begin.
    entry.line = static_cast<int>(key.source().begin.line);
    order.emplace_back(key.source().begin, entries.size());
    entries.emplace_back(std::string(key.str()), std::move(entry));
  }
  std::sort(order.begin(), order.end());
  TomlEntries sorted;
  for (const auto& [position, index] : order) sorted.push_back(std::move(entries[index]));
  return TomlValue{std::move(sorted), line};
}

std::string range_text(double least, double most) {
  constexpr double kAny = 1e300;
  if (most >= kAny) return fmt::format("a number from {}", least);
  return fmt::format("a number from {} to {}", least, most);
}

}  // namespace

std::string TomlValue::description() const {
  return std::visit(Overloaded{[](const std::string& text) { return fmt::format("the text \"{}\"", text); },
                               [](std::int64_t number) { return fmt::format("{}", number); },
                               [](double number) { return fmt::format("{}", number); },
                               [](bool truth) { return std::string(truth ? "true" : "false"); },
                               [](const std::vector<TomlValue>& list) {
                                 return std::string(list.empty() ? "an empty list" : "a list");
                               },
                               [](const TomlEntries&) { return std::string("a table"); }},
                    value);
}

Result<TomlValue> parse_toml(std::string_view text, std::string_view name) {
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::kInvalidInput, "{}:{}: {}", name, error.source().begin.line, error.description());
  }
  return converted(parsed.table(), name);
}

TomlTable::TomlTable(std::string_view file, const TomlValue& root)
    : TomlTable(file, "", std::get<TomlEntries>(root.value), 1) {}

TomlTable::TomlTable(std::string_view file, std::string path, const TomlEntries& entries, int line)
    : file_(file), path_(std::move(path)), entries_(&entries), line_(line) {}

const TomlValue* TomlTable::find(std::string_view key) const {
  const auto found = std::find_if(entries_->begin(), entries_->end(), [&](const auto& e) { return e.first == key; });
  return found == entries_->end() ? nullptr : &found->second;
}

std::string TomlTable::place_of(std::string_view key) const {
  const TomlValue* const value = find(key);
  return fmt::format("{}:{}: {}{}", file_, value != nullptr ? value->line : line_, path_, key);
}

tl::unexpected<Error> TomlTable::wrong(std::string_view key, std::string_view expected) const {
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", place_of(key), expected, find(key)->description());
}

Result<const TomlValue*> TomlTable::value(std::string_view key) const {
  if (const TomlValue* const found = find(key)) return found;
  return fail(ErrorCode::kInvalidInput, "{} is missing", place_of(key));
}

Result<std::string> TomlTable::string(std::string_view key) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  if (const auto* text = std::get_if<std::string>(&found->value)) return *text;
  return wrong(key, "text in quotes");
}

Result<std::int64_t> TomlTable::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  const auto* const whole = std::get_if<std::int64_t>(&found->value);
  if (whole != nullptr && *whole >= least && *whole <= most) return *whole;
  return wrong(key, fmt::format("a whole number from {} to {}", least, most));
}

Result<double> TomlTable::number(std::string_view key, double least, double most) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  const auto* const real = std::get_if<double>(&found->value);
  const auto* const whole = std::get_if<std::int64_t>(&found->value);
  if (real == nullptr && whole == nullptr) return wrong(key, range_text(least, most));
  const double number = real != nullptr ? *real : static_cast<double>(*whole);
  if (!(number >= least && number <= most)) return wrong(key, range_text(least, most));
  return number;
}

Result<bool> TomlTable::boolean(std::string_view key) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  if (const auto* truth = std::get_if<bool>(&found->value)) return *truth;
  return wrong(key, "true or false");
}

Result<TomlTable> TomlTable::table(std::string_view key) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  const auto* const entries = std::get_if<TomlEntries>(&found->value);
  if (entries == nullptr) return wrong(key, fmt::format("a table: [{}{}]", path_, key));
  return TomlTable(file_, fmt::format("{}{}.", path_, key), *entries, found->line);
}

Result<std::vector<TomlTable>> TomlTable::tables(std::string_view key) const {
  COHORT_TRY(const TomlValue* const found, value(key));
  const auto* const list = std::get_if<std::vector<TomlValue>>(&found->value);
  const std::string expected = fmt::format("one or more tables: [[{}{}]]", path_, key);
  if (list == nullptr || list->empty()) return wrong(key, expected);
  std::vector<TomlTable> tables;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* const entries = std::get_if<TomlEntries>(&(*list)[i].value);
    if (entries == nullptr) return wrong(key, expected);
    tables.push_back(TomlTable(file_, fmt::format("{}{}[{}].", path_, key, i), *entries, (*list)[i].line));
  }
  return tables;
}

Result<void> TomlTable::check_keys(std::span<const std::string_view> known) const {
  for (const auto& [key, value] : *entries_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return fail(ErrorCode::kInvalidInput, "{} is not known; {}", place_of(key), known_words(key, known));
  }
  return {};
}

}  // namespace cohort
