#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/fuse_option.hpp"
#include "cli/step_options.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What the options that traces of runs and profiles share were given as; absent: not given.
struct SharedSimulationOptions {
  std::vector<std::filesystem::path> files;
  std::vector<int> models{1};  ///< one number for all files, or one for each
  std::optional<int> streams, buffers;
  std::optional<std::string> input;
  std::optional<Bytes> workspace;
  FuseRequest fuse;
  bool graphs = false;
  int launch_threads = 1;
  std::filesystem::path device_profile;
  std::filesystem::path output;
};

/// Makes a case of the steps of traces of runs: `traces` holds the first file's, and gets the others', to which the
/// case points. The second is of the same model at `second_minibatch` where that is given, else a further member.
/// `steps` by file.
/// Errors: kInvalidInput where a file is a profile; those of WhatIfCase::add().
Result<void> read_what_if_case(const std::vector<std::filesystem::path>& files, const std::vector<StepOptions>& steps,
                               std::optional<int> second_minibatch, std::vector<Trace>& traces,
                               WhatIfCase& what_if_case, CommandContext& context);

/// What --device-profile names; nothing where it names nothing. Errors: those of parse_gpu_profile(), naming the file.
Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file);

/// `cohort simulate` on traces of runs, as opposed to profiles: what-ifs, or replay without any.
class TraceSimulation {
 public:
  /// Declares the options that only traces of runs have.
  explicit TraceSimulation(CLI::App& app);

  /// Those of them that were given: "--scale".
  [[nodiscard]] std::vector<std::string> given() const;

  /// `first`: the first file's trace.
  /// Errors: as select_replay_step(), build_trace_graph() and predict_what_if().
  Result<void> run(const SharedSimulationOptions& shared, Trace first, CommandContext& context) const;

 private:
  TraceSimulation(CLI::App& app, std::size_t options_before);
  [[nodiscard]] Result<WhatIf> what_if(const SharedSimulationOptions& shared) const;

  StepOptionSet steps_;
  std::vector<const CLI::Option*> options_;
  std::vector<std::string> scale_;
  bool mixed_precision_ = false;
  double copy_speed_ = 1;
  double interconnect_speed_ = 1;
  std::optional<int> minibatch_;
  std::vector<int> recorded_minibatches_;
};

}  // namespace cohort
