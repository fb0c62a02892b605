#include "training/trainer.hpp"

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cmath>

#include "base/file.hpp"
#include "devices/devices.hpp"
#include "executor/input/npy.hpp"
#include "executor/input/synth.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/tensor_layout.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/sweeps.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(Sweeps, LearnAndLeaveResultsAndModels) {
  const std::string text = head() + "learning_rate = [0.1, 0.01]\nseed = [0, 1]\n";
  PreparedSweep prepared = prepare(text).value();
  const auto trained = train(prepared, text, "out");
  ASSERT_TRUE(trained) << trained.error().message;
  ASSERT_THAT(prepared.members, SizeIs(4));
  for (const SweepMember& member : prepared.members) {
    EXPECT_EQ(member.outcome, MemberOutcome::kFinished);
    ASSERT_THAT(member.epochs, SizeIs(4));
    EXPECT_LT(member.epochs.back().train_loss, member.epochs.front().train_loss);
    EXPECT_EQ(member.steps, 48);
  }
  EXPECT_GT(prepared.members[ranking(prepared.members, Metric::kAccuracy).front()].epochs.back().accuracy, 0.9);
  EXPECT_THAT(left_in("out"), SizeIs(5));
  const auto learned = onnx::read_model(temporary_.path() / "out/models/m00.onnx", {});
  EXPECT_TRUE(learned) << learned.error().message;
}

TEST_F(Sweeps, GoOnBitForBitFromAnyStep) {
  const std::string text = head() + "learning_rate = [0.1, 0.01]\n[halving]\nevery = 2\nkeep = 0.5\n";
  ASSERT_TRUE(train(text, "whole"));
  for (const std::int64_t stop : {1, 12, 17, 30}) {
    const std::string folder = fmt::format("stopped-{}", stop);
    const auto stopped = train(text, folder, false, stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
    const auto resumed = train(text, folder, true);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(left_in(folder), left_in("whole")) << "stopped after step " << stop;
  }
}

TEST_F(Sweeps, GoOnWithTheEvaluationThatCouldNotBeMade) {
  SynthOptions synth;
  synth.classes = 2;
  synth.images_per_class = 8;
  synth.long_side = 32;
  ASSERT_TRUE(write_synth_dataset(temporary_.path() / "images", synth));
  // Members that vary their samples by themselves have minibatches begun that halving makes others of.
  for (const std::string augment : {"shared", "per_member"}) {
    const std::string text =
        "model = \"smallcnn\"\nminibatch = 4\nepochs = 2\noptimizer = \"sgd\"\n"
        "[data]\nfolder = \"images\"\nheld_out = 0.25\nkeep = false\naugment = \"" +
        augment + "\"\n[space]\nlearning_rate = [0.1, 0.01]\n[halving]\nevery = 1\nkeep = 0.5\n";
    ASSERT_TRUE(train(text, "whole-" + augment));
    PreparedSweep prepared = prepare(text).value();
    const std::filesystem::path image = prepared.data.evaluation.images.front();
    const std::filesystem::path hidden = image.string() + ".hidden";
    std::filesystem::rename(image, hidden);
    const auto stopped = train(prepared, text, augment);
    ASSERT_FALSE(stopped);
    EXPECT_THAT(stopped.error().message, HasSubstr(image.string()));
    EXPECT_TRUE(std::filesystem::exists(temporary_.path() / augment / "step-0000000003-unevaluated"));
    std::filesystem::rename(hidden, image);
    const auto resumed = train(text, augment, true);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(left_in(augment), left_in("whole-" + augment));
    EXPECT_FALSE(std::filesystem::exists(temporary_.path() / augment / "step-0000000003-unevaluated"));
  }
}

TEST_F(Sweeps, GoOnWithoutAMemberThatDiverges) {
  const std::string both = head() + "learning_rate = [1e30, 0.05]\n";
  PreparedSweep prepared = prepare(both).value();
  ASSERT_TRUE(train(prepared, both, "both"));
  EXPECT_EQ(prepared.members[0].outcome, MemberOutcome::kDiverged);
  EXPECT_THAT(prepared.members[0].reason, HasSubstr("in epoch 1"));
  EXPECT_THAT(notes_, ::testing::ElementsAre(HasSubstr("m00 diverged: loss")));
  ASSERT_EQ(prepared.members[1].outcome, MemberOutcome::kFinished);
  EXPECT_THAT(left_in("both"), SizeIs(2)) << "of the other there is nothing to keep";
  const std::string alone = head() + "learning_rate = [0.05]\n";
  PreparedSweep one = prepare(alone).value();
  ASSERT_TRUE(train(one, alone, "alone"));
  for (std::size_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_NEAR(prepared.members[1].epochs[epoch].loss, one.members[0].epochs[epoch].loss, 1e-4);
}

TEST_F(Sweeps, LeaveOutAMemberWhoseNetworkCannotBeMade) {
  const std::string text =
      "model = \"mlp\"\nminibatch = 8\nsteps = 3\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n"
      "[space]\narguments.hidden = [8, -1, 16]\n";
  PreparedSweep prepared = prepare(text).value();
  EXPECT_EQ(prepared.members[1].outcome, MemberOutcome::kFailed);
  EXPECT_THAT(prepared.members[1].reason, HasSubstr("hidden"));
  EXPECT_THAT(prepared.training_groups(), SizeIs(2)) << "two widths are two networks";
  const auto trained = train(prepared, text, "out");
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(prepared.members[0].outcome, MemberOutcome::kFinished);
  EXPECT_EQ(prepared.members[2].outcome, MemberOutcome::kFinished);
  EXPECT_EQ(prepared.members[2].steps, 3);
}

TEST_F(Sweeps, HalveWithoutAMemberWhoseNetworkCannotBeMade) {
  const std::string text =
      "model = \"mlp\"\nminibatch = 8\nepochs = 3\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n"
      "[space]\narguments.hidden = [8, -1, 16]\n[halving]\nevery = 1\nkeep = 0.5\n";
  PreparedSweep prepared = prepare(text).value();
  const auto trained = train(prepared, text, "out");
  ASSERT_TRUE(trained) << trained.error().message;
  int dropped = 0;
  for (const SweepMember& member : prepared.members) dropped += member.outcome == MemberOutcome::kDropped ? 1 : 0;
  EXPECT_EQ(dropped, 1);
}

TEST_F(Sweeps, HalveWithoutTouchingThoseThatGoOn) {
  const std::string common = head() + "learning_rate = [0.1, 0.05, 0.001, 0.0001]\n";
  const std::string halved = common + "[halving]\nevery = 1\nkeep = 0.5\nat_least = 2\n";
  PreparedSweep whole = prepare(common).value();
  ASSERT_TRUE(train(whole, common, "whole"));
  PreparedSweep prepared = prepare(halved).value();
  ASSERT_TRUE(train(prepared, halved, "halved"));
  int finished = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const SweepMember& member = prepared.members[i];
    if (member.outcome == MemberOutcome::kDropped) {
      EXPECT_THAT(member.epochs, SizeIs(1));
      EXPECT_THAT(member.reason, HasSubstr("after epoch 1"));
      continue;
    }
    ++finished;
    EXPECT_NEAR(member.epochs.back().loss, whole.members[i].epochs.back().loss, 1e-4);
  }
  EXPECT_EQ(finished, 2);
}

TEST_F(Sweeps, TrainNetworksOfSeveralWidthsAsIfEachWereAlone) {
  // Model batches of several networks take stretches of steps in turn.
  const std::string common =
      "model = \"mlp\"\nminibatch = 4\nepochs = 3\noptimizer = \"momentum\"\ncheckpoint_every = 1\n"
      "[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\nlearning_rate = [0.1, 0.01]\n";
  const std::string both = common + "arguments.hidden = [8, 12]\n";
  const std::string one = common + "arguments.hidden = [12]\n";
  PreparedSweep together = prepare(both).value();
  ASSERT_TRUE(train(together, both, "together"));
  PreparedSweep alone = prepare(one).value();
  ASSERT_TRUE(train(alone, one, "alone"));
  ASSERT_THAT(together.members, SizeIs(4));
  for (const SweepMember& member : alone.members) {
    const auto same = std::find_if(together.members.begin(), together.members.end(), [&](const SweepMember& other) {
      return other.source == member.source &&
             other.hyperparameters.learning_rate == member.hyperparameters.learning_rate;
    });
    ASSERT_NE(same, together.members.end());
    EXPECT_EQ(same->epochs, member.epochs);
    EXPECT_EQ(same->steps, member.steps);
  }
  ASSERT_FALSE(train(both, "stopped", false, 31));
  ASSERT_TRUE(train(both, "stopped", true));
  EXPECT_EQ(left_in("stopped"), left_in("together"));
}

/// At each step the class is what the step before was: what a recurrent network has to remember.
TEST_F(Sweeps, TrainRecurrentNetworksOnSequences) {
  Random random(9);
  std::vector<float> values;
  std::vector<float> labels;
  constexpr std::int64_t kSteps = 6;
  for (int i = 0; i < 150; ++i) {
    float last = 0;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const bool set = random.below(2) == 1;
      values.push_back(set ? 1.0F : -1.0F);
      values.push_back(random.uniform(-0.1F, 0.1F));
      labels.push_back(last);
      last = set ? 1.0F : 0.0F;
    }
  }
  temporary_.write("s.npy", encode_npy(std::vector<std::int64_t>{150, kSteps, 2}, values));
  temporary_.write("l.npy", encode_npy(std::vector<std::int64_t>{150, kSteps}, labels));
  for (const std::string network : {"lstm", "gru"}) {
    SCOPED_TRACE(network);
    // As many samples a step as steps a sequence: which axis is which has to be told from the network.
    const std::string text = "model = \"" + network +
                             "\"\nminibatch = 6\nepochs = 8\noptimizer = \"adam\"\n[data]\ntrain = \"s.npy\"\n"
                             "labels = \"l.npy\"\n[space]\narguments.hidden = 8\nlearning_rate = [0.02, 0.01]\n";
    auto prepared = prepare(text);
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_EQ(prepared->ends.rows, kSteps);
    const auto trained = train(*prepared, text, network);
    ASSERT_TRUE(trained) << trained.error().message;
    for (const SweepMember& member : prepared->members) EXPECT_GT(member.epochs.back().accuracy, 0.95);
  }
}

TEST_F(Sweeps, DivergeWithWeightsThatAreNoNumbers) {
  const std::string text =
      "model = \"mlp\"\nminibatch = 8\nepochs = 2\noptimizer = \"momentum\"\n[data]\ntrain = \"x.npy\"\n"
      "labels = \"y.npy\"\n[space]\nlearning_rate = 1e18\narguments.hidden = 8\narguments.layers = 4\n";
  PreparedSweep prepared = prepare(text).value();
  ASSERT_TRUE(train(prepared, text, "out"));
  const SweepMember& member = prepared.members.front();
  EXPECT_EQ(member.outcome, MemberOutcome::kDiverged) << "ReLUs hide it from the loss";
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "out/models/m00.onnx"));
}

TEST_F(Sweeps, VaryWidthsWithClipAndAdamW) {
  const std::string text =
      "model = \"mlp\"\nminibatch = 8\nepochs = 2\noptimizer = \"adamw\"\n[data]\ntrain = \"x.npy\"\nlabels = "
      "\"y.npy\"\n"
      "[space]\nlearning_rate = 0.01\nweight_decay = [0, 0.1]\nclip = 1.0\nschedule = \"cosine\"\nwarmup = 0.5\n";
  PreparedSweep prepared = prepare(text).value();
  const auto trained = train(prepared, text, "out");
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_NE(prepared.members[0].epochs.back().loss, prepared.members[1].epochs.back().loss);
}

TEST_F(Sweeps, RefuseACheckpointOfSomethingElse) {
  const std::string text = head() + "learning_rate = 0.1\n";
  ASSERT_FALSE(train(text, "out", false, 3));
  const std::string other = text + "weight_decay = 0.1\n";
  EXPECT_THAT(train(other, "out", true).error().message, HasSubstr("was made by another sweep file"));
  EXPECT_THAT(train(text, "none", true).error().message, HasSubstr("there is no checkpoint in"));

  const auto state = temporary_.path() / "out/step-0000000003/m00.state";
  const std::string bytes = read_file(state).value();
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  temporary_.write("out/step-0000000003/m00.state", damaged);
  EXPECT_THAT(train(text, "out", true).error().message, HasSubstr("m00.state: is cut off or damaged"));
  temporary_.write("out/step-0000000003/m00.state", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(train(text, "out", true).error().message, HasSubstr("m00.state: is cut off or damaged"));
  temporary_.write("out/step-0000000003/m00.state", bytes);
  EXPECT_TRUE(train(text, "out", true));
}

TEST_F(Sweeps, RefuseACheckpointOfOtherData) {
  const std::string text = head() + "learning_rate = 0.1\n";
  ASSERT_FALSE(train(text, "out", false, 3));
  const auto refused = [&](const auto& change) {
    PreparedSweep prepared = prepare(text).value();
    change(prepared.data);
    const auto resumed = train(prepared, text, "out", true);
    EXPECT_FALSE(resumed);
    return resumed ? "" : resumed.error().message;
  };
  const auto other = HasSubstr("checkpoint.json was made with other samples or labels than there are now");
  EXPECT_THAT(refused([](TrainingData& data) { data.train.values.back() += 1; }), other);
  EXPECT_THAT(refused([](TrainingData& data) { data.train.labels.front() = 1 - data.train.labels.front(); }), other);
  EXPECT_THAT(refused([](TrainingData& data) { std::swap(data.evaluation.values[0], data.evaluation.values[1]); }),
              other);
  EXPECT_TRUE(train(text, "out", true));
}

TEST_F(Sweeps, KnowAStateOfAnotherModel) {
  PreparedSweep prepared = prepare(head()).value();
  const std::string bytes = encode_member(prepared.members[0], {"its network", 7, {}});
  SweepMember same = prepared.members[0];
  same.state.parameters.assign(same.state.parameters.size(), 0);
  EXPECT_TRUE(decode_member(bytes, {"its network", 7, {}}, same));
  EXPECT_EQ(same.state, prepared.members[0].state);
  EXPECT_THAT(decode_member(bytes, {"another", 7, {}}, same).error().message,
              HasSubstr("is of another model than mlp"));
  EXPECT_THAT(decode_member(bytes, {"its network", 8, {}}, same).error().message, HasSubstr("is of step 7"));
  same.point = {{"learning_rate", 0.5}};
  EXPECT_THAT(decode_member(bytes, {"its network", 7, {}}, same).error().message, HasSubstr("other hyperparameters"));
  EXPECT_THAT(decode_member("text", {"its network", 7, {}}, same).error().message, HasSubstr("no state of a training"));
}

TEST_F(Sweeps, KeepTheCheckpointBeforeWhereOneCannotBeWritten) {
  const std::string text = head() + "learning_rate = 0.1\n";
  ASSERT_FALSE(train(text, "out", false, 13));
  // A folder where a file has to be: no room for it, whoever asks.
  std::filesystem::create_directories(temporary_.path() / "out/step-0000000024/m00.state/taken");
  const auto failed = train(text, "out", true);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("m00.state"));
  EXPECT_THAT(failed.error().message, HasSubstr("the checkpoint before is whole"));
  std::filesystem::remove_all(temporary_.path() / "out/step-0000000024");
  ASSERT_TRUE(train(text, "out", true));
  ASSERT_TRUE(train(text, "whole"));
  EXPECT_EQ(left_in("out"), left_in("whole"));
}

TEST(TrainedNetwork, TakesLessMemoryWhereCheapActivationsAreRecomputed) {
  TrainingSpec spec;
  spec.update.momentum = true;
  const auto network = make_network_to_train({"resnet18", {{"classes", "10"}}, 4, spec});
  ASSERT_TRUE(network) << network.error().message;
  const auto backend = open_device("cpu:0").value();
  const auto memory_of = [&](const Model& model) {
    Plan plan = uniform_plan({{"m0", network->source, 0}, {"m1", network->source, 1}}, Strategy::kSerial, 1);
    plan.layout = usual_layout(backend->info().kind, Precision::kFloat32);
    const std::vector<const Model*> models(2, &model);
    return lower(plan, models, backend->catalog()).value().memory;
  };
  const MemoryUse kept = memory_of(network->training.loaded.model);
  const MemoryUse again = memory_of(network->recomputing.model);
  EXPECT_LT(again.activations.value, kept.activations.value * 9 / 10);
  EXPECT_EQ(again.parameters, kept.parameters);
  EXPECT_EQ(again.optimizer, kept.optimizer);
}

/// A disk of its own in memory, of a size that can be changed.
class SmallDisk {
 public:
  SmallDisk(std::filesystem::path place, const std::string& size) : place_(std::move(place)) {
    std::filesystem::create_directories(place_);
    there_ = ::mount("tmpfs", place_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (there_) ::umount(place_.c_str());
  }
  [[nodiscard]] bool there() const { return there_; }
  bool resize(const std::string& size) const {
    return ::mount("tmpfs", place_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

 private:
  std::filesystem::path place_;
  bool there_ = false;
};

TEST_F(Sweeps, GoOnFromTheCheckpointBeforeOnceADiskThatWasFullHasRoom) {
  const std::string text =
      "model = \"mlp\"\nminibatch = 8\nepochs = 4\noptimizer = \"momentum\"\ncheckpoint_every = 1\n"
      "[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\narguments.hidden = 64\nlearning_rate = [0.1, 0.01]\n";
  ASSERT_TRUE(train(text, "whole"));
  ASSERT_FALSE(train(text, "first", false, 12));
  constexpr std::uintmax_t kPage = 4096;
  std::uintmax_t checkpoint = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temporary_.path() / "first/step-0000000012"))
    checkpoint += (entry.file_size() + kPage - 1) / kPage * kPage;
  // Room for one checkpoint and most of another: the second one ends in the middle.
  const SmallDisk disk(temporary_.path() / "out", std::to_string(checkpoint * 7 / 4));
  if (!disk.there()) GTEST_SKIP() << "only root may mount a disk";
  const auto full = train(text, "out");
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("out/step-0000000024/"));
  EXPECT_THAT(full.error().message, HasSubstr("No space left on device"));
  EXPECT_THAT(full.error().message,
              HasSubstr("the checkpoint before is whole: make room, then --resume goes on from it"));
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "out/step-0000000024")) << "nothing half is left";
  EXPECT_TRUE(std::filesystem::exists(temporary_.path() / "out/step-0000000012/m01.state"));
  ASSERT_TRUE(disk.resize("16m"));
  const auto resumed = train(text, "out", true);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(left_in("out"), left_in("whole"));
}

}  // namespace
}  // namespace cohort
