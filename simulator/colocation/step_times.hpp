#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace cohort {

/// Clients of one MPS server. Source: CUDA's documentation of MPS.
inline constexpr int kMostMpsClients = 48;

/// What one line of a table says: how long a step takes, in one process or in several equal ones at once.
struct StepTime {
  std::int64_t minibatch = 1;
  double share = 1;  ///< the part of the GPU that they run on, in the unit of the table's column
  std::string part;  ///< of the step, such as "layers 0-9"; empty: all of it
  int processes = 1;
  Nanoseconds step{};                   ///< of each process
  std::optional<Nanoseconds> gpu_busy;  ///< how long one process keeps the GPU busy in a step
  std::optional<double> dram;           ///< part of the DRAM bandwidth that one process uses
  std::size_t line = 0;                 ///< in the file, from 1
};

/// In what a table's column gives the part of a GPU.
enum class ShareUnit {
  kAll,      ///< no such column: all of it
  kGpcs,     ///< graphics processing clusters of a MIG slice
  kPercent,  ///< of the multiprocessors
};

/// "all", "3 GPCs", "40%".
std::string share_text(ShareUnit unit, double share);

/// Step times of one model on one GPU, as a log or a load test gives them.
struct StepTimes {
  std::vector<StepTime> rows;  ///< in the file's order
  ShareUnit unit = ShareUnit::kAll;
  std::vector<std::string> unused;  ///< columns that are not known here
};

/// Reads a CSV table whose first line names its columns: `minibatch`; one of `step_ms`, `step_us`, `samples_per_s` (of
/// each process); and as far as known `gpcs` or `sm_percent`, `processes` (default 1), `gpu_busy_ms`, `dram_percent`,
/// `part`.
/// Errors: kInvalidInput naming the line and column: a column that is missing, a field that is no number or out of
/// range, the same case twice, a time that contradicts another.
Result<StepTimes> parse_step_times(std::string_view text);
/// The same of a file. Errors: those of parse_step_times() and read_file(), naming the file.
Result<StepTimes> read_step_times(const std::filesystem::path& file);

/// What a table says of several equal processes.
struct MeasuredTogether {
  Nanoseconds step{};     ///< of each
  double gain = 1;        ///< as Colocation::gain
  bool one_died = false;  ///< as fast as with one process less: then one of them has ended, and this says nothing
};
/// Of at least two processes, in the case of `alone`, a row of one; absent where the table has none.
std::optional<MeasuredTogether> measured_together(const StepTimes& times, const StepTime& alone, int processes);

}  // namespace cohort
