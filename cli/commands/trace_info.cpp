#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "tracer/summary.hpp"
#include "tracer/trace_file.hpp"

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

Result<void> run(const std::filesystem::path& file, CommandContext& context) {
  COHORT_TRY(const Trace trace, read_trace(file));
  COHORT_CHECK(context.cancel.check());
  const TraceSummary summary = summarize(trace);
  if (context.json) {
    context.console.print_json(to_json(summary));
  } else {
    context.console.print(format_summary(summary));
  }
  return {};
}

}  // namespace

Command trace_info_command() {
  Command command;
  command.name = "trace info";
  command.help = "Say what a trace file holds: device, span, tracks, how busy they are, what was dropped";
  command.example = "cohort profile lenet5\n  cohort trace info lenet5.trace.json.gz";
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto file = std::make_shared<std::filesystem::path>();
    app.add_option("FILE", *file, "Trace (.json or .json.gz), Cohort's or another tool's")->required();
    return [file](CommandContext& context) { return run(*file, context); };
  };
  return command;
}

}  // namespace cohort
