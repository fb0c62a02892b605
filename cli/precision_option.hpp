#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cohort {

/// Declares --precision; `text` stays empty unless it is given.
inline void add_precision_option(CLI::App& app, std::string& text, const std::string& help) {
  app.add_option("--precision", text, help)->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
}

}  // namespace cohort
