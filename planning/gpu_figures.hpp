#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"

namespace cohort {

/// A fitted profile of a GPU from its file; nothing where the name is empty.
/// Errors: those of parse_gpu_profile(), naming the file.
Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file);

}  // namespace cohort
