#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/nsight/sqlite_database.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Nsight's serialised ids hold the process in bits 24 to 47 and the thread in bits 0 to 23.
inline std::int64_t pid_of(std::int64_t global) { return (global >> 24) & 0xffffff; }

/// Turns the tables of an Nsight Systems export into a Trace. One use each.
class NsightReader {
 public:
  explicit NsightReader(const SqliteDatabase& database);
  /// Errors: see read_nsight().
  Result<Trace> read();

 private:
  using Labels = std::map<std::int64_t, std::string>;  ///< of an ENUM_ table

  /// What records of all device tables have, in the columns that kWorkColumns names.
  struct Work {
    Nanoseconds start{};
    Nanoseconds duration{};
    std::int64_t device = 0;
    std::int64_t context = 0;
    std::int64_t stream = 0;
    std::optional<std::int64_t> correlation;  ///< unique over all processes
    std::int64_t process = 0;                 ///< globalPid
    std::optional<std::int64_t> node;
  };
  /// An event as a stream recorded it.
  struct Recorded {
    std::int64_t process = 0;
    std::int64_t event = 0;
    std::int64_t correlation = 0;
    std::int64_t stream = 0;
    std::optional<std::int64_t> sync_id;
  };

  /// Finds the tables to read by what their names begin with.
  Result<void> find_tables();
  /// The table of this name, or of the newest version of it; the name itself where there is none.
  [[nodiscard]] std::string_view table(std::string_view name) const;
  Result<void> read_strings();
  Result<Labels> labels(std::string_view table) const;

  Result<void> read_kernels();
  Result<void> read_copies();
  Result<void> read_memsets();
  Result<void> read_graphs();
  Result<void> read_events();
  Result<void> read_synchronizations();
  Result<void> read_device_numbers();
  Result<void> read_gpus();

  Result<void> read_names();
  Result<void> read_calls();
  Result<void> read_annotations();
  void link_launches();
  /// Counts, by table, the records that nothing above reads.
  Result<void> count_unread();

  /// The columns all device tables share, followed by `more`; of a row of those, what it says of the
  /// work. Absent, and counted, where it has no times.
  static std::vector<std::string_view> work_columns(const std::vector<std::string_view>& more);
  std::optional<Work> work_of(const SqliteRow& row);
  Args work_args(const Work& work);
  void add_work(const Work& work, StringId name, std::string_view category, const Args& args);
  /// The latest record of the event that a wait refers to.
  [[nodiscard]] const Recorded* recorded_before(const Work& wait, std::optional<std::int64_t> event,
                                                std::optional<std::int64_t> sync_id) const;

  std::optional<std::pair<Nanoseconds, Nanoseconds>> times(const SqliteRow& row, std::size_t start, std::size_t end);
  std::optional<StringId> string_of(const SqliteRow& row, std::size_t column);
  std::int64_t unique_correlation(std::int64_t process, std::int64_t correlation);
  TrackId device_track(const Work& work);
  TrackId host_track(std::int64_t global_tid, bool for_ranges);
  std::int64_t free_tid(std::int64_t pid, std::int64_t tid);
  SliceId add_slice(TrackId track, StringId name, std::string_view category, Nanoseconds start, Nanoseconds duration,
                    const Args& args);
  void add(Args& args, std::string_view key, std::int64_t value);
  void add_if(Args& args, std::string_view key, std::optional<std::int64_t> value);
  void drop(const std::string& reason) { ++trace_.info.dropped[reason]; }

  const SqliteDatabase& database_;
  std::map<std::string, std::string, std::less<>> tables_;  ///< name without version -> name
  Trace trace_;
  std::unordered_map<std::int64_t, StringId> strings_;
  std::map<std::int64_t, std::int64_t> processes_;  ///< globalPid -> position, by first appearance
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::int64_t, std::string> thread_names_;
  std::map<std::int64_t, std::int64_t> kernels_of_device_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpu_of_device_;  ///< by process (pid) and its number
  bool numbered_by_gpu_ = false;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, TrackId> device_tracks_;
  std::map<std::pair<std::int64_t, bool>, TrackId> host_tracks_;
  std::set<std::pair<std::int64_t, std::int64_t>> used_tids_;
  std::set<std::int64_t> device_pids_;
  std::vector<Recorded> recorded_;  ///< by process, event, correlation
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> recorded_by_sync_id_;  ///< process and id
  std::vector<std::pair<std::int64_t, SliceId>> calls_;                               ///< by correlation
  std::vector<std::pair<std::int64_t, SliceId>> launched_;
};

}  // namespace cohort
