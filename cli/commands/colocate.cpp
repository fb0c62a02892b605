#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/csv.hpp"
#include "base/file.hpp"
#include "base/one_or_each.hpp"
#include "cli/command.hpp"
#include "cli/list_option.hpp"
#include "cli/planning_options.hpp"
#include "cli/step_times_table.hpp"
#include "simulator/colocation/processes_report.hpp"
#include "view/chart/drawing.hpp"
#include "view/chart/palette.hpp"
#include "view/chart/processes_chart.hpp"

namespace cohort {
namespace {

struct ColocateOptions {
  std::vector<std::filesystem::path> files;
  std::vector<int> processes{2};
  RowSelection rows;
  std::vector<Bytes> copied{Bytes{}};
  std::filesystem::path chart;
  const CLI::Option* processes_option = nullptr;
};

Result<TimedModel> read_model(const std::filesystem::path& file, Bytes copied, Console& console) {
  COHORT_TRY(StepTimes times, read_step_times(file, console));
  if (auto fits = check_copied(times, copied); !fits) return in_context(file.string(), fits.error());
  return timed_model(file, std::move(times), copied);
}

/// Errors: kUsage where the rows are of more than one chart.
Result<std::string> chart_svg(const TimedModel& model, std::span<const EqualProcesses> rows) {
  const std::vector<Chart> charts = processes_charts(model, rows);
  if (charts.size() != 1)
    return fail(ErrorCode::kUsage,
                "--chart: one chart is of one part of the GPU and of the step; choose with --share and --part, or "
                "`cohort report {}` draws all {}",
                model.file, charts.size());
  constexpr DrawnSize kSize{900, 460};
  return to_svg(layout(charts.front(), kSize), light_palette());
}

Result<void> run(const ColocateOptions& options, CommandContext& context) {
  if (!options.chart.empty()) COHORT_CHECK(check_writable(options.chart, context.overwrite));
  COHORT_CHECK(check_one_or_each("--copied", options.copied.size(), options.files.size(), "table"));
  std::vector<TimedModel> models;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    COHORT_TRY(models.emplace_back(), read_model(options.files[i], one_or_each(options.copied, i), context.console));
  }
  const auto print = [&](const auto& of, const auto& processes) {
    if (context.json) {
      context.console.print_json(processes_json(of, processes));
    } else {
      context.console.print(processes_text(of, processes));
    }
  };
  if (models.size() == 1) {
    COHORT_TRY(const auto equal, equal_processes(models.front(), options.rows, options.processes));
    std::string svg;
    if (!options.chart.empty()) {
      COHORT_TRY(svg, chart_svg(models.front(), equal));
    }
    print(models.front(), equal);
    if (options.chart.empty()) return {};
    COHORT_CHECK(write_file(options.chart, svg, context.overwrite));
    context.console.note(fmt::format("wrote {}", options.chart.string()));
    return {};
  }
  if (options.processes_option->count() > 0)
    return fail(ErrorCode::kUsage,
                "--processes: several tables are one process each; give a table twice for two of it");
  if (!options.chart.empty()) return fail(ErrorCode::kUsage, "--chart: a chart is of one table; several are given");
  COHORT_TRY(const DifferentProcesses different, different_processes(models, options.rows));
  print(models, different);
  return {};
}

Result<int> parse_positive(const std::string& text) {
  COHORT_TRY(const int value, parse_count(text));
  if (value < 1) return fail(ErrorCode::kUsage, "{} must be at least 1", text);
  return value;
}

Result<int> parse_processes(const std::string& text) {
  COHORT_TRY(const int value, parse_positive(text));
  if (value > kMostMpsClients)
    return fail(ErrorCode::kUsage, "{} processes: an MPS server has at most {} clients", text, kMostMpsClients);
  return value;
}

Result<double> parse_share(const std::string& text) {
  const auto value = csv_number(text);
  if (!value || *value <= 0) return fail(ErrorCode::kUsage, "\"{}\" must be a number above 0", text);
  return *value;
}

Result<std::string> parse_part(const std::string& text) { return text; }

}  // namespace

Command colocate_command() {
  Command command;
  command.name = "colocate";
  command.help =
      "Predict what several processes on one GPU gain, from step times of one process alone. A table (CSV) has the "
      "columns minibatch; step_ms, step_us or samples_per_s; and as far as known gpcs or sm_percent (the part of the "
      "GPU), gpu_busy_ms, dram_percent, part (of a step), processes (measured rows, shown beside the predicted)";
  command.example =
      "cohort colocate resnet50.csv -n 2,4\n  cohort colocate resnet50.csv resnet50.csv --minibatch 1,16\n"
      "\nresnet50.csv:\nminibatch,samples_per_s\n1,195\n4,820\n16,2220\n64,2480";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ColocateOptions>();
    app.add_option("TIMES", options->files, "A table of step times; several: one process of each")->required();
    options->processes_option =
        add_list_option(app, "-n,--processes", options->processes, parse_processes, "Equal processes of one table")
            ->type_name("N[,...]")
            ->default_str("2");
    add_list_option(app, "--minibatch", options->rows.minibatches, parse_positive,
                    "Minibatches; default: all of one table; of several, each one's last")
        ->type_name("N[,...]");
    add_list_option(app, "--share", options->rows.shares, parse_share,
                    "Parts of the GPU, as the table has them; of several tables with sm_percent: each process's own")
        ->type_name("N[,...]");
    add_list_option(app, "--part", options->rows.parts, parse_part,
                    "Parts of a step, as the table has them; default: all")
        ->type_name("NAME[,...]");
    add_list_option(
        app, "--copied", options->copied, [](const std::string& text) { return parse_bytes("--copied", text); },
        "Bytes of input that a sample copies to the GPU in every step; one for all tables, or one for each")
        ->type_name("BYTES[,...]")
        ->default_str("0");
    app.add_option("--chart", options->chart, "Draw gain by number of processes, predicted and measured (SVG)")
        ->type_name("FILE");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
