#include "gui/explore/settings_form.hpp"

#include <gmock/gmock.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>

#include "tests/gui/explore/fake_exploration.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Form : public testing::Test {
 protected:
  Form() {
    show(exploration_.facts());
    form_.show();
  }
  void show(const ExploreFacts& facts) {
    form_.set_facts(facts);
    form_.set_settings(exploration_.initial_settings());
    QCoreApplication::processEvents();  // shows what was made anew
  }
  NumberField& number(const char* name) { return *form_.findChild<NumberField*>(QLatin1String(name)); }
  void type(const char* name, const QString& text) {
    QDoubleSpinBox& box = number(name).box();
    box.selectAll();
    QTest::keyClicks(&box, text);
    QTest::keyClick(&box, Qt::Key_Return);
  }

  FakeExploration exploration_{std::make_shared<FakeControl>()};
  SettingsForm form_;
  QSignalSpy changed_{&form_, &SettingsForm::changed};
  QSignalSpy models_{&form_, &SettingsForm::models_asked};
};

TEST_F(Form, ShowsTheSettings) {
  EXPECT_EQ(number("models 0").value(), 4);
  EXPECT_EQ(number("streams").value(), 2);
  EXPECT_EQ(form_.findChild<QComboBox*>("minibatch")->currentText(), "1");
  EXPECT_TRUE(form_.findChild<QCheckBox*>("shared input")->isChecked());
  EXPECT_EQ(changed_.size(), 0);
}

TEST_F(Form, AsksForOtherNumbersOfModels) {
  type("models 0", "16");
  ASSERT_EQ(models_.size(), 1);
  EXPECT_THAT(models_[0][0].value<std::vector<int>>(), ElementsAre(16));
  EXPECT_EQ(changed_.size(), 0);
}

TEST_F(Form, TellsOfASliderThatMoves) {
  QSlider& slider = number("streams").slider();
  slider.setFocus();
  QTest::keyClick(&slider, Qt::Key_Right);
  EXPECT_EQ(changed_.size(), 1);
  EXPECT_EQ(form_.settings().streams, 3);
  QTest::keyClick(&slider, Qt::Key_Left);
  EXPECT_EQ(form_.settings().streams, 2);
}

TEST_F(Form, KeepsPlacesOfMembersAsFarAsThereAreStreams) {
  ExploreSettings settings = exploration_.initial_settings();
  settings.member_streams = {0, 1, 0, 1};
  form_.set_settings(settings);
  type("buffers", "3");
  EXPECT_THAT(form_.settings().member_streams, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(form_.settings().buffers, std::optional(3));
  type("streams", "4");
  EXPECT_THAT(form_.settings().member_streams, ElementsAre(0, 1, 0, 1));
  type("streams", "1");
  EXPECT_THAT(form_.settings().member_streams, ElementsAre(0, 0, 0, 0));
}

TEST_F(Form, TakesLimitsInMebibytes) {
  auto* on = form_.findChild<QCheckBox*>("limit memory");
  EXPECT_FALSE(number("memory").isEnabled());
  on->setFocus();
  QTest::keyClick(on, Qt::Key_Space);
  EXPECT_TRUE(number("memory").isEnabled());
  type("memory", "1.5");
  EXPECT_EQ(form_.settings().limits.memory, (std::optional(Bytes{3 << 19})));
  EXPECT_EQ(form_.settings().limits.workspace, std::nullopt);
  QTest::keyClick(on, Qt::Key_Space);
  EXPECT_EQ(form_.settings().limits.memory, std::nullopt);
}

TEST_F(Form, HasLaunchThreadsOnlyWithoutGraphs) {
  EXPECT_TRUE(number("launch threads").isEnabled());
  auto* graphs = form_.findChild<QCheckBox*>("graphs");
  graphs->setFocus();
  QTest::keyClick(graphs, Qt::Key_Space);
  EXPECT_TRUE(form_.settings().graphs);
  EXPECT_FALSE(number("launch threads").isEnabled());
}

TEST_F(Form, HasStreamsOnlyWithinOneProcess) {
  EXPECT_EQ(form_.findChild<QComboBox*>("processes"), nullptr) << "of a trace alone";
  ExploreFacts facts = exploration_.facts();
  facts.kind = ExploreFacts::Kind::kTraces;
  show(facts);
  auto* processes = form_.findChild<QComboBox*>("processes");
  ASSERT_NE(processes, nullptr);
  processes->setFocus();
  QTest::keyClick(processes, Qt::Key_Down);
  EXPECT_EQ(form_.settings().processes, Processes::kMps);
  EXPECT_FALSE(number("streams").isEnabled());
  EXPECT_FALSE(number("launch threads").isEnabled());
  QTest::keyClick(processes, Qt::Key_Up);
  EXPECT_EQ(form_.settings().processes, Processes::kOne);
  EXPECT_TRUE(number("streams").isEnabled());
}

TEST_F(Form, HidesWhatDoesNotApply) {
  ExploreFacts facts = exploration_.facts();
  facts.launches = false;
  facts.limits_workspace = false;
  facts.minibatches = {1};
  show(facts);
  EXPECT_EQ(form_.findChild<QCheckBox*>("graphs"), nullptr);
  EXPECT_EQ(form_.findChild<QCheckBox*>("limit workspace"), nullptr);
  EXPECT_EQ(form_.findChild<QComboBox*>("minibatch"), nullptr);
  EXPECT_EQ(form_.findChild<QLineEdit*>("faster"), nullptr);
  EXPECT_NE(form_.findChild<QCheckBox*>("limit memory"), nullptr);
}

TEST_F(Form, HasANumberForEachModel) {
  ExploreFacts facts = exploration_.facts();
  facts.models.push_back({"other", {"other.trace.json"}, 1});
  show(facts);
  type("models 1", "2");
  ASSERT_EQ(models_.size(), 1);
  EXPECT_THAT(models_[0][0].value<std::vector<int>>(), ElementsAre(4, 2));
}

TEST_F(Form, AsksWhatIfOfATrace) {
  ExploreFacts facts = exploration_.facts();
  facts.kind = ExploreFacts::Kind::kTraces;
  facts.any_minibatch = true;
  show(facts);
  auto* faster = form_.findChild<QLineEdit*>("faster");
  ASSERT_NE(faster, nullptr);
  QTest::keyClicks(faster, "softmax=2, gemm*=1.5, nonsense");
  QTest::keyClick(faster, Qt::Key_Return);
  auto* problems = form_.findChild<QLabel*>("problems");
  EXPECT_TRUE(form_.settings().scale.empty());
  EXPECT_THAT(problems->text().toStdString(), HasSubstr("faster</b>: names and factors are given as"));
  for (int i = 0; i < QString(", nonsense").size(); ++i) QTest::keyClick(faster, Qt::Key_Backspace);
  QTest::keyClick(faster, Qt::Key_Return);
  EXPECT_FALSE(problems->isVisible());
  EXPECT_THAT(form_.settings().scale,
              ElementsAre(std::pair<std::string, double>("softmax", 2), std::pair<std::string, double>("gemm*", 1.5)));
  auto* fuse = form_.findChild<QComboBox*>("fuse");
  fuse->setFocus();
  QTest::keyClick(fuse, Qt::Key_End);
  EXPECT_EQ(form_.settings().fuse, FuseChoice::kNamed);
  EXPECT_TRUE(form_.findChild<QLineEdit*>("fused")->isVisible());
  EXPECT_EQ(form_.settings().minibatch, std::nullopt);
  form_.findChild<QCheckBox*>("other minibatch")->setChecked(true);
  type("minibatch", "32");
  EXPECT_EQ(form_.settings().minibatch, std::optional<std::int64_t>(32));
  EXPECT_EQ(form_.settings().recorded_minibatch, std::nullopt) << "nobody has said";
  type("recorded minibatch", "16");
  EXPECT_EQ(form_.settings().recorded_minibatch, std::optional(16));
  form_.findChild<QCheckBox*>("other minibatch")->setChecked(false);
  EXPECT_EQ(form_.settings().recorded_minibatch, std::nullopt);
  form_.findChild<QCheckBox*>("other minibatch")->setChecked(true);
  EXPECT_EQ(form_.settings().recorded_minibatch, std::optional(16));
}

TEST_F(Form, SaysWhatIsWrong) {
  form_.show_problems({{"launch_threads", "each launches one stream or more"}});
  auto* problems = form_.findChild<QLabel*>("problems");
  EXPECT_TRUE(problems->isVisible());
  EXPECT_THAT(problems->text().toStdString(), HasSubstr("launch threads</b>: each launches one stream or more"));
  form_.show_problems({});
  EXPECT_FALSE(problems->isVisible());
}

}  // namespace
}  // namespace cohort
