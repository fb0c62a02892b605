#include <gtest/gtest.h>

#include "training/sweep_planner.hpp"

namespace cohort {
namespace {

TEST(ProfileCommand, NamesTensorsInTheOrderOfTheirPlaces) {
  ModelSource source;
  source.model = "detector.onnx";
  source.arguments = {{"set-input mask", "1"}, {"size", "3"},         {"until all scores", "2"},
                      {"until boxes", "1"},    {"until areas", "10"}, {"from stem 2", "1"},
                      {"from a", "2"}};
  source.minibatch = 4;
  source.training.emplace();
  const std::string command = profile_command_of(source, "cpu:0");
  EXPECT_EQ(command.substr(0, command.find(" --minibatch")),
            "cohort profile detector.onnx --set-input mask=1 --dim size=3 --from 'stem 2' --from a --until boxes "
            "--until 'all scores' --until areas");
}

}  // namespace
}  // namespace cohort
