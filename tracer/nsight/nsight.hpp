#pragma once

#include <filesystem>
#include <string_view>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Reads a report of NVIDIA Nsight Systems exported with `nsys export --type sqlite`.
///
/// Kernels, copies, memsets, whole graphs, synchronisations and events of the device, calls of the
/// runtime and the driver, and NVTX ranges become what they are in a trace of PyTorch's profiler, so
/// that nothing else needs to know where a trace came from. Tables and columns that a version of
/// Nsight lacks are absent; what cannot be read is counted in info.dropped, rows of other tables of activity
/// (calls of the operating system, page faults of unified memory, samples) by their table. Times stay as they are:
/// nanoseconds since the recording began. In reports of several processes, whose correlation ids
/// repeat, those of the second and later ones are moved by 2^40 each.
/// Memory: at most 64 times the file's size plus 32 MiB, which rows of a few bytes on tracks of their own come near to;
/// for rows as Nsight writes them about five times.
/// Errors: kInvalidInput where the file is no database, damaged, or has none of Nsight's tables; kInterrupted once
/// cancelled.
/// Source: "SQLite Schema Reference", https://docs.nvidia.com/nsight-systems/UserGuide/
Result<Trace> read_nsight(const std::filesystem::path& path, const CancelToken* cancel = nullptr);
/// The same from the bytes of such a file.
Result<Trace> parse_nsight(std::string_view image);

/// Beginning of reasons in info.dropped for tables that are not read: "row of table OSRT_API".
inline constexpr std::string_view kUnreadTable = "row of table ";

bool looks_like_sqlite(std::string_view content);

}  // namespace cohort
