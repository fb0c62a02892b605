#include "cli/device_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.hpp"
#include "simulator/contention/fit_profile.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct Spread {
  std::size_t count = 0;
  double median = 0;
  double worst = 0;
};

Spread spread_of(const std::vector<FitResidual>& residuals, bool held_out) {
  std::vector<double> errors;
  for (const FitResidual& residual : residuals) {
    if (residual.held_out == held_out) errors.push_back(std::abs(residual.relative_error()));
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors.size(), errors[errors.size() / 2], errors.back()};
}

ordered_json to_json(const Spread& spread) {
  return {{"count", spread.count}, {"median_relative_error", spread.median}, {"worst_relative_error", spread.worst}};
}

}  // namespace

Result<void> write_device_fit(const Trace& recording, const std::filesystem::path& output, CommandContext& context) {
  const std::string& device = recording.info.device.name;
  const std::optional<GpuProfile> start = published_gpu_profile(device);
  if (!start) {
    return fail(ErrorCode::kInvalidInput,
                "no published figures of \"{}\" to start from; known are P100, V100, A100, H100 and H200", device);
  }
  COHORT_TRY(const GpuFit fit, fit_gpu_profile(recording, *start));
  COHORT_CHECK(write_file(output, write_gpu_profile(fit.profile), context.overwrite));
  const Spread fitted = spread_of(fit.residuals, false);
  const Spread tested = spread_of(fit.residuals, true);
  if (context.json) {
    ordered_json residuals = ordered_json::array();
    for (const FitResidual& residual : fit.residuals) {
      residuals.push_back({{"what", residual.what},
                           {"measured_ns", residual.measured.count()},
                           {"predicted_ns", residual.predicted.count()},
                           {"held_out", residual.held_out}});
    }
    context.console.print_json(ordered_json{{"file", output.string()},
                                            {"device", device},
                                            {"fitted", to_json(fitted)},
                                            {"held_out", to_json(tested)},
                                            {"kept", fit.kept},
                                            {"residuals", residuals}});
    return {};
  }
  const auto line = [&](std::string_view what, const Spread& spread) {
    if (spread.count == 0) return;
    context.console.print(fmt::format("{} {}: median {:.1f}% off, worst {:.1f}%\n", spread.count, what,
                                      spread.median * 100, spread.worst * 100));
  };
  line("measurements fitted", fitted);
  line("measurements held out", tested);
  if (!fit.kept.empty()) context.console.print(fmt::format("as published: {}\n", fmt::join(fit.kept, ", ")));
  context.console.note(fmt::format("wrote {}", output.string()));
  return {};
}

}  // namespace cohort
