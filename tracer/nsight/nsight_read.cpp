#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "tracer/file/mend_times.hpp"
#include "tracer/file/unique_correlations.hpp"
#include "tracer/nsight/nsight.hpp"
#include "tracer/nsight/nsight_reader.hpp"

namespace cohort {
namespace {

std::int64_t tid_of(std::int64_t global) { return global & 0xffffff; }
std::int64_t process_of(std::int64_t global_tid) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(global_tid) & ~std::uint64_t{0xffffff});
}

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000".
std::string_view without_version(std::string_view name) {
  const std::size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size()) return name;
  const std::string_view version = name.substr(mark + 2);
  const bool digits = std::all_of(version.begin(), version.end(), is_digit);
  return digits && version.size() >= 4 ? name.substr(0, mark) : name;
}

/// Tables of records that are read.
constexpr std::array<std::string_view, 8> kRead = {
    "CUPTI_ACTIVITY_KIND_KERNEL",     "CUPTI_ACTIVITY_KIND_RUNTIME",        "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",    "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"};
/// One of these an export of a GPU trace has.
constexpr std::size_t kNeeded = 6;
/// Has times, none of which is an activity's.
constexpr std::string_view kDiagnostics = "DIAGNOSTIC_EVENT";

/// 3 of "CUPTI_ACTIVITY_KIND_KERNEL_V3", 0 of the name itself; absent for other names.
std::optional<int> version_of(std::string_view table, std::string_view name) {
  if (!table.starts_with(name)) return std::nullopt;
  std::string_view rest = table.substr(name.size());
  if (rest.empty()) return 0;
  constexpr std::size_t kMostDigits = 6;
  if (!rest.starts_with("_V") || rest.size() == 2 || rest.size() > kMostDigits) return std::nullopt;
  rest.remove_prefix(2);
  int version = 0;
  for (const char c : rest) {
    if (!is_digit(c)) return std::nullopt;
    version = 10 * version + (c - '0');
  }
  return version;
}

/// The name itself where it is among the tables, else that of its newest version.
std::optional<std::string> newest(const std::vector<std::string>& tables, std::string_view name) {
  std::optional<std::string> found;
  int highest = 0;
  for (const std::string& table : tables) {
    const auto version = version_of(table, name);
    if (!version) continue;
    if (*version == 0) return table;
    if (*version > highest) found = table;
    highest = std::max(highest, *version);
  }
  return found;
}

/// What Nsight calls its tables; others could hold anything, and are named in output.
bool is_plain_name(std::string_view name) {
  constexpr std::size_t kMostText = 64;
  return name.size() <= kMostText && std::all_of(name.begin(), name.end(), [](char c) {
           const char lower = static_cast<char>(c | 0x20);
           return c == '_' || is_digit(c) || (lower >= 'a' && lower <= 'z');
         });
}

}  // namespace

NsightReader::NsightReader(const SqliteDatabase& database) : database_(database) {}

Result<Trace> NsightReader::read() {
  COHORT_CHECK(find_tables());
  COHORT_CHECK(read_strings());
  COHORT_CHECK(read_device_numbers());
  COHORT_CHECK(read_kernels());
  COHORT_CHECK(read_copies());
  COHORT_CHECK(read_memsets());
  COHORT_CHECK(read_graphs());
  COHORT_CHECK(read_events());
  COHORT_CHECK(read_synchronizations());
  COHORT_CHECK(read_gpus());
  COHORT_CHECK(read_names());
  COHORT_CHECK(read_calls());
  COHORT_CHECK(read_annotations());
  link_launches();
  make_correlations_unique(trace_);
  mend_device_times(trace_, Nanoseconds{});
  COHORT_CHECK(count_unread());
  return std::move(trace_);
}

std::string_view NsightReader::table(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? name : std::string_view(found->second);
}

Result<void> NsightReader::find_tables() {
  COHORT_TRY(const auto tables, database_.tables());
  COHORT_TRY(const auto views, database_.views());
  bool needed = false;
  for (std::size_t i = 0; i < kRead.size(); ++i) {
    if (auto found = newest(tables, kRead[i])) {
      tables_.emplace(kRead[i], std::move(*found));
      needed = needed || i < kNeeded;
    } else if (const auto view = newest(views, kRead[i])) {
      return fail(ErrorCode::kInvalidInput,
                  "an SQLite database whose {0} is a view, and views are not read; make it a table: sqlite3 FILE "
                  "\"CREATE TABLE t AS SELECT * FROM {0}; DROP VIEW {0}; ALTER TABLE t RENAME TO {0}\"",
                  *view);
    }
  }
  if (needed) return {};
  std::string names;
  constexpr std::size_t kMostNames = 5;
  for (std::size_t i = 0; i < std::min(tables.size(), kMostNames); ++i) {
    constexpr std::size_t kMostText = 40;
    names += fmt::format("{}{}", i > 0 ? ", " : "", tables[i].substr(0, kMostText));
  }
  return fail(ErrorCode::kInvalidInput,
              "an SQLite database, but not one that Nsight Systems exported from a GPU trace: it has no table "
              "CUPTI_ACTIVITY_KIND_KERNEL but {}",
              tables.empty() ? "no tables at all" : names);
}

Result<void> NsightReader::read_strings() {
  return database_.each_row("StringIds", {"id", "value"}, [&](const SqliteRow& row) {
    const auto id = row.integer(0);
    const auto value = row.text(1);
    if (id && value) strings_[*id] = trace_.strings.intern(*value);
  });
}

Result<NsightReader::Labels> NsightReader::labels(std::string_view table) const {
  Labels labels;
  COHORT_CHECK(database_.each_row(table, {"id", "label", "name"}, [&](const SqliteRow& row) {
    const auto label = row.text(1) ? row.text(1) : row.text(2);
    if (row.integer(0) && label) labels[*row.integer(0)] = *label;
  }));
  return labels;
}

std::optional<std::pair<Nanoseconds, Nanoseconds>> NsightReader::times(const SqliteRow& row, std::size_t start,
                                                                       std::size_t end) {
  const auto from = row.rounded(start);
  const auto to = row.rounded(end);
  if (!from || !to) {
    drop("record without a time");
  } else if (*from < -kMostTime.count() || *to > kMostTime.count()) {
    drop("time out of range");
  } else if (*to < *from) {
    drop("slice that ends before it starts");
  } else if (*from == 0 && *to == 0) {
    drop("record whose times are 0");
  } else {
    return std::pair(Nanoseconds(*from), Nanoseconds(*to - *from));
  }
  return std::nullopt;
}

/// Text itself, or the number of a text.
std::optional<StringId> NsightReader::string_of(const SqliteRow& row, std::size_t column) {
  if (const auto text = row.text(column)) return trace_.strings.intern(*text);
  const auto id = row.integer(column);
  const auto found = id ? strings_.find(*id) : strings_.end();
  if (found == strings_.end()) return std::nullopt;
  return found->second;
}

std::int64_t NsightReader::unique_correlation(std::int64_t process, std::int64_t correlation) {
  std::int64_t position = 0;  // also where a table does not say which process
  if (process != 0)
    position = processes_.try_emplace(process, static_cast<std::int64_t>(processes_.size())).first->second;
  constexpr std::uint64_t kStride = std::uint64_t{1} << 40U;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(correlation) +
                                   static_cast<std::uint64_t>(position) * kStride);
}

std::int64_t NsightReader::free_tid(std::int64_t pid, std::int64_t tid) {
  constexpr std::int64_t kStride = 1'000'000;
  while (!used_tids_.insert({pid, tid}).second) tid = (tid > 0 ? tid : -tid) % kStride + kStride * (1 + tid / kStride);
  return tid;
}

TrackId NsightReader::device_track(const Work& work) {
  const auto key = std::tuple(work.process, work.device, work.context, work.stream);
  const auto [found, is_new] = device_tracks_.try_emplace(key, static_cast<TrackId>(trace_.tracks.size()));
  if (!is_new) return found->second;
  const std::int64_t tid = free_tid(work.device, work.stream);
  std::string thread = work.stream < 0 ? "synchronisation" : fmt::format("stream {}", work.stream);
  if (tid != work.stream) thread += fmt::format(" (process {}, context {})", pid_of(work.process), work.context);
  device_pids_.insert(work.device);
  trace_.tracks.push_back({fmt::format("GPU {}", work.device), std::move(thread), work.device, tid});
  return found->second;
}

TrackId NsightReader::host_track(std::int64_t global_tid, bool for_ranges) {
  const auto [found, is_new] =
      host_tracks_.try_emplace(std::pair(global_tid, for_ranges), static_cast<TrackId>(trace_.tracks.size()));
  if (!is_new) return found->second;
  std::int64_t pid = pid_of(global_tid);
  constexpr std::int64_t kStride = 1'000'000;
  while (device_pids_.count(pid) > 0) pid += kStride;
  const auto process = process_names_.find(process_of(global_tid));
  const auto thread = thread_names_.find(global_tid);
  std::string name = thread == thread_names_.end() ? fmt::format("thread {}", tid_of(global_tid)) : thread->second;
  if (for_ranges) name += ", ranges";
  trace_.tracks.push_back(
      {process == process_names_.end() ? fmt::format("process {}", pid_of(global_tid)) : process->second,
       std::move(name), pid, free_tid(pid, tid_of(global_tid))});
  return found->second;
}

SliceId NsightReader::add_slice(TrackId track, StringId name, std::string_view category, Nanoseconds start,
                                Nanoseconds duration, const Args& args) {
  Slice slice{start, duration, track, name, trace_.strings.intern(category), std::nullopt};
  if (!args.empty()) {
    slice.args = static_cast<ArgsId>(trace_.args.size());
    trace_.args.emplace_back(args.begin(), args.end());  // with no room to spare
  }
  trace_.slices.push_back(slice);
  return static_cast<SliceId>(trace_.slices.size() - 1);
}

void NsightReader::add(Args& args, std::string_view key, std::int64_t value) {
  args.emplace_back(trace_.strings.intern(key), value);
}

void NsightReader::add_if(Args& args, std::string_view key, std::optional<std::int64_t> value) {
  if (value) add(args, key, *value);
}

Result<void> NsightReader::read_names() {
  COHORT_CHECK(database_.each_row("PROCESSES", {"globalPid", "name"}, [&](const SqliteRow& row) {
    if (row.integer(0) && row.text(1)) process_names_[*row.integer(0)] = *row.text(1);
  }));
  return database_.each_row("ThreadNames", {"globalTid", "nameId"}, [&](const SqliteRow& row) {
    const auto name = string_of(row, 1);
    if (row.integer(0) && name) thread_names_[*row.integer(0)] = trace_.strings[*name];
  });
}

Result<void> NsightReader::read_calls() {
  enum : std::size_t { kStart, kEnd, kThread, kCorrelation, kName, kReturned };
  return database_.each_row(
      table("CUPTI_ACTIVITY_KIND_RUNTIME"), {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"},
      [&](const SqliteRow& row) {
        const auto when = times(row, kStart, kEnd);
        if (!when) return;
        const std::int64_t thread = row.integer(kThread).value_or(0);
        const auto given = string_of(row, kName);
        const std::string name(given ? without_version(trace_.strings[*given]) : "(unnamed call)");
        Args args;
        std::optional<std::int64_t> correlation;
        if (const auto id = row.integer(kCorrelation)) correlation = unique_correlation(process_of(thread), *id);
        add_if(args, "correlation", correlation);
        if (row.integer(kReturned).value_or(0) != 0) add(args, "returned", *row.integer(kReturned));
        const bool driver = name.starts_with("cu") && !name.starts_with("cuda");
        const SliceId slice = add_slice(host_track(thread, false), trace_.strings.intern(name),
                                        driver ? "cuda_driver" : "cuda_runtime", when->first, when->second, args);
        if (correlation) calls_.emplace_back(*correlation, slice);
      });
}

Result<void> NsightReader::read_annotations() {
  enum : std::size_t { kStart, kEnd, kThread, kText, kTextId, kType };
  constexpr std::int64_t kPushPop = 59;
  constexpr std::int64_t kStartEnd = 60;
  return database_.each_row(
      table("NVTX_EVENTS"), {"start", "end", "globalTid", "text", "textId", "eventType"}, [&](const SqliteRow& row) {
        const std::int64_t type = row.integer(kType).value_or(kPushPop);
        if (type != kPushPop && type != kStartEnd) return drop("NVTX record that is no range");
        if (!row.integer(kEnd)) return drop("begin without an end");
        const auto when = times(row, kStart, kEnd);
        if (!when) return;
        auto name = string_of(row, kText);
        if (!name) name = string_of(row, kTextId);
        const std::int64_t thread = row.integer(kThread).value_or(0);
        // Ranges of the second kind may overlap without nesting, so they get a track of their own.
        add_slice(host_track(thread, type == kStartEnd), name.value_or(trace_.strings.intern("(unnamed range)")),
                  "user_annotation", when->first, when->second, {});
      });
}

void NsightReader::link_launches() {
  std::stable_sort(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const StringId name = trace_.strings.intern("ac2g");
  for (const auto& [correlation, slice] : launched_) {
    const auto call = std::lower_bound(calls_.begin(), calls_.end(), correlation,
                                       [](const auto& entry, std::int64_t id) { return entry.first < id; });
    if (call != calls_.end() && call->first == correlation) trace_.flows.push_back({call->second, slice, name});
  }
}

Result<void> NsightReader::count_unread() {
  COHORT_TRY(const auto tables, database_.tables());
  for (const std::string& table : tables) {
    const bool is_read =
        std::any_of(tables_.begin(), tables_.end(), [&](const auto& entry) { return entry.second == table; });
    if (is_read || table == kDiagnostics) continue;
    const auto columns = database_.columns(table);
    if (!columns) continue;  // damage in what is not needed does no harm
    // Records of activity state their time; names, enumerations and facts of the machine have none.
    const bool has_times = std::any_of(columns->begin(), columns->end(), [](const std::string& column) {
      return column == "start" || column == "timestamp";
    });
    if (!has_times) continue;
    const auto rows = database_.count_rows(table);
    const std::string_view name = is_plain_name(table) ? std::string_view(table) : "of another name";
    if (!rows) {
      drop(fmt::format("damaged table {}", name));
    } else if (*rows > 0) {
      trace_.info.dropped[fmt::format("{}{}", kUnreadTable, name)] += *rows;
    }
  }
  return {};
}

bool looks_like_sqlite(std::string_view content) { return content.starts_with("SQLite format 3"); }

Result<Trace> read_nsight(const std::filesystem::path& path, const CancelToken* cancel) {
  COHORT_TRY(const SqliteDatabase database, SqliteDatabase::open(path, cancel));
  return NsightReader(database).read();
}

Result<Trace> parse_nsight(std::string_view image) {
  COHORT_TRY(const SqliteDatabase database, SqliteDatabase::open_image(image));
  return NsightReader(database).read();
}

}  // namespace cohort
