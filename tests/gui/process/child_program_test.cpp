#include "gui/process/child_program.hpp"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <csignal>

#include "gui/process/device_list.hpp"
#include "gui/process/progress_panel.hpp"
#include "tests/gui/fake_program.hpp"

namespace cohort {
namespace {

/// A child and what it told.
struct Child {
  ChildProgram program;
  QStringList said;
  std::vector<ChildProgress> progress;
  std::optional<ChildOutcome> outcome;

  Child() {
    QObject::connect(&program, &ChildProgram::said, &program, [this](const QString& line) { said += line; });
    QObject::connect(&program, &ChildProgram::progressed, &program,
                     [this](const ChildProgress& one) { progress.push_back(one); });
    QObject::connect(&program, &ChildProgram::finished, &program, [this](const ChildOutcome& end) { outcome = end; });
  }

  ChildOutcome run(const QByteArray& script) {
    const FakeProgram fake(script);
    program.start(fake.program(), {});
    EXPECT_TRUE(QTest::qWaitFor([this] { return outcome.has_value(); }, 20000));
    return outcome.value_or(ChildOutcome{});
  }
};

TEST(ChildProgress, IsReadOffALineOfJson) {
  const auto progress = child_progress_from(R"({"progress":"simulated 3 of at most 50 plans"})");
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->text, "simulated 3 of at most 50 plans");
  EXPECT_EQ(progress->part, std::make_pair(3, 50));
  EXPECT_FALSE(child_progress_from(R"({"progress":"loading"})")->part);
  EXPECT_FALSE(child_progress_from(R"({"progress":"9 of 3"})")->part);
  EXPECT_EQ(child_progress_from(R"({"progress":"profiling fc1 (1 of 3 ops); 7 s left at most"})")->seconds_left, 7);
  EXPECT_FALSE(child_progress_from("wrote mlp.trace.json.gz"));
  EXPECT_FALSE(child_progress_from(R"({"other":1})"));
}

TEST(ChildProgram, TellsNotesProgressAndOutputApart) {
  Child child;
  const ChildOutcome end = child.run(
      "echo result\n"
      "echo '{\"progress\":\"1 of 2 images\"}' >&2\n"
      "printf 'a note\\nno line end' >&2\n");
  EXPECT_TRUE(end.done());
  EXPECT_EQ(end.output, "result\n");
  EXPECT_EQ(end.message, "");
  EXPECT_EQ(child.said, QStringList({"a note", "no line end"}));
  ASSERT_EQ(child.progress.size(), 1U);
  EXPECT_EQ(child.progress.front().part, std::make_pair(1, 2));
}

TEST(ChildProgram, GivesTheProgramsOwnErrorAsTheMessage) {
  Child child;
  const ChildOutcome end = child.run("echo loading >&2; echo 'cohort: mlp.json: no such file' >&2; exit 3");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_FALSE(end.cancelled);
  EXPECT_EQ(end.message, "mlp.json: no such file");
}

TEST(ChildProgram, GivesExitCodeAndLastLineWhereThereIsNoError) {
  Child child;
  EXPECT_EQ(child.run("echo so much >&2; exit 9").message, "cohort ended with exit code 9: so much");
}

TEST(ChildProgram, SaysWhichSignalEndedIt) {
  Child child;
  const ChildOutcome end = child.run("kill -SEGV $$");
  EXPECT_EQ(end.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(end.message, QStringLiteral("cohort was ended by signal %1").arg(SIGSEGV));
}

TEST(ChildProgram, SaysThatItDoesNotStart) {
  Child child;
  child.program.start(QStringLiteral("/nowhere/cohort"), {});
  ASSERT_TRUE(QTest::qWaitFor([&] { return child.outcome.has_value(); }));
  EXPECT_EQ(child.outcome->exit_code, 127);
  EXPECT_TRUE(child.outcome->message.startsWith("/nowhere/cohort does not start"));
}

TEST(ChildProgram, IsAskedToStopAsByCtrlC) {
  Child child;
  const FakeProgram fake("trap 'echo tidied >&2; exit 130' INT\necho ready >&2\nwhile :; do sleep 0.05; done\n");
  child.program.start(fake.program(), {});
  ASSERT_TRUE(QTest::qWaitFor([&] { return child.said.contains(QStringLiteral("ready")); }));
  child.program.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return child.outcome.has_value(); }));
  EXPECT_TRUE(child.outcome->cancelled);
  EXPECT_EQ(child.outcome->exit_code, 130);
  EXPECT_TRUE(child.said.contains(QStringLiteral("tidied")));
}

TEST(ChildProgram, IsKilledWhereItDoesNotListen) {
  Child child;
  child.program.set_patience(std::chrono::milliseconds(50));
  const FakeProgram fake("trap '' INT\necho ready >&2\nwhile :; do sleep 0.05; done\n");
  child.program.start(fake.program(), {});
  ASSERT_TRUE(QTest::qWaitFor([&] { return child.said.contains(QStringLiteral("ready")); }));
  child.program.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return child.outcome.has_value(); }));
  EXPECT_TRUE(child.outcome->cancelled);
  EXPECT_EQ(child.outcome->exit_code, 128 + SIGKILL);
}

TEST(ChildProgram, EndsWithItsObject) {
  const FakeProgram fake("echo $$ >&2\nexec sleep 1000\n");
  ::pid_t process = 0;
  {
    Child child;
    child.program.start(fake.program(), {});
    ASSERT_TRUE(QTest::qWaitFor([&] { return !child.said.isEmpty(); }));
    process = child.said.front().toInt();
    ASSERT_EQ(::kill(process, 0), 0);
  }
  EXPECT_EQ(::kill(process, 0), -1);
}

TEST(ChildProgram, IsTheOneTheEnvironmentNamesElseOneThatIsFound) {
  {
    const FakeProgram fake("exit 0");
    EXPECT_EQ(find_cohort(), fake.program());
  }
  const FakeProgram other("exit 0");
  const QByteArray path = qgetenv("PATH");
  qunsetenv("COHORT_PROGRAM");
  qputenv("PATH", other.folder().toLocal8Bit());
  const auto found = find_cohort();  // beside this test where that was built, too
  qputenv("PATH", path);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->endsWith(QStringLiteral("/cohort")));
}

TEST(ProgressPanel, ShowsHowFarItIsAndCancels) {
  ChildProgram program;
  ProgressPanel panel(program);
  std::optional<ChildOutcome> outcome;
  QObject::connect(&program, &ChildProgram::finished, &panel, [&](const ChildOutcome& end) { outcome = end; });
  const FakeProgram fake(
      "echo note >&2\necho '{\"progress\":\"2 of 5 ops\"}' >&2\ntrap 'exit 130' INT\nwhile :; do sleep 0.05; done\n");
  EXPECT_TRUE(panel.isHidden());
  panel.begin(QStringLiteral("cohort profile mlp"));
  panel.show();
  program.start(fake.program(), {});
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.text() == QStringLiteral("2 of 5 ops"); }));
  EXPECT_EQ(panel.log(), "$ cohort profile mlp\nnote");
  QTest::mouseClick(panel.findChild<QPushButton*>(QStringLiteral("cancel")), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return outcome.has_value(); }));
  EXPECT_TRUE(outcome->cancelled);
}

TEST(ProgressPanel, FollowsTheTimeThatIsLeft) {
  ChildProgram program;
  ProgressPanel panel(program);
  panel.begin(QStringLiteral("cohort profile mlp"));
  const auto* bar = panel.findChild<QProgressBar*>();
  EXPECT_EQ(bar->maximum(), 0);  // it only says that something goes on
  Q_EMIT program.progressed({QStringLiteral("a (2 of 3 ops); 0 s left"), std::make_pair(2, 3), 0});
  const int almost = bar->value();
  EXPECT_GT(bar->maximum(), 0);
  Q_EMIT program.progressed({QStringLiteral("b (1 of 3 ops); 1000 s left"), std::make_pair(1, 3), 1000});
  EXPECT_GE(bar->value(), almost);  // never back
  Q_EMIT program.progressed({QStringLiteral("3 of 4 blocks"), std::make_pair(3, 4), {}});
  EXPECT_EQ(bar->value(), 3);
  EXPECT_EQ(bar->maximum(), 4);
}

TEST(DeviceList, IsReadOffTheProgramsJson) {
  const auto devices = listed_devices_from(
      R"([{"id":"cpu:0","name":"EPYC","available":true,"reason":""},{"id":"cuda:0","available":false,"reason":"no driver"}])");
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2U);
  EXPECT_EQ(devices->at(0).name, "EPYC");
  EXPECT_FALSE(devices->at(1).available);
  EXPECT_EQ(devices->at(1).reason, "no driver");
  EXPECT_FALSE(listed_devices_from("cohort: no"));
}

}  // namespace
}  // namespace cohort
