#include "cli/trace_program.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/cuda_libraries.hpp"
#include "cli/child_program.hpp"
#include "planning/provenance.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Tracer {
  const CuptiPlugin* plugin = nullptr;
  std::string spool;
  std::map<std::string, std::string> environment;
};

/// All that must be there before a program is started for nothing.
Result<Tracer> prepare(const TraceProgramOptions& options, const std::string& spool) {
  COHORT_CHECK(probe_cuda_driver());
  COHORT_TRY(const SharedLibrary cupti, load_cuda_library(kCuptiLibrary));
  COHORT_TRY(const SharedLibrary module, open_plugin("cupti"));
  COHORT_TRY(const auto entry, module.function<CuptiPluginEntry>(kCuptiPluginEntry));
  Tracer tracer;
  tracer.plugin = entry();
  COHORT_CHECK(tracer.plugin->version().map([](const std::string&) {}));
  tracer.spool = spool;
  std::string flags;
  if (options.whole_graphs) flags += "graphs ";
  if (options.latency_timestamps) flags += "latency ";
  if (options.event_times) flags += "events ";
  flags += fmt::format("{}{}", kEndWaitOption, std::llround(1000 * options.end_wait));
  tracer.environment = {{"CUDA_INJECTION64_PATH", fs::absolute(module.file()).string()},
                        {"NVTX_INJECTION64_PATH", fs::absolute(module.file()).string()},
                        {kCuptiLibraryVariable, cupti.file().string()},
                        {kTraceSpoolVariable, fs::absolute(spool).string()},
                        {kTraceOptionsVariable, flags}};
  return tracer;
}

/// Spools of all processes of the program, in order of their numbers' text.
std::vector<fs::path> spool_files(const std::string& spool) {
  std::vector<fs::path> files;
  const fs::path prefix = fs::absolute(spool);
  std::error_code error;
  for (fs::directory_iterator entry(prefix.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix.filename().string() + ".")) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A file that cannot be read is one more that holds no recording.
Result<Trace> read_spools(const CuptiPlugin& plugin, const std::vector<fs::path>& files) {
  std::vector<std::string> contents;
  for (const fs::path& file : files) contents.push_back(read_file(file).value_or(""));
  return plugin.decode(std::vector<std::string_view>(contents.begin(), contents.end()));
}

/// What to say of a recording without an end.
std::string_view incompleteness(const Trace& trace) {
  const auto& dropped = trace.info.dropped;
  const bool works = std::any_of(dropped.begin(), dropped.end(),
                                 [](const auto& reason) { return reason.first.starts_with(kUnfinishedContexts); });
  return works ? "; the recording has no end, since the GPU still worked when the program had ended"
               : "; the recording has no end, since the program did not end as programs do";
}

void report(const TraceProgramOptions& options, const Trace& trace, const ChildEnd& end, CommandContext& context) {
  const auto kernels = std::count_if(trace.slices.begin(), trace.slices.end(),
                                     [&](const Slice& slice) { return trace.strings[slice.category] == "kernel"; });
  const bool complete = trace.info.settings.at("complete") == "yes";
  const WallTimes* untraced = trace.info.wall("program untraced");
  const double perturbation = untraced != nullptr ? seconds(end.wall) / seconds(untraced->samples[0]) - 1 : 0;
  if (context.json) {
    ordered_json json{{"file", options.output.string()},
                      {"exit_code", end.exit_code},
                      {"complete", complete},
                      {"kernels", kernels},
                      {"records", trace.slices.size()},
                      {"dropped", trace.info.dropped},
                      {"traced_ns", end.wall.count()}};
    if (untraced != nullptr) json["perturbation"] = perturbation;
    context.console.print_json(json);
    return;
  }
  context.console.print(fmt::format("{}: {} kernels in {}, {} records lost or not drawn{}\n", options.program[0],
                                    kernels, format_time(end.wall), trace.info.dropped_records(),
                                    complete ? "" : incompleteness(trace)));
  for (const auto& [reason, records] : trace.info.dropped)
    context.console.note(fmt::format("  {} {}", records, reason));
  context.console.note(untraced != nullptr
                           ? fmt::format("tracing changed the program's time by {:+.1f}%", 100 * perturbation)
                           : std::string("how much tracing changed it was not measured; --twice does"));
  context.console.note(fmt::format("wrote {}", options.output.string()));
}

/// Turns what the program's processes wrote into the trace's file. Errors: kRecordingIncomplete where they wrote
/// nothing that can be read; as write_trace.
Result<void> keep_trace(const TraceProgramOptions& options, const Tracer& tracer, std::vector<WallTimes> walls,
                        const ChildEnd& end, CommandContext& context) {
  const std::vector<fs::path> files = spool_files(tracer.spool);
  if (files.empty())
    return fail(ErrorCode::kRecordingIncomplete,
                "nothing was recorded: {} made no call to CUDA, or the driver could not open {} in it",
                options.program[0], tracer.environment.at("CUDA_INJECTION64_PATH"));
  auto trace = read_spools(*tracer.plugin, files);
  if (!trace)
    return fail(ErrorCode::kRecordingIncomplete, "{}: what it left cannot be read: {}", files[0].string(),
                trace.error().message);
  trace->info.device.kind = "cuda";
  if (trace->info.device.id.empty()) trace->info.device.id = "cuda:0";
  trace->info.wall_times = std::move(walls);
  trace->info.settings.merge(provenance());
  trace->info.settings["command"] = fmt::format("{}", fmt::join(options.program, " "));
  trace->info.settings["exit code"] = std::to_string(end.exit_code);
  COHORT_CHECK(write_trace(options.output, *trace, context.overwrite));
  for (const fs::path& file : files) {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
  report(options, *trace, end, context);
  return {};
}

}  // namespace

Result<void> trace_program(const TraceProgramOptions& given, CommandContext& context) {
  TraceProgramOptions options = given;
  if (options.output.empty()) options.output = fs::path(options.program[0]).filename().string() + ".trace.json.gz";
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  const std::string spool = fmt::format("{}.spool-{}", options.output.string(), ::getpid());
  COHORT_TRY(const Tracer tracer, prepare(options, spool));

  std::vector<WallTimes> walls;
  if (options.twice) {
    COHORT_TRY(const ChildEnd untraced, run_child(options.program, {}));
    if (untraced.exit_code != 0)
      return fail(static_cast<ErrorCode>(untraced.exit_code), "{} ended with exit code {}, untraced",
                  options.program[0], untraced.exit_code);
    walls.push_back({"program untraced", {untraced.wall}, 0});
    COHORT_CHECK(context.cancel.check());
  }
  COHORT_TRY(const ChildEnd end, run_child(options.program, tracer.environment));
  walls.push_back({"program traced", {end.wall}, 0});

  auto kept = keep_trace(options, tracer, std::move(walls), end, context);
  if (end.exit_code == 0) return kept;
  // The program's own code, whatever became of the recording: scripts go by it.
  return fail(static_cast<ErrorCode>(end.exit_code), "{} ended with {} {}{}", options.program[0],
              end.signal != 0 ? "signal" : "exit code", end.signal != 0 ? end.signal : end.exit_code,
              kept ? "" : "; " + kept.error().message);
}

}  // namespace cohort
