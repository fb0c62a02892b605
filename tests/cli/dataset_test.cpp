#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.hpp"
#include "program.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class DatasetSynth : public ProgramTest {
 protected:
  std::vector<std::filesystem::path> images(const std::string& folder) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(folder))) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }
};

TEST_F(DatasetSynth, MakesAFolderAClass) {
  const Outcome outcome = cohort({"dataset", "synth", "d", "--classes", "2", "--images-per-class", "3", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto made = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(made.at("images"), 6);
  EXPECT_EQ(images("d").size(), 6U);
  EXPECT_TRUE(std::filesystem::exists(path("d/class_01/00002.jpg")));
}

TEST_F(DatasetSynth, RefusesAFolderInUseUnasked) {
  std::filesystem::create_directory(path("d"));
  write("d/mine", "x");
  const std::vector<std::string> words = {"dataset", "synth", "d", "--classes", "1", "--images-per-class", "1"};
  const Outcome refused = cohort(words);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(images("d").size(), 1U);
  std::vector<std::string> forced = words;
  forced.emplace_back("-f");
  EXPECT_EQ(cohort(forced).exit_code, 0);
  EXPECT_EQ(read("d/mine"), "x");
}

TEST_F(DatasetSynth, NamesOptionsOutOfRange) {
  for (const auto& [option, value] : {std::pair{"--quality", "101"},
                                      {"--quality", "0"},
                                      {"--classes", "0"},
                                      {"--images-per-class", "1000001"},
                                      {"--long-side", "15"}}) {
    const Outcome outcome = cohort({"dataset", "synth", "d", option, value});
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr(option));
    EXPECT_FALSE(std::filesystem::exists(path("d")));
  }
}

TEST_F(DatasetSynth, LeavesWholeImagesWhenInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string folder = "d" + std::to_string(signal);
    const pid_t process = start({"dataset", "synth", folder, "--images-per-class", "10000"});
    while (!std::filesystem::exists(path(folder + "/class_00/00001.jpg")))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(process, signal);
    EXPECT_EQ(wait_for(process), 130);
    for (const auto& image : images(folder)) {
      EXPECT_EQ(image.extension(), ".jpg");
      EXPECT_THAT(read_file(image).value(), EndsWith("\xff\xd9")) << image;
    }
  }
}

}  // namespace
}  // namespace cohort
