#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tracer/cupti/spool.hpp"
#include "tracer/trace.hpp"

namespace cohort::cupti {

/// CUPTI's records as a Trace of kind kRecorded, with the categories and keys of PyTorch's profiler. Several
/// spools (processes) can go into one. Times are CUPTI's, nanoseconds of one clock.
///
/// Tracks: a lane per host thread with its calls, a lane per stream (further ones where its work overlaps),
/// lanes of their own for synchronisation, ranges and CUPTI's overhead. Flows "ac2g" lead from a call to what
/// it launched: one call may launch many nodes of a graph, matched on (correlation id, graph node id). What the tracer
/// itself asked of the driver at the program's end is left out.
///
/// What cannot be drawn is counted in TraceInfo::dropped: records CUPTI lost, work without usable times
/// (after some 25 million graph records they come back 0), ranges without an end, records twice.
/// settings["complete"] is "no" where a spool has no end.
class Decoder final : public SpoolVisitor {
 public:
  Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() override;

  void begin(std::uint32_t process) override;
  void record(const CUpti_Activity& record) override;
  void call_name(CUpti_CallbackDomain domain, std::uint32_t id, std::string_view name) override;
  void label(std::uint64_t external_id, Label label) override;
  void node(std::uint64_t node, std::uint64_t external_id) override;
  void own_thread(std::uint32_t number, std::uint64_t since) override;
  void count(std::string_view reason, std::uint64_t records) override;
  void end(bool complete) override;

  /// The trace of all that was read; the decoder is empty afterwards.
  Trace finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The trace of one or several spools. One that cannot be read is left out and counted in TraceInfo::dropped; the trace
/// is then not complete. Errors: kInvalidInput where none can be read.
Result<Trace> decode(const std::vector<std::string_view>& spools);

}  // namespace cohort::cupti
