#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// Brings what versions of PyTorch's profiler and other tools spell differently to one form, that of
/// PyTorch 2: category "Kernel" becomes "kernel", argument "external id" becomes "External id", a
/// stream that is "7" or 4294967295 becomes 7 or -1.
class Spelling {
 public:
  explicit Spelling(StringTable& strings) : strings_(strings) {}

  StringId category(StringId given);
  void argument(std::pair<StringId, ArgValue>& arg);
  [[nodiscard]] bool is_id(StringId argument) { return key(argument).is_id; }

 private:
  struct Key {
    StringId name{};
    bool is_id = false;      ///< a whole number in any spelling
    bool is_stream = false;  ///< for which all bits set mean none
  };
  const Key& key(StringId given);

  StringTable& strings_;
  std::vector<std::optional<StringId>> categories_;  ///< by StringId given
  std::vector<std::optional<Key>> keys_;
};

/// 100 of 100.0; absent where it is not whole, or too large to be exact.
std::optional<std::int64_t> whole_number(double number);

/// 7 for "stream 7" and "Stream #7".
std::optional<std::int64_t> stream_number(std::string_view thread);

/// -1 for 4294967295: "no stream" of 32 bits, read as unsigned.
std::int64_t signed_stream(std::int64_t stream);

}  // namespace cohort
