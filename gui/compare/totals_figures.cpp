#include "gui/compare/totals_figures.hpp"

#include <fmt/format.h>

#include <QObject>

#include "gui/window/qt_text.hpp"
#include "view/compare/error_colours.hpp"

namespace cohort {
namespace {

std::string factor(std::optional<double> value) { return value ? fmt::format("{:.2f}x", *value) : "-"; }

QString times(const ComparedTime& time) {
  return qt(fmt::format("{} | {}", format_time(time.predicted), format_time(time.measured)));
}

Figure speedup_figure(const PerSide<std::string>& labels, const ComparedSpeedup& speedup) {
  if (!speedup.predicted && !speedup.measured) {
    return {QObject::tr("Speedup"), QStringLiteral("-"), QObject::tr("no wall times of plan and baseline"),
            QObject::tr("Traces of `cohort plan` and `cohort run` have them")};
  }
  return {QObject::tr("Speedup over one after another"),
          qt(fmt::format("{} | {}", factor(speedup.predicted), factor(speedup.measured))),
          qt(fmt::format("{} | {}, {} {}", labels[0], labels[1], labels[1] == "measured" ? "error" : "difference",
                         format_error(speedup.relative_error()))),
          QObject::tr("All members one after another, each as fast as it goes alone, over the plan; from wall times "
                      "without a trace")};
}

}  // namespace

std::vector<Figure> totals_figures(const TraceComparison& comparison, const Overlay& overlay) {
  const ComparedTotals& totals = overlay.totals;
  const PerSide<std::string> labels = side_labels(comparison);
  std::vector<Figure> figures{speedup_figure(labels, totals.speedup)};
  const bool all = overlay.settings.scope == CompareScope::kAllSteps;
  figures.push_back({all ? QObject::tr("All slices, medians") : QObject::tr("Slices of this step"),
                     totals.pairs > 0 ? qt(format_error(totals.matched.relative_error())) : QObject::tr("none"),
                     totals.pairs > 0 ? times(totals.matched) : QObject::tr("no slice has a partner"),
                     QObject::tr("Sum of their times, and how far the first is from the second")});
  figures.push_back(
      {QObject::tr("Length of this step"), qt(format_error(totals.step.relative_error())), times(totals.step), {}});
  const auto wall = [&](const QString& title, const std::optional<ComparedTime>& time) {
    if (time) figures.push_back({title, qt(format_error(time->relative_error())), times(*time), {}});
  };
  wall(QObject::tr("Plan, wall time"), totals.speedup.plan);
  wall(QObject::tr("Baseline, wall time"), totals.speedup.baseline);
  figures.push_back(
      {QObject::tr("Partners"), QObject::tr("%1 matched").arg(totals.pairs),
       qt(fmt::format("alone: {} {}, {} {}", totals.unmatched[0], labels[0], totals.unmatched[1], labels[1])),
       QObject::tr("Slices without a partner in the other trace")});
  return figures;
}

}  // namespace cohort
