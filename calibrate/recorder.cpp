#include "calibrate/recorder.hpp"

#include <algorithm>

#include "executor/device_error.hpp"

namespace cohort::calibrate {

Recorder::Recorder(const CalibrationOptions& options, std::function<Nanoseconds()> now,
                   std::function<Readings()> read_state)
    : options_(options), now_(std::move(now)), read_state_(std::move(read_state)), origin_(now_()) {
  trace_.info.kind = TraceKind::kProfile;
  trace_.info.settings["repetitions"] = std::to_string(options.repetitions);
}

TrackId Recorder::track(std::string_view process, std::string_view thread) {
  for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
    if (trace_.tracks[i].process == process && trace_.tracks[i].thread == thread) return static_cast<TrackId>(i);
  }
  return trace_.add_track(std::string(process), std::string(thread));
}

void Recorder::read() {
  const Nanoseconds time = now_() - origin_;
  const TrackId state = track("calibration", "device state");
  for (const auto& [name, value] : read_state_())
    trace_.counters.push_back({time, state, trace_.strings.intern(name), value});
}

bool Recorder::block(const std::string& name, const std::function<void()>& run) {
  if (was_cancelled()) return false;
  const Nanoseconds start = now_() - origin_;
  if (start >= options_.budget) {
    ++trace_.info.dropped["block left out, no time left: " + name];
    return true;
  }
  if (options_.progress) options_.progress(name);
  block_name_ = name;
  read();
  try {
    run();
  } catch (const DeviceError& error) {
    ++trace_.info.dropped["block ended early: " + name + ": " + error.what()];
  }
  read();
  trace_.add_slice(track("calibration", "blocks"), name, "calibration block", start, now_() - origin_ - start);
  return !was_cancelled();
}

void Recorder::add(const MicrobenchmarkRecord& record, bool held_out) {
  const Nanoseconds start = std::max(Nanoseconds(0), now_() - origin_ - record.time);
  const SliceId id = add_microbenchmark_record(trace_, track("calibration", block_name_), start, record);
  if (!held_out) return;
  Args& args = trace_.args[to_index(*trace_.slice(id).args)];
  args.emplace_back(trace_.strings.intern("held out"), std::int64_t{1});
}

void Recorder::add_extra(std::string_view name, Nanoseconds duration, std::span<const Trace::NamedArg> args) {
  const Nanoseconds start = std::max(Nanoseconds(0), now_() - origin_ - duration);
  trace_.add_slice(track("calibration", block_name_), name, "calibration", start, duration, args);
}

void Recorder::add_block(std::uint32_t sm, std::string_view name, Nanoseconds start, Nanoseconds duration,
                         std::span<const Trace::NamedArg> args) {
  trace_.add_slice(track("blocks", fmt::format("SM {}", sm)), name, "block", start, duration, args);
}

}  // namespace cohort::calibrate
