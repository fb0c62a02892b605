#include "base/json.hpp"

#include <algorithm>

namespace cohort {

using nlohmann::json;

namespace {

constexpr int kMostNested = 100;  // what prints a value calls itself for each level

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > kMostNested) return true;
  }
  return false;
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(ErrorCode::kInvalidInput, "not JSON but empty");
  if (text.starts_with("\x1f\x8b")) return fail(ErrorCode::kInvalidInput, "not JSON but gzipped, as traces are");
  if (nests_too_deep(text))
    return fail(ErrorCode::kInvalidInput, "not valid here: JSON with more than {} levels", kMostNested);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte, text.size());
    const auto before = text.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column = at - (line_start == std::string_view::npos ? 0 : line_start + 1);
    return fail(ErrorCode::kInvalidInput, "not valid JSON at line {}, column {}", line, column);
  } catch (const json::exception& error) {
    return fail(ErrorCode::kInvalidInput, "not valid JSON: {}", error.what());
  }
}

Result<JsonObject> JsonObject::open(const json& value, std::string path) {
  if (!value.is_object())
    return fail(ErrorCode::kInvalidInput, "{} must be an object, not {}", path.empty() ? "the document" : path,
                value.type_name());
  return JsonObject(value, std::move(path));
}

std::string JsonObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Result<const json*> JsonObject::value(std::string_view key) {
  seen_.emplace_back(key);
  const auto found = object_->find(key);
  if (found == object_->end()) return fail(ErrorCode::kInvalidInput, "{} is missing", path_of(key));
  return &*found;
}

Result<std::string> JsonObject::string(std::string_view key) {
  COHORT_TRY(const json* field, value(key));
  if (!field->is_string())
    return fail(ErrorCode::kInvalidInput, "{} must be a string, not {}", path_of(key), field->type_name());
  return field->get<std::string>();
}

Result<std::int64_t> JsonObject::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  COHORT_TRY(const json* field, value(key));
  const bool too_large =
      field->is_number_unsigned() && field->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  if (!field->is_number_integer() || too_large || field->get<std::int64_t>() < least ||
      field->get<std::int64_t>() > most)
    return fail(ErrorCode::kInvalidInput, "{} must be a whole number from {} to {}, not {}", path_of(key), least, most,
                field->dump());
  return field->get<std::int64_t>();
}

Result<double> JsonObject::number(std::string_view key) {
  COHORT_TRY(const json* field, value(key));
  if (!field->is_number())
    return fail(ErrorCode::kInvalidInput, "{} must be a number, not {}", path_of(key), field->type_name());
  return field->get<double>();
}

Result<bool> JsonObject::boolean(std::string_view key) {
  COHORT_TRY(const json* field, value(key));
  if (!field->is_boolean())
    return fail(ErrorCode::kInvalidInput, "{} must be true or false, not {}", path_of(key), field->dump());
  return field->get<bool>();
}

Result<std::vector<std::string>> JsonObject::strings(std::string_view key) {
  COHORT_TRY(const json* field, value(key));
  std::vector<std::string> items;
  const bool all_strings =
      field->is_array() && std::all_of(field->begin(), field->end(), [](const json& item) { return item.is_string(); });
  if (!all_strings) return fail(ErrorCode::kInvalidInput, "{} must be a list of strings", path_of(key));
  for (const json& item : *field) items.push_back(item.get<std::string>());
  return items;
}

Result<std::vector<JsonObject>> JsonObject::objects(std::string_view key) {
  COHORT_TRY(const json* field, value(key));
  if (!field->is_array())
    return fail(ErrorCode::kInvalidInput, "{} must be a list, not {}", path_of(key), field->type_name());
  std::vector<JsonObject> items;
  for (std::size_t i = 0; i < field->size(); ++i) {
    COHORT_TRY(auto item, open((*field)[i], fmt::format("{}[{}]", path_of(key), i)));
    items.push_back(std::move(item));
  }
  return items;
}

Result<void> JsonObject::no_other_keys() const {
  for (const auto& [key, unused] : object_->items()) {
    if (std::find(seen_.begin(), seen_.end(), key) == seen_.end())
      return fail(ErrorCode::kInvalidInput, "{} is not a field known here", path_of(key));
  }
  return {};
}

}  // namespace cohort
