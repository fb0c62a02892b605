#include <gmock/gmock.h>

#include <sstream>

#include "program.hpp"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;

class Completion : public ProgramTest {
 protected:
  /// What bash offers for the last of the words.
  std::vector<std::string> complete(const std::string& words) {
    const std::string script = std::string("source ") + COHORT_COMPLETION + "; COMP_WORDS=(" + COHORT_PROGRAM + " " +
                               words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cohort; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Outcome outcome = execute({"/bin/bash", "-c", script});
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> offered;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) offered.push_back(line);
    }
    return offered;
  }

  void SetUp() override {
    if (!std::filesystem::exists("/bin/bash")) GTEST_SKIP() << "no /bin/bash";
  }
};

TEST_F(Completion, OffersEveryCommand) {
  EXPECT_THAT(complete("''"), IsSupersetOf({"profile", "plan", "run", "simulate", "compare", "verify", "models",
                                            "dataset", "devices", "trace", "calibrate"}));
  EXPECT_THAT(complete("mo"), ElementsAre("models"));
  EXPECT_THAT(complete("trace ''"), ElementsAre("info", "convert", "--help"));
  EXPECT_THAT(complete("dataset s"), ElementsAre("synth"));
}

TEST_F(Completion, OffersTheOptionsThatTheCommandHas) {
  EXPECT_THAT(complete("trace convert -"), IsSupersetOf({"-f", "--force", "--json", "-q", "--quiet", "--help"}));
  EXPECT_THAT(complete("dataset synth d --im"), ElementsAre("--images-per-class"));
  EXPECT_THAT(complete("simulate --interc"), ElementsAre("--interconnect-speed"));
  EXPECT_THAT(complete("plan --random-"), ElementsAre("--random-crop", "--random-flip"));
  EXPECT_THAT(complete("devices --f"), ElementsAre());
}

TEST_F(Completion, OffersNetworksAndFilesOfTheKindACommandReads) {
  EXPECT_THAT(complete("models re"), ElementsAre("resnet18", "resnet50"));
  write("a.json", "");
  write("a b.json.gz", "");
  write("a.txt", "");
  std::filesystem::create_directory(path("afolder"));
  EXPECT_THAT(complete("trace info a"), ElementsAre("afolder", "a.json", "a b.json.gz"));
  write("mine.onnx", "");
  EXPECT_THAT(complete("profile m"), ElementsAre("mlp", "mobilenet_v2", "mine.onnx"));
}

}  // namespace
}  // namespace cohort
