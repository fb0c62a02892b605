#include "planning/recorded_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using ::testing::HasSubstr;

ModelSource trained_source() {
  ModelSource source{"mlp", {{"hidden", "8"}}, 4};
  source.training = TrainingSpec{LossKind::kMeanSquaredError, optimizer_from("adamw").value(), true};
  source.training->update.clip = true;
  return source;
}

TEST(RecordedSettings, SayHowAModelIsTrained) {
  for (const bool trains : {false, true}) {
    ModelSource source = trained_source();
    if (!trains) source.training.reset();
    source.strict_nan = trains;
    std::map<std::string, std::string> settings;
    write_source(source, settings);
    EXPECT_EQ(read_source(settings).value(), source);
  }
}

TEST(RecordedSettings, NameWhatIsWrongWithTraining) {
  std::map<std::string, std::string> settings;
  write_source(trained_source(), settings);
  settings["training.optimizer"] = "adagrad";
  EXPECT_THAT(read_source(settings).error().message, HasSubstr("setting training.optimizer: no optimizer is called"));
  settings["training.optimizer"] = "adam";
  settings["training.loss"] = "hinge";
  EXPECT_THAT(read_source(settings).error().message, HasSubstr("setting training.loss: no loss is called \"hinge\""));
}

}  // namespace
}  // namespace cohort
