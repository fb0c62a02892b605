// Pictures of a small timeline, compared with those kept beside this file. To write them anew after a change that is
// meant, and look at what has changed with `git diff` in a viewer of images:
//
//   COHORT_WRITE_PICTURES=1 build/release/bin/gui_timeline_test --gtest_filter='*Picture.*'
//
// They are drawn with DejaVu Sans on Qt's offscreen platform; where that font is missing they are not compared.

#include <gtest/gtest.h>

#include <QFontDatabase>
#include <QImage>
#include <QPalette>

#include "gui/timeline/timeline_view.hpp"
#include "tests/gui/timeline/fixtures.hpp"

namespace cohort {
namespace {

using namespace literals;

/// Colours of its own: the pictures stay when those of the window change.
Theme theme_for_pictures(ThemeKind kind) {
  const bool dark = kind == ThemeKind::kDark;
  Theme theme;
  theme.kind = kind;
  theme.window = dark ? QColor(0x1d, 0x20, 0x26) : QColor(0xf4, 0xf5, 0xf7);
  theme.surface = dark ? QColor(0x15, 0x17, 0x1c) : QColor(0xff, 0xff, 0xff);
  theme.raised = dark ? QColor(0x2b, 0x2f, 0x37) : QColor(0xe9, 0xeb, 0xef);
  theme.text = dark ? QColor(0xe6, 0xe8, 0xeb) : QColor(0x1b, 0x1f, 0x24);
  theme.dim_text = dark ? QColor(0xa3, 0xab, 0xb8) : QColor(0x57, 0x5f, 0x6b);
  theme.border = dark ? QColor(0x3d, 0x43, 0x4e) : QColor(0xc9, 0xce, 0xd6);
  theme.accent = dark ? QColor(0x6a, 0xa5, 0xff) : QColor(0x1f, 0x5f, 0xbf);
  return theme;
}

QImage picture(ThemeKind theme) {
  TimelineView view;
  view.resize(520, 200);
  view.set_look(look_of(theme_for_pictures(theme), QStringLiteral("DejaVu Sans")));
  view.set_timeline(small_timeline());
  TimeMarks marks;
  marks.add(90_us);
  view.set_marks(marks);
  view.set_pinned(RowId{1}, true);
  view.select(kLaunch1);
  view.select_area(TimelineArea{{62_us, 84_us}, {RowId{0}}});
  return view.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

/// How many pixels differ, by more than `tolerance` in a channel.
int differences(const QImage& a, const QImage& b, int tolerance) {
  if (a.size() != b.size()) return a.width() * a.height();
  int count = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y);
      const QRgb q = b.pixel(x, y);
      const int apart =
          std::max({std::abs(qRed(p) - qRed(q)), std::abs(qGreen(p) - qGreen(q)), std::abs(qBlue(p) - qBlue(q))});
      count += apart > tolerance ? 1 : 0;
    }
  }
  return count;
}

class Picture : public testing::TestWithParam<ThemeKind> {};

TEST_P(Picture, IsAsItWas) {
  if (!QFontDatabase::families().contains(QStringLiteral("DejaVu Sans"))) GTEST_SKIP() << "no DejaVu Sans here";
  const QString name = GetParam() == ThemeKind::kLight ? QStringLiteral("light") : QStringLiteral("dark");
  const QString path = QStringLiteral(COHORT_SOURCE_DIR "/tests/gui/timeline/pictures/small_%1.png").arg(name);
  const QImage drawn = picture(GetParam());
  if (qEnvironmentVariableIsSet("COHORT_WRITE_PICTURES")) {
    ASSERT_TRUE(drawn.save(path));
    return;
  }
  const QImage kept = QImage(path).convertToFormat(QImage::Format_RGB32);
  ASSERT_FALSE(kept.isNull()) << path.toStdString();
  // Smooth edges of letters and arrows may differ a little from one FreeType to the next; places and colours may not.
  const int differing = differences(drawn, kept, 12);
  if (differing > 60) {
    const QString beside = QStringLiteral("small_%1.drawn.png").arg(name);
    static_cast<void>(drawn.save(beside));
    FAIL() << differing << " pixels differ; what was drawn is in " << beside.toStdString();
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, Picture, testing::Values(ThemeKind::kLight, ThemeKind::kDark));

TEST(PictureOnAFineScreen, HasTwiceThePixels) {
  TimelineView view;
  view.resize(520, 200);
  view.set_timeline(small_timeline());
  QImage fine(1040, 400, QImage::Format_RGB32);
  fine.setDevicePixelRatio(2);
  view.render(&fine);
  const QPointF middle = view.rectangle(kFirst)->center();
  const QRgb colour = view.colours()[0][3];
  EXPECT_EQ(fine.pixel(static_cast<int>(view.rectangle(kFirst)->right() * 2) - 8, static_cast<int>(middle.y() * 2)),
            colour);
}

}  // namespace
}  // namespace cohort
