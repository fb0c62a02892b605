#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/fallbacks_json.hpp"
#include "cli/step_options.hpp"
#include "cli/text_checks.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/steps/cut.hpp"
#include "tracer/summary/fallbacks.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/no_device_work.hpp"
#include "tracer/summary/profile_summary.hpp"
#include "tracer/summary/summary.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const TraceSummary& summary) {
  ordered_json tracks = ordered_json::array();
  for (const TrackSummary& track : summary.tracks) {
    tracks.push_back({{"process", track.process},
                      {"thread", track.thread},
                      {"slices", track.slices},
                      {"busy_ns", track.busy.count()},
                      {"busy_share", track.busy_share},
                      {"is_device", track.is_device}});
  }
  ordered_json categories = ordered_json::array();
  for (const CategorySummary& category : summary.categories)
    categories.push_back({{"name", category.name}, {"slices", category.slices}, {"time_ns", category.time.count()}});
  ordered_json walls = ordered_json::array();
  for (const WallSummary& wall : summary.wall_times) {
    walls.push_back({{"what", wall.what},
                     {"samples", wall.samples},
                     {"discarded", wall.discarded},
                     {"median_ns", wall.median.count()},
                     {"least_ns", wall.least.count()},
                     {"most_ns", wall.most.count()}});
  }
  return {{"kind", to_string(summary.kind)},
          {"device", {{"id", summary.device.id}, {"kind", summary.device.kind}, {"name", summary.device.name}}},
          {"settings", summary.settings},
          {"has_plan", summary.has_plan},
          {"start_ns", summary.start.count()},
          {"span_ns", summary.span.count()},
          {"slices", summary.slices},
          {"flows", summary.flows},
          {"counters", summary.counters},
          {"active_ns", summary.active.count()},
          {"overlapped_ns", summary.overlapped.count()},
          {"tracks", std::move(tracks)},
          {"categories", std::move(categories)},
          {"wall_times", std::move(walls)},
          {"dropped", summary.dropped}};
}

ordered_json to_json(const TimeSpread& spread) {
  return {{"count", spread.count}, {"median_ns", spread.median.count()}, {"p90_ns", spread.p90.count()}};
}

ordered_json to_json(const TraceStep& step) {
  ordered_json value = {{"name", step.name},
                        {"start_ns", step.window.start.count()},
                        {"end_ns", step.window.end.count()},
                        {"kernels", step.kernels}};
  if (step.device_work) {
    value["device_start_ns"] = step.device_work->start.count();
    value["device_end_ns"] = step.device_work->end.count();
  }
  return value;
}

ordered_json to_json(const GpuSummary& summary) {
  ordered_json streams = ordered_json::array();
  for (const StreamSummary& stream : summary.streams)
    streams.push_back({{"name", stream.name},
                       {"kernels", stream.kernels},
                       {"copies", stream.copies},
                       {"busy_ns", stream.busy.count()}});
  ordered_json kernels = ordered_json::array();
  for (const KernelSummary& kernel : summary.top_kernels)
    kernels.push_back({{"name", kernel.name}, {"calls", kernel.calls}, {"time_ns", kernel.time.count()}});
  ordered_json steps = ordered_json::array();
  for (const TraceStep& step : summary.steps.steps) steps.push_back(to_json(step));
  ordered_json shortcomings = ordered_json::array();
  for (const Shortcoming& shortcoming : summary.shortcomings)
    shortcomings.push_back(
        {{"severity", to_string(shortcoming.severity)}, {"what", shortcoming.what}, {"effect", shortcoming.effect}});
  const LaunchSummary& launch = summary.launch;
  ordered_json value = {{"kernels", summary.kernels},
                        {"different_kernels", summary.different_kernels},
                        {"kernel_time_ns", summary.kernel_time.count()},
                        {"copies", summary.copies},
                        {"memsets", summary.memsets},
                        {"copy_time_ns", summary.copy_time.count()},
                        {"graphs", summary.graphs},
                        {"busy_ns", summary.busy.count()},
                        {"overlapped_ns", summary.overlapped.count()},
                        {"orphans", summary.orphans},
                        {"launch_calls_without_work", summary.idle_calls},
                        {"work_without_op", summary.without_op},
                        {"streams", std::move(streams)},
                        {"top_kernels", std::move(kernels)},
                        {"launches",
                         {{"calls", launch.launches},
                          {"graphs", launch.graph_launches},
                          {"threads", launch.threads},
                          {"call", to_json(launch.call)},
                          {"idle_start", to_json(launch.idle_start)},
                          {"busy_gap", to_json(launch.busy_gap)},
                          {"overlapping", launch.overlapping},
                          {"waiting_share", launch.waiting_share}}},
                        {"step_source", to_string(summary.steps.source)},
                        {"steps", std::move(steps)},
                        {"confidence", summary.confidence()},
                        {"shortcomings", std::move(shortcomings)}};
  if (summary.active) value["active_ns"] = summary.active->length().count();
  return value;
}

std::string_view to_string(ProfileState state) {
  switch (state) {
    case ProfileState::kWarm:
      return "warm";
    case ProfileState::kFlushed:
      return "caches flushed";
    case ProfileState::kFirst:
      return "first execution";
    case ProfileState::kInModel:
    case ProfileState::kInPlan:
      return "in the model";
  }
  return "";
}

ordered_json to_json(const std::vector<OpSummary>& ops) {
  ordered_json list = ordered_json::array();
  for (const OpSummary& op : ops) {
    ordered_json ways = ordered_json::array();
    for (const WaySummary& way : op.ways)
      ways.push_back({{"strategy", way.record.strategy},
                      {"width", way.record.width},
                      {"threads", way.record.threads},
                      {"algorithm", way.record.algorithm},
                      {"state", to_string(way.record.state)},
                      {"neighbours", way.record.neighbours},
                      {"threads_around", way.record.around},
                      {"footprint_bytes", way.record.footprint.value},
                      {"samples", way.samples},
                      {"median_ns", way.record.time.count()},
                      {"p10_ns", way.p10.count()},
                      {"p90_ns", way.p90.count()},
                      {"workspace_bytes", way.record.workspace.value},
                      {"packed_weight_bytes", way.record.packed_weights.value}});
    list.push_back(
        {{"name", op.name}, {"signature", op.signature}, {"best_ns", op.best.count()}, {"ways", std::move(ways)}});
  }
  return list;
}

struct TraceInfoCommandOptions {
  explicit TraceInfoCommandOptions(CLI::App& app) : steps(app, TraceCount::kOne) {}

  StepOptionSet steps;
  std::filesystem::path file;
  bool tracks = false;
  std::size_t rows = 10;
};

/// Of a whole trace: a part of it may well have none.
std::optional<std::string> missing_work(const Trace& trace) {
  return trace.info.settings.count(kPartSetting) > 0 ? std::nullopt : no_device_work(trace);
}

Result<void> run(const TraceInfoCommandOptions& options, CommandContext& context) {
  COHORT_TRY(Trace whole, read_trace(options.file, context.read));
  const auto part = options.steps.take(std::move(whole));
  if (!part) return in_context(options.file.string(), part.error());
  const Trace& trace = *part;
  COHORT_CHECK(context.cancel.check());
  const TraceSummary summary = summarize(trace);
  const std::optional<GpuSummary> gpu = summarize_gpu(trace);
  const std::vector<OpSummary> ops = summarize_profile(trace);
  const Fallbacks fallbacks = find_fallbacks(trace);
  COHORT_CHECK(context.cancel.check());
  if (context.json) {
    ordered_json value = to_json(summary);
    if (gpu) value["gpu"] = to_json(*gpu);
    if (trace.info.kind == TraceKind::kProfile) value["ops"] = to_json(ops);
    if (!fallbacks.ops.empty()) value["plain_loops"] = to_json(fallbacks);
    if (const auto why = missing_work(trace)) value["no_device_work"] = *why;
    context.console.print_json(value);
    return {};
  }
  context.console.print(format_summary_head(summary));
  if (gpu) context.console.print(format_gpu_summary(*gpu));
  if (!gpu || options.tracks) context.console.print(format_summary_tracks(summary));
  context.console.print(format_profile_summary(ops, options.rows));
  if (!fallbacks.ops.empty()) context.console.print(format_fallbacks(fallbacks, options.rows) + "\n");
  context.console.print(format_summary_rest(summary));
  if (const auto why = missing_work(trace)) context.console.print(fmt::format("warning: {}\n", *why));
  return {};
}

}  // namespace

Command trace_info_command() {
  Command command;
  command.name = "trace info";
  command.help =
      "Show what a trace file holds: device, duration, streams, kernels, launches and steps, the timings of each op of "
      "a profile, and what predictions will lack";
  command.example =
      "cohort profile lenet5\n  cohort trace info lenet5.trace.json.gz\n  (also reads PyTorch's trace.json.gz, and "
      "what nsys export --type sqlite report.nsys-rep writes)";
  command.reads_traces = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<TraceInfoCommandOptions>(app);
    app.add_option("FILE", options->file, "Trace of Cohort or PyTorch (.json, .json.gz) or of Nsight Systems (.sqlite)")
        ->required();
    app.add_flag("--tracks", options->tracks, "Also list tracks and categories of a GPU's trace");
    app.add_option("--rows", options->rows, "Ops of a profile to print, slowest first")
        ->check(is_whole_number)
        ->capture_default_str();
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
