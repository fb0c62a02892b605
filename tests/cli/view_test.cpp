#include <gmock/gmock.h>

#include <filesystem>

#include "program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

/// The program where no viewer is beside it, and one on the PATH that writes down what it is given.
class View : public ProgramTest {
 protected:
  View() {
    std::filesystem::create_directory(path("bin"));
    std::filesystem::copy_file(COHORT_PROGRAM, path("bin/cohort"));
  }

  void write_viewer(const std::string& name, const std::string& script) {
    write(name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
  }

  Outcome view(const std::string& environment, const std::string& words) {
    return execute({"/bin/sh", "-c",
                    "unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM; " + environment + " " +
                        path("bin/cohort").string() + " view " + words});
  }
};

TEST_F(View, SaysHowToGetTheViewerWhereItIsMissing) {
  const Outcome outcome = view("DISPLAY=:0 PATH=/nowhere", "a.json");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("install qt6-base-dev"));
}

TEST_F(View, SaysThatThereIsNoDisplay) {
  write_viewer("bin/cohort-viewer", "exit 0");
  const Outcome outcome = view("", "a.json");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("no display"));
}

TEST_F(View, StartsTheViewerBesideItWithTheFiles) {
  write_viewer("bin/cohort-viewer", "echo \"$@\"");
  const Outcome outcome = view("DISPLAY=:0", "a.json 'b c.json'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "-- a.json b c.json\n");
}

TEST_F(View, TakesTheViewerOnThePathAndPassesItsExitCodeOn) {
  std::filesystem::create_directory(path("elsewhere"));
  write_viewer("elsewhere/cohort-viewer", "exit 3");
  const Outcome outcome = view("DISPLAY=:0 PATH=/nowhere:" + path("elsewhere").string(), "a.json");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("exit code 3"));
}

}  // namespace
}  // namespace cohort
