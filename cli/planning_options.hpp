#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/image_options.hpp"
#include "planning/planning_input.hpp"

namespace CLI {
class App;
}

namespace cohort {

/// Options that plan and simulate share: which members, on which input, within which limits; as they were given.
struct PlanningFlags {
  PlanningOptions values;  ///< what needs no more than CLI11's reading
  std::string data;
  ImageOptions images;
  std::string input = "shared";
  std::string bad_images = "skip";
  std::vector<std::string> limits;  ///< of bytes
  std::string precision;            ///< empty: that of the profiles
};

/// "8GiB", "512MiB", "1000". Errors: kUsage naming the option.
Result<Bytes> parse_bytes(std::string_view option, std::string_view text);

/// "memory=8GiB", "workspace=64MiB". Errors: kUsage naming --limit.
Result<Limits> parse_limits(const std::vector<std::string>& texts);

void add_planning_options(CLI::App& app, PlanningFlags& flags);

/// Whether flags hold what a plan may; before any file is read. Errors: kUsage naming the option.
Result<void> check_usage(const PlanningFlags& flags);

/// What was given.
/// Errors: those of check_usage(); kUsage naming the option whose text is wrong.
Result<PlanningOptions> planning_options(const PlanningFlags& flags);

}  // namespace cohort
