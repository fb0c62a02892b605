#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Reads a report of NVIDIA Nsight Systems exported with `nsys export --type sqlite`.
///
/// Kernels, copies, memsets, whole graphs, synchronisations and events of the device, calls of the
/// runtime and the driver, and NVTX ranges become what they are in a trace of PyTorch's profiler, so
/// that nothing else needs to know where a trace came from. Tables and columns that a version of
/// Nsight lacks are absent; what cannot be read is counted in info.dropped. Times stay as they are:
/// nanoseconds since the recording began. In reports of several processes, whose correlation ids
/// repeat, those of the second and later ones are moved by 2^40 each.
/// Errors: kInvalidInput where the file is no database, damaged, or has none of Nsight's tables.
/// Source: "SQLite Schema Reference", https://docs.nvidia.com/nsight-systems/UserGuide/
Result<Trace> read_nsight(const std::filesystem::path& path);
/// The same from the bytes of such a file.
Result<Trace> parse_nsight(std::string_view image);

bool looks_like_sqlite(std::string_view content);

}  // namespace cohort
