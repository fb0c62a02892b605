#include "cli/trace_notes.hpp"

#include <fmt/format.h>

#include "simulator/what_if/replay.hpp"
#include "tracer/file/content.hpp"
#include "tracer/file/mend_times.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

void note_trace(const std::filesystem::path& file, const Trace& trace, const StepOptions& step, Console& console) {
  for (const auto& [reason, count] : trace.info.dropped) {
    const bool lost = reason == kCutShortReason || reason == kDamagedGzipReason || reason == kTextBehindReason;
    if (reason.starts_with(kImpossibleTimes)) console.note(fmt::format("{}: {} of {}", file.string(), count, reason));
    if (lost) console.note(fmt::format("{}: lost: {}", file.string(), reason));
  }
  if (step.window || step.index) return;
  const auto selection = select_replay_step(trace, step);
  if (!selection || selection->idle == 0) return;
  console.note(fmt::format("{}: {} of {} steps have no device work; step {} ({}) is taken, --step chooses another",
                           file.string(), selection->idle, selection->found, selection->index, selection->step.name));
}

}  // namespace cohort
