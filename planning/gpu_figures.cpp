#include "planning/gpu_figures.hpp"

#include "base/file.hpp"
#include "simulator/contention/mig_slice.hpp"

namespace cohort {
namespace {

/// Whether it can be a GPU's name. A file that is missing, "h100.json", must not be taken for the GPU H100.
bool is_name(const std::filesystem::path& file_or_name) {
  if (file_or_name.filename() != file_or_name) return false;
  return file_or_name.extension().empty() || mig_slice_of(file_or_name.native());
}

}  // namespace

Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file_or_name) {
  const std::filesystem::path& file = file_or_name;
  if (file.empty()) return std::nullopt;
  std::error_code unreadable;
  if (is_name(file) && !std::filesystem::is_regular_file(file, unreadable)) {
    if (auto published = published_gpu_profile(file.string())) return published;
    return fail(ErrorCode::kInvalidInput, "{} is neither a file nor a GPU whose figures are known: {}", file.string(),
                kPublishedGpus);
  }
  COHORT_TRY(const std::string text, read_file(file));
  auto gpu = parse_gpu_profile(text);
  if (!gpu) return in_context(file.string(), gpu.error());
  return std::optional(std::move(*gpu));
}

}  // namespace cohort
