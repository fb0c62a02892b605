#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "base/result.hpp"
#include "simulator/plan/precision.hpp"

namespace cohort {

/// Declares --precision; `text` stays empty unless it is given.
inline void add_precision_option(CLI::App& app, std::string& text, const std::string& help) {
  app.add_option("--precision", text, help)->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
}

/// What a profile was recorded in, kept among its settings; profiles that say nothing are of float32.
inline Result<Precision> recorded_precision(const std::map<std::string, std::string>& settings) {
  const auto found = settings.find("precision");
  return found == settings.end() ? Precision::kFloat32 : precision_from(found->second);
}

}  // namespace cohort
