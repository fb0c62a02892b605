#include "gui/run/run_page.hpp"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "tests/gui/fake_program.hpp"
#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

const QByteArray kDevices =
    "if [ $1 = devices ]; then echo '[{\"id\":\"cpu:0\",\"name\":\"EPYC\",\"available\":true},"
    "{\"id\":\"reference:0\",\"name\":\"loops\",\"available\":true}]'; exit; fi\n";
const QByteArray kFigures =
    "echo \"$@\" >&2\n"
    "echo '{\"plan\":{\"median_ns\":15000},\"baseline\":{\"median_ns\":90000},\"measured_speedup\":6.0,"
    "\"samples_per_step\":64}'\n";

class RunPageTest : public ::testing::Test {
 protected:
  void show(RunPage& page) {
    page.resize(1000, 700);
    page.show();
    ASSERT_TRUE(QTest::qWaitFor([&] { return page.settled(); }));
    QObject::connect(&page, &Page::requested, &page, [this](const PageRequest& asked) { request = asked; });
  }

  OpenFile plan_file(const QString& name, int streams = 1) {
    Plan plan = small_plan();
    plan.streams = streams;
    OpenFile file;
    file.path = folder.write(name, plan);
    file.plan = std::make_shared<const Plan>(plan);
    return file;
  }

  OpenFile predicted_file(const QString& name, const Plan& plan) {
    Trace trace = small_trace(1, TraceKind::kPredicted);
    trace.info.plan = write_plan(plan);
    OpenFile file;
    file.path = folder.write(name, trace);
    file.trace = std::make_shared<const Trace>(trace);
    return file;
  }

  template <class T>
  static T* child(const QWidget& page, const char* name) {
    return page.findChild<T*>(QLatin1String(name));
  }

  FileFolder folder;
  std::optional<PageRequest> request;
};

TEST_F(RunPageTest, WaitsForAPlanAndSaysSo) {
  const FakeProgram fake(kDevices);
  RunPage page;
  EXPECT_FALSE(page.state().enabled);
  EXPECT_TRUE(page.state().next.contains("plan"));
  page.set_files({plan_file("a.plan.json")});
  EXPECT_TRUE(page.state().enabled);
}

TEST_F(RunPageTest, RunsThePlanThatIsAskedForAndOpensTheComparison) {
  const FakeProgram fake(kDevices + kFigures);
  RunPage page;
  show(page);
  const OpenFile a = plan_file("a.plan.json");
  const OpenFile b = plan_file("b.plan.json", 2);
  const OpenFile predicted = predicted_file("other.json.gz", *b.plan);
  page.set_files({a, predicted, b});
  page.show_files({b.path});
  EXPECT_EQ(child<QComboBox>(page, "plan")->currentData().toString(), b.path);
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  EXPECT_FALSE(page.settled());
  ASSERT_TRUE(QTest::qWaitFor([&] { return request.has_value(); }));
  EXPECT_EQ(request->page, PageId::kCompare);
  EXPECT_EQ(request->files, QStringList({predicted.path, folder.path("b.measured.json.gz")}));
  EXPECT_EQ(child<QLabel>(page, "figure")->text(), QStringLiteral("6.00× measured"));
  EXPECT_TRUE(child<QPushButton>(page, "compare")->isVisible());
}

TEST_F(RunPageTest, ShowsTheTimelineWhereNothingWasPredicted) {
  const FakeProgram fake(kDevices + kFigures);
  RunPage page;
  show(page);
  page.set_files({plan_file("a.plan.json")});
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return request.has_value(); }));
  EXPECT_EQ(request->page, PageId::kTimeline);
}

TEST_F(RunPageTest, TakesThePredictionBesideThePlan) {
  const OpenFile plan = plan_file("a.plan.json");
  EXPECT_EQ(predicted_trace_of(plan, {}), QString());
  const OpenFile beside = predicted_file("a.predicted.json.gz", *plan.plan);
  EXPECT_EQ(predicted_trace_of(plan, {}), beside.path);
}

TEST_F(RunPageTest, RunsOnAnotherDeviceThanThePlans) {
  const FakeProgram fake(kDevices + "echo \"cohort: $*\" >&2; exit 4\n");
  RunPage page;
  show(page);
  page.set_files({plan_file("a.plan.json")});
  child<QComboBox>(page, "device")->setCurrentIndex(1);
  page.start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.settled(); }));
  const QString trouble = child<QLabel>(page, "bad")->text();
  EXPECT_TRUE(trouble.contains("--device reference:0")) << trouble.toStdString();
  EXPECT_FALSE(request);
}

TEST_F(RunPageTest, SaysWhyARunFailedAndRunsAgain) {
  const FakeProgram fake(kDevices + "echo 'cohort: conv1 does not fit' >&2; exit 5\n");
  RunPage page;
  show(page);
  page.set_files({plan_file("a.plan.json")});
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.settled(); }));
  EXPECT_EQ(child<QLabel>(page, "bad")->text(), "conv1 does not fit");
  EXPECT_FALSE(request);
  EXPECT_TRUE(child<QPushButton>(page, "start")->isEnabled());
}

TEST_F(RunPageTest, ShowsWhatARunMeasuredThatWasCancelledTooLate) {
  const FakeProgram fake(kDevices + "trap '' INT; echo started >&2; sleep 1\n" + kFigures);
  RunPage page;
  show(page);
  page.set_files({plan_file("a.plan.json")});
  QTest::mouseClick(child<QPushButton>(page, "start"), Qt::LeftButton);
  auto* log = page.findChild<QPlainTextEdit*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return log->toPlainText().contains("started"); }));
  QTest::mouseClick(child<QPushButton>(page, "cancel"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.settled(); }));
  EXPECT_TRUE(child<QPushButton>(page, "compare")->isVisible()) << "the measured trace was written";
  EXPECT_FALSE(request) << "who cancels wants to stay here";
}

TEST(RunFigures, AreReadOffTheProgramsJson) {
  const auto figures = run_figures_from(
      R"({"plan":{"median_ns":15000},"baseline":{"median_ns":90000},"measured_speedup":6.0,"samples_per_step":64})");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->plan, Nanoseconds(15000));
  EXPECT_EQ(figures->speedup, 6.0);
  EXPECT_EQ(figures->samples_per_step, 64);
  EXPECT_FALSE(run_figures_from("{}"));
}

TEST(PlanSummary, SaysWhatAPlanDoes) {
  EXPECT_EQ(summary_of(small_plan()), QStringLiteral("1 × mlp on cpu:0, 1 stream: serial (all other ops)"));
}

}  // namespace
}  // namespace cohort
