#include "gui/files/file_panel.hpp"

#include <gtest/gtest.h>

#include <QListView>
#include <QSignalSpy>
#include <QTest>

#include "gui/files/open_files.hpp"
#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

class FilePanelTest : public ::testing::Test {
 protected:
  FilePanelTest() {
    panel.resize(240, 300);
    panel.show();
    files.open({folder.write_trace_of("a.json", 3), folder.write_trace_of("b.json", 3)});
    EXPECT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 20000));
  }

  [[nodiscard]] QRect row(int number) const { return panel.view()->visualRect(files.index(number)); }

  void click(QPoint at, Qt::MouseButton button = Qt::LeftButton) {
    QTest::mouseClick(panel.view()->viewport(), button, {}, at);
  }

  FileFolder folder;
  OpenFiles files;
  FilePanel panel{files};
};

TEST_F(FilePanelTest, AsksForTheFileThatIsClicked) {
  QSignalSpy asked(&panel, &FilePanel::show_requested);
  click(row(1).center());
  ASSERT_EQ(asked.count(), 1);
  EXPECT_EQ(asked[0][0].toString(), folder.path("b.json"));
  EXPECT_EQ(panel.current_path(), folder.path("b.json"));
}

TEST_F(FilePanelTest, ClosesByTheCrossAndByTheMiddleButton) {
  click({row(0).right() - 10, row(0).center().y()});
  EXPECT_EQ(files.paths(), QStringList({folder.path("b.json")}));
  click(row(0).center(), Qt::MiddleButton);
  EXPECT_TRUE(files.paths().isEmpty());
  EXPECT_TRUE(panel.findChild<QWidget*>(QStringLiteral("empty"))->isVisible());
}

TEST_F(FilePanelTest, ShowsThatAFileIsBroken) {
  const QImage before = panel.grab().toImage();
  files.open({folder.write("c.json", QByteArray("GIF89a"))});
  ASSERT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 20000));
  EXPECT_NE(panel.grab().toImage(), before);
  EXPECT_EQ(files.stage(folder.path("c.json")), FileStage::kBroken);
}

}  // namespace
}  // namespace cohort
