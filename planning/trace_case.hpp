#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "planning/named_trace.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Steps of traces of runs, ready for what-ifs, together with their traces.
class TraceCase {
 public:
  struct Steps {
    std::vector<StepOptions> by_trace;
    /// If set, the second trace is of the same model at this minibatch; otherwise it is a further member.
    std::optional<int> second_minibatch = std::nullopt;
  };

  /// Cancelled between traces, too.
  /// Errors: kInvalidInput where a file is a profile; those of WhatIfCase::add().
  static Result<std::unique_ptr<TraceCase>> of(std::vector<NamedTrace> traces, const Steps& steps,
                                               const CancelToken* cancel);
  /// The same, of files the first of which has been read.
  static Result<std::unique_ptr<TraceCase>> read(const std::vector<std::filesystem::path>& files, Trace first,
                                                 const Steps& steps, const TraceReadOptions& read);

  [[nodiscard]] const WhatIfCase& what_if_case() const { return case_; }
  [[nodiscard]] const std::vector<NamedTrace>& traces() const { return traces_; }

 private:
  TraceCase() = default;
  Result<void> add(NamedTrace trace, const Steps& steps, const CancelToken* cancel);

  std::vector<NamedTrace> traces_;
  WhatIfCase case_;  ///< of the traces above
};

}  // namespace cohort
