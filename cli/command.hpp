#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/file.hpp"
#include "base/result.hpp"
#include "cli/console.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// What every command gets when it runs.
struct CommandContext {
  Console& console;
  const CancelToken& cancel;  ///< set by Ctrl-C
  bool json = false;          ///< print results as JSON
  Overwrite overwrite = Overwrite::kNever;
  TraceReadOptions read = {};        ///< for every trace that is read
  std::vector<std::string> program;  ///< words after "--", of a command that takes another program
};

/// Runs a command with the options that were parsed. An error's code is the exit code.
using RunFunction = std::function<Result<void>(CommandContext&)>;

struct Command {
  std::string name;            ///< "models", or "trace info" for one of a family
  std::string help;            ///< what it does, one line
  std::string example;         ///< command lines that work as they stand, further ones indented by two
  bool writes_files = false;   ///< then it has -f
  bool reads_traces = false;   ///< then it has --most-inflated
  bool takes_program = false;  ///< then what stands after "--" is another program's command line
  /// Declares the command's own options on `app` and returns what runs it.
  RunFunction (*setup)(CLI::App& app) = nullptr;
};

// One function a command, each in its own file in cli/commands/. main.cpp holds the table.
Command calibrate_command();
Command colocate_command();
Command compare_command();
Command dataset_synth_command();
Command devices_command();
Command export_command();
Command models_command();
Command plan_command();
Command profile_command();
Command report_command();
Command run_command();
Command simulate_command();
Command trace_convert_command();
Command trace_info_command();
Command train_command();
Command verify_command();
Command view_command();

}  // namespace cohort
