#pragma once

#include "base/result.hpp"
#include "executor/backend.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Setting of a trace that lacks kernels: why they were not recorded.
inline constexpr std::string_view kNotRecorded = "kernels not recorded";

/// A tool that records what the device does. It is passed in; the executor knows none.
///
///     start()   watch(p)   steps of p ...   watch(q)   steps of q ...   stop()
class DeviceTracer {
 public:
  DeviceTracer() = default;
  DeviceTracer(const DeviceTracer&) = delete;
  DeviceTracer& operator=(const DeviceTracer&) = delete;
  virtual ~DeviceTracer() = default;

  /// Starts recording. Errors: kDeviceMissing with the reason if the tool does not work here.
  virtual Result<void> start() = 0;
  /// A sink for a session of `program`, to be set before its next step: submitted work is recorded with its task's id.
  /// Tasks are named `prefix` + Step::task. Sink and program must live until stop().
  virtual TaskSink& watch(const Program& program, std::string_view prefix) = 0;
  /// Ends the recording, once after each start(). The device must be idle. Times are those of steady_now(); work has
  /// the arguments kTaskArg and kWorkArg (tracer/device_work.hpp). Errors: kRecordingIncomplete where not all was
  /// delivered.
  virtual Result<Trace> stop() = 0;
};

}  // namespace cohort
