#include "gui/chart/chart_widget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontInfo>
#include <QImage>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "gui/window/theme.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

Chart small_chart() {
  Chart chart{.title = "Speedup",
              .x = {.label = "models", .scale = AxisScale::kLog2},
              .y = {.label = "speedup", .unit = AxisUnit::kRatio, .from_zero = true}};
  chart.series = {{.name = "concurrent",
                   .points = {{.x = 1, .y = 1}, {.x = 2, .y = 1.5, .range = ValueRange{1.3, 1.7}}, {.x = 4, .y = 2}}},
                  {.name = "measured",
                   .kind = SeriesKind::kPoints,
                   .points = {{.x = 4, .y = 3, .label = "run", .highlight = true}}}};
  chart.limits = {{.value = 1, .label = "no gain"}};
  return chart;
}

class ChartWidgets : public testing::Test {
 protected:
  ChartWidgets() {
    widget_.resize(480, 300);
    widget_.setPalette(palette_of(theme_of(ThemeKind::kLight)));
    widget_.set_chart(small_chart());
    widget_.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&widget_));
  }

  [[nodiscard]] QPoint place_of(ChartPointId point) const {
    const DrawnPosition centre = widget_.drawing().region(point)->centre;
    return {static_cast<int>(centre.x), static_cast<int>(centre.y)};
  }

  ChartWidget widget_;
};

TEST_F(ChartWidgets, TellOfThePointUnderThePointer) {
  QSignalSpy hovered(&widget_, &ChartWidget::point_hovered);
  QSignalSpy left(&widget_, &ChartWidget::point_left);
  QTest::mouseMove(&widget_, place_of({0, 1}) + QPoint(2, 1));
  ASSERT_EQ(hovered.count(), 1);
  EXPECT_EQ(hovered[0][0].toULongLong(), 0U);
  EXPECT_EQ(hovered[0][1].toULongLong(), 1U);
  EXPECT_TRUE(widget_.accessibleDescription().contains("1.50x (1.30x to 1.70x)"));
  QTest::mouseMove(&widget_, place_of({0, 1}) + QPoint(3, 2));
  EXPECT_EQ(hovered.count(), 1) << "the same point";
  QTest::mouseMove(&widget_, QPoint(470, 290));
  EXPECT_EQ(left.count(), 1);
  EXPECT_FALSE(widget_.current().has_value());
}

TEST_F(ChartWidgets, AreClickedWherePressedAndReleased) {
  QSignalSpy clicked(&widget_, &ChartWidget::point_clicked);
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, place_of({1, 0}));
  ASSERT_EQ(clicked.count(), 1);
  EXPECT_EQ(clicked[0][0].toULongLong(), 1U);
  EXPECT_EQ(clicked[0][1].toULongLong(), 0U);
  QTest::mousePress(&widget_, Qt::LeftButton, {}, place_of({0, 0}));
  QTest::mouseRelease(&widget_, Qt::LeftButton, {}, place_of({0, 2}));
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, QPoint(470, 290));
  QTest::mouseClick(&widget_, Qt::RightButton, {}, place_of({0, 0}));
  EXPECT_EQ(clicked.count(), 1);
}

TEST_F(ChartWidgets, AreWalkedByKeys) {
  QSignalSpy clicked(&widget_, &ChartWidget::point_clicked);
  widget_.setFocus();
  QTest::keyClick(&widget_, Qt::Key_Right);
  EXPECT_EQ(widget_.current(), (ChartPointId{0, 0}));
  QTest::keyClick(&widget_, Qt::Key_Right);
  EXPECT_EQ(widget_.current(), (ChartPointId{0, 1}));
  QTest::keyClick(&widget_, Qt::Key_End);
  QTest::keyClick(&widget_, Qt::Key_Right);
  EXPECT_EQ(widget_.current(), (ChartPointId{0, 2})) << "nothing further";
  QTest::keyClick(&widget_, Qt::Key_Down);
  EXPECT_EQ(widget_.current(), (ChartPointId{1, 0}));
  QTest::keyClick(&widget_, Qt::Key_Return);
  ASSERT_EQ(clicked.count(), 1);
  EXPECT_EQ(clicked[0][0].toULongLong(), 1U);
  QTest::keyClick(&widget_, Qt::Key_Up);
  QTest::keyClick(&widget_, Qt::Key_Home);
  EXPECT_EQ(widget_.current(), (ChartPointId{0, 0}));
  QTest::keyClick(&widget_, Qt::Key_Escape);
  EXPECT_FALSE(widget_.current().has_value());
}

TEST_F(ChartWidgets, ShowAPointWithoutASignal) {
  QSignalSpy hovered(&widget_, &ChartWidget::point_hovered);
  const QImage before = widget_.grab().toImage();
  widget_.show_point(ChartPointId{0, 2});
  EXPECT_EQ(widget_.current(), (ChartPointId{0, 2}));
  EXPECT_NE(widget_.grab().toImage(), before);
  widget_.show_point(ChartPointId{7, 0});
  EXPECT_FALSE(widget_.current().has_value());
  EXPECT_EQ(hovered.count(), 0);
}

TEST_F(ChartWidgets, ForgetAPointThatANewChartLacks) {
  widget_.show_point(ChartPointId{1, 0});
  Chart chart = small_chart();
  chart.series.pop_back();
  QSignalSpy left(&widget_, &ChartWidget::point_left);
  widget_.set_chart(chart);
  EXPECT_FALSE(widget_.current().has_value());
  EXPECT_EQ(left.count(), 1);
}

TEST_F(ChartWidgets, FollowTheirSizeAndTheirTheme) {
  const QImage light = widget_.grab().toImage();
  widget_.setPalette(palette_of(theme_of(ThemeKind::kDark)));
  const QImage dark = widget_.grab().toImage();
  EXPECT_LT(dark.pixelColor(470, 5).lightness(), 60);
  EXPECT_GT(light.pixelColor(470, 5).lightness(), 240);
  widget_.resize(600, 420);
  QCoreApplication::processEvents();
  EXPECT_EQ(widget_.drawing().size, (DrawnSize{600, 420}));
}

TEST_F(ChartWidgets, PaintTheSameEachTimeAndAsTheyDidBefore) {
  if (QFontInfo(widget_.font()).family() != "DejaVu Sans") GTEST_SKIP() << "DejaVu Sans is missing: fonts-dejavu-core";
  const QImage image = widget_.grab().toImage().convertToFormat(QImage::Format_RGB32);
  EXPECT_EQ(image, widget_.grab().toImage().convertToFormat(QImage::Format_RGB32));
  const std::string golden = std::string(COHORT_CHART_GOLDENS) + "/small_chart.png";
  if (qEnvironmentVariableIsSet("COHORT_WRITE_GOLDENS")) image.save(QString::fromStdString(golden));
  const QImage expected = QImage(QString::fromStdString(golden)).convertToFormat(QImage::Format_RGB32);
  ASSERT_FALSE(expected.isNull()) << golden << ": made with COHORT_WRITE_GOLDENS=1";
  EXPECT_EQ(image, expected) << "compare with " << golden;
}

TEST_F(ChartWidgets, SaveAsSvgPngAndCsv) {
  const TemporaryFolder folder;
  const std::filesystem::path base = folder.path();
  ASSERT_TRUE(widget_.save_as(base / "a.svg"));
  ASSERT_TRUE(widget_.save_as(base / "a.PNG"));
  ASSERT_TRUE(widget_.save_as(base / "a.csv"));
  EXPECT_EQ(read_file(base / "a.svg").value(), to_svg(widget_.drawing(), light_palette()));
  EXPECT_EQ(read_file(base / "a.csv").value(), to_csv(small_chart()));
  EXPECT_EQ(QImage(QString::fromStdString((base / "a.PNG").string())).size(), QSize(960, 600));
  EXPECT_EQ(widget_.save_as(base / "a.gif").error().code, ErrorCode::kUsage);
  EXPECT_EQ(widget_.save_as(base / "none" / "a.svg").error().code, ErrorCode::kInvalidInput);
}

TEST_F(ChartWidgets, OfferToSaveAndCopyInTheirContextMenu) {
  QStringList offered;
  for (const QAction* action : widget_.actions()) offered += action->text();
  EXPECT_EQ(offered, (QStringList{"Save as SVG…", "Save as PNG…", "Save as CSV…", "Copy CSV"}));
  QStringList in_menu;
  QTimer::singleShot(50, &widget_, [&] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return;
    for (const QAction* action : menu->actions()) in_menu += action->text();
    menu->close();
  });
  QContextMenuEvent event(QContextMenuEvent::Mouse, QPoint(50, 50), widget_.mapToGlobal(QPoint(50, 50)));
  QApplication::sendEvent(&widget_, &event);
  EXPECT_EQ(in_menu, offered);
  widget_.actions().back()->trigger();
  EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(), to_csv(small_chart()));
}

}  // namespace
}  // namespace cohort
