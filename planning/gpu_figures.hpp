#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"

namespace cohort {

/// A fitted profile of a GPU from its file, or the published figures of a GPU of this name; nothing where it is empty.
/// What has a folder or an extension is no name (but "MIG 3g.20gb").
/// Errors: those of parse_gpu_profile(), naming the file; kInvalidInput where there is neither, naming the known GPUs.
Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file_or_name);

}  // namespace cohort
