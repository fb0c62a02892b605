#include "gui/run/run_outcome.hpp"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <map>

#include "gui/window/qt_text.hpp"
#include "planning/plan_files.hpp"

namespace cohort {
namespace {

Nanoseconds median_of(const QJsonObject& object, const char* name) {
  const QJsonObject times = object.value(QLatin1String(name)).toObject();
  return Nanoseconds(times.value(QLatin1String("median_ns")).toInteger());
}

}  // namespace

std::optional<RunFigures> run_figures_from(const QByteArray& json) {
  const QJsonObject object = QJsonDocument::fromJson(json).object();
  RunFigures figures;
  figures.plan = median_of(object, "plan");
  figures.baseline = median_of(object, "baseline");
  figures.speedup = object.value(QLatin1String("measured_speedup")).toDouble();
  figures.samples_per_step = object.value(QLatin1String("samples_per_step")).toInteger();
  if (figures.plan <= Nanoseconds(0) || figures.baseline <= Nanoseconds(0)) return std::nullopt;
  return figures;
}

QString predicted_trace_of(const OpenFile& plan, const std::vector<OpenFile>& files) {
  const std::string wanted = fingerprint(*plan.plan);
  for (const OpenFile& file : files) {
    if (file.trace == nullptr || file.trace->info.kind != TraceKind::kPredicted) continue;
    const auto of = recorded_plan(file.path.toStdString(), file.trace->info);
    if (of && fingerprint(*of) == wanted) return file.path;
  }
  const QString beside = QString::fromStdString(PlanFiles::of(plan.path.toStdString()).predicted.string());
  return QFileInfo::exists(beside) ? beside : QString();
}

QString summary_of(const Plan& plan) {
  std::map<std::string, int> models;
  for (const Member& member : plan.members) ++models[std::filesystem::path(member.source.model).filename().string()];
  QStringList members;
  for (const auto& [model, count] : models) members += QObject::tr("%1 × %2").arg(count).arg(qt(model));
  QStringList groups;
  for (const Group& group : plan.groups) {
    QString ops = QObject::tr("all other ops");
    if (!group.ops.empty()) ops = QObject::tr("%n ops", nullptr, static_cast<int>(group.ops.size()));
    if (group.ops.size() == 1) ops = qt(group.ops.front());
    groups += qt(to_string(group.strategy)).replace(QLatin1Char('_'), QLatin1Char(' ')) + QStringLiteral(" (") + ops +
              QLatin1Char(')');
  }
  constexpr qsizetype kMostGroups = 4;
  const qsizetype more = groups.size() - kMostGroups;
  if (more > 0) groups = groups.mid(0, kMostGroups) << QObject::tr("and %1 more").arg(more);
  return QObject::tr("%1 on %2, %3 %4: %5")
      .arg(members.join(QStringLiteral(", ")), qt(plan.device), QString::number(plan.streams),
           plan.streams == 1 ? QObject::tr("stream") : QObject::tr("streams"), groups.join(QStringLiteral(", ")));
}

}  // namespace cohort
