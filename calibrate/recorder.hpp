#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/calibration_plugin.hpp"
#include "tracer/microbenchmark_record.hpp"
#include "tracer/trace.hpp"

namespace cohort::calibrate {

/// One reading of the device's state.
struct Reading {
  std::string name;  ///< "SM clock MHz"
  double value = 0;
};
using Readings = std::vector<Reading>;

/// Collects what a calibration measures: blocks of benchmarks under one budget of time, with the device's state read
/// before and after each. Knows nothing of CUDA.
class Recorder {
 public:
  /// `now` counts from any origin; `read_state` may give nothing.
  Recorder(const CalibrationOptions& options, std::function<Nanoseconds()> now, std::function<Readings()> read_state);

  /// Runs a block unless the budget is spent or the calibration was cancelled; what is left out, or fails with a
  /// DeviceError, is counted in the trace by name. False where it was cancelled.
  bool block(const std::string& name, const std::function<void()>& run);

  /// A measurement that has just ended. Pairs that are kept for testing a fit are `held_out`.
  void add(const MicrobenchmarkRecord& record, bool held_out = false);
  /// Something that microbenchmark records have no form for, category "calibration".
  void add_extra(std::string_view name, Nanoseconds duration, std::span<const Trace::NamedArg> args);
  /// A block of a kernel on its SM, category "block"; times by the device's clock, since the
  /// first block of its case.
  void add_block(std::uint32_t sm, std::string_view name, Nanoseconds start, Nanoseconds duration,
                 std::span<const Trace::NamedArg> args);

  [[nodiscard]] int repetitions() const { return options_.repetitions; }
  [[nodiscard]] bool was_cancelled() const { return options_.cancel != nullptr && options_.cancel->cancelled(); }
  Trace take() { return std::move(trace_); }

 private:
  void read();
  TrackId track(std::string_view process, std::string_view thread);

  CalibrationOptions options_;
  std::function<Nanoseconds()> now_;
  std::function<Readings()> read_state_;
  Nanoseconds origin_;
  Trace trace_;
  std::string block_name_;
};

}  // namespace cohort::calibrate
