#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// Where progress goes.
enum class ProgressForm {
  kNone,
  kLine,  ///< one line that is replaced, where standard error is a terminal
  kJson,  ///< a line of JSON each, {"progress":"simulated 3 of at most 50 plans"}, on any standard error: for programs
};

/// The program's output: results on standard output, everything else on standard error. Results are
/// collected by the C library; whether they arrived is known after finish().
class Console {
 public:
  explicit Console(bool quiet, ProgressForm progress = ProgressForm::kLine);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { clear_progress(); }

  /// A result, as it is.
  void print(std::string_view text);
  /// A result as indented JSON and a line end.
  void print_json(const nlohmann::ordered_json& value);
  /// What was done, for people ("wrote x.json"); nothing when quiet.
  void note(std::string_view line);
  /// Says how far the work is, see ProgressForm; at most ten times a second, and always when the first word is another
  /// than before: "loading", "measured 3 of 18 blocks".
  void progress(std::string_view text);
  void clear_progress();

  /// Errors: kInvalidInput with the system's reason where standard output did not take everything, as of a full disk.
  /// A reader that closes its pipe early, as `head` does, is none.
  Result<void> finish();

 private:
  bool quiet_;
  ProgressForm progress_;
  bool progress_shown_ = false;  ///< a line to be cleared
  int write_error_ = 0;
  std::chrono::steady_clock::time_point last_progress_;
  std::string last_stage_;  ///< the first word of its text
};

}  // namespace cohort
