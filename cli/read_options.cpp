#include "cli/read_options.hpp"

namespace cohort {

namespace {

constexpr const char* kMostInflated = "--most-inflated";

}  // namespace

void ReadOptionSet::declare(CLI::App& app) {
  app.add_option(kMostInflated, most_inflated_, "Refuse files whose JSON is larger than this, once unpacked: 2GB")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->capture_default_str();
}

TraceReadOptions ReadOptionSet::options() const {
  TraceReadOptions options;
  options.most_inflated_bytes = most_inflated_;
  options.raised_by = kMostInflated;
  return options;
}

}  // namespace cohort
