#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/file.hpp"
#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// How far the reading of a trace is; written by the thread that reads, for others to look at. Of an SQLite export it
/// stays at zero.
struct ReadProgress {
  std::atomic<std::uint64_t> done{0};   ///< bytes of JSON, once unpacked
  std::atomic<std::uint64_t> total{0};  ///< 0: not known yet
};

struct TraceReadOptions {
  std::size_t most_inflated_bytes = std::size_t{8} << 30;  ///< a .gz that claims more is refused
  std::string_view raised_by = {};  ///< the option by which a user raises that, for the message; empty: there is none
  const CancelToken* cancel = nullptr;  ///< asked before every event; must outlive the reading
  ReadProgress* progress = nullptr;     ///< must outlive the reading
};

/// The reason in info.dropped where the end of another tool's file is missing.
inline constexpr std::string_view kCutShortReason = "rest of the file, which is cut short";

/// Reads a trace: Chrome Trace Event JSON, plain or gzipped, ours or another tool's, or an SQLite export of Nsight
/// Systems (see nsight.hpp). The content, not the name, decides the format. Records that cannot be read are counted in
/// info.dropped; another tool's file that was cut short is read as far as it is whole, and that is counted, too.
/// Memory, the trace and what the parser notes included: at most 24 times the inflated size of JSON plus 32 MiB, about
/// four times for what profilers write, and up to 56 times the size of our own object "cohort" where there is one; for
/// a database, which stays on disk, see nsight.hpp. Errors: kInvalidInput naming the file, and where it breaks or what
/// it looks like instead; kInterrupted once cancelled.
Result<Trace> read_trace(const std::filesystem::path& path, const TraceReadOptions& options = {});
Result<Trace> parse_trace(std::string_view content, const TraceReadOptions& options = {});

/// Chrome Trace Event JSON with the keys of PyTorch's profiler; equal traces, equal bytes.
std::string trace_to_json(const Trace& trace);

/// What write_trace() writes into a file of this name.
std::string trace_bytes(const std::filesystem::path& path, const Trace& trace);

/// Writes a trace; gzipped where the name ends in ".gz".
Result<void> write_trace(const std::filesystem::path& path, const Trace& trace, Overwrite overwrite);

}  // namespace cohort
