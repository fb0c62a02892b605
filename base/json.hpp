#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Parses JSON text. Errors: kInvalidInput with line, column and what was expected.
Result<nlohmann::json> parse_json(std::string_view text);

/// Reads one JSON object field by field, so that every error names the field by its full path
/// ("groups[2].strategy") and says what would be right. Unknown keys are errors too: a mistyped
/// key in a file edited by hand must not be ignored.
class JsonObject {
 public:
  /// Errors: kInvalidInput if `value` is not an object.
  static Result<JsonObject> open(const nlohmann::json& value, std::string path);

  Result<std::string> string(std::string_view key);
  Result<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  Result<double> number(std::string_view key);
  Result<bool> boolean(std::string_view key);
  /// Any value, for lists and nested objects.
  Result<const nlohmann::json*> value(std::string_view key);
  Result<std::vector<std::string>> strings(std::string_view key);
  /// A list whose elements are read as objects.
  Result<std::vector<JsonObject>> objects(std::string_view key);

  [[nodiscard]] bool has(std::string_view key) const { return object_->contains(key); }
  /// Path of a field below this object, for messages of the caller's own.
  [[nodiscard]] std::string path_of(std::string_view key) const;
  /// Call last. Errors: kInvalidInput naming a key that nothing read.
  [[nodiscard]] Result<void> no_other_keys() const;

 private:
  JsonObject(const nlohmann::json& object, std::string path) : object_(&object), path_(std::move(path)) {}

  const nlohmann::json* object_;
  std::string path_;
  std::vector<std::string> seen_;
};

}  // namespace cohort
