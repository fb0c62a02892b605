#include <gmock/gmock.h>

#include <sstream>

#include "program.hpp"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Completion : public ProgramTest {
 protected:
  /// What bash offers for the last of the words.
  std::vector<std::string> complete(const std::string& words, const std::string& program = COHORT_PROGRAM) {
    const std::string script = std::string("source ") + COHORT_COMPLETION + "; COMP_WORDS=(" + program + " " + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cohort; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Outcome outcome = execute({"/usr/bin/env", "HOME=" + path("").string(), "/bin/bash", "-c", script});
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
  EXPECT_THAT(complete("''"),
              IsSupersetOf({"profile", "plan", "run", "export", "train", "simulate", "compare", "report", "view",
                            "verify", "models", "dataset", "devices", "trace", "calibrate", "colocate"}));
  EXPECT_THAT(complete("mo"), ElementsAre("models"));
  EXPECT_THAT(complete("trace ''"), ElementsAre("info", "convert", "--help"));
  EXPECT_THAT(complete("dataset s"), ElementsAre("synth"));
}

TEST_F(Completion, OffersTheOptionsThatTheCommandHas) {
  EXPECT_THAT(complete("trace convert -"), IsSupersetOf({"-f", "--force", "--json", "-q", "--quiet", "--help"}));
  EXPECT_THAT(complete("dataset synth d --im"), ElementsAre("--images-per-class"));
  EXPECT_THAT(complete("simulate --interc"), ElementsAre("--interconnect-speed"));
  EXPECT_THAT(complete("plan --random-"), ElementsAre("--random-crop", "--random-flip"));
  EXPECT_THAT(complete("devices --fo"), ElementsAre());
}

TEST_F(Completion, OffersTheValuesThatAnOptionTakes) {
  write("a.json", "");
  std::filesystem::create_directory(path("afolder"));
  EXPECT_THAT(complete("plan --objective ''"), ElementsAre("throughput", "step-time", "p99-latency", "balanced"));
  EXPECT_THAT(complete("plan a.json --input s"), ElementsAre("shared", "separate"));
  EXPECT_THAT(complete("plan --input = se"), ElementsAre("separate")) << "as bash splits --input=se";
  EXPECT_THAT(complete("plan --bad-images = "), ElementsAre("skip", "fatal"));
  EXPECT_THAT(complete("run a.json --precision ''"), ElementsAre("float32", "tf32", "bfloat16", "float16"));
  EXPECT_THAT(complete("simulate a.json --strategy gr"), ElementsAre("grouped_convolution", "grouped_gemm"));
  EXPECT_THAT(complete("simulate a.json --fuse ''"), ElementsAre("none", "auto"));
  EXPECT_THAT(complete("profile lenet5 --device cp"), ElementsAre("cpu", "cpu:0"));
  EXPECT_THAT(complete("profile lenet5 --data ''"), ElementsAre("afolder"));
  EXPECT_THAT(complete("plan --rows ''"), ElementsAre()) << "a number";
  EXPECT_THAT(complete("simulate a.json --models ''"), ElementsAre()) << "numbers";
  EXPECT_THAT(complete("simulate a.json --window ''"), ElementsAre()) << "times";
  EXPECT_THAT(complete("plan --explain a"), ElementsAre("afolder", "a.json")) << "which takes none";
}

TEST_F(Completion, OffersFoldersOnce) {
  std::filesystem::create_directory(path("afolder"));
  std::filesystem::create_directory(path("folder.json"));
  write("a b.txt", "");
  EXPECT_THAT(complete("plan -o ''"), UnorderedElementsAre("afolder", "folder.json", "a b.txt"));
  EXPECT_THAT(complete("run fo"), ElementsAre("folder.json"));
}

TEST_F(Completion, FindsAProgramBelowTheHomeFolder) {
  std::filesystem::create_symlink(COHORT_PROGRAM, path("mine"));
  EXPECT_THAT(complete("plan --obj", "'~/mine'"), ElementsAre("--objective"));
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
