#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/device_tracer.hpp"
#include "tracer/cupti_plugin.hpp"

namespace cohort {

/// CUPTI in this process, for what a session on a GPU runs. Every launch of a step has a label of its own, so that runs
/// of one task are told apart; steps that are captured have that of their capture at each replay.
class CuptiTracer final : public DeviceTracer {
 public:
  /// With the plugin "cupti", opened by start().
  CuptiTracer();
  /// With this one.
  explicit CuptiTracer(const CuptiPlugin& plugin);
  ~CuptiTracer() override;
  CuptiTracer(const CuptiTracer&) = delete;
  CuptiTracer& operator=(const CuptiTracer&) = delete;

  Result<void> start() override;
  TaskSink& watch(const Program& program, std::string_view prefix) override;
  Result<Trace> stop() override;

 private:
  class Sink;
  const CuptiPlugin* plugin_ = nullptr;
  std::unique_ptr<CuptiSession> session_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::uint64_t next_id_ = 1;
};

/// One for GPUs ("cuda:0"); null for other devices.
std::unique_ptr<DeviceTracer> tracer_of(std::string_view device);

}  // namespace cohort
