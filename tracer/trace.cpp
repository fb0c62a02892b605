#include "tracer/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace cohort {
namespace {

constexpr std::array<std::pair<TraceKind, std::string_view>, 4> kKindNames = {{
    {TraceKind::kRecorded, "recorded"},
    {TraceKind::kProfile, "profile"},
    {TraceKind::kPredicted, "predicted"},
    {TraceKind::kMeasured, "measured"},
}};

/// Of the length and some bytes: kernels' names differ at their ends or in between.
std::size_t cheap_hash(std::string_view text) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = text.size();
  const auto mix = [&](std::size_t at) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, std::min<std::size_t>(8, text.size() - at));
    hash = (hash ^ bytes) * kGolden;
    hash ^= hash >> 32U;
  };
  if (text.empty()) return 0;
  mix(0);
  if (text.size() > 8) mix(text.size() - 8);
  if (text.size() > 32) mix(text.size() / 2);
  if (text.size() > 64) mix(text.size() / 4);
  return static_cast<std::size_t>(hash);
}

const ArgValue* find_arg(const Trace& trace, const Slice& slice, std::string_view key) {
  if (!slice.args) return nullptr;
  const auto id = trace.strings.find(key);
  if (!id) return nullptr;
  for (const auto& [name, value] : trace.args[to_index(*slice.args)]) {
    if (name == *id) return &value;
  }
  return nullptr;
}

/// "[8, 16, 5]" or "[8.0, 16.0, 5.0]", white space and brackets of either kind allowed.
std::optional<std::vector<std::int64_t>> integers_from(std::string_view text) {
  const auto trim = [&] {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  };
  trim();
  if (text.empty() || (text.front() != '[' && text.front() != '(')) return std::nullopt;
  const char closer = text.front() == '[' ? ']' : ')';
  text.remove_prefix(1);
  std::vector<std::int64_t> numbers;
  for (;;) {
    trim();
    if (numbers.empty() && !text.empty() && text.front() == closer) break;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('.')) {  // 8.0 is whole as well
      text.remove_prefix(1);
      text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
    }
    trim();
    if (text.empty() || (text.front() != ',' && text.front() != closer)) return std::nullopt;
    if (text.front() == closer) break;
    text.remove_prefix(1);
  }
  text.remove_prefix(1);
  trim();
  if (!text.empty()) return std::nullopt;
  return numbers;
}

}  // namespace

StringTable::StringTable() { intern(""); }

StringTable::StringTable(const StringTable& other) {
  strings_.reserve(other.strings_.size());
  for (const std::string_view text : other.strings_) intern(text);
}

StringTable& StringTable::operator=(const StringTable& other) {
  if (this != &other) *this = StringTable(other);
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  StringId& recent = recent_[cheap_hash(text) % recent_.size()];
  if (to_index(recent) < strings_.size() && strings_[to_index(recent)] == text) return recent;
  recent = intern_new(text);
  return recent;
}

StringId StringTable::intern_new(std::string_view text) {
  if (4 * (strings_.size() + 1) > 3 * slots_.size()) enlarge_slots();
  std::uint32_t& slot = slots_[slot_of(text)];
  if (slot == 0) {
    strings_.push_back(keep(text));
    slot = static_cast<std::uint32_t>(strings_.size());
  }
  return static_cast<StringId>(slot - 1);
}

std::size_t StringTable::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] != 0 && strings_[slots_[slot] - 1] != text) slot = (slot + 1) & mask;
  return slot;
}

void StringTable::enlarge_slots() {
  constexpr std::size_t kLeast = 64;
  slots_ = std::vector<std::uint32_t>(std::max(kLeast, 2 * slots_.size()));
  for (std::size_t i = 0; i < strings_.size(); ++i) slots_[slot_of(strings_[i])] = static_cast<std::uint32_t>(i + 1);
}

std::string_view StringTable::keep(std::string_view text) {
  constexpr std::size_t kLeastBlock = 4096;
  constexpr std::size_t kMostBlock = std::size_t{1} << 20;
  if (text.empty()) return "";
  if (blocks_.empty() || text.size() > block_size_ - block_used_) {
    const std::size_t doubling = kLeastBlock << std::min<std::size_t>(blocks_.size(), 8);
    block_size_ = std::max(text.size(), std::min(doubling, kMostBlock));
    block_used_ = 0;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
  }
  char* const kept = blocks_.back().get() + block_used_;
  std::memcpy(kept, text.data(), text.size());
  block_used_ += text.size();
  return {kept, text.size()};
}

std::optional<StringId> StringTable::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t slot = slots_[slot_of(text)];
  if (slot == 0) return std::nullopt;
  return static_cast<StringId>(slot - 1);
}

std::string_view to_string(TraceKind kind) {
  const auto* const found =
      std::find_if(kKindNames.begin(), kKindNames.end(), [&](const auto& entry) { return entry.first == kind; });
  return found->second;
}

std::optional<TraceKind> trace_kind_from(std::string_view text) {
  for (const auto& [kind, name] : kKindNames) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

const WallTimes* TraceInfo::wall(std::string_view what) const {
  const auto found =
      std::find_if(wall_times.begin(), wall_times.end(), [&](const WallTimes& times) { return times.what == what; });
  return found == wall_times.end() ? nullptr : &*found;
}

std::int64_t TraceInfo::dropped_records() const {
  std::int64_t sum = 0;
  for (const auto& [reason, records] : dropped) sum += records;
  return sum;
}

TrackId Trace::add_track(std::string process, std::string thread) {
  std::int64_t last_pid = 0;
  std::optional<std::int64_t> pid;
  for (const Track& track : tracks) {
    last_pid = std::max(last_pid, track.pid);
    if (track.process == process) pid = track.pid;
  }
  if (!pid) pid = last_pid + 1;
  std::int64_t last_tid = 0;
  for (const Track& track : tracks) {
    if (track.pid == *pid) last_tid = std::max(last_tid, track.tid);
  }
  tracks.push_back({std::move(process), std::move(thread), *pid, last_tid + 1});
  return static_cast<TrackId>(tracks.size() - 1);
}

SliceId Trace::add_slice(TrackId track, std::string_view name, std::string_view category, Nanoseconds start,
                         Nanoseconds duration, std::span<const NamedArg> slice_args) {
  Slice slice{start, duration, track, strings.intern(name), strings.intern(category), std::nullopt};
  if (!slice_args.empty()) {
    Args converted;
    converted.reserve(slice_args.size());
    for (const auto& [key, given] : slice_args) {
      ArgValue value;
      if (const auto* text = std::get_if<std::string_view>(&given)) {
        value = strings.intern(*text);
      } else if (const auto* integer = std::get_if<std::int64_t>(&given)) {
        value = *integer;
      } else if (const auto* number = std::get_if<double>(&given)) {
        value = *number;
      } else {
        value = std::get<bool>(given);
      }
      converted.emplace_back(strings.intern(key), value);
    }
    slice.args = static_cast<ArgsId>(args.size());
    args.push_back(std::move(converted));
  }
  slices.push_back(slice);
  return static_cast<SliceId>(slices.size() - 1);
}

std::optional<std::string_view> Trace::text_arg(const Slice& slice, std::string_view key) const {
  const ArgValue* value = find_arg(*this, slice, key);
  const auto* text = value != nullptr ? std::get_if<StringId>(value) : nullptr;
  if (text == nullptr) return std::nullopt;
  return strings[*text];
}

bool Trace::has_arg(const Slice& slice, std::string_view key) const { return find_arg(*this, slice, key) != nullptr; }

std::optional<std::int64_t> Trace::integer_arg(const Slice& slice, std::string_view key) const {
  const ArgValue* value = find_arg(*this, slice, key);
  const auto* integer = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  if (integer == nullptr) return std::nullopt;
  return *integer;
}

std::optional<std::int64_t> Trace::integer_arg(const Slice& slice, std::optional<StringId> key) const {
  if (!slice.args || !key) return std::nullopt;
  for (const auto& [name, value] : args[to_index(*slice.args)]) {
    if (name != *key) continue;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Trace::integers_arg(const Slice& slice, std::string_view key) const {
  const ArgValue* value = find_arg(*this, slice, key);
  if (value == nullptr) return std::nullopt;
  if (const auto* nested = std::get_if<NestedJson>(value)) return integers_from(strings[nested->text]);
  if (const auto* text = std::get_if<StringId>(value)) return integers_from(strings[*text]);
  return std::nullopt;
}

}  // namespace cohort
