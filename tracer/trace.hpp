#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/device.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"

namespace cohort {

enum class StringId : std::uint32_t {};
enum class TrackId : std::uint32_t {};
enum class SliceId : std::uint32_t {};
enum class ArgsId : std::uint32_t {};

/// Times of a trace lie within this of zero, a quarter of what they are kept in, so that a start, a duration and a base
/// add up without overflow.
inline constexpr Nanoseconds kMostTime(std::numeric_limits<std::int64_t>::max() / 4);

/// Strings kept once each; ids count up from 0, and id 0 is the empty string.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(const StringTable& other);
  StringTable& operator=(StringTable&&) = default;
  ~StringTable() = default;

  StringId intern(std::string_view text);
  [[nodiscard]] std::optional<StringId> find(std::string_view text) const;
  [[nodiscard]] std::string_view operator[](StringId id) const { return strings_[to_index(id)]; }
  [[nodiscard]] std::size_t size() const { return strings_.size(); }

 private:
  StringId intern_new(std::string_view text);
  /// Where a text stands among the slots, or the empty slot where it belongs. There must be an empty one.
  [[nodiscard]] std::size_t slot_of(std::string_view text) const;
  void enlarge_slots();
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> strings_;  ///< into blocks_, which do not move
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_size_ = 0;  ///< of the last block
  std::size_t block_used_ = 0;
  std::vector<std::uint32_t> slots_;     ///< id + 1 by hash, 0 for none: a power of two of them
  std::array<StringId, 1024> recent_{};  ///< last id asked for by a cheap hash: names repeat; a hint only
};

/// A line of the timeline: a stream, a worker, a host thread.
struct Track {
  std::string process;
  std::string thread;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
};

/// A list or object among the arguments of a slice, as valid JSON without white space: "[8,16,5]".
struct NestedJson {
  StringId text{};
  friend bool operator==(NestedJson, NestedJson) = default;
};

using ArgValue = std::variant<std::int64_t, double, bool, StringId, NestedJson>;
using Args = std::vector<std::pair<StringId, ArgValue>>;

/// Something that lasted [start, start + duration) on a track.
struct Slice {
  Nanoseconds start{};
  Nanoseconds duration{};
  TrackId track{};
  StringId name{};
  StringId category{};
  std::optional<ArgsId> args;

  [[nodiscard]] Nanoseconds end() const { return start + duration; }
};

/// A link between two slices: launch to kernel, producer to consumer.
struct Flow {
  SliceId from{};
  SliceId to{};
  StringId name{};
};

struct Counter {
  Nanoseconds time{};
  TrackId track{};
  StringId name{};
  double value = 0;
};

enum class TraceKind {
  kRecorded,   ///< by another tool, or of one run as it was
  kProfile,    ///< ops timed alone
  kPredicted,  ///< by the simulator
  kMeasured,   ///< of a plan that was run
};
std::string_view to_string(TraceKind kind);
std::optional<TraceKind> trace_kind_from(std::string_view text);

/// Times of one thing measured several times without a trace: "plan", "baseline", "model".
struct WallTimes {
  std::string what;
  std::vector<Nanoseconds> samples;
  int discarded = 0;  ///< disturbed samples that were left out
};

/// What a trace is about: written as the one top-level object "cohort" of the file.
struct TraceInfo {
  TraceKind kind = TraceKind::kRecorded;
  DeviceInfo device;
  std::map<std::string, std::string> settings;  ///< of the run: model, minibatch, date, command, ...
  std::string plan;                             ///< JSON of the plan it predicts or measures; else empty
  std::vector<WallTimes> wall_times;
  std::map<std::string, std::int64_t> dropped;  ///< records not kept, by reason

  [[nodiscard]] const WallTimes* wall(std::string_view what) const;
  [[nodiscard]] std::int64_t dropped_records() const;
};

/// Everything with time on it: what was recorded, predicted or measured. Plain data; the functions
/// below keep tables and slices consistent.
struct Trace {
  TraceInfo info;
  StringTable strings;
  std::vector<Track> tracks;
  std::vector<Slice> slices;
  std::vector<Args> args;
  std::vector<Flow> flows;
  std::vector<Counter> counters;

  TrackId add_track(std::string process, std::string thread);
  /// Numbers given as ArgValue, text interned.
  using NamedArg = std::pair<std::string_view, std::variant<std::int64_t, double, bool, std::string_view>>;
  SliceId add_slice(TrackId track, std::string_view name, std::string_view category, Nanoseconds start,
                    Nanoseconds duration, std::span<const NamedArg> slice_args = {});

  [[nodiscard]] const Slice& slice(SliceId id) const { return slices[to_index(id)]; }
  [[nodiscard]] std::string_view name(const Slice& slice) const { return strings[slice.name]; }
  [[nodiscard]] bool has_arg(const Slice& slice, std::string_view key) const;
  /// An argument of a slice; absent where the slice has none of that name or type.
  [[nodiscard]] std::optional<std::string_view> text_arg(const Slice& slice, std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer_arg(const Slice& slice, std::string_view key) const;
  /// The same by what StringTable::find() gave for the name, for loops over all slices.
  [[nodiscard]] std::optional<std::int64_t> integer_arg(const Slice& slice, std::optional<StringId> key) const;
  /// Whole numbers of a list such as a kernel's "grid", also where it is text: "[8, 16, 5]".
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers_arg(const Slice& slice, std::string_view key) const;
};

/// Argument by which predicted and measured slices are matched: the Program's task id.
inline constexpr std::string_view kTaskArg = "task";
/// Position of the program step run (0, 1, ...) a slice belongs to.
inline constexpr std::string_view kIterationArg = "iteration";

}  // namespace cohort
