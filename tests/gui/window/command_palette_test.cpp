#include "gui/window/command_palette.hpp"

#include <gtest/gtest.h>

#include <QAction>
#include <QLineEdit>
#include <QTest>

namespace cohort {
namespace {

TEST(CommandPalette, FitsLettersInTheirOrder) {
  EXPECT_TRUE(fit_of("", "View: Dark"));
  EXPECT_TRUE(fit_of("vd", "View: Dark"));
  EXPECT_TRUE(fit_of("DARK", "View: Dark"));
  EXPECT_FALSE(fit_of("kd", "View: Dark"));
  EXPECT_FALSE(fit_of("x", "View: Dark"));
}

TEST(CommandPalette, PrefersBeginningsOfWordsAndWhatStandsTogether) {
  EXPECT_GT(fit_of("fs", "View: Full screen"), fit_of("fs", "File: Close all files"));
  EXPECT_GT(fit_of("open", "File: Open"), fit_of("open", "Help: On peeking and"));
}

TEST(CommandPalette, RunsWhatIsTypedAndChosen) {
  QAction first("first");
  QAction second("second");
  QAction disabled("seconds");
  disabled.setEnabled(false);
  int firsts = 0;
  int seconds = 0;
  QObject::connect(&first, &QAction::triggered, &first, [&] { ++firsts; });
  QObject::connect(&second, &QAction::triggered, &second, [&] { ++seconds; });
  QObject::connect(&disabled, &QAction::triggered, &second, [&] { FAIL(); });
  const std::vector<CommandPalette::Command> commands = {
      {"File: First", &first}, {"File: Seconds", &disabled}, {"File: Second", &second}};
  {
    CommandPalette palette(commands);
    palette.show();
    auto* typed = palette.findChild<QLineEdit*>();
    EXPECT_EQ(palette.shown().size(), 3);
    QTest::keyClicks(typed, "second");
    EXPECT_EQ(palette.shown(), QStringList({"File: Seconds", "File: Second"}));
    QTest::keyClick(typed, Qt::Key_Return);
  }
  EXPECT_EQ(seconds, 1);
  CommandPalette palette(commands);
  palette.show();
  QTest::keyClick(palette.findChild<QLineEdit*>(), Qt::Key_Return);
  EXPECT_EQ(firsts, 1);
  EXPECT_FALSE(palette.isVisible());
}

}  // namespace
}  // namespace cohort
