#include "gui/window/viewer_options.hpp"

#include <QCommandLineParser>
#include <QRegularExpression>
#include <map>

namespace cohort {
namespace {

const std::map<QString, PageId>& views() {
  static const std::map<QString, PageId> names = {
      {QStringLiteral("start"), PageId::kProfile},   {QStringLiteral("explore"), PageId::kExplore},
      {QStringLiteral("run"), PageId::kRun},         {QStringLiteral("compare"), PageId::kCompare},
      {QStringLiteral("scaling"), PageId::kScaling}, {QStringLiteral("timeline"), PageId::kTimeline}};
  return names;
}

const std::map<QString, ThemeChoice>& themes() {
  static const std::map<QString, ThemeChoice> names = {{QStringLiteral("light"), ThemeChoice::kLight},
                                                       {QStringLiteral("dark"), ThemeChoice::kDark},
                                                       {QStringLiteral("system"), ThemeChoice::kSystem}};
  return names;
}

template <class T>
Result<T> choice_of(const QString& option, const QString& given, const std::map<QString, T>& names) {
  if (const auto found = names.find(given); found != names.end()) return found->second;
  QStringList known;
  for (const auto& [name, value] : names) known += name;
  return fail(ErrorCode::kUsage, "--{} is one of {}, not {}", option.toStdString(),
              known.join(QStringLiteral(", ")).toStdString(), given.toStdString());
}

Result<QSize> size_from(const QString& given) {
  constexpr int kLeast = 200;
  constexpr int kMost = 16384;
  const auto found = QRegularExpression(QStringLiteral("^(\\d{1,5})x(\\d{1,5})$")).match(given);
  const QSize size(found.captured(1).toInt(), found.captured(2).toInt());
  if (!found.hasMatch() || std::min(size.width(), size.height()) < kLeast ||
      std::max(size.width(), size.height()) > kMost)
    return fail(ErrorCode::kUsage, "--size is a width and a height from {} to {}, as 1280x800, not {}", kLeast, kMost,
                given.toStdString());
  return size;
}

const QString kExample = QStringLiteral(
    "\nExample:\n"
    "  cohort profile mlp -f\n"
    "  cohort-viewer mlp.trace.json.gz\n"
    "  cohort-viewer --screenshot mlp.png --size 1600x900 --theme dark mlp.trace.json.gz\n");

}  // namespace

Result<ViewerOptions> viewer_options_from(const QStringList& words) {
  const QCommandLineOption screenshot(QStringLiteral("screenshot"),
                                      QStringLiteral("Write a picture of the window as PNG and end; needs no display."),
                                      QStringLiteral("FILE"));
  const QCommandLineOption size(QStringLiteral("size"), QStringLiteral("Of the window: 1280x800 unless given."),
                                QStringLiteral("WIDTHxHEIGHT"));
  const QCommandLineOption view(QStringLiteral("view"),
                                QStringLiteral("What to show: start, explore, run, compare, timeline or scaling; what "
                                               "fits the files unless given."),
                                QStringLiteral("NAME"));
  const QCommandLineOption theme(
      QStringLiteral("theme"),
      QStringLiteral("light, dark or system; as it was left unless given, of a picture light."),
      QStringLiteral("NAME"));
  const QCommandLineOption help({QStringLiteral("h"), QStringLiteral("help")}, QStringLiteral("Print this and end."));
  const QCommandLineOption version(QStringLiteral("version"), QStringLiteral("Print the version and end."));
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral(
      "Shows profiles, traces and plans: timelines, what model batches would gain, predicted against measured."));
  parser.addPositionalArgument(QStringLiteral("FILES"),
                               QStringLiteral("Traces of any kind, profiles and plans; ONNX models to profile."),
                               QStringLiteral("[FILES...]"));
  parser.addOptions({screenshot, size, view, theme, help, version});

  ViewerOptions options;
  if (!parser.parse(words))
    return fail(ErrorCode::kUsage, "{}\nTry 'cohort-viewer --help'.", parser.errorText().toStdString());
  if (parser.isSet(help)) {
    options.answer =
        parser.helpText().replace(QLatin1String("<executable_name>"), QLatin1String("cohort-viewer")) + kExample;
    return options;
  }
  if (parser.isSet(version)) {
    options.answer = QStringLiteral("cohort-viewer " COHORT_VERSION "\n");
    return options;
  }
  options.files = parser.positionalArguments();
  options.screenshot = parser.value(screenshot);
  if (parser.isSet(screenshot) && options.screenshot.isEmpty())
    return fail(ErrorCode::kUsage, "--screenshot takes the name of a file");
  if (parser.isSet(size)) {
    COHORT_TRY(options.size, size_from(parser.value(size)));
  }
  if (parser.isSet(view)) {
    COHORT_TRY(options.page, choice_of(view.names().front(), parser.value(view), views()));
  }
  if (parser.isSet(theme)) {
    COHORT_TRY(options.theme, choice_of(theme.names().front(), parser.value(theme), themes()));
  }
  return options;
}

}  // namespace cohort
