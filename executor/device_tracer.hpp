#pragma once

#include "base/result.hpp"
#include "executor/backend.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Setting of a trace whose kernels were to be recorded and were not: why.
inline constexpr std::string_view kNotRecorded = "kernels not recorded";

/// A tool that records what the device itself does. Whoever has one passes it in; the executor knows none.
///
///     start()   watch(p)   steps of p ...   watch(q)   steps of q ...   stop()
class DeviceTracer {
 public:
  DeviceTracer() = default;
  DeviceTracer(const DeviceTracer&) = delete;
  DeviceTracer& operator=(const DeviceTracer&) = delete;
  virtual ~DeviceTracer() = default;

  /// Begins to record. Errors: kDeviceMissing where the tool cannot be used here, with the reason.
  virtual Result<void> start() = 0;
  /// A sink for a session of `program`, to be set before its next step: what it is told is given is recorded with its
  /// task's id. Tasks are named `prefix` + Step::task. Sink and program must live until stop().
  virtual TaskSink& watch(const Program& program, std::string_view prefix) = 0;
  /// Ends the recording, once after each start(). The device must be idle. Times are those of steady_now(); work has
  /// the arguments kTaskArg and kWorkArg (tracer/device_work.hpp). Errors: kRecordingIncomplete where not all was
  /// delivered.
  virtual Result<Trace> stop() = 0;
};

}  // namespace cohort
