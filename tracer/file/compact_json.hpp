#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Appends a JSON value without the white space outside its strings. Returns false, with `out` as it
/// was, where the text is no valid JSON value or nests deeper than 64.
bool append_compact_json(std::string& out, std::string_view text);

/// The text of a scalar's token, without quotes and the white space behind it.
std::string_view bare_token(std::string_view token);

}  // namespace cohort
