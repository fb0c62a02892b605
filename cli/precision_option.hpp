#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "simulator/plan/precision.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {

/// Declares --precision; `text` stays empty unless it is given.
inline void add_precision_option(CLI::App& app, std::string& text, const std::string& help) {
  app.add_option("--precision", text, help)->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
}

struct PrecisionAndLayout {
  Precision precision = Precision::kFloat32;
  Layout layout = Layout::kNchw;
};

/// What --precision and --layout say; where they are empty, float32 and the usual layout of the device.
/// Errors: those of precision_from() and layout_from().
inline Result<PrecisionAndLayout> precision_and_layout(const std::string& precision, const std::string& layout,
                                                       std::string_view device_kind) {
  PrecisionAndLayout both;
  if (!precision.empty()) {
    COHORT_TRY(both.precision, precision_from(precision));
  }
  both.layout = usual_layout(device_kind, both.precision);
  if (!layout.empty()) {
    COHORT_TRY(both.layout, layout_from(layout));
  }
  return both;
}

}  // namespace cohort
