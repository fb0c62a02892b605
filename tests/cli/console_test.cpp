#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Console = ProgramTest;

TEST_F(Console, ReportsAFullDisk) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full";
  Redirection full;
  full.out = "/dev/full";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"models"}, {"devices", "--json"}, {"--help"}}) {
    const Outcome outcome = cohort(words, full);
    EXPECT_EQ(outcome.exit_code, 3) << words.front();
    EXPECT_EQ(outcome.err, "cohort: cannot write to standard output: No space left on device\n");
  }
}

TEST_F(Console, TakesAReaderThatLeavesAsOneThatHasEnough) {
  Redirection closed;
  closed.closed_pipe = true;
  const Outcome outcome = cohort({"models"}, closed);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Console, KeepsResultsOutOfFilesWhenStandardOutputIsClosed) {
  const Outcome outcome =
      execute({"/bin/sh", "-c", std::string("exec ") + COHORT_PROGRAM + " models mlp --json --export m.onnx >&-"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write to standard output"));
  EXPECT_THAT(read("m.onnx"), Not(HasSubstr("\"parameters\"")));
}

TEST_F(Console, ShowsProgressOnATerminalOnly) {
  const int terminal_there = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal_there < 0) GTEST_SKIP() << "no terminal can be made here";
  ::close(terminal_there);
  const std::vector<std::string> words = {"dataset", "synth", "d", "--classes", "1", "--images-per-class", "2", "-f"};
  Redirection terminal;
  terminal.error_terminal = true;
  const Outcome seen = cohort(words, terminal);
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.err, HasSubstr("1 of 2 images"));
  const Outcome unseen = cohort(words);
  EXPECT_THAT(unseen.err, Not(HasSubstr("of 2 images")));
  EXPECT_THAT(unseen.err, HasSubstr("wrote 2 images"));
  std::vector<std::string> quiet = words;
  quiet.emplace_back("-q");
  EXPECT_THAT(cohort(quiet, terminal).err, IsEmpty());
}

TEST_F(Console, GivesProgramsProgressAsLinesOfJson) {
  const Outcome outcome = cohort({"dataset", "synth", "d", "--classes", "1", "--images-per-class", "2", "--progress"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, testing::StartsWith("{\"progress\":\"1 of 2 images\"}\n"));
  EXPECT_THAT(outcome.err, HasSubstr("wrote 2 images"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

TEST_F(Console, IsEitherQuietOrGivesProgress) {
  const Outcome outcome = cohort({"models", "-q", "--progress"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--progress"));
}

}  // namespace
}  // namespace cohort
