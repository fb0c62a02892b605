#include "gui/start/start_page.hpp"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>

#include "gui/start/profile_form.hpp"
#include "tests/gui/fake_program.hpp"
#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

const QByteArray kDevices =
    "if [ $1 = devices ]; then echo '[{\"id\":\"cpu:0\",\"name\":\"EPYC\",\"available\":true,\"reason\":\"\"},"
    "{\"id\":\"cuda:0\",\"name\":\"GPU\",\"available\":false,\"reason\":\"no driver\"}]'; exit; fi\n";

/// A page whose `cohort` is a script: only where none lies beside this test's program.
class StartPageTest : public ::testing::Test {
 protected:
  void SetUp() override { recent.clear(); }

  void show(StartPage& page) {
    page.resize(1000, 700);
    page.show();
    ASSERT_TRUE(QTest::qWaitFor([&] { return page.settled(); }));
    page.form().set_folder(folder.path("."));
    QObject::connect(&page, &Page::requested, &page, [this](const PageRequest& asked) { request = asked; });
  }

  template <class T>
  static T* child(const QWidget& page, const char* name) {
    return page.findChild<T*>(QLatin1String(name));
  }

  FileFolder folder;
  RecentFiles recent;
  std::optional<PageRequest> request;
};

TEST_F(StartPageTest, OffersTheNetworksWithTheirArguments) {
  const FakeProgram fake(kDevices);
  StartPage page(recent);
  show(page);
  EXPECT_TRUE(page.state().enabled);
  page.form().choose_model(QStringLiteral("mlp"));
  auto* hidden = child<QLineEdit>(page, "argument_hidden");
  ASSERT_NE(hidden, nullptr);
  hidden->setFocus();
  hidden->selectAll();
  QTest::keyClicks(hidden, "64");
  child<QSpinBox>(page, "minibatch")->setValue(8);
  const auto words = page.form().words();
  ASSERT_TRUE(words);
  EXPECT_EQ(words->mid(0, 6), QStringList({"profile", "mlp", "--minibatch", "8", "--set", "hidden=64"}));
  EXPECT_TRUE(words->contains("--progress"));
  EXPECT_FALSE(words->contains("--force"));
  EXPECT_EQ(page.form().output(), folder.path("mlp.trace.json.gz"));
}

TEST_F(StartPageTest, TakesAnOnnxFileWithItsOpenDimensions) {
  const FakeProgram fake(kDevices);
  StartPage page(recent);
  show(page);
  page.form().choose_model(folder.write("net.onnx", QByteArray("x")));
  EXPECT_EQ(child<QLineEdit>(page, "argument_hidden"), nullptr);
  auto* dimensions = child<QLineEdit>(page, "dimensions");
  EXPECT_TRUE(dimensions->isVisible());
  QTest::keyClicks(dimensions, "batch=2, length=16");
  const auto words = page.form().words();
  ASSERT_TRUE(words);
  EXPECT_EQ(words->mid(4, 4), QStringList({"--dim", "batch=2", "--dim", "length=16"}));
  dimensions->setText(QStringLiteral("batch"));
  EXPECT_FALSE(page.form().words());
}

TEST_F(StartPageTest, TakesConstantInputsAndTensorsToEndAt) {
  const FakeProgram fake(kDevices);
  StartPage page(recent);
  show(page);
  auto* inputs = child<QLineEdit>(page, "inputs");
  auto* until = child<QLineEdit>(page, "until");
  EXPECT_FALSE(inputs->isVisible());
  EXPECT_FALSE(until->isVisible());
  page.form().choose_model(folder.write("net.onnx", QByteArray("x")));
  EXPECT_TRUE(inputs->isVisible());
  EXPECT_TRUE(until->isVisible());
  QTest::keyClicks(inputs, "rate=16000  sizes=1,2");
  QTest::keyClicks(child<QLineEdit>(page, "from"), "/body/features");
  QTest::keyClicks(until, " /head/boxes /head/scores ");
  const auto words = page.form().words();
  ASSERT_TRUE(words);
  EXPECT_EQ(words->mid(4, 10), QStringList({"--set-input", "rate=16000", "--set-input", "sizes=1,2", "--from",
                                            "/body/features", "--until", "/head/boxes", "--until", "/head/scores"}));
  inputs->setText(QStringLiteral("16000"));
  const auto refused = page.form().words();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "constant inputs are given as name=value, not 16000");
  page.form().choose_model(QStringLiteral("mlp"));
  page.form().choose_model(folder.path("net.onnx"));
  EXPECT_EQ(inputs->text(), "16000");
  page.form().choose_model(folder.write("other.onnx", QByteArray("x")));
  EXPECT_TRUE(inputs->text().isEmpty());
  EXPECT_TRUE(until->text().isEmpty());
}

TEST_F(StartPageTest, ProfilesWithProgressAndGoesOnToExplore) {
  const FakeProgram fake(kDevices +
                         "while [ $# -gt 1 ]; do [ $1 = --output ] && out=$2; shift; done\n"
                         "echo '{\"progress\":\"profiling fc1 (1 of 3 ops)\"}' >&2\necho '{}' > $out\n");
  StartPage page(recent);
  show(page);
  QSignalSpy changed(&page, &Page::state_changed);
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  EXPECT_FALSE(page.settled());
  ASSERT_TRUE(QTest::qWaitFor([&] { return request.has_value(); }));
  EXPECT_EQ(request->page, PageId::kExplore);
  EXPECT_EQ(request->files, QStringList({folder.path("lenet5.trace.json.gz")}));
  EXPECT_TRUE(page.settled());
  EXPECT_GE(changed.count(), 2);
  EXPECT_TRUE(page.form().words()->contains("--force"));  // the file is there now
}

TEST_F(StartPageTest, SaysWhyAProfileFailed) {
  const FakeProgram fake(kDevices + "echo 'cohort: there is no memory' >&2; exit 5\n");
  StartPage page(recent);
  show(page);
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return child<QPushButton>(page, "start")->isEnabled(); }));
  EXPECT_FALSE(request);
  auto* trouble = child<QLabel>(page, "bad");
  EXPECT_TRUE(trouble->isVisible());
  EXPECT_EQ(trouble->text(), "there is no memory");
}

TEST_F(StartPageTest, CancelsAProfile) {
  const FakeProgram fake(kDevices + "trap 'exit 130' INT\nwhile :; do sleep 0.05; done\n");
  StartPage page(recent);
  show(page);
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  QTest::qWait(200);  // until the script has said what it does on Ctrl-C
  QTest::mouseClick(child<QPushButton>(page, "cancel"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return child<QPushButton>(page, "start")->isEnabled(); }));
  EXPECT_FALSE(request);
  EXPECT_FALSE(child<QLabel>(page, "bad")->isVisible());
}

TEST_F(StartPageTest, ListsRecentFilesAndOpensTheOneClicked) {
  const FakeProgram fake(kDevices);
  StartPage page(recent);
  show(page);
  auto* list = child<QListWidget>(page, "recent");
  EXPECT_FALSE(list->isVisible());
  recent.add(folder.write("a.json", QByteArray("{}")));
  ASSERT_TRUE(list->isVisible());
  QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->page);
  EXPECT_EQ(request->files, QStringList({folder.path("a.json")}));
}

TEST_F(StartPageTest, GreysDevicesThatAreNotAvailable) {
  const FakeProgram fake(kDevices);
  StartPage page(recent);
  show(page);
  auto* device = child<QComboBox>(page, "device");
  ASSERT_EQ(device->count(), 2);
  EXPECT_EQ(device->currentData().toString(), "cpu:0");
  EXPECT_EQ(device->itemData(1, Qt::ToolTipRole).toString(), "no driver");
  EXPECT_FALSE(device->model()->flags(device->model()->index(1, 0)).testFlag(Qt::ItemIsEnabled));
}

}  // namespace
}  // namespace cohort
