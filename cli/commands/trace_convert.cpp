#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/step_options.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

struct TraceConvertCommandOptions {
  explicit TraceConvertCommandOptions(CLI::App& app) : steps(app, TraceCount::kOne) {}

  StepOptionSet steps;
  std::filesystem::path input;
  std::filesystem::path output;
};

Result<void> run(const TraceConvertCommandOptions& options, CommandContext& context) {
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(Trace whole, read_trace(options.input, context.read));
  const auto part = options.steps.take(std::move(whole));
  if (!part) return in_context(options.input.string(), part.error());
  const Trace& trace = *part;
  COHORT_CHECK(context.cancel.check());
  COHORT_CHECK(write_trace(options.output, trace, context.overwrite));
  if (context.json) {
    context.console.print_json(nlohmann::ordered_json{{"file", options.output.string()},
                                                      {"slices", trace.slices.size()},
                                                      {"flows", trace.flows.size()},
                                                      {"counters", trace.counters.size()},
                                                      {"dropped", trace.info.dropped}});
  } else {
    context.console.note(fmt::format("wrote {}: {} slices on {} tracks; {} records or arguments not kept",
                                     options.output.string(), trace.slices.size(), trace.tracks.size(),
                                     trace.info.dropped_records()));
  }
  return {};
}

}  // namespace

Command trace_convert_command() {
  Command command;
  command.name = "trace convert";
  command.help =
      "Convert a trace of PyTorch's profiler or Nsight Systems, or any Chrome Trace Event file, to Cohort's own form; "
      "a name that ends in .gz is compressed";
  command.example = "cohort profile lenet5\n  cohort trace convert lenet5.trace.json.gz lenet5.trace.json";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<TraceConvertCommandOptions>(app);
    app.add_option("IN", options->input, "Trace of Cohort or PyTorch (.json, .json.gz) or of Nsight Systems (.sqlite)")
        ->required();
    app.add_option("OUT", options->output, "File to write (.json or .json.gz)")->required();
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
