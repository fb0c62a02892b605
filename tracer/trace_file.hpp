#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct TraceReadOptions {
  std::size_t most_inflated_bytes = std::size_t{8} << 30;  ///< a .gz that claims more is refused
};

/// Reads Chrome Trace Event JSON, plain or gzipped (by content, not by name): ours and, as far as
/// its events go, any other tool's. Records that cannot be read are counted in info.dropped.
/// Errors: kInvalidInput naming the file and what it looks like instead.
Result<Trace> read_trace(const std::filesystem::path& path, const TraceReadOptions& options = {});
Result<Trace> parse_trace(std::string_view content, const TraceReadOptions& options = {});

/// Chrome Trace Event JSON with the keys of PyTorch's profiler; equal traces, equal bytes.
std::string trace_to_json(const Trace& trace);

/// Writes a trace; gzipped where the name ends in ".gz".
Result<void> write_trace(const std::filesystem::path& path, const Trace& trace, Overwrite overwrite);

}  // namespace cohort
