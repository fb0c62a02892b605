#include "gui/figures/figure_strip.hpp"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QLabel>

#include "gui/figures/counted.hpp"

namespace cohort {
namespace {

int shown_labels(const FigureStrip& strip) {
  int shown = 0;
  for (const QLabel* label : strip.findChildren<QLabel*>()) shown += label->isVisible() ? 1 : 0;
  return shown;
}

TEST(FigureStrip, LeavesOutTheLastWhereThereIsNoRoom) {
  FigureStrip strip;
  strip.set_figures({{"Speedup", "2.00x", "likely 1.80-2.20"}, {"Step", "4.00 us", "one by one 8.00 us"}});
  strip.resize(600, 80);
  strip.show();
  QCoreApplication::processEvents();
  EXPECT_EQ(shown_labels(strip), 6);
  strip.resize(strip.minimumSizeHint().width() + 10, 80);
  QCoreApplication::processEvents();
  EXPECT_EQ(shown_labels(strip), 3);
  strip.resize(600, 80);
  QCoreApplication::processEvents();
  EXPECT_EQ(shown_labels(strip), 6);
}

TEST(FigureStrip, ShowsFewerFiguresThanBefore) {
  FigureStrip strip;
  strip.resize(600, 80);
  strip.show();
  strip.set_figures({{"a", "1", ""}, {"b", "2", ""}, {"c", "3", ""}});
  strip.set_figures({{"d", "4", "e"}});
  QCoreApplication::processEvents();
  EXPECT_EQ(shown_labels(strip), 3);
  EXPECT_EQ(strip.text(), "d: 4; e");
}

TEST(Counted, TellsOneFromMany) {
  EXPECT_EQ(counted(1, "row", "rows"), "1 row");
  EXPECT_EQ(counted(0, "row", "rows"), "0 rows");
}

}  // namespace
}  // namespace cohort
