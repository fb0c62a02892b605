#include "gui/start/examples.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>

namespace cohort {
namespace {

QString words(const char* text) { return QCoreApplication::translate("Examples", text); }

}  // namespace

QString find_examples(const QString& program_folder) {
  const QDir installed(program_folder + QStringLiteral("/../share/cohort/examples"));
  if (installed.exists()) return installed.canonicalPath();
  const QDir sources(program_folder + QStringLiteral("/../../../traces"));  // of build/PRESET/bin
  return sources.exists(QStringLiteral("README.md")) ? sources.canonicalPath() : QString();
}

std::vector<Example> examples_in(const QString& folder) {
  std::vector<Example> pairs;
  std::vector<Example> profiles;
  if (folder.isEmpty()) return pairs;
  const QDir dir(folder);
  const QString predicted = QStringLiteral(".predicted.json.gz");
  const QString profile = QStringLiteral(".trace.json.gz");
  for (const QString& name : dir.entryList({QStringLiteral("*.json.gz")}, QDir::Files, QDir::Name)) {
    if (name.endsWith(predicted)) {
      const QString stem = name.chopped(predicted.size());
      const QString measured = dir.filePath(stem + QStringLiteral(".measured.json.gz"));
      if (!QFileInfo::exists(measured)) continue;
      // "lenet5-b1-n16": 16 of them at minibatch 1
      const auto parts = QRegularExpression(QStringLiteral("^(.*)-b(\\d+)-n(\\d+)$")).match(stem);
      const QString title = parts.hasMatch()
                                ? words("%1 × %2, predicted and measured").arg(parts.captured(3), parts.captured(1))
                                : words("%1, predicted and measured").arg(stem);
      QStringList files = {dir.filePath(name), measured};
      pairs.push_back(
          {title, words("One plan as it was predicted and as it ran, task by task"), {PageId::kCompare, files}});
    } else if (name.endsWith(profile)) {
      const QString stem = name.chopped(profile.size());
      const auto parts = QRegularExpression(QStringLiteral("^(.*)-b(\\d+)$")).match(stem);
      const QString title =
          parts.hasMatch() ? words("%1 at minibatch %2").arg(parts.captured(1), parts.captured(2)) : stem;
      profiles.push_back({title,
                          words("A profile: what would several of them gain together?"),
                          {PageId::kExplore, {dir.filePath(name)}}});
    }
  }
  pairs.insert(pairs.end(), profiles.begin(), profiles.end());
  return pairs;
}

}  // namespace cohort
