#include "planning/gpu_figures.hpp"

#include "base/file.hpp"

namespace cohort {

Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file) {
  if (file.empty()) return std::nullopt;
  COHORT_TRY(const std::string text, read_file(file));
  auto gpu = parse_gpu_profile(text);
  if (!gpu) return in_context(file.string(), gpu.error());
  return std::optional(std::move(*gpu));
}

}  // namespace cohort
