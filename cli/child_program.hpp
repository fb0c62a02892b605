#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace cohort {

/// How another program ended.
struct ChildEnd {
  int exit_code = 0;  ///< as a shell gives it: 128 + number where a signal ended it
  int signal = 0;     ///< 0 where it ended by itself
  Nanoseconds wall{};
};

/// Runs a program with this process's standard streams and waits for it; an interrupt at the terminal reaches it, and
/// SIGTERM and SIGHUP to this process are passed on. A first signal is waited out. `environment` is added to what this
/// process was given, without its own settings (cli/process_environment.hpp). Errors: kInvalidInput where it cannot be
/// started.
Result<ChildEnd> run_child(const std::vector<std::string>& words,
                           const std::map<std::string, std::string>& environment);

}  // namespace cohort
