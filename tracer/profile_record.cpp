#include "tracer/profile_record.hpp"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace cohort {
namespace {

// More than any device has; sums and multiples of records stay far from the largest number.
constexpr std::int64_t kMostCount = 65536;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
constexpr Nanoseconds kLongestRecord = std::chrono::hours(24);

constexpr std::string_view kAround = "threads around";

std::optional<int> int_arg(const Trace& trace, const Slice& slice, std::string_view key, std::int64_t least) {
  const auto value = trace.integer_arg(slice, key);
  if (!value || *value < least || *value > kMostCount) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<Bytes> bytes_arg(const Trace& trace, const Slice& slice, std::string_view key) {
  const auto value = trace.integer_arg(slice, key);
  if (!value || *value < 0 || *value > kMostBytes) return std::nullopt;
  return Bytes{*value};
}

constexpr std::array<std::pair<ProfileState, std::string_view>, 4> kStates = {
    {{ProfileState::kFlushed, "caches flushed"},
     {ProfileState::kFirst, "first execution"},
     {ProfileState::kInModel, "in the model"},
     {ProfileState::kInPlan, "in a plan"}}};

/// Warm where nothing is said; absent where the word is not known.
std::optional<ProfileState> state_of(const Trace& trace, const Slice& slice) {
  const auto text = trace.text_arg(slice, "state");
  if (!text) return ProfileState::kWarm;
  for (const auto& [state, name] : kStates) {
    if (name == *text) return state;
  }
  return std::nullopt;
}

}  // namespace

bool is_plain_loops(std::string_view algorithm) {
  const std::size_t at = algorithm.find("ref");
  return at != std::string_view::npos && (at == 0 || algorithm[at - 1] == '/' || algorithm[at - 1] == ':');
}

SliceId add_profile_record(Trace& trace, TrackId track, std::string_view name, Nanoseconds start,
                           const ProfileRecord& record) {
  const std::array<Trace::NamedArg, 9> args = {{
      {"signature", std::string_view(record.signature)},
      {"strategy", std::string_view(record.strategy)},
      {"width", std::int64_t{record.width}},
      {"threads", std::int64_t{record.threads}},
      {"algorithm", std::string_view(record.algorithm)},
      {"footprint bytes", record.footprint.value},
      {"neighbours", std::int64_t{record.neighbours}},
      {"workspace bytes", record.workspace.value},
      {"packed weight bytes", record.packed_weights.value},
  }};
  std::vector<Trace::NamedArg> all(args.begin(), args.end());
  if (record.around > 0) all.emplace_back(kAround, std::int64_t{record.around});
  for (const auto& [state, text] : kStates) {
    if (record.state == state) all.emplace_back("state", text);
  }
  return trace.add_slice(track, name, kProfileCategory, start, record.time, all);
}

std::optional<ProfileRecord> profile_record_of(const Trace& trace, const Slice& slice) {
  if (trace.strings[slice.category] != kProfileCategory) return std::nullopt;
  const auto signature = trace.text_arg(slice, "signature");
  const auto strategy = trace.text_arg(slice, "strategy");
  const auto algorithm = trace.text_arg(slice, "algorithm");
  const auto width = int_arg(trace, slice, "width", 1);
  const auto threads = int_arg(trace, slice, "threads", 1);
  const auto neighbours = int_arg(trace, slice, "neighbours", 0);
  const auto around = trace.has_arg(slice, kAround) ? int_arg(trace, slice, kAround, 0) : 0;
  const auto footprint = bytes_arg(trace, slice, "footprint bytes");
  const auto workspace = bytes_arg(trace, slice, "workspace bytes");
  const auto packed_weights = bytes_arg(trace, slice, "packed weight bytes");
  if (slice.duration < Nanoseconds(0) || slice.duration > kLongestRecord) return std::nullopt;
  if (!signature || !strategy || !algorithm) return std::nullopt;
  const auto state = state_of(trace, slice);
  if (!state || !width || !threads || !around || !neighbours || !footprint || !workspace || !packed_weights)
    return std::nullopt;
  ProfileRecord record;
  record.signature = *signature;
  record.strategy = *strategy;
  record.width = *width;
  record.threads = *threads;
  record.algorithm = *algorithm;
  record.footprint = *footprint;
  record.neighbours = *neighbours;
  record.around = *around;
  record.workspace = *workspace;
  record.packed_weights = *packed_weights;
  record.time = slice.duration;
  record.state = *state;
  return record;
}

}  // namespace cohort
