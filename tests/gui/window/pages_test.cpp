#include "gui/window/pages.hpp"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QSettings>
#include <QTest>
#include <set>

#include "gui/window/banners.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/station_bar.hpp"
#include "tests/gui/fake_program.hpp"
#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

constexpr PageId kAll[] = {PageId::kProfile, PageId::kExplore,  PageId::kRun,
                           PageId::kCompare, PageId::kTimeline, PageId::kScaling};

/// The window with its real pages, on the repository's recorded files.
class PagesTest : public ::testing::Test {
 protected:
  PagesTest() {
    QSettings().clear();
    add_pages(window);
    window.resize(1280, 800);
    window.show();
  }

  void settle() {
    ASSERT_TRUE(QTest::qWaitFor([this] { return window.settled(); }, 60000));
  }

  static QString recorded(const char* name) { return QStringLiteral(COHORT_TRACES "/") + QLatin1String(name); }

  const FakeProgram no_program{"exit 4\n"};
  MainWindow window{QApplication::palette()};
};

TEST_F(PagesTest, AreAllThereAndEachSaysWhatToDoNext) {
  std::set<QString> titles;
  for (const PageId id : kAll) {
    const Page* const page = window.page(id);
    ASSERT_NE(page, nullptr) << static_cast<int>(id);
    titles.insert(page->title());
    EXPECT_FALSE(page->state().next.isEmpty()) << page->title().toStdString();
    EXPECT_EQ(page->state().enabled, id == PageId::kProfile) << page->title().toStdString();
    EXPECT_EQ(window.stations().button(id)->toolTip(), page->state().next);
  }
  EXPECT_EQ(titles.size(), std::size(kAll));
}

TEST_F(PagesTest, ShowRecordedFilesInBothThemes) {
  window.open({recorded("lenet5-b1.trace.json.gz"), recorded("lenet5-b1-n16.predicted.json.gz"),
               recorded("lenet5-b1-n16.measured.json.gz"), recorded("lenet5-b1-n16.plan.json")});
  settle();
  EXPECT_TRUE(window.banners().messages().isEmpty()) << window.banners().messages().join("\n").toStdString();
  for (const PageId id : kAll) {
    ASSERT_TRUE(window.show_page(id)) << window.page(id)->title().toStdString();
    window.set_theme(ThemeChoice::kLight);
    settle();
    const QImage light = window.page(id)->grab().toImage();
    window.set_theme(ThemeChoice::kDark);
    settle();
    EXPECT_NE(window.page(id)->grab().toImage(), light) << window.page(id)->title().toStdString();
  }
}

TEST_F(PagesTest, ShowFilesWhereTheyBelong) {
  window.open({recorded("lenet5-b1-n16.measured.json.gz")});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kTimeline);
  window.show_page(PageId::kProfile);
  window.open({recorded("lenet5-b1.trace.json.gz")});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kExplore);
  window.show_page(PageId::kProfile);
  window.open({recorded("lenet5-b1-n16.predicted.json.gz"), recorded("lenet5-b1-n16.measured.json.gz")});
  settle();
  EXPECT_EQ(window.current_page(), PageId::kCompare);
}

TEST_F(PagesTest, LeaveAProfileAloneWhoseFileIsClosed) {
  const QString profile = recorded("mlp-b1.trace.json.gz");
  window.open({profile});
  settle();
  window.files().close(profile);
  settle();
  EXPECT_EQ(window.current_page(), PageId::kProfile);
  for (const PageId id : kAll) EXPECT_EQ(window.page(id)->state().enabled, id == PageId::kProfile);
}

TEST_F(PagesTest, CanBeLeftWhileTheyWork) {
  window.open({recorded("squeezenet1_1-b1.trace.json.gz")});
  EXPECT_FALSE(window.settled());
  // The window goes now, with what is being read and simulated.
}

}  // namespace
}  // namespace cohort
