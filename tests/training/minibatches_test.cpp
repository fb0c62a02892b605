#include "training/minibatches.hpp"

#include <gmock/gmock.h>

#include <set>

#include "executor/input/synth.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;

/// Sample i is [2 * i + 1, 2 * i + 2], its label i.
TrainingData counted(std::size_t samples) {
  TrainingData data;
  for (DataSet* part : {&data.train, &data.evaluation}) {
    part->samples = samples;
    part->shape = {2};
    for (std::size_t i = 0; i < samples; ++i) {
      part->values.push_back(static_cast<float>(2 * i + 1));
      part->values.push_back(static_cast<float>(2 * i + 2));
      part->labels.push_back(static_cast<std::int32_t>(i));
    }
  }
  return data;
}

Minibatch made(Minibatches& minibatches, std::int64_t step, std::vector<std::uint64_t> streams = {}) {
  minibatches.prepare(step, 1, std::move(streams));
  return minibatches.take().value().front();
}

TEST(Minibatches, ShowEachSampleOnceAnEpochInAnOrderOfTheSeed) {
  const TrainingData data = counted(10);
  const NetworkEnds ends{"net", "input", {2}, 0, {10}};
  Minibatches minibatches(data, ends, {3, 1, {}, {}, 1});
  EXPECT_EQ(minibatches.steps_per_epoch(), 3);
  std::set<float> seen;
  std::vector<float> order;
  for (std::int64_t step = 0; step < 3; ++step) {
    const Minibatch minibatch = made(minibatches, step);
    for (std::size_t i = 0; i < 3; ++i) {
      seen.insert(minibatch.samples[0][2 * i]);
      order.push_back(minibatch.samples[0][2 * i]);
      EXPECT_EQ(minibatch.samples[0][2 * i],
                static_cast<float>(2 * std::bit_cast<std::int32_t>(minibatch.labels[i]) + 1));
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_NE(made(minibatches, 3).samples, made(minibatches, 0).samples) << "each epoch has its own order";
  Minibatches again(data, ends, {3, 1, {}, {}, 1});
  EXPECT_EQ(made(again, 2).samples[0][0], order[6]) << "a step needs none before it";
  Minibatches other(data, ends, {3, 2, {}, {}, 1});
  EXPECT_NE(made(other, 0).samples, made(again, 0).samples);
}

TEST(Minibatches, OfSeveralStepsAreThoseOfEachStep) {
  const TrainingData data = counted(10);
  const NetworkEnds ends{"net", "input", {2}, 0, {10}};
  Minibatches together(data, ends, {3, 1, {}, {}, 1});
  Minibatches single(data, ends, {3, 1, {}, {}, 1});
  together.prepare(1, 4, {});
  const auto taken = together.take();
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 4U);
  for (std::int64_t i = 0; i < 4; ++i) {
    const Minibatch alone = made(single, 1 + i);
    EXPECT_EQ((*taken)[static_cast<std::size_t>(i)].samples, alone.samples) << "step " << 1 + i;
    EXPECT_EQ((*taken)[static_cast<std::size_t>(i)].labels, alone.labels) << "step " << 1 + i;
  }
}

TEST(Minibatches, PutSequencesAsTheNetworkTakesThem) {
  const TrainingData data = counted(4);
  Minibatches minibatches(data, {"net", "input", {2, 1}, 1, {10}}, {2, 1, {}, {}, 1});
  const Minibatch minibatch = minibatches.evaluation(0).value();
  EXPECT_THAT(minibatch.samples[0], ElementsAre(1, 3, 2, 4)) << "[T, N, I]";
}

TEST(Minibatches, HaveALabelForEachStepOfASequence) {
  TrainingData data = counted(2);
  data.evaluation.labels = {10, 11, 20, 21};  // of each sample's two steps
  data.evaluation.labels_each = 2;
  Minibatches minibatches(data, {"net", "input", {2, 1}, 1, {30}, 2}, {2, 1, {}, {}, 1});
  const Minibatch minibatch = minibatches.evaluation(0).value();
  EXPECT_EQ(minibatch.rows, 2U);
  std::vector<std::int32_t> labels;
  for (const float label : minibatch.labels) labels.push_back(std::bit_cast<std::int32_t>(label));
  EXPECT_THAT(labels, ElementsAre(10, 20, 11, 21)) << "[T * N]";
}

TEST(Minibatches, FillTheLastOfAnEvaluationWithWhatDoesNotCount) {
  const TrainingData data = counted(5);
  Minibatches minibatches(data, {"net", "input", {2}, 0, {10}}, {3, 1, {}, {}, 1});
  EXPECT_EQ(minibatches.evaluation(0).value().count, 3U);
  const Minibatch last = minibatches.evaluation(3).value();
  EXPECT_EQ(last.count, 2U);
  EXPECT_THAT(last.samples[0], ElementsAre(7, 8, 9, 10, 7, 8));
}

TEST(Minibatches, VaryForAllAlikeOrForEachMemberByItself) {
  TrainingData data;
  data.train.samples = 4;
  data.train.shape = {1, 8, 8};
  for (int i = 0; i < 4 * 64; ++i) data.train.values.push_back(static_cast<float>(i + 1));
  data.train.labels = {0, 1, 2, 3};
  const NetworkEnds ends{"net", "input", {1, 8, 8}, 0, {4}};
  Minibatches plain(data, ends, {4, 1, {}, {}, 1});
  Minibatches shared(data, ends, {4, 1, {Augmentation::Sharing::kShared, true, 2}, {}, 1});
  Minibatches own(data, ends, {4, 1, {Augmentation::Sharing::kPerMember, true, 2}, {}, 1});
  EXPECT_NE(made(shared, 0).samples, made(plain, 0).samples);
  const Minibatch two = made(own, 0, {7, 9});
  ASSERT_EQ(two.samples.size(), 2U);
  EXPECT_NE(two.samples[0], two.samples[1]);
  EXPECT_EQ(made(own, 0, {9}).samples[0], two.samples[1]) << "whoever else there is";
  EXPECT_EQ(two.labels, made(plain, 0).labels);
  const Augmentation only_flips{Augmentation::Sharing::kShared, true, 0};
  Minibatches flips(data, ends, {4, 1, only_flips, {}, 1});
  const auto flipped = made(flips, 0).samples[0];
  const auto before = made(plain, 0).samples[0];
  for (std::size_t row = 0; row < 4 * 8; ++row) {
    std::vector<float> a(flipped.begin() + static_cast<std::ptrdiff_t>(8 * row),
                         flipped.begin() + static_cast<std::ptrdiff_t>(8 * row + 8));
    const std::vector<float> b(before.begin() + static_cast<std::ptrdiff_t>(8 * row),
                               before.begin() + static_cast<std::ptrdiff_t>(8 * row + 8));
    if (a != b) std::reverse(a.begin(), a.end());
    EXPECT_EQ(a, b);
  }
}

/// A folder of images, kept in memory or decoded each time.
class Images {
 public:
  Images() {
    SynthOptions synth;
    synth.classes = 2;
    synth.images_per_class = 6;
    synth.long_side = 32;
    EXPECT_TRUE(write_synth_dataset(folder_.path() / "d", synth));
    sweep.minibatch = 4;
    sweep.data.train = {DataKind::kFolder, folder_.path() / "d", {}, {}};
  }
  [[nodiscard]] Result<TrainingData> prepared(bool keep) {
    sweep.data.keep = keep;
    return prepare_data(read_data_set(sweep.data.train, LossKind::kCrossEntropy).value(), {}, sweep, ends, never_);
  }

  Sweep sweep;
  NetworkEnds ends{"net", "input", {3, 8, 8}, 0, {2}};

 private:
  TemporaryFolder folder_;
  CancelToken never_;
};

TEST(Minibatches, MoveImagesThatAreDecodedEachTimeAsThoseInMemory) {
  Images images;
  images.sweep.data.normalization = Normalization{{0.5F, 0.4F, 0.3F}, {0.25F, 0.25F, 0.5F}};
  const TrainingData kept = images.prepared(true).value();
  const TrainingData decoded = images.prepared(false).value();
  for (const std::optional<std::int64_t> shift : {0, 3}) {
    const Augmentation varied{Augmentation::Sharing::kShared, true, shift};
    Minibatches from_memory(kept, images.ends, {4, 1, varied, {}, 1});
    Minibatches from_files(decoded, images.ends, {4, 1, varied, {}, 2});
    for (std::int64_t step = 0; step < 2; ++step) {
      EXPECT_THAT(made(from_files, step).samples[0],
                  ::testing::Pointwise(::testing::FloatNear(1e-5F), made(from_memory, step).samples[0]));
    }
  }
}

TEST(Minibatches, RefuseASizeThatTheImagesWouldBePulledTo) {
  Images images;
  images.sweep.data.resize = 7;
  for (const bool keep : {true, false}) {
    const auto refused = images.prepared(keep);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("resize is 7; must be 8 to"));
  }
  images.sweep.data.resize = 8;
  EXPECT_TRUE(images.prepared(true));
}

TEST(Minibatches, AreTheSameHoweverManyWorkersDecode) {
  Images images;
  const NetworkEnds& ends = images.ends;
  TrainingData data = images.prepared(false).value();
  ASSERT_TRUE(data.decoded_each_time);
  const Augmentation varied{Augmentation::Sharing::kPerMember, true, {}};
  Minibatches one(data, ends, {4, 1, varied, {}, 1});
  Minibatches three(data, ends, {4, 1, varied, {}, 3});
  for (std::int64_t step = 0; step < 3; ++step)
    EXPECT_EQ(made(one, step, {0, 1}).samples, made(three, step, {0, 1}).samples);
  three.prepare(0, 3, {0, 1});
  EXPECT_EQ(three.take().value()[2].samples, made(one, 2, {0, 1}).samples);
  EXPECT_EQ(one.evaluation(0).value().samples, three.evaluation(0).value().samples);

  data.train.images[0] = "missing.jpg";
  for (std::int64_t step = 0; step < 3; ++step) {
    one.prepare(step, 1, {});
    const auto taken = one.take();
    if (!taken) {
      EXPECT_THAT(taken.error().message, ::testing::HasSubstr("missing.jpg"));
    }
  }
}

}  // namespace
}  // namespace cohort
