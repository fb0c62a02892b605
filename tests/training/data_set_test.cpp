#include "training/data_set.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <numeric>

#include "executor/input/npy.hpp"
#include "executor/input/synth.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const CancelToken kNever;

class DataSets : public ::testing::Test {
 protected:
  void write_array(const std::string& name, const Shape& shape, const std::vector<float>& values) const {
    temporary_.write(name, encode_npy(shape, values));
  }
  /// `samples` of two features: i and a constant; labels 0, 1, 2, 0 ...
  void write_arrays(int samples) const {
    std::vector<float> values;
    std::vector<float> labels;
    for (int i = 0; i < samples; ++i) {
      values.insert(values.end(), {static_cast<float>(i), 5.0F});
      labels.push_back(static_cast<float>(i % 3));
    }
    write_array("x.npy", {samples, 2}, values);
    write_array("y.npy", {samples}, labels);
  }
  DataFiles arrays() const { return {DataKind::kArrays, path("x.npy"), path("y.npy"), {}}; }
  std::filesystem::path path(const std::string& name) const { return temporary_.path() / name; }
  static std::string error_of(const Result<DataSet>& data) { return data ? "no error" : data.error().message; }

  const TemporaryFolder temporary_;
};

const NetworkEnds kEnds{"net", "input", {2}, 0, {3}};

TEST_F(DataSets, SplitsEachClassBySeedAndNormalizesByTheTrainingPart) {
  write_arrays(30);
  Sweep sweep;
  sweep.minibatch = 4;
  sweep.data.train = arrays();
  const auto prepare = [&](std::uint64_t seed) {
    sweep.seed = seed;
    return prepare_data(read_data_set(arrays(), LossKind::kCrossEntropy).value(), {}, sweep, kEnds, kNever).value();
  };
  const TrainingData data = prepare(1);
  EXPECT_EQ(data.train.samples, 24U);
  EXPECT_EQ(data.evaluation.samples, 6U);
  for (const std::int32_t label : {0, 1, 2})
    EXPECT_EQ(std::count(data.evaluation.labels.begin(), data.evaluation.labels.end(), label), 2);
  ASSERT_EQ(data.normalization.mean.size(), 1U) << "features of arrays are alike";
  double sum = 0;
  double squares = 0;
  for (const float value : data.train.values) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum, 0, 1e-4);
  EXPECT_NEAR(squares, static_cast<double>(data.train.values.size()), 1e-3);
  EXPECT_EQ(prepare(1).train.values, data.train.values);
  EXPECT_NE(prepare(2).train.values, data.train.values);
}

TEST_F(DataSets, KeepsAConstantColumnOfATableAtZero) {
  temporary_.write("t.csv", "a,b,kind\n1,7,cat\n3,7,dog\n1,7,cat\n3,7,dog\n");
  Sweep sweep;
  sweep.minibatch = 1;
  sweep.data.held_out = 0;
  sweep.data.train = {DataKind::kTable, path("t.csv"), {}, {"kind"}};
  DataSet whole = read_data_set(sweep.data.train, LossKind::kCrossEntropy).value();
  EXPECT_THAT(whole.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(whole.labels, ElementsAre(0, 1, 0, 1));
  const auto data = prepare_data(std::move(whole), {}, sweep, kEnds, kNever);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->normalization.mean, ElementsAre(2, 7));
  EXPECT_THAT(data->train.values, ElementsAre(-1, 0, 1, 0, -1, 0, 1, 0));
}

TEST_F(DataSets, RefusesATableToEvaluateOnWithOtherColumns) {
  temporary_.write("train.csv", "a,b,kind\n1,7,cat\n3,8,dog\n");
  temporary_.write("other.csv", "b,a,kind\n7,1,cat\n8,3,dog\n");
  Sweep sweep;
  sweep.minibatch = 1;
  sweep.data.train = {DataKind::kTable, path("train.csv"), {}, {"kind"}};
  const DataFiles other{DataKind::kTable, path("other.csv"), {}, {"kind"}};
  const auto data = prepare_data(read_data_set(sweep.data.train, LossKind::kCrossEntropy).value(),
                                 read_data_set(other, LossKind::kCrossEntropy).value(), sweep, kEnds, kNever);
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message, HasSubstr("have other columns, or in another order: a, b and b, a"));
}

TEST_F(DataSets, TakesImagesWhoseChannelsComeFirst) {
  Sweep sweep;
  sweep.minibatch = 4;
  const auto error_for = [&](const Shape& samples, const Shape& input) {
    Shape shape = samples;
    shape.insert(shape.begin(), 30);
    write_array("x.npy", shape, std::vector<float>(static_cast<std::size_t>(element_count(shape))));
    write_array("y.npy", {30}, std::vector<float>(30));
    const auto data = prepare_data(read_data_set(arrays(), LossKind::kCrossEntropy).value(), {}, sweep,
                                   {"net", "input", input, 0, {3}}, kNever);
    return data ? "no error" : data.error().message;
  };
  EXPECT_THAT(error_for({4, 4, 3}, {3, 4, 4}), HasSubstr("samples of shape [4, 4, 3] do not fit the input of net"));
  EXPECT_EQ(error_for({4, 4, 1}, {1, 4, 4}), "no error");
  EXPECT_EQ(error_for({48}, {3, 4, 4}), "no error");
  EXPECT_EQ(error_for({3, 4, 4}, {48}), "no error");
  sweep.data.augmentation.sharing = Augmentation::Sharing::kShared;
  EXPECT_EQ(error_for({3, 4, 4}, {3, 4, 4}), "no error");
  EXPECT_THAT(error_for({3, 4, 4}, {48}), HasSubstr("augment varies images"));
}

TEST_F(DataSets, RefusesLabelsThatDoNotFit) {
  write_arrays(30);
  Sweep sweep;
  sweep.minibatch = 4;
  const auto error_for = [&](const NetworkEnds& ends) {
    const auto data = prepare_data(read_data_set(arrays(), LossKind::kCrossEntropy).value(), {}, sweep, ends, kNever);
    return data ? "no error" : data.error().message;
  };
  EXPECT_THAT(error_for({"net", "input", {2}, 0, {2}}), HasSubstr("label 2 of sample"));
  EXPECT_THAT(error_for({"net", "input", {2}, 0, {2}}), HasSubstr("does not fit the output of net, 2 classes: 0 to 1"));
  EXPECT_THAT(error_for({"net", "input", {3}, 0, {3}}),
              HasSubstr("samples of shape [2] do not fit the input of net, [3]"));
  sweep.minibatch = 64;
  EXPECT_THAT(error_for(kEnds), HasSubstr("24 samples to train on do not fill a minibatch of 64"));

  write_array("y.npy", {29}, std::vector<float>(29));
  EXPECT_THAT(error_of(read_data_set(arrays(), LossKind::kCrossEntropy)), HasSubstr("one label each is needed"));
  write_array("y.npy", {30}, std::vector<float>(30, 0.5F));
  EXPECT_THAT(error_of(read_data_set(arrays(), LossKind::kCrossEntropy)),
              HasSubstr("y.npy: the label of sample 0 must be a class, a whole number from 0, not 0.5"));
  EXPECT_TRUE(read_data_set(arrays(), LossKind::kMeanSquaredError)) << "targets are any numbers";
}

TEST_F(DataSets, RefusesWhatIsNoNumber) {
  std::vector<float> values(60);
  write_array("y.npy", {30}, std::vector<float>(30));
  values[41] = std::numeric_limits<float>::quiet_NaN();
  write_array("x.npy", {30, 2}, values);
  EXPECT_THAT(read_data_set(arrays(), LossKind::kCrossEntropy).error().message,
              HasSubstr("x.npy: sample 20 holds nan; all values must be finite numbers"));
  values[41] = 0;
  write_array("x.npy", {30, 2}, values);
  std::vector<float> targets(30);
  targets[7] = std::numeric_limits<float>::infinity();
  write_array("y.npy", {30}, targets);
  EXPECT_THAT(read_data_set(arrays(), LossKind::kMeanSquaredError).error().message,
              HasSubstr("y.npy: sample 7 holds inf; all values must be finite numbers"));
}

TEST_F(DataSets, KeepsSequencesWithALabelAtEachStepTogether) {
  std::vector<float> values(10 * 3 * 2);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<float> labels;
  for (int i = 0; i < 10 * 3; ++i) labels.push_back(static_cast<float>(i));
  write_array("x.npy", {10, 3, 2}, values);
  write_array("y.npy", {10, 3}, labels);
  Sweep sweep;
  sweep.minibatch = 2;
  sweep.data.normalize = false;
  const auto prepared = [&](const NetworkEnds& ends) {
    return prepare_data(read_data_set(arrays(), LossKind::kCrossEntropy).value(), {}, sweep, ends, kNever);
  };
  const auto data = prepared({"net", "input", {3, 2}, 1, {30}, 3});
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train.samples, 8U);
  EXPECT_EQ(data->evaluation.samples, 2U);
  for (const DataSet* part : {&data->train, &data->evaluation}) {
    ASSERT_EQ(part->labels.size(), 3 * part->samples);
    for (std::size_t i = 0; i < part->labels.size(); ++i)
      EXPECT_EQ(part->values[2 * i], static_cast<float>(2 * part->labels[i])) << "each label beside its step";
  }
  EXPECT_THAT(prepared({"net", "input", {3, 2}, 1, {30}, 1}).error().message,
              HasSubstr("3 labels a sample; net tells 1"));
  EXPECT_THAT(prepared({"net", "input", {2, 3}, 1, {30}, 3}).error().message,
              HasSubstr("samples of shape [3, 2] do not fit the input of net, [2, 3]"));
  sweep.data.augmentation.sharing = Augmentation::Sharing::kShared;
  EXPECT_THAT(prepared({"net", "input", {3, 2}, 1, {30}, 3}).error().message, HasSubstr("augment varies images"));
  sweep.data.augmentation.sharing = Augmentation::Sharing::kNone;
  write_array("x.npy", {10, 1, 2}, std::vector<float>(20));
  write_array("y.npy", {10}, std::vector<float>(10));
  EXPECT_THAT(prepared({"net", "input", {2, 1}, 1, {1}}).error().message,
              HasSubstr("samples of shape [1, 2] do not fit the input of net, [2, 1]"));
}

TEST_F(DataSets, DecodesAFolderOfImages) {
  SynthOptions synth;
  synth.classes = 2;
  synth.images_per_class = 5;
  synth.long_side = 32;
  ASSERT_TRUE(write_synth_dataset(path("images"), synth));
  const DataFiles files{DataKind::kFolder, path("images"), {}, {}};
  Sweep sweep;
  sweep.minibatch = 4;
  sweep.data.train = files;
  const NetworkEnds ends{"net", "input", {3, 8, 8}, 0, {2}};
  const auto data = prepare_data(read_data_set(files, LossKind::kCrossEntropy).value(), {}, sweep, ends, kNever);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train.samples, 8U);
  EXPECT_EQ(data->train.values.size(), 8U * 3 * 64);
  EXPECT_EQ(data->normalization.mean.size(), 3U);
  EXPECT_THAT(data->normalization.mean, Each(::testing::Gt(0)));

  std::filesystem::create_directory(path("images/class_02"));
  EXPECT_THAT(error_of(read_data_set(files, LossKind::kCrossEntropy)),
              HasSubstr("images/class_02 holds no JPEGs (.jpg, .jpeg); fill it or remove it"));
  temporary_.write("images/class_02/broken.jpg", "no image");
  const auto broken = prepare_data(read_data_set(files, LossKind::kCrossEntropy).value(), {}, sweep,
                                   {"net", "input", {3, 8, 8}, 0, {3}}, kNever);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("images/class_02/broken.jpg: "));
}

TEST_F(DataSets, ReadsLabelsOfAnyWholeNumbers) {
  write_arrays(3);
  std::string bytes = encode_npy(std::vector<std::int64_t>{3}, std::vector<float>(3));
  bytes.resize(bytes.size() - 3 * sizeof(float));
  bytes.replace(bytes.find("<f4"), 3, "<i8");
  for (const std::int64_t label : {2, 0, 1}) bytes.append(reinterpret_cast<const char*>(&label), sizeof(label));
  temporary_.write("y.npy", bytes);
  EXPECT_THAT(read_data_set(arrays(), LossKind::kCrossEntropy).value().labels, ElementsAre(2, 0, 1));
}

}  // namespace
}  // namespace cohort
