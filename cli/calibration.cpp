#include "cli/calibration.hpp"

#include <charconv>
#include <string_view>

#include "base/cuda_libraries.hpp"

namespace cohort {

Result<int> gpu_index(const std::string& device) {
  constexpr std::string_view kKind = "cuda:";
  int index = 0;
  const std::string_view text = device;
  const bool is_cuda = text.starts_with(kKind);
  const auto number = std::from_chars(text.data() + (is_cuda ? kKind.size() : 0), text.data() + text.size(), index);
  if (!is_cuda || number.ec != std::errc() || number.ptr != text.data() + text.size() || index < 0)
    return fail(ErrorCode::kUsage, "--device: a GPU is needed (cuda:0, cuda:1, ...), not {}", device);
  return index;
}

Result<const CalibrationPlugin*> open_calibration_plugin() {
  COHORT_CHECK(probe_cuda_driver());
  COHORT_TRY(const SharedLibrary library, open_cuda_plugin("calibration", {}));
  COHORT_TRY(const auto entry, library.function<CalibrationPluginEntry>(kCalibrationPluginEntry));
  return entry();
}

}  // namespace cohort
