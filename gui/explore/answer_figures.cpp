#include "gui/explore/answer_figures.hpp"

#include <fmt/format.h>

#include <QObject>

#include "gui/figures/counted.hpp"
#include "gui/window/qt_text.hpp"
#include "view/chart/plan_charts.hpp"

namespace cohort {
namespace {

double ratio(Nanoseconds above, Nanoseconds below) {
  return below > Nanoseconds(0) ? static_cast<double>(above.count()) / static_cast<double>(below.count()) : 0;
}

Figure speedup_figure(const ExploreAnswer& answer) {
  const RunReport& report = answer.report;
  std::string detail = fmt::format("bounds {:.2f}-{:.2f}", ratio(report.baseline, report.upper_bound),
                                   ratio(report.baseline, report.lower_bound));
  if (answer.interval) {
    detail = fmt::format("likely {:.2f}-{:.2f}, {}", answer.interval->low, answer.interval->high, detail);
  }
  return {QObject::tr("Speedup over one after another"), qt(fmt::format("{:.2f}x", report.speedup)), qt(detail),
          QObject::tr("Likely: 8 of 10 measured speedups are within it. Bounds: nothing is slower or faster than they "
                      "allow.")};
}

Figure memory_figure(const ExploreAnswer& answer) {
  const BatchMemory& memory = answer.report.memory;
  const auto total = memory.total();
  if (!total) return {QObject::tr("Memory"), QStringLiteral("-"), qt(memory.unknown), qt(memory.unknown)};
  const std::optional<Bytes> room = answer.memory_limit ? answer.memory_limit : memory.device;
  return {QObject::tr("Memory"),
          qt(format_bytes(*total)),
          room ? QObject::tr("of %1%2").arg(qt(format_bytes(*room)),
                                            answer.memory_limit ? QObject::tr(" allowed") : QString())
               : QString(),
          {}};
}

}  // namespace

std::vector<Figure> answer_figures(const ExploreAnswer& answer) {
  const RunReport& report = answer.report;
  std::vector<Figure> figures{speedup_figure(answer)};
  const QString models = counted(static_cast<qsizetype>(report.members), QObject::tr("model"), QObject::tr("models"));
  figures.push_back({QObject::tr("Step of %1").arg(models), qt(format_time(report.step_time)),
                     QObject::tr("one by one %1").arg(qt(format_time(report.baseline))),
                     QObject::tr("In turn: each model one after another, as fast as it goes alone")});
  figures.push_back(memory_figure(answer));
  figures.push_back({QObject::tr("Bound by"), qt(report.binding.resource),
                     QObject::tr("busy %1%").arg(report.binding.utilisation * 100, 0, 'f', 0),
                     QObject::tr("What keeps the step from being shorter")});
  const std::size_t doubts = report.doubts.size();
  figures.push_back({QObject::tr("Confidence"), qt(to_string(report.confidence())),
                     doubts == 0 ? QObject::tr("no doubts")
                                 : counted(static_cast<qsizetype>(doubts), QObject::tr("doubt"), QObject::tr("doubts")),
                     answer_notes(answer)});
  figures.push_back(
      {QObject::tr("Throughput"), qt(format_value(AxisUnit::kRate, answer.per_second)), qt(answer.counted), {}});
  if (answer.p99_latency) {
    figures.push_back({QObject::tr("p99 latency"), qt(format_time(*answer.p99_latency)), QObject::tr("of a member"),
                       QObject::tr("Until a member's results are there")});
  }
  return figures;
}

QString answer_notes(const ExploreAnswer& answer) {
  QStringList lines;
  for (const Doubt& doubt : answer.report.doubts) {
    lines << (doubt.grave ? QObject::tr("<b>Doubt:</b> %1") : QObject::tr("Doubt: %1"))
                 .arg(qt(doubt.why).toHtmlEscaped());
  }
  if (lines.isEmpty()) lines << QObject::tr("Nothing speaks against this prediction.");
  if (answer.report.unfused) {
    lines << QObject::tr("Nothing is fused: fused, the step would take %1 longer.")
                 .arg(qt(format_time(*answer.report.unfused)));
  }
  if (answer.workspace) {
    const WorkspaceRules& rules = *answer.workspace;
    lines << QObject::tr("Workspace limited to %1: step %2; unlimited %3 with %4.")
                 .arg(qt(format_bytes(rules.limit)), qt(format_time(rules.whole_batch.step_time)),
                      qt(format_time(rules.unlimited.step_time)), qt(format_bytes(rules.unlimited.workspace)));
  }
  return lines.join(QStringLiteral("<br>"));
}

CandidateChart candidate_chart(const Recommendation& found, CandidateAxis across, std::optional<Bytes> memory_limit,
                               std::optional<Bytes> device_memory, std::string counted) {
  CandidateChart result;
  std::vector<ParetoEntry> entries;
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const ExploreCandidate& candidate = found.candidates[i];
    if (across == CandidateAxis::kMemory ? !candidate.memory : !candidate.p99_latency) continue;
    entries.push_back({candidate.name, candidate.step, candidate.per_second, candidate.p99_latency,
                       candidate.memory.value_or(Bytes{}), candidate.speedup, i == 0});
    result.candidates.push_back(i);
  }
  ParetoView view;
  view.across = across == CandidateAxis::kMemory ? ParetoView::Across::kMemory : ParetoView::Across::kLatency;
  view.memory_limit = memory_limit;
  view.device_memory = device_memory;
  view.counted = std::move(counted);
  result.chart = pareto_chart(entries, view);
  result.chart.if_empty = "Recommend searches the ways to run these models; they appear here.";
  return result;
}

}  // namespace cohort
