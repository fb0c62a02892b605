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
  std::string processes_;
  double copy_speed_ = 1;
  double interconnect_speed_ = 1;
  std::optional<int> minibatch_;
  std::vector<int> recorded_minibatches_;
};

}  // namespace cohort
