#include "tracer/file/event_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <unordered_set>

#include "tracer/file/content.hpp"
#include "tracer/file/device_tracks.hpp"
#include "tracer/file/erase_slices.hpp"
#include "tracer/file/mend_times.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/file/unique_correlations.hpp"
#include "tracer/memory_counter.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

bool in_range(Nanoseconds time) { return time >= -kMostTime && time <= kMostTime; }

std::string phase_name(char phase) {
  if (phase == 'i' || phase == 'I') return "instant event";
  if (phase == 0) return "record without a phase";
  return fmt::format("phase {}", phase);
}

/// Numbers for ids that are names, until the numbers really used are known.
std::int64_t stand_in(StringId name) {
  return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(to_index(name));
}

}  // namespace

std::string_view to_string(Drop reason) {
  switch (reason) {
    case Drop::kNotAnObject:
      return "record that is not an object";
    case Drop::kUnreadable:
      return "record with an unreadable field";
    case Drop::kNoTime:
      return "record without a time";
    case Drop::kNoDuration:
      return "slice without a duration";
    case Drop::kNegativeDuration:
      return "slice that ends before it starts";
    case Drop::kTimeOutOfRange:
      return "time out of range";
    case Drop::kNullArg:
      return "null argument";
    case Drop::kUnreadableArg:
      return "unreadable argument";
    case Drop::kEndWithoutBegin:
      return "end without a begin";
    case Drop::kBeginWithoutEnd:
      return "begin without an end";
    case Drop::kFlowWithoutStart:
      return "flow end without a start";
    case Drop::kFlowWithoutEnd:
      return "flow start without an end";
    case Drop::kFlowWithoutSlice:
      return "flow outside any slice";
    case Drop::kCutShort:
      return kCutShortReason;
    case Drop::kDuplicate:
      return "device work that stands in the file twice";
    case Drop::kInvalidText:
      return "byte that is not UTF-8";
    case Drop::kRepairedText:
      return "quote or control character within a text, replaced";
    case Drop::kTextBehind:
      return kTextBehindReason;
    case Drop::kDamagedGzip:
      return kDamagedGzipReason;
    case Drop::kCount:
      break;
  }
  return "record";
}

EventSink::EventSink(Trace& trace)
    : trace_(trace),
      spelling_(trace.strings),
      name_key_(trace.strings.intern("name")),
      labels_key_(trace.strings.intern("labels")),
      value_key_(trace.strings.intern("value")),
      slice_key_(trace.strings.intern("slice")) {}

std::size_t EventSink::KeyHash::operator()(const std::pair<std::int64_t, std::int64_t>& key) const {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>((static_cast<std::uint64_t>(key.first) * kGolden) ^
                                  static_cast<std::uint64_t>(key.second));
}

void EventSink::expect(std::size_t json_bytes) {
  constexpr std::size_t kBytesOfASlice = 400;  // typical of PyTorch's profiler
  trace_.slices.reserve(json_bytes / kBytesOfASlice);
  trace_.args.reserve(json_bytes / kBytesOfASlice);
}

void EventSink::add(RawEvent& event) {
  if (event.unreadable) return drop(Drop::kUnreadable);
  if (event.phase == 'M') return add_metadata(event);
  if (event.phase == 'i' && trace_.strings[event.name] == "[memory]" && add_memory(event)) return;
  const bool known = event.phase == 'X' || event.phase == 'B' || event.phase == 'E' || event.phase == 's' ||
                     event.phase == 'f' || event.phase == 'C';
  if (!known) {
    const auto index = static_cast<unsigned char>(event.phase);
    ++dropped_phases_[index < dropped_phases_.size() ? index : std::size_t{'?'}];
    return;
  }
  if (!event.time) return drop(Drop::kNoTime);
  if (!in_range(*event.time)) return drop(Drop::kTimeOutOfRange);
  if (!keep_spelling_) event.category = spelling_.category(event.category);
  switch (event.phase) {
    case 'X':
      return add_slice(event);
    case 'B':
      return add_begin(event);
    case 'E':
      return add_end(event);
    case 'C':
      return add_counter(event);
    default:
      return add_flow(event);
  }
}

void EventSink::add_metadata(const RawEvent& event) {
  const auto text = [&](StringId key) -> std::optional<StringId> {
    for (const auto& [name, value] : event.args) {
      const auto* id = std::get_if<StringId>(&value);
      if (name == key && id != nullptr) return *id;
    }
    return std::nullopt;
  };
  const std::string_view what = trace_.strings[event.name];
  if (what == "thread_name") {
    if (const auto name = text(name_key_)) set_thread_name(event, trace_.strings[*name]);
  } else if (what == "process_name") {
    if (const auto name = text(name_key_)) processes_[number_of(event.pid)].name = *name;
  } else if (what == "process_labels") {
    if (const auto label = text(labels_key_)) processes_[number_of(event.pid)].label = *label;
  }
}

void EventSink::set_thread_name(const RawEvent& event, std::string_view name) {
  while (!keep_spelling_ && name.ends_with(' ')) name.remove_suffix(1);  // PyTorch's "stream 7 "
  trace_.tracks[to_index(track(event))].thread = name;
}

std::int64_t EventSink::number_of(const EventId64& id) {
  constexpr std::int64_t kMostNames = std::int64_t{1} << 32;
  if (!id.is_name && keep_spelling_) return id.number;  // no names among ids of our own files
  if (!id.is_name) {  // numbers where those of names stand, which an id of more than 63 bits may be, move out of the
                      // way
    return id.number < std::numeric_limits<std::int64_t>::min() + kMostNames ? id.number + 2 * kMostNames : id.number;
  }
  const auto name = static_cast<StringId>(id.number);
  const std::int64_t number = stand_in(name);
  named_ids_.emplace(number, name);
  return number;
}

TrackId EventSink::track(const RawEvent& event) {
  const std::int64_t pid = number_of(event.pid);
  std::int64_t tid = number_of(event.tid);
  std::string_view thread;
  if (event.tid.is_name) {
    const std::string_view name = trace_.strings[static_cast<StringId>(event.tid.number)];
    if (const auto stream = stream_number(name)) {
      tid = *stream;
      thread = name;
    }
  } else {
    tid = signed_stream(tid);
  }
  if (last_track_) {
    const Track& last = trace_.tracks[to_index(*last_track_)];
    if (last.pid == pid && last.tid == tid) return *last_track_;
  }
  const auto [found, is_new] = track_ids_.try_emplace({pid, tid}, static_cast<TrackId>(trace_.tracks.size()));
  if (is_new) {
    trace_.tracks.push_back({"", std::string(thread), pid, tid});
    open_.emplace_back();
  }
  last_track_ = found->second;
  return found->second;
}

std::size_t EventSink::append_slice(RawEvent& event, Nanoseconds duration) {
  Slice slice{*event.time, duration, track(event), event.name, event.category, std::nullopt};
  if (event.has_args) {
    slice.args = static_cast<ArgsId>(trace_.args.size());
    if (!keep_spelling_) {
      for (auto& arg : event.args) spelling_.argument(arg);
    }
    constexpr std::size_t kMostCopied = 1024;  // one event may fill the file
    if (event.args.size() > kMostCopied) {
      trace_.args.push_back(std::move(event.args));
    } else {
      trace_.args.emplace_back(event.args.begin(), event.args.end());
    }
  }
  trace_.slices.push_back(slice);
  return trace_.slices.size() - 1;
}

void EventSink::add_slice(RawEvent& event) {
  if (!event.duration) return drop(Drop::kNoDuration);
  if (*event.duration < Nanoseconds{}) return drop(Drop::kNegativeDuration);
  if (!in_range(*event.duration)) return drop(Drop::kTimeOutOfRange);
  append_slice(event, *event.duration);
}

void EventSink::add_begin(RawEvent& event) {
  const std::size_t slice = append_slice(event, Nanoseconds{});
  open_[to_index(trace_.slices[slice].track)].push_back(slice);
}

void EventSink::add_end(RawEvent& event) {
  auto& open = open_[to_index(track(event))];
  if (open.empty()) return drop(Drop::kEndWithoutBegin);
  Slice& slice = trace_.slices[open.back()];
  if (*event.time < slice.start) return drop(Drop::kNegativeDuration);  // the begin may yet meet its end
  open.pop_back();
  slice.duration = *event.time - slice.start;
  if (event.args.empty()) return;
  if (!slice.args) {
    slice.args = static_cast<ArgsId>(trace_.args.size());
    trace_.args.emplace_back();
  }
  Args& args = trace_.args[to_index(*slice.args)];
  args.insert(args.end(), event.args.begin(), event.args.end());
}

void EventSink::add_flow(const RawEvent& event) {
  if (event.id.empty()) return drop(Drop::kUnreadable);
  FlowEnd end;
  end.time = *event.time;
  end.track = track(event);
  end.is_start = event.phase == 's';
  end.key = {event.name, event.category, 0, false};
  const char* const last = event.id.data() + event.id.size();
  const auto number = std::from_chars(event.id.data(), last, end.key.id);
  const bool padded = event.id.front() == '0' && event.id.size() > 1;  // "07" is not "7"
  if (number.ec != std::errc{} || number.ptr != last || padded) {
    end.key.id = static_cast<std::int64_t>(to_index(flow_ids_.intern(event.id)));
    end.key.is_name = true;
  }
  for (const auto& [name, value] : event.args) {
    const auto* position = std::get_if<std::int64_t>(&value);
    if (name == slice_key_ && position != nullptr) end.slice = *position;
  }
  flow_ends_.push_back(end);
}

/// PyTorch's profiler with profile_memory: an instant for each allocation, with the allocator's totals.
bool EventSink::add_memory(const RawEvent& event) {
  const auto number = [&](std::string_view key) -> std::optional<std::int64_t> {
    for (const auto& [name, value] : event.args) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      if (integer != nullptr && trace_.strings[name] == key) return *integer;
    }
    return std::nullopt;
  };
  constexpr std::int64_t kCpu = 0;  // c10::DeviceType
  const auto allocated = number("Total Allocated");
  if (!event.time || !in_range(*event.time) || !allocated || number("Device Type").value_or(kCpu) == kCpu) return false;
  const std::string name = fmt::format("{}{}", kMemoryCounter, number("Device Id").value_or(0));
  trace_.counters.push_back({*event.time, track(event), trace_.strings.intern(name), static_cast<double>(*allocated)});
  return true;
}

void EventSink::add_counter(const RawEvent& event) {
  // At once, as one event may fill the file: growing in steps, the old and the new list would be there together.
  const std::size_t wanted = trace_.counters.size() + event.args.size();
  if (wanted > trace_.counters.capacity()) trace_.counters.reserve(std::max(wanted, 2 * trace_.counters.size()));
  for (const auto& [series, value] : event.args) {
    Counter counter{*event.time, track(event), event.name, 0};
    if (const auto* number = std::get_if<double>(&value)) {
      counter.value = *number;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      counter.value = static_cast<double>(*integer);
    } else {
      drop(Drop::kUnreadableArg);
      continue;
    }
    if (series != value_key_)
      counter.name = trace_.strings.intern(fmt::format("{}.{}", trace_.strings[event.name], trace_.strings[series]));
    trace_.counters.push_back(counter);
  }
}

void EventSink::finish(Nanoseconds base) {
  erase_unended();
  if (!keep_spelling_) erase_duplicates();
  BoundFlows bound = bind_flows(trace_, flow_ends_);
  trace_.flows = std::move(bound.flows);
  drop(Drop::kFlowWithoutStart, bound.without_start);
  drop(Drop::kFlowWithoutEnd, bound.without_end);
  drop(Drop::kFlowWithoutSlice, bound.without_slice);
  name_tracks();
  if (!keep_spelling_) {
    recognise_device_tracks(trace_);
    make_correlations_unique(trace_);
    mend_device_times(trace_, base);
  }
  shift_times(base);
  report_dropped();
}

void EventSink::erase_unended() {
  std::vector<std::size_t> unended;
  for (const auto& open : open_) unended.insert(unended.end(), open.begin(), open.end());
  drop(Drop::kBeginWithoutEnd, static_cast<std::int64_t>(unended.size()));
  erase_slices(trace_, std::move(unended));
}

void EventSink::erase_duplicates() {
  const SliceKinds kinds(trace_.strings);
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
    const Slice& slice = trace_.slices[i];
    // Without a duration two are too easily the same by rounding.
    if (is_device_work(kinds(slice)) && slice.args && slice.duration > Nanoseconds{}) work.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const Slice& slice = trace_.slices[i];
    return std::tuple(slice.track, slice.start, slice.duration, slice.name);
  };
  std::sort(work.begin(), work.end(), [&](std::size_t a, std::size_t b) {
    const auto x = key(a);
    const auto y = key(b);
    return x != y ? x < y : a < b;
  });
  std::vector<std::size_t> twice;
  for (std::size_t i = 1; i < work.size(); ++i) {
    const Slice& before = trace_.slices[work[i - 1]];
    const Slice& slice = trace_.slices[work[i]];
    if (key(work[i - 1]) == key(work[i]) && trace_.args[to_index(*before.args)] == trace_.args[to_index(*slice.args)])
      twice.push_back(work[i]);
  }
  drop(Drop::kDuplicate, static_cast<std::int64_t>(twice.size()));
  erase_slices(trace_, std::move(twice));
}

void EventSink::name_tracks() {
  constexpr std::int64_t kFirst = 1'000'000;  // of the numbers that ids get which are names
  std::unordered_set<std::int64_t> used;
  for (const Track& track : trace_.tracks) {
    if (named_ids_.empty()) break;
    if (track.pid >= kFirst) used.insert(track.pid);
    if (track.tid >= kFirst) used.insert(track.tid);
  }
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  std::int64_t next = kFirst;
  const auto renumber = [&](std::int64_t& id, std::string& name) {
    const auto named = named_ids_.find(id);
    if (named == named_ids_.end()) return;
    if (name.empty()) name = trace_.strings[named->second];
    const auto [number, is_new] = numbers.try_emplace(id, 0);
    if (is_new) {
      while (used.contains(next)) ++next;
      number->second = next++;
    }
    id = number->second;
  };
  for (Track& track : trace_.tracks) {
    if (const auto found = processes_.find(track.pid); found != processes_.end()) {
      const std::string_view name = trace_.strings[found->second.name];
      const std::string_view label = trace_.strings[found->second.label];
      track.process = label.empty() ? std::string(name) : fmt::format("{} ({})", name, label);
    }
    renumber(track.pid, track.process);
    renumber(track.tid, track.thread);
  }
}

void EventSink::shift_times(Nanoseconds base) {
  if (base == Nanoseconds{}) return;
  for (Slice& slice : trace_.slices) slice.start += base;
  for (Counter& counter : trace_.counters) counter.time += base;
}

void EventSink::report_dropped() {
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    if (dropped_[i] > 0) trace_.info.dropped[std::string(to_string(static_cast<Drop>(i)))] += dropped_[i];
  }
  for (std::size_t i = 0; i < dropped_phases_.size(); ++i) {
    if (dropped_phases_[i] > 0) trace_.info.dropped[phase_name(static_cast<char>(i))] += dropped_phases_[i];
  }
}

}  // namespace cohort
