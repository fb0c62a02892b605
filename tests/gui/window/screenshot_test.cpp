#include <gmock/gmock.h>

#include <QImage>
#include <QProcess>

#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Picture {
  int exit_code = -1;
  std::string out;
  std::string err;
  QImage image;
};

/// The viewer itself, in a process of its own on a machine that seems to have no display.
Picture take(const FileFolder& folder, const QStringList& words) {
  QProcess viewer;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) environment.remove(QLatin1String(name));
  viewer.setProcessEnvironment(environment);
  viewer.setWorkingDirectory(folder.path("."));
  viewer.start(QStringLiteral(COHORT_VIEWER), words);
  Picture picture;
  if (!viewer.waitForFinished(60000)) return picture;
  picture.exit_code = viewer.exitCode();
  picture.out = viewer.readAllStandardOutput().toStdString();
  picture.err = viewer.readAllStandardError().toStdString();
  picture.image = QImage(folder.path("out.png"));
  return picture;
}

TEST(ScreenshotProgram, WritesAPictureOfTheSizeAskedFor) {
  const FileFolder folder;
  const Picture picture = take(folder, {"--screenshot", "out.png", "--size", "900x640"});
  EXPECT_EQ(picture.exit_code, 0);
  EXPECT_THAT(picture.err, IsEmpty());
  EXPECT_EQ(picture.image.size(), QSize(900, 640));
}

TEST(ScreenshotProgram, DrawsTheSameTwiceAndOtherwiseInTheDark) {
  const FileFolder folder;
  const QString plan = folder.write("a.plan.json", small_plan());
  const QStringList words = {"--screenshot", "out.png", "--view", "run", plan};
  const QImage first = take(folder, words).image;
  const QImage second = take(folder, words).image;
  EXPECT_FALSE(first.isNull());
  EXPECT_EQ(first, second);
  const QImage dark = take(folder, words + QStringList{"--theme", "dark"}).image;
  EXPECT_LT(dark.pixelColor(5, 795).lightness(), 80);
  EXPECT_GT(first.pixelColor(5, 795).lightness(), 200);
}

TEST(ScreenshotProgram, FailsWithTheImportersMessage) {
  const FileFolder folder;
  const Picture picture = take(folder, {"--screenshot", "out.png", folder.write("a.json", QByteArray("GIF89a"))});
  EXPECT_EQ(picture.exit_code, 3);
  EXPECT_THAT(picture.err, HasSubstr("a.json: not a trace"));
  EXPECT_TRUE(picture.image.isNull());
}

TEST(ScreenshotProgram, SaysWhatAViewWaitsFor) {
  const FileFolder folder;
  const Picture picture = take(folder, {"--screenshot", "out.png", "--view", "run"});
  EXPECT_EQ(picture.exit_code, 2);
  EXPECT_THAT(picture.err, HasSubstr("Run has nothing to show"));
}

TEST(ScreenshotProgram, SaysThatThePictureCannotBeWritten) {
  const FileFolder folder;
  const Picture picture = take(folder, {"--screenshot", "missing/out.png"});
  EXPECT_EQ(picture.exit_code, 3);
  EXPECT_THAT(picture.err, HasSubstr("missing/out.png: cannot be written"));
}

TEST(ScreenshotProgram, ExplainsItselfWithoutADisplay) {
  const FileFolder folder;
  EXPECT_THAT(take(folder, {"--help"}).out, HasSubstr("Example:\n  cohort profile mlp"));
  EXPECT_THAT(take(folder, {"--version"}).out, HasSubstr("cohort-viewer "));
  const Picture window = take(folder, {});
  EXPECT_EQ(window.exit_code, 4);
  EXPECT_THAT(window.err, HasSubstr("no display"));
}

}  // namespace
}  // namespace cohort
