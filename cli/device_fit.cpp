#include "cli/device_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.hpp"
#include "simulator/contention/fit_profile.hpp"
#include "simulator/costs/fit_kernels.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const FitSpread& spread) {
  return {{"count", spread.count}, {"median_relative_error", spread.median}, {"worst_relative_error", spread.worst}};
}

ordered_json to_json(const std::vector<FitResidual>& residuals) {
  ordered_json json = ordered_json::array();
  for (const FitResidual& residual : residuals) {
    json.push_back({{"what", residual.what},
                    {"measured_ns", residual.measured.count()},
                    {"predicted_ns", residual.predicted.count()},
                    {"held_out", residual.held_out}});
  }
  return json;
}

ordered_json to_json(const KernelFits& fits) {
  ordered_json kernels = ordered_json::array();
  for (const KernelFit& kernel : fits.kernels) {
    ordered_json uses = ordered_json::object();
    for (std::size_t k = 0; k < kThroughputs; ++k)
      uses[std::string(to_string(static_cast<Throughput>(k)))] = kernel.fit.utilisation[k];
    kernels.push_back({{"signature", kernel.signature},
                       {"blocks", kernel.launch.blocks},
                       {"observations", kernel.observations},
                       {"residual", kernel.fit.residual},
                       {"utilisation", std::move(uses)}});
  }
  return {{"kernels", std::move(kernels)}, {"residuals", to_json(fits.residuals)}, {"left_out", fits.left_out}};
}

void print_spread(std::string_view what, const FitSpread& spread, CommandContext& context) {
  if (spread.count == 0) return;
  context.console.print(fmt::format("{} {}: median {:.1f}% off, worst {:.1f}%\n", spread.count, what,
                                    spread.median * 100, spread.worst * 100));
}

/// So that one sees what the model does not explain.
void print_worst(const std::vector<FitResidual>& residuals, CommandContext& context) {
  constexpr std::size_t kRows = 5;
  for (const FitResidual& residual : worst_of(residuals, kRows)) {
    context.console.print(fmt::format("  {:+7.1f}%  {}: {} measured, {} predicted{}\n", 100 * residual.relative_error(),
                                      residual.what, format_time(residual.measured), format_time(residual.predicted),
                                      residual.held_out ? ", held out" : ""));
  }
}

void note_held_back_clocks(const Trace& recording, CommandContext& context) {
  // Idle, clocks set by applications and by a display's needs: none of these slows a busy device down unawares.
  constexpr std::uint64_t kHarmless = 0x1 | 0x2 | 0x100;
  std::size_t readings = 0;
  std::size_t held_back = 0;
  std::uint64_t reasons = 0;
  const auto name = recording.strings.find(kThrottleReasonsCounter);
  for (const Counter& counter : recording.counters) {
    if (!name || counter.name != *name) continue;
    const std::uint64_t found = static_cast<std::uint64_t>(counter.value) & ~kHarmless;
    ++readings;
    held_back += found != 0 ? 1 : 0;
    reasons |= found;
  }
  if (held_back == 0) return;
  context.console.note(fmt::format(
      "clocks were held back in {} of {} readings (NVML's reasons {:#x}: 0x4 power, 0x20 and 0x40 heat, 0x8 "
      "and 0x80 hardware): times around them are of a slower device; record once more when it is cool",
      held_back, readings, reasons));
}

void print_kernels(const KernelFits& fits, CommandContext& context) {
  for (const KernelFit& kernel : fits.kernels) {
    std::string uses;
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      if (kernel.fit.utilisation[k] >= 0.005)
        uses += fmt::format(" {} {:.0f}%", to_string(static_cast<Throughput>(k)), 100 * kernel.fit.utilisation[k]);
    }
    context.console.print(fmt::format("{}:{}\n", kernel.signature, uses.empty() ? " nothing that was found" : uses));
  }
  print_spread("ops beside themselves and probes, fitted", spread_of(fits.residuals, false), context);
  print_spread("ops beside ops, predicted", spread_of(fits.residuals, true), context);
  print_worst(fits.residuals, context);
  for (const std::string& reason : fits.left_out) context.console.note("not fitted: " + reason);
}

}  // namespace

Result<void> write_device_fit(const NamedTrace& recording, const std::vector<NamedTrace>& profiles,
                              const std::filesystem::path& output, CommandContext& context) {
  const std::string& device = recording.trace->info.device.name;
  const std::optional<GpuProfile> start = published_gpu_profile(device);
  if (!start) {
    return fail(ErrorCode::kInvalidInput, "{}: no published figures of \"{}\" to start from; known are {}",
                recording.file.string(), device, kPublishedGpus);
  }
  const Result<GpuFit> made = fit_gpu_profile(*recording.trace, *start);
  if (!made) return in_context(recording.file.string(), made.error());
  const GpuFit& fit = *made;
  std::vector<KernelFits> kernels;
  for (const NamedTrace& profile : profiles) {
    Result<KernelFits> fits = fit_kernels(*profile.trace, fit.profile);
    if (!fits) return in_context(profile.file.string(), fits.error());
    kernels.push_back(*std::move(fits));
  }
  COHORT_CHECK(write_file(output, write_gpu_profile(fit.profile), context.overwrite));
  const FitSpread fitted = spread_of(fit.residuals, false);
  const FitSpread tested = spread_of(fit.residuals, true);
  if (context.json) {
    ordered_json ops = ordered_json::array();
    for (const KernelFits& fits : kernels) ops.push_back(to_json(fits));
    context.console.print_json(ordered_json{{"file", output.string()},
                                            {"device", device},
                                            {"fitted", to_json(fitted)},
                                            {"held_out", to_json(tested)},
                                            {"kept", fit.kept},
                                            {"residuals", to_json(fit.residuals)},
                                            {"profiles", std::move(ops)}});
    return {};
  }
  note_held_back_clocks(*recording.trace, context);
  print_spread("measurements fitted", fitted, context);
  print_spread("measurements held out", tested, context);
  print_worst(fit.residuals, context);
  if (!fit.kept.empty()) context.console.print(fmt::format("as published: {}\n", fmt::join(fit.kept, ", ")));
  for (const KernelFits& fits : kernels) print_kernels(fits, context);
  context.console.note(fmt::format("wrote {}", output.string()));
  return {};
}

}  // namespace cohort
