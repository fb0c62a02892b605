#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/step_options.hpp"
#include "simulator/what_if.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What the options that traces of runs and profiles share were given as; absent: not given.
struct SharedSimulationOptions {
  std::vector<std::filesystem::path> files;
  std::optional<int> models, streams, buffers;
  std::optional<std::string> input;
  std::filesystem::path output;
};

/// `cohort simulate` on traces of runs, as opposed to profiles: what-ifs, or replay without any.
class TraceSimulation {
 public:
  /// Declares the options that only traces of runs have.
  explicit TraceSimulation(CLI::App& app);

  /// Whether any option was given that profiles do not have.
  [[nodiscard]] bool asked() const;

  /// Errors: as select_replay_step(), build_trace_graph() and predict_what_if().
  Result<void> run(const SharedSimulationOptions& shared, CommandContext& context) const;

 private:
  [[nodiscard]] Result<WhatIf> what_if(const SharedSimulationOptions& shared) const;

  StepOptionSet steps_;
  std::string fuse_ = "none";
  bool graphs_ = false;
  std::string workspace_;
  int launch_threads_ = 1;
  std::vector<std::string> scale_;
  bool mixed_precision_ = false;
  double copy_speed_ = 1;
  std::filesystem::path device_profile_;
  std::optional<int> minibatch_;
  std::vector<int> recorded_minibatches_;
};

}  // namespace cohort
