#include "gui/files/load_file.hpp"

#include <new>
#include <set>

#include "gui/window/qt_text.hpp"
#include "planning/plan_files.hpp"

namespace cohort {
namespace {

Result<OpenFile> load_content(const QString& path, const CancelToken& cancel, ReadProgress& progress) {
  const std::filesystem::path name = path.toStdString();
  OpenFile file;
  file.path = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored))
    return fail(ErrorCode::kInvalidInput, "{}: is a folder, not a trace, profile or plan", name.string());
  if (looks_like_plan(name)) {
    COHORT_TRY(Plan plan, read_plan(name));
    file.plan = std::make_shared<const Plan>(std::move(plan));
    return file;
  }
  TraceReadOptions options;
  options.cancel = &cancel;
  options.progress = &progress;
  COHORT_TRY(Trace trace, read_trace(name, options));
  file.trace = std::make_shared<const Trace>(std::move(trace));
  return file;
}

/// "16 × lenet5, resnet18, …".
QString members_of(const Plan& plan) {
  constexpr std::size_t kMostNames = 2;
  std::set<std::string> names;
  for (const Member& member : plan.members) names.insert(member.source.model);
  QStringList listed;
  for (const std::string& name : names) {
    if (listed.size() == kMostNames) {
      listed += QStringLiteral("…");
      break;
    }
    listed += QString::fromStdString(std::filesystem::path(name).filename().string());
  }
  return QStringLiteral("%1 × %2").arg(plan.members.size()).arg(listed.join(QStringLiteral(", ")));
}

}  // namespace

Result<OpenFile> load_file(const QString& path, const CancelToken& cancel, ReadProgress& progress) {
  try {
    return load_content(path, cancel, progress);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDoesNotFit, "{}: there is not enough memory for it", path.toStdString());
  }
}

QString description_of(const OpenFile& file) {
  if (file.plan != nullptr)
    return QStringLiteral("plan of %1, %2").arg(members_of(*file.plan), QString::fromStdString(file.plan->device));
  if (file.trace == nullptr) return {};
  const TraceInfo& info = file.trace->info;
  const auto setting = info.settings.find("model");
  QString model = setting != info.settings.end() ? QString::fromStdString(setting->second) : QString();
  if (const auto plan = info.plan.empty() ? Result<Plan>{} : parse_plan(info.plan); plan && !plan->members.empty())
    model = members_of(*plan);
  const QString device = QString::fromStdString(info.device.id);
  QString text = qt(to_string(info.kind));
  if (info.kind == TraceKind::kRecorded) text = QStringLiteral("recorded trace");
  if (!model.isEmpty()) text += QStringLiteral(" of ") + model;
  if (!device.isEmpty()) text += QStringLiteral(", ") + device;
  return text;
}

}  // namespace cohort
