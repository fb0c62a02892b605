#include "tracer/cupti/session.hpp"

#include <unistd.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "tracer/cupti/collector.hpp"
#include "tracer/cupti/decoder.hpp"

namespace cohort::cupti {
namespace {

Nanoseconds steady_time() {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

/// What is to be added to CUPTI's times to make them the steady clock's: from the reading of CUPTI's clock that took
/// the least time between two of ours.
std::optional<Nanoseconds> clock_offset(const Collector& collector) {
  constexpr int kReadings = 32;
  std::optional<Nanoseconds> offset;
  Nanoseconds least = Nanoseconds::max();
  for (int i = 0; i < kReadings; ++i) {
    const Nanoseconds before = steady_time();
    const std::optional<Nanoseconds> theirs = collector.now();
    const Nanoseconds after = steady_time();
    if (!theirs) return std::nullopt;
    if (after - before >= least) continue;
    least = after - before;
    offset = before + least / 2 - *theirs;
  }
  return offset;
}

class Session final : public CuptiSession {
 public:
  Session() = default;

  Result<void> start(const CuptiOptions& options) {
    detach_ = options.detach;
    spool_ = SpoolWriter::header(static_cast<std::uint32_t>(::getpid()));
    COHORT_TRY(collector_, Collector::start(options, [this](std::string_view chunks) { spool_.append(chunks); }));
    offset_at_start_ = clock_offset(*collector_);
    return {};
  }

  void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) override {
    collector_->label(id, {task, op, members});
  }
  void push(std::uint64_t id) noexcept override { collector_->push(id); }
  void pop() noexcept override { collector_->pop(); }

  Result<Trace> stop() override {
    const std::optional<Nanoseconds> offset = clock_offset(*collector_);
    const auto stopped = collector_->stop(detach_);
    collector_.reset();
    if (!stopped) return tl::unexpected<Error>(Error{ErrorCode::kRecordingIncomplete, stopped.error().message});
    COHORT_TRY(Trace trace, decode({spool_}));
    if (!offset || !offset_at_start_)
      return fail(ErrorCode::kRecordingIncomplete, "cuptiGetTimestamp tells no time, so records cannot be placed");
    for (Slice& slice : trace.slices) slice.start += *offset;
    trace.info.settings["clock drift ns"] = std::to_string((*offset - *offset_at_start_).count());
    return trace;
  }

 private:
  std::string spool_;  ///< the collector gives chunks one at a time
  std::unique_ptr<Collector> collector_;
  std::optional<Nanoseconds> offset_at_start_;
  bool detach_ = false;
};

}  // namespace

Result<std::unique_ptr<CuptiSession>> start_session(const CuptiOptions& options) {
  auto session = std::make_unique<Session>();
  COHORT_CHECK(session->start(options));
  return session;
}

}  // namespace cohort::cupti
