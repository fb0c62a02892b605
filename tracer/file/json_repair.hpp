#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/file/content.hpp"

namespace cohort {

/// What closes a JSON text that ends too early.
struct CutText {
  std::size_t whole = 0;  ///< bytes up to the end of the last list element or field that is whole
  std::string closers;    ///< what then ends the lists and objects still open: "]}"
};

/// Where a text that was cut short can be ended; absent where nothing is open at its end, or where it
/// closes what it did not open. Time: O(n), one byte after another: for broken files only.
std::optional<CutText> find_cut(std::string_view text);

/// Ends a text that was cut short after its last whole element. False where it was not cut.
bool close_cut_text(PaddedBytes& bytes);

/// Blanks commas that nothing follows: "[1, 2, ]". Returns how many.
std::size_t blank_trailing_commas(PaddedBytes& bytes);

/// Puts a question mark in place of each control character within a string, and an apostrophe in place of each quote
/// that can end none, by what follows it: tools write names as they come. Returns how many.
std::int64_t repair_strings(PaddedBytes& bytes);

/// Puts a question mark in place of each byte that is no part of UTF-8, as where tools cut kernel names within a
/// character: stage one of simdjson refuses the whole file then. Returns how many.
std::int64_t replace_invalid_utf8(PaddedBytes& bytes);

/// "line 3, byte 120" of a position counted from 0; both from 1.
std::string describe_position(std::string_view text, std::size_t position);

}  // namespace cohort
