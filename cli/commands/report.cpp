#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/text_checks.hpp"
#include "planning/provenance.hpp"
#include "view/report/report.hpp"

namespace cohort {
namespace {

struct ReportCommandOptions {
  std::vector<std::filesystem::path> files;
  std::filesystem::path output = "report.html";
  int models = ReportOptions{}.models;
  bool as_is = false;
};

std::string made_by() {
  std::string text = "Made by cohort report";
  for (const auto& [key, value] : provenance()) text += fmt::format(", {} {}", key, value);
  return text + ".";
}

Result<void> run(const ReportCommandOptions& options, CommandContext& context) {
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_TRY(const std::vector<ReportFile> files, read_report_files(options.files, context.read));
  ReportOptions making;
  making.models = options.models;
  making.predict = !options.as_is;
  making.made = made_by();
  making.cancel = &context.cancel;
  making.progress = [&](std::string_view doing) { context.console.progress(doing); };
  auto report = make_report(files, making);
  context.console.clear_progress();
  if (!report) return tl::unexpected<Error>(report.error());
  COHORT_CHECK(write_file(options.output, to_html(*report), context.overwrite));
  if (context.json) {
    nlohmann::ordered_json json = to_json(*report);
    json["output"] = options.output.string();
    context.console.print_json(json);
  }
  context.console.note(fmt::format("wrote {}", options.output.string()));
  return {};
}

}  // namespace

Command report_command() {
  Command command;
  command.name = "report";
  command.help =
      "Write a self-contained HTML page about plans, predicted and measured traces, and profiles: the plan and why it "
      "wins, other plans, other numbers of models, predicted against measured, memory, and provenance. Of step times "
      "(a .csv table as cohort colocate reads them): what several processes gain";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort run lenet5.plan.json\n  cohort report "
      "lenet5.plan.json lenet5.predicted.json.gz lenet5.measured.json.gz lenet5.trace.json.gz -o lenet5.html\n  (what "
      "any other trace holds: cohort report trace.json.gz)";
  command.reads_traces = true;
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ReportCommandOptions>();
    app.add_option("FILE", options->files, "Plans, profiles, traces and tables of step times (.csv), in any order")
        ->required()
        ->expected(1, -1);
    app.add_option("-o,--output", options->output, "Page to write")->type_name("FILE")->capture_default_str();
    app.add_option("-n,--models", options->models,
                   "Models to plan for, where a profile comes without a plan, and for traces of other programs; most "
                   "processes of a table of step times")
        ->check(CLI::Range(1, 4096))
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--as-is", options->as_is, "Show only what the files hold; skip predictions, which can take a minute");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
