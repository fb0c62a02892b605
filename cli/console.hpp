#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// The program's output: results on standard output, everything else on standard error. Results are
/// collected by the C library; whether they arrived is known after finish().
class Console {
 public:
  explicit Console(bool quiet);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { clear_progress(); }

  /// A result, as it is.
  void print(std::string_view text);
  /// A result as indented JSON and a line end.
  void print_json(const nlohmann::ordered_json& value);
  /// What was done, for people ("wrote x.json"); nothing when quiet.
  void note(std::string_view line);
  /// Replaces the progress line. Only where standard error is a terminal, and at most ten times a second.
  void progress(std::string_view text);
  void clear_progress();

  /// Errors: kInvalidInput with the system's reason where standard output did not take everything
  /// (full disk, closed pipe).
  Result<void> finish();

 private:
  bool quiet_;
  bool shows_progress_;
  bool progress_shown_ = false;
  int write_error_ = 0;
  std::chrono::steady_clock::time_point last_progress_;
};

}  // namespace cohort
