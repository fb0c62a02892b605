#include "cli/child_program.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "cli/interrupt.hpp"

namespace cohort {
namespace {

TEST(ChildProgram, PassesItsExitCodeOn) {
  const auto end = run_child({"sh", "-c", "exit 37"}, {});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->exit_code, 37);
  EXPECT_EQ(end->signal, 0);
  EXPECT_GT(end->wall.count(), 0);
}

TEST(ChildProgram, TellsTheSignalThatEndedItAsAShellDoes) {
  const auto end = run_child({"sh", "-c", "kill -TERM $$"}, {});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM);
  EXPECT_EQ(end->exit_code, 128 + SIGTERM);
}

TEST(ChildProgram, HasTheGivenEnvironmentInPlaceOfTheOld) {
  ::setenv("COHORT_CHILD_TEST", "old", 1);
  const std::string check = "test \"$COHORT_CHILD_TEST\" = new && test -n \"$PATH\"";
  const auto end = run_child({"sh", "-c", check}, {{"COHORT_CHILD_TEST", "new"}});
  ::unsetenv("COHORT_CHILD_TEST");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0);
}

TEST(ChildProgramDeathTest, IsToldOfSignalsThatATerminalDoesNotSendIt) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer holds signals back until waitid() returns";
#endif
  const auto run = [](const std::string& signal) {
    std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
    cancel_on_interrupt();
    // It sends the signal to its parent, which alone gets it.
    const std::string script =
        "trap 'kill $!; exit 7' TERM " + signal + "; sleep 60 >/dev/null 2>&1 & kill -" + signal + " $PPID; wait";
    const auto end = run_child({"sh", "-c", script}, {});
    std::exit(end ? end->exit_code : 1);
  };
  for (const char* signal : {"TERM", "HUP"}) EXPECT_EXIT(run(signal), ::testing::ExitedWithCode(7), "");
}

TEST(ChildProgram, ThatDoesNotStartIsNamed) {
  const auto end = run_child({"cohort-no-such-program"}, {});
  ASSERT_FALSE(end);
  EXPECT_NE(end.error().message.find("cohort-no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace cohort
