#include "cli/profile_from_times.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/planning_options.hpp"
#include "cli/precision_option.hpp"
#include "cli/step_times_table.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/gpu_figures.hpp"
#include "planning/profile_of_times.hpp"
#include "simulator/colocation/processes_report.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

Result<TimedSteps> read_steps(const ProfileFromTimesOptions& options, const std::string& precision,
                              const std::string& layout, Console& console) {
  TimedSteps steps;
  COHORT_TRY(const std::optional<GpuProfile> gpu, gpu_figures(options.gpu));
  if (!gpu) return fail(ErrorCode::kUsage, "--times needs --device-profile: the GPU on which they were measured");
  steps.gpu = *gpu;
  COHORT_TRY(steps.copied, parse_bytes("--copied", options.copied));
  COHORT_TRY(const auto computed, precision_and_layout(precision, layout, "cuda"));
  steps.precision = computed.precision;
  steps.layout = computed.layout;
  COHORT_TRY(steps.times, read_step_times(options.times, console));
  return steps;
}

/// Where the table is hardly of this model, precision and GPU: nothing else is known to take so little, or so much.
std::optional<std::string> doubt(const std::string& model, const TimedSteps& steps, const ProfileOfTimes& found) {
  constexpr double kTooQuick = 0.6;  // fewer multiplications than a convolution's plain loops have are possible
  constexpr double kTooSlow = 30;
  const double ratio = seconds(found.demand.gpu_work) / seconds(found.least);
  const bool too_slow = ratio > kTooSlow && found.demand.origin != WorkOrigin::kAtMost;
  if (ratio >= kTooQuick && !too_slow) return std::nullopt;
  return fmt::format(
      "the GPU's {} are {:.{}f} times the {} that {} takes at least on {} in {}; is the table of this model, "
      "this GPU and this --precision?",
      format_time(found.demand.gpu_work), ratio, ratio < 10 ? 2 : 0, format_time(found.least), model, steps.gpu.device,
      to_string(steps.precision));
}

/// As in "the GPU works 6.68 ms of it (...)".
std::string origin_text(WorkOrigin origin) {
  if (origin == WorkOrigin::kRecorded) return "as recorded";
  if (origin == WorkOrigin::kAtMost) return "not known";
  return fmt::format("from {}", to_string(origin));
}

void print(const std::string& model, const ProfileOfTimes& found, const std::filesystem::path& output,
           CommandContext& context) {
  const StepTime& row = found.demand.alone;
  if (context.json) {
    context.console.print_json(
        ordered_json{{"file", output.string()},
                     {"model", model},
                     {"minibatch", row.minibatch},
                     {"line", row.line},
                     {"step_ns", row.step.count()},
                     {"gpu_work_ns", found.demand.gpu_work.count()},
                     {"gpu_work_from", to_string(found.demand.origin)},
                     {"least_ns", found.least.count()},
                     {"host_ns", found.host_time ? ordered_json(found.host_time->count()) : ordered_json()},
                     {"ops", found.ops}});
    return;
  }
  context.console.print(
      fmt::format("{}: one step of minibatch {} takes {} (line {}); the GPU works {}{} of it ({}){}\n", model,
                  row.minibatch, format_time(row.step), row.line, is_unknown(found.demand) ? "at most " : "",
                  format_time(found.demand.gpu_work), origin_text(found.demand.origin),
                  found.host_time ? fmt::format("; the host needs {}", format_time(*found.host_time)) : std::string()));
  if (is_unknown(found.demand)) context.console.print(std::string(unknown_work_text(found.follows_shares)));
  context.console.note(fmt::format("wrote {} ({} ops, their times estimated)", output.string(), found.ops));
}

}  // namespace

void add_times_options(CLI::App& app, ProfileFromTimesOptions& options) {
  auto* const times =
      app.add_option("--times", options.times,
                     "Instead of timing MODEL here: step times of it on a GPU, a table as cohort colocate reads; the "
                     "row of --minibatch is divided among the ops")
          ->type_name("FILE");
  auto* const gpu = app.add_option("--device-profile", options.gpu,
                                   "With --times: the GPU, a profile from cohort calibrate --fit or a known one's name")
                        ->type_name("FILE|NAME")
                        ->needs(times);
  times->needs(gpu);
  options.option = times;
  app.add_option("--copied", options.copied,
                 "With --times: bytes of input that a sample copies to the GPU in every step")
      ->type_name("BYTES")
      ->capture_default_str()
      ->needs(times);
}

Result<void> profile_from_times(const ProfileFromTimesOptions& options, const ModelSource& source, std::uint64_t seed,
                                const std::string& precision, const std::string& layout,
                                const std::filesystem::path& output, CommandContext& context) {
  COHORT_CHECK(check_writable(output, context.overwrite));
  COHORT_TRY(const TimedSteps steps, read_steps(options, precision, layout, context.console));
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, seed));
  auto profile = profile_of_times(source, loaded.model, steps);
  if (!profile) return in_context(options.times.string(), profile.error());
  COHORT_CHECK(write_trace(output, profile->trace, context.overwrite));
  if (const auto said = doubt(source.model, steps, *profile)) context.console.note(*said);
  print(source.model, *profile, output, context);
  return {};
}

}  // namespace cohort
