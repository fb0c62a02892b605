#include "gui/window/main_window.hpp"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QTest>
#include <QToolButton>
#include <QUrl>

#include "gui/files/file_panel.hpp"
#include "gui/window/banners.hpp"
#include "gui/window/command_palette.hpp"
#include "gui/window/shortcut_sheet.hpp"
#include "gui/window/station_bar.hpp"
#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A page that writes down what it is given; enabled while it has a file that fits.
class RecordingPage : public Page {
 public:
  RecordingPage(QString title, bool (*fits)(const OpenFile&))
      : command(new QAction(title + QStringLiteral(" command"), this)), title_(std::move(title)), fits_(fits) {}

  [[nodiscard]] QString title() const override { return title_; }
  [[nodiscard]] PageState state() const override {
    const bool fits = fits_ == nullptr || std::any_of(files.begin(), files.end(), fits_);
    return {fits, fits ? QStringLiteral("look at ") + title_ : title_ + QStringLiteral(" waits")};
  }
  void set_files(const std::vector<OpenFile>& now) override { files = now; }
  void show_files(const QStringList& paths) override { shown = paths; }
  void show_model(const QString& path) override { models += path; }
  void set_theme(const Theme& theme) override { dark = theme.dark(); }
  void save(QSettings& settings) const override { settings.setValue("kept", kept); }
  void restore(QSettings& settings) override { kept = settings.value("kept").toInt(); }
  [[nodiscard]] std::vector<Shortcut> shortcuts() const override { return {{"W", "zoom in of " + title_}}; }
  [[nodiscard]] std::vector<QAction*> commands() const override { return {command}; }
  [[nodiscard]] bool settled() const override { return is_settled; }

  std::vector<OpenFile> files;
  QStringList shown;
  QStringList models;
  bool dark = false;
  int kept = 0;
  bool is_settled = true;
  QAction* command;

 private:
  QString title_;
  bool (*fits_)(const OpenFile&);
};

bool is_plan(const OpenFile& file) { return file.plan != nullptr; }
bool is_trace(const OpenFile& file) { return file.trace != nullptr; }
bool is_profile(const OpenFile& file) { return is_trace(file) && file.trace->info.kind == TraceKind::kProfile; }
bool is_measured(const OpenFile& file) { return is_trace(file) && file.trace->info.kind == TraceKind::kMeasured; }

class MainWindowTest : public ::testing::Test {
 protected:
  MainWindowTest() {
    QSettings().clear();
    window.add_page(PageId::kProfile, start);
    window.add_page(PageId::kExplore, explore);
    window.add_page(PageId::kRun, run);
    window.add_page(PageId::kCompare, compare);
    window.add_page(PageId::kTimeline, timeline);
    window.files().set_quiet_time(std::chrono::milliseconds(20));
    window.show();
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
  }

  void settle() {
    ASSERT_TRUE(QTest::qWaitFor([this] { return window.settled(); }, 20000));
  }

  FileFolder folder;
  MainWindow window{QApplication::palette()};
  RecordingPage* start = new RecordingPage("Profile", nullptr);
  RecordingPage* explore = new RecordingPage("Explore", is_profile);
  RecordingPage* run = new RecordingPage("Run", is_plan);
  RecordingPage* compare = new RecordingPage("Compare", is_measured);
  RecordingPage* timeline = new RecordingPage("Timeline", is_trace);
};

TEST_F(MainWindowTest, StartsWithTheStationsThatHaveSomethingToShow) {
  EXPECT_EQ(window.current_page(), PageId::kProfile);
  EXPECT_EQ(window.stations().hint(), "look at Profile");
  EXPECT_FALSE(window.stations().button(PageId::kCompare)->isEnabled());
  EXPECT_EQ(window.stations().button(PageId::kCompare)->toolTip(), "Compare waits");
  EXPECT_EQ(window.stations().button(PageId::kScaling), nullptr);
  EXPECT_FALSE(window.show_page(PageId::kCompare));
  EXPECT_EQ(window.current_page(), PageId::kProfile);
}

TEST_F(MainWindowTest, ShowsFilesWhereTheyBelong) {
  const QString profile = folder.write_trace_of("p.json", 2, TraceKind::kProfile);
  window.open({profile});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kExplore);
  EXPECT_THAT(explore->shown, ElementsAre(profile));
  EXPECT_EQ(explore->files.size(), 1U);
  EXPECT_THAT(window.recent_files().paths(), ElementsAre(profile));
}

TEST_F(MainWindowTest, ChoosesOnnxFilesAsModelsToProfile) {
  const QString model = folder.write("net.ONNX", QByteArray("x"));
  const QString trace = folder.write_trace_of("t.json", 2);
  window.open({trace});
  settle();
  window.open({model});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kProfile);
  EXPECT_THAT(start->models, ElementsAre(model));
  EXPECT_TRUE(start->shown.isEmpty());
  EXPECT_THAT(window.recent_files().paths(), ElementsAre(model, trace));
  // Files beside it are shown where they belong.
  window.open({model, trace});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
  EXPECT_THAT(start->models, ElementsAre(model, model));
  window.open({folder.path("missing.onnx")});
  settle();
  EXPECT_EQ(start->models.size(), 2);
  ASSERT_EQ(window.banners().messages().size(), 1);
  EXPECT_THAT(window.banners().messages().front().toStdString(), HasSubstr("missing.onnx: "));
}

TEST_F(MainWindowTest, ShowsPredictedAndMeasuredInCompare) {
  const QString predicted = folder.write_trace_of("a.json", 2, TraceKind::kPredicted);
  const QString measured = folder.write_trace_of("b.json", 2, TraceKind::kMeasured);
  window.open({predicted, measured});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kCompare);
  EXPECT_THAT(compare->shown, ElementsAre(predicted, measured));
}

TEST_F(MainWindowTest, ShowsPlansInRunAndOtherTracesInTheTimeline) {
  window.open({folder.write("a.plan.json", small_plan())});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kRun);
  window.show_page(PageId::kProfile);
  window.open({folder.write_trace_of("t.json", 2)});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
}

TEST_F(MainWindowTest, IsNotTakenAwayFromAPageAtWork) {
  window.open({folder.write_trace_of("t.json", 2)});
  settle();
  const QString profile = folder.write_trace_of("p.json", 2, TraceKind::kProfile);
  window.open({profile});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
  EXPECT_THAT(timeline->shown, ElementsAre(profile));
}

TEST_F(MainWindowTest, GoesWhereAPageAsksWithItsFiles) {
  const QString a = folder.write_trace_of("a.json", 2, TraceKind::kMeasured);
  const QString b = folder.write_trace_of("b.json", 2, TraceKind::kPredicted);
  Q_EMIT start->requested({PageId::kCompare, {b, a}});
  EXPECT_FALSE(window.settled());
  settle();
  EXPECT_EQ(window.current_page(), PageId::kCompare);
  EXPECT_THAT(compare->shown, ElementsAre(b, a));
}

TEST_F(MainWindowTest, LeavesAPageThatHasNothingToShowAnyMore) {
  const QString trace = folder.write_trace_of("t.json", 2);
  window.open({trace});
  settle();
  window.files().close(trace);
  EXPECT_EQ(window.current_page(), PageId::kProfile);
}

TEST_F(MainWindowTest, KeepsGoodFilesBesideABrokenOneAndSaysWhatIsWrong) {
  const QString good = folder.write_trace_of("good.json", 2);
  const QString bad = folder.write("bad.json", QByteArray("GIF89a"));
  window.open({good, bad});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
  EXPECT_THAT(timeline->shown, ElementsAre(good));
  ASSERT_EQ(window.banners().messages().size(), 1);
  EXPECT_THAT(window.banners().messages().front().toStdString(), HasSubstr("bad.json: not a trace"));
  // It goes with the file, or with its cross.
  auto* close = window.banners().findChild<QToolButton*>();
  QTest::mouseClick(close, Qt::LeftButton);
  EXPECT_TRUE(window.banners().messages().isEmpty());
}

TEST_F(MainWindowTest, TakesTheBannerAwayWhenTheFileIsMended) {
  const QString path = folder.write_trace_of("t.json", 2);
  window.open({path});
  settle();
  QFile::remove(path);
  ASSERT_TRUE(QTest::qWaitFor([this] { return window.banners().messages().size() == 1; }));
  EXPECT_EQ(timeline->files.size(), 1U);
  folder.write_trace_of("t.json", 5);
  ASSERT_TRUE(QTest::qWaitFor([this] { return window.banners().messages().isEmpty(); }));
  EXPECT_EQ(timeline->files.front().trace->slices.size(), 5U);
}

TEST_F(MainWindowTest, OpensWhatIsDroppedOnIt) {
  const QString path = folder.write_trace_of("t.json", 2);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &drop);
  settle();
  EXPECT_EQ(timeline->files.size(), 1U);
  QMimeData text;
  text.setText("no file");
  QDragEnterEvent other(QPoint(300, 300), Qt::CopyAction, &text, Qt::LeftButton, {});
  other.ignore();
  QApplication::sendEvent(&window, &other);
  EXPECT_FALSE(other.isAccepted());
}

TEST_F(MainWindowTest, GoesToStationsByMouseAndKeys) {
  window.open({folder.write_trace_of("t.json", 2), folder.write("a.plan.json", small_plan())});
  settle();
  QTest::mouseClick(window.stations().button(PageId::kRun), Qt::LeftButton);
  EXPECT_EQ(window.current_page(), PageId::kRun);
  EXPECT_TRUE(window.stations().button(PageId::kRun)->isChecked());
  QTest::keyClick(&window, Qt::Key_5, Qt::ControlModifier);
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
  QTest::keyClick(&window, Qt::Key_4, Qt::ControlModifier);
  EXPECT_EQ(window.current_page(), PageId::kTimeline);  // nothing to compare
}

TEST_F(MainWindowTest, ShowsTheSheetOfShortcutsOnAQuestionMark) {
  EXPECT_EQ(window.findChild<ShortcutSheet*>(), nullptr);
  QTest::keyClick(&window, '?');
  auto* sheet = window.findChild<ShortcutSheet*>();
  ASSERT_NE(sheet, nullptr);
  EXPECT_TRUE(sheet->isVisible());
  QStringList texts;
  for (const QLabel* label : sheet->findChildren<QLabel*>()) texts += label->text();
  EXPECT_TRUE(texts.contains("zoom in of Profile"));
  EXPECT_TRUE(texts.contains("zoom in of Timeline"));
  EXPECT_TRUE(texts.contains("Ctrl+Shift+P"));
  EXPECT_FALSE(texts.contains("Scaling"));  // there is no such page
  QTest::keyClick(sheet, '?');
  EXPECT_FALSE(sheet->isVisible());
}

TEST_F(MainWindowTest, RunsCommandsOfItsMenusAndOfThePageFromThePalette) {
  int runs = 0;
  QObject::connect(start->command, &QAction::triggered, start, [&] { ++runs; });
  QTest::keyClick(&window, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  auto* palette = window.findChild<CommandPalette*>();
  ASSERT_NE(palette, nullptr);
  EXPECT_TRUE(palette->shown().contains("View: Theme: Dark"));
  EXPECT_FALSE(palette->shown().contains("View: Scaling"));
  auto* typed = palette->findChild<QLineEdit*>();
  QTest::keyClicks(typed, "profile command");
  QTest::keyClick(typed, Qt::Key_Return);
  EXPECT_EQ(runs, 1);
}

TEST_F(MainWindowTest, ChangesItsPixelsWithTheTheme) {
  window.set_theme(ThemeChoice::kLight);
  const QImage light = window.grab().toImage();
  EXPECT_FALSE(start->dark);
  window.set_theme(ThemeChoice::kDark);
  const QImage dark = window.grab().toImage();
  EXPECT_TRUE(start->dark);
  EXPECT_TRUE(timeline->dark);
  const QPoint corner(light.width() / 2, light.height() - 60);
  EXPECT_GT(light.pixelColor(corner).lightness(), 200);
  EXPECT_LT(dark.pixelColor(corner).lightness(), 80);
}

TEST_F(MainWindowTest, RemembersThemeLayoutAndWhatPagesKeep) {
  window.restore();
  window.set_theme(ThemeChoice::kDark);
  window.resize(1000, 620);
  window.findChild<QDockWidget*>(QStringLiteral("files"))->hide();
  explore->kept = 7;
  window.close();

  MainWindow next(QApplication::palette());
  auto* page = new RecordingPage("Explore", nullptr);
  next.add_page(PageId::kExplore, page);
  next.restore();
  next.show();
  EXPECT_TRUE(next.theme().dark());
  EXPECT_EQ(next.size(), QSize(1000, 620));
  EXPECT_FALSE(next.findChild<QDockWidget*>(QStringLiteral("files"))->isVisible());
  EXPECT_EQ(page->kept, 7);
}

TEST_F(MainWindowTest, WritesNoSettingsUnlessItWasRestored) {
  window.set_theme(ThemeChoice::kDark);
  window.close();
  EXPECT_TRUE(QSettings().value("window/theme").isNull());
}

TEST_F(MainWindowTest, HasNotSettledWhileAPageIsAtWork) {
  EXPECT_TRUE(window.settled());
  start->is_settled = false;
  EXPECT_FALSE(window.settled());
}

TEST_F(MainWindowTest, ShowsAPagesFailureUntilItIsClosed) {
  Q_EMIT explore->failed("no such thing");
  Q_EMIT explore->failed("no other thing");
  EXPECT_THAT(window.banners().messages(), ElementsAre(QString("no other thing")));
}

}  // namespace
}  // namespace cohort
