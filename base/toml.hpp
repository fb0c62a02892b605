#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace cohort {

struct TomlValue;
/// In the order of the file.
using TomlEntries = std::vector<std::pair<std::string, TomlValue>>;

/// A value of a TOML file, and where it stands. Dates and times are none of ours: they are refused where they are read.
struct TomlValue {
  std::variant<std::string, std::int64_t, double, bool, std::vector<TomlValue>, TomlEntries> value;
  int line = 0;  ///< from 1
  /// "the text \"adam\"", "a list": for messages.
  [[nodiscard]] std::string description() const;
};

/// Parses TOML 1.0. `name` is of the file. Errors: kInvalidInput with file and line.
Result<TomlValue> parse_toml(std::string_view text, std::string_view name);

/// Reads one table of a TOML file key by key, so that every error names file, line and key ("sweep.toml:7:
/// halving.keep") and says what would be right.
class TomlTable {
 public:
  /// The whole file. `file`, `root` and all that they hold must outlive this.
  TomlTable(std::string_view file, const TomlValue& root);

  /// Call first. Errors: kInvalidInput naming a key that is none of these, and the one that was likely meant.
  [[nodiscard]] Result<void> check_keys(std::span<const std::string_view> known) const;

  [[nodiscard]] Result<void> check_keys(std::initializer_list<std::string_view> known) const {
    return check_keys(std::span(known.begin(), known.size()));
  }

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] Result<std::string> string(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  /// Whole numbers count as numbers, too. Not NaN.
  [[nodiscard]] Result<double> number(std::string_view key, double least, double most) const;
  [[nodiscard]] Result<bool> boolean(std::string_view key) const;
  [[nodiscard]] Result<TomlTable> table(std::string_view key) const;
  /// "[[member]]": a list of tables.
  [[nodiscard]] Result<std::vector<TomlTable>> tables(std::string_view key) const;
  /// Whatever it is. Errors: kInvalidInput where it is missing.
  [[nodiscard]] Result<const TomlValue*> value(std::string_view key) const;
  [[nodiscard]] const TomlEntries& entries() const { return *entries_; }

  /// "sweep.toml:7: halving.keep", for messages of the caller's own.
  [[nodiscard]] std::string place_of(std::string_view key) const;
  /// An error about the value of a key, which is there: "... must be EXPECTED, not a list".
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, std::string_view expected) const;

 private:
  TomlTable(std::string_view file, std::string path, const TomlEntries& entries, int line);
  [[nodiscard]] const TomlValue* find(std::string_view key) const;

  std::string_view file_;
  std::string path_;
  const TomlEntries* entries_;
  int line_;
};

}  // namespace cohort
