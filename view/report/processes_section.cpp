#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "simulator/colocation/processes_report.hpp"
#include "view/chart/processes_chart.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

constexpr double kChartHeight = 380;

/// How far predicted gains are off where the table has measured ones: "2.1% in the median, 7.1% in one of ten (of 24)".
std::optional<std::string> errors_text(const std::vector<EqualProcesses>& rows) {
  std::vector<double> errors;
  for (const EqualProcesses& row : rows) {
    if (row.measured && !row.measured->one_died)
      errors.push_back(std::abs(row.colocation.gain / row.measured->gain - 1));
  }
  if (errors.empty()) return std::nullopt;
  return fmt::format("off by {:.1f}% in the median, {:.1f}% in one of ten; {} measured row{}", 100 * median(errors),
                     100 * quantile(errors, 0.9), errors.size(), errors.size() == 1 ? "" : "s");
}

}  // namespace

void write_processes(HtmlWriter& html, const ProcessesSection& section) {
  const TimedModel& model = section.model;
  html.open_section(fmt::format("{}: several processes on one GPU", model.name));
  html.paragraph(
      "What equal processes under MPS gain over the same processes one after another, predicted from the table's step "
      "times of one process alone.");
  std::vector<std::pair<std::string, std::string>> facts;
  if (model.demands.host_time) facts.emplace_back("the host's part of a step", format_time(*model.demands.host_time));
  if (const auto errors = errors_text(section.rows)) facts.emplace_back("predicted gains", *errors);
  html.facts(facts);
  bool any_unknown = false;
  bool any_died = false;
  for (const EqualProcesses& row : section.rows) {
    any_unknown = any_unknown || is_unknown(row.demand);
    any_died = any_died || (row.measured && row.measured->one_died);
  }
  for (const Chart& chart : processes_charts(model, section.rows))
    html.chart(chart, kChartHeight, "Lines: predicted. Points: measured, as the table has them.");
  if (any_died)
    html.paragraph("Measured rows that equal those of a process less are left out: one of the processes had ended.");
  if (any_unknown) html.paragraph(unknown_work_text(model.demands.follows_shares));
  html.folded("All rows", processes_text(model, section.rows));
  html.close_section();
}

}  // namespace cohort
