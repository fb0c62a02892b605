#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/file/flow_binder.hpp"
#include "tracer/file/spelling.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A process or thread id of a trace file: a number or, in some tools, a name.
struct EventId64 {
  std::int64_t number = 0;
  bool is_name = false;  ///< then `number` is a StringId
};

/// One record of a trace file, its fields not yet judged.
struct RawEvent {
  char phase = 0;
  bool unreadable = false;  ///< a field is of a type it cannot be
  bool has_args = false;
  StringId name{};
  StringId category{};
  std::string_view id;
  EventId64 pid;
  EventId64 tid;
  std::optional<Nanoseconds> time;
  std::optional<Nanoseconds> duration;
  Args args;
};

/// What makes a record not kept.
enum class Drop {
  kNotAnObject,
  kUnreadable,
  kNoTime,
  kNoDuration,
  kNegativeDuration,
  kTimeOutOfRange,
  kNullArg,
  kUnreadableArg,
  kEndWithoutBegin,
  kBeginWithoutEnd,
  kFlowWithoutStart,
  kFlowWithoutEnd,
  kFlowWithoutSlice,
  kDuplicate,
  kCutShort,
  kInvalidText,
  kRepairedText,
  kTextBehind,
  kDamagedGzip,
  kCount,
};
std::string_view to_string(Drop reason);

/// Turns records of a trace file into a Trace, in any order in which they come.
class EventSink {
 public:
  explicit EventSink(Trace& trace);

  /// Takes the arguments out of the event.
  void add(RawEvent& event);
  void drop(Drop reason, std::int64_t count = 1) { dropped_[static_cast<std::size_t>(reason)] += count; }
  /// Makes room for what a file of this size holds.
  void expect(std::size_t json_bytes);
  /// True for arguments that are whole numbers in any spelling, such as a stream.
  [[nodiscard]] bool is_id(StringId argument) { return spelling_.is_id(argument); }
  /// For files of our own: what they hold is spelled as it should be and stands there once.
  void keep_spelling() { keep_spelling_ = true; }
  /// Call last: closes what is open, binds flows, names tracks, adds `base` to every time, and puts
  /// what was dropped beside what info.dropped already holds.
  void finish(Nanoseconds base);

 private:
  struct Process {
    StringId name{};
    StringId label{};
  };
  struct KeyHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const;
  };

  void add_metadata(const RawEvent& event);
  void set_thread_name(const RawEvent& event, std::string_view name);
  void add_slice(RawEvent& event);
  void add_begin(RawEvent& event);
  void add_end(RawEvent& event);
  void add_flow(const RawEvent& event);
  void add_counter(const RawEvent& event);
  /// False where it is not about a device's memory.
  bool add_memory(const RawEvent& event);
  TrackId track(const RawEvent& event);
  std::int64_t number_of(const EventId64& id);
  std::size_t append_slice(RawEvent& event, Nanoseconds duration);
  void erase_unended();
  /// Device work that stands in the file twice, as it does after traces were merged carelessly.
  void erase_duplicates();
  void name_tracks();
  void shift_times(Nanoseconds base);
  void report_dropped();

  Trace& trace_;
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, TrackId, KeyHash> track_ids_;
  std::optional<TrackId> last_track_;
  Spelling spelling_;
  std::unordered_map<std::int64_t, Process> processes_;
  std::unordered_map<std::int64_t, StringId> named_ids_;  ///< stand-ins for ids that are names
  std::vector<std::vector<std::size_t>> open_;            ///< by track, slices begun and not ended
  std::vector<FlowEnd> flow_ends_;
  bool keep_spelling_ = false;
  StringTable flow_ids_;  ///< those that are no numbers
  std::array<std::int64_t, static_cast<std::size_t>(Drop::kCount)> dropped_{};
  std::array<std::int64_t, 128> dropped_phases_{};
  StringId name_key_;
  StringId labels_key_;
  StringId value_key_;
  StringId slice_key_;
};

}  // namespace cohort
