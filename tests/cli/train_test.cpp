#include <gmock/gmock.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/random.hpp"
#include "executor/input/npy.hpp"
#include "program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Train : public ProgramTest {
 protected:
  Train() {
    Random random(5);
    std::vector<float> values;
    std::vector<float> labels;
    for (int i = 0; i < 200; ++i) {
      for (int k = 0; k < 4; ++k) values.push_back((k == i % 4 ? 2.0F : 0.0F) + random.uniform(-1, 1));
      labels.push_back(static_cast<float>(i % 4));
    }
    write("x.npy", encode_npy(std::vector<std::int64_t>{200, 4}, values));
    write("y.npy", encode_npy(std::vector<std::int64_t>{200}, labels));
  }

  void write_sweep(const std::string& name, int epochs) const {
    write(name, fmt::format("model = \"mlp\"\nminibatch = 8\nepochs = {}\noptimizer = \"adam\"\ncheckpoint_every = 1\n"
                            "[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n"
                            "[space]\nlearning_rate = [0.01, 0.003, 0.001]\narguments.hidden = [8, 12]\n"
                            "[halving]\nevery = {}\nkeep = 0.5\n",
                            epochs, epochs / 2));
  }
  /// Results, models and states of a folder, without what is told of time and what a killed process had not finished
  /// writing.
  std::map<std::string, std::string> left_in(const std::string& folder) const {
    std::map<std::string, std::string> left;
    for (const auto& [file, content] : contents()) {
      const bool compares = !file.ends_with("results.json") && file.find("/.") == std::string::npos;
      if (file.starts_with(folder + "/") && compares) left[file.substr(folder.size())] = content;
    }
    return left;
  }
};

TEST_F(Train, RanksItsMembersAndWritesThemDown) {
  write_sweep("sweep.toml", 4);
  const Outcome outcome = cohort({"train", "sweep.toml"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("hyperparameters"));
  EXPECT_THAT(outcome.out, HasSubstr("dropped"));
  EXPECT_THAT(outcome.out, HasSubstr("samples/s over all members"));
  EXPECT_THAT(
      read("sweep.train/results.csv"),
      StartsWith("member,rank,outcome,epochs,steps,learning_rate,arguments.hidden,train_loss,loss,accuracy,reason\n"
                 "m00,"));
  const auto results = nlohmann::json::parse(read("sweep.train/results.json"));
  EXPECT_EQ(results.at("members").size(), 6U);
  EXPECT_EQ(results.at("members")[0].at("hyperparameters").at("learning_rate"), 0.01);
  EXPECT_GT(results.at("run").at("samples_per_second"), 0);
  EXPECT_EQ(read("sweep.train/sweep.toml"), read("sweep.toml"));

  const Outcome again = cohort({"train", "sweep.toml"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("sweep.train holds a sweep already; --resume goes on with it, -f begins anew"));
  // As a program leaves it that is killed between its last checkpoint and the removal of the one before.
  std::filesystem::create_directory(path("sweep.train/step-0000000001"));
  write("sweep.train/step-0000000001/m00.state", "old");
  const Outcome finished = cohort({"train", "sweep.toml", "--resume", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(finished.out).at("members"), results.at("members"));
  EXPECT_FALSE(std::filesystem::exists(path("sweep.train/step-0000000001")));
  EXPECT_EQ(cohort({"train", "sweep.toml", "-f"}).exit_code, 0);
}

TEST_F(Train, GoesOnBitForBitAfterBeingKilledAtAnyMoment) {
  write_sweep("sweep.toml", 40);
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "whole"}).exit_code, 0);
  const auto whole = left_in("whole");
  Random random(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  for (int round = 0; round < 3; ++round) {
    const std::string folder = fmt::format("killed-{}", round);
    bool resumes = false;
    int kills = 0;
    while (true) {
      std::vector<std::string> words = {"train", "sweep.toml", "-o", folder};
      if (resumes) words.emplace_back("--resume");
      if (kills == 3) {
        ASSERT_EQ(cohort(words).exit_code, 0);
        break;
      }
      const pid_t process = start(words);
      // The first checkpoint is what there is to go on from.
      while (!std::filesystem::exists(path(folder + "/checkpoint.json")))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(400'000)));
      ::kill(process, SIGKILL);
      const int ended = wait_for(process);
      resumes = true;
      ++kills;
      ASSERT_TRUE(ended == -SIGKILL || ended == 0) << ended;
    }
    auto left = left_in(folder);
    // Temporaries that a killed program cannot remove.
    for (auto file = left.begin(); file != left.end();)
      file = file->first.find("/.") != std::string::npos ? left.erase(file) : std::next(file);
    EXPECT_EQ(left, whole);
  }
}

TEST_F(Train, ChecksPointsAndStopsOnCtrlC) {
  write_sweep("sweep.toml", 100000);
  const Outcome outcome = signal_at("training epoch", SIGINT, {"train", "sweep.toml", "-o", "out"});
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("cohort train sweep.toml -o out --resume goes on"));
  EXPECT_TRUE(std::filesystem::exists(path("out/checkpoint.json")));
  EXPECT_TRUE(std::filesystem::exists(path("out/results.csv")));
}

TEST_F(Train, SaysWhatItWouldDo) {
  write_sweep("sweep.toml", 4);
  const Outcome outcome = cohort({"train", "sweep.toml", "--dry-run"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("6 members, 80 steps of 8 samples each, 20 an epoch"));
  EXPECT_THAT(outcome.out, HasSubstr("from epoch 3: 3 members"));
  EXPECT_THAT(outcome.out, HasSubstr("optimizer "));
  EXPECT_THAT(outcome.out, HasSubstr("cohort profile mlp --set classes=4 --set hidden=8 --set inputs=4 --minibatch 8 "
                                     "--train adam"));
  EXPECT_FALSE(std::filesystem::exists(path("sweep.train")));
  const Outcome document = cohort({"train", "sweep.toml", "--dry-run", "--json"});
  EXPECT_EQ(nlohmann::json::parse(document.out).at("rungs").size(), 2U);
}

TEST_F(Train, PlansByProfilesThatItMakes) {
  write("sweep.toml",
        "model = \"mlp\"\nminibatch = 8\nepochs = 2\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n"
        "[space]\nlearning_rate = [0.1, 0.01, 0.001, 0.0001]\narguments.hidden = 8\n");
  const Outcome dry = cohort({"train", "sweep.toml", "--dry-run", "--make-profiles", "-o", "out"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("predicted: "));
  EXPECT_THAT(dry.out, HasSubstr("training steps"));
  const Outcome told = cohort(
      {"train", "sweep.toml", "--dry-run", "--json", "-o", "out", "--profile", "out/profiles/mlp-1.trace.json.gz"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const auto forecast = nlohmann::json::parse(told.out);
  for (const auto& [way, total] : {std::pair("together", "predicted_ns"), std::pair("one_by_one", "one_by_one_ns")}) {
    std::int64_t sum = 0;
    for (const auto& [part, time] : forecast.at("parts").at(way).items()) {
      EXPECT_GT(time, 0) << way << " " << part;
      sum += time.get<std::int64_t>();
    }
    EXPECT_EQ(sum, forecast.at(total)) << way;
  }
  EXPECT_FALSE(std::filesystem::exists(path("out/forecast"))) << "what was tried is gone again";
  const Outcome outcome = cohort({"train", "sweep.toml", "-o", "out", "--profile", "out/profiles/mlp-1.trace.json.gz"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(read("out/results.json")).at("members")[0].at("outcome"), "finished");
  const Outcome wrong = cohort({"train", "sweep.toml", "-o", "out", "--profile", "out/results.json", "-f"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("out/checkpoint.json"))) << "nothing is lost to what is wrong";
  const Outcome again =
      cohort({"train", "sweep.toml", "-o", "out", "--profile", "out/profiles/mlp-1.trace.json.gz", "-f"});
  EXPECT_EQ(again.exit_code, 0) << again.err << "though -f removes it";
}

TEST_F(Train, ProfilesAStepWithOpsBesideEachOther) {
  const Outcome outcome = cohort({"profile", "mlp", "--set", "inputs=8", "--set", "hidden=8", "--train", "momentum",
                                  "--minibatch", "2", "--beside", "--budget", "0.3", "-o", "step.trace.json.gz"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome info = cohort({"trace", "info", "step.trace.json.gz", "--json"});
  EXPECT_THAT(info.out, HasSubstr("ops beside others")) << "parts of the state are no ops to time";
}

TEST_F(Train, NamesWhatIsWrong) {
  write("bad.toml",
        "model = \"mlp\"\nepochs = 2\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\nlearning_rate = nan\n");
  const Outcome rate = cohort({"train", "bad.toml"});
  EXPECT_EQ(rate.exit_code, 3);
  EXPECT_EQ(rate.err, "cohort: bad.toml:7: space.learning_rate must be a number above 0, not nan\n");
  write("few.toml",
        "model = \"mlp\"\nepochs = 2\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\narguments.classes = 2\n");
  const Outcome few = cohort({"train", "few.toml"});
  EXPECT_EQ(few.exit_code, 3);
  EXPECT_THAT(few.err, HasSubstr("does not fit the output of mlp, 2 classes: 0 to 1"));
  EXPECT_THAT(cohort({"train", "none.toml"}).err, HasSubstr("cannot read none.toml"));
  EXPECT_FALSE(std::filesystem::exists(path("bad.train")));
}

TEST_F(Train, LeavesNoNetworksOfTheSweepBefore) {
  write_sweep("sweep.toml", 2);
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "out"}).exit_code, 0);
  write("out/models/mine.onnx", "kept");
  EXPECT_TRUE(std::filesystem::exists(path("out/models/m05.onnx")));
  write("one.toml",
        "model = \"mlp\"\nepochs = 1\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\nlearning_rate = 0.1\n");
  ASSERT_EQ(cohort({"train", "one.toml", "-o", "out", "-f"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("out/models/m00.onnx")));
  EXPECT_FALSE(std::filesystem::exists(path("out/models/m05.onnx")));
  EXPECT_EQ(read("out/models/mine.onnx"), "kept");
}

TEST_F(Train, KeepsTheCheckpointBeforeOnAFullDisk) {
  write_sweep("sweep.toml", 4);
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "out"}).exit_code, 0);
  const auto before = left_in("out");
  const Outcome full = cohort_on_full_disk(600, {"train", "sweep.toml", "-o", "full"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.err, HasSubstr("cannot write full/"));
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "full", "-f"}).exit_code, 0);
  EXPECT_EQ(left_in("full"), before);
}

/// States grow with every epoch that they tell of. Files may become as large as the larger member's was in an early
/// checkpoint: of a later one the smaller member is written, and the larger one is not.
TEST_F(Train, KeepsTheCheckpointBeforeWhereALaterOneEndsInTheMiddle) {
  write("sweep.toml",
        "model = \"mlp\"\nminibatch = 8\nepochs = 60\ncheckpoint_every = 1\n[data]\ntrain = \"x.npy\"\n"
        "labels = \"y.npy\"\n[space]\nlearning_rate = 0.01\narguments.hidden = [64, 80]\n");
  const pid_t process = start({"train", "sweep.toml", "-o", "begun"});
  while (!std::filesystem::exists(path("begun/checkpoint.json")))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(process, SIGKILL);
  ASSERT_EQ(wait_for(process), -SIGKILL);
  const auto folder = nlohmann::json::parse(read("begun/checkpoint.json")).at("folder").get<std::string>();
  const std::size_t most = read("begun/" + folder + "/m01.state").size();

  const Outcome full = cohort_on_full_disk(most, {"train", "sweep.toml", "-o", "full"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.err, HasSubstr("m01.state"));
  EXPECT_THAT(full.err, HasSubstr("the checkpoint before is whole: make room, then --resume goes on from it"));
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "full", "--resume"}).exit_code, 0);
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "begun", "--resume"}).exit_code, 0);
  ASSERT_EQ(cohort({"train", "sweep.toml", "-o", "whole"}).exit_code, 0);
  EXPECT_EQ(left_in("full"), left_in("whole"));
  EXPECT_EQ(left_in("begun"), left_in("whole"));
}

}  // namespace
}  // namespace cohort
