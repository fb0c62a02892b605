// What a plan says of images reaches the pixels that its members read.

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/run/batch_run.hpp"
#include "models/builder.hpp"
#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

constexpr std::size_t kSide = 8;
constexpr int kSteps = 6;

/// Each member's input as it read it, [2, 3, 8, 8], step after step.
using Pixels = std::vector<std::vector<float>>;

/// Gives back what it reads, where that is above zero.
Model echo() {
  ModelBuilder builder("echo");
  const TensorId x = builder.input("x", {2, 3, kSide, kSide});
  builder.output(builder.relu("y", x));
  return *builder.finish();
}

class ImagePlans : public ::testing::Test {
 protected:
  ImagePlans() {
    for (int i = 0; i < 5; ++i)
      folder_.write(fmt::format("a/{}.jpg", i), input_test::jpeg_of(input_test::smooth_picture(40 + 3 * i, 24, 3)));
    plain_.mean = {0, 0, 0};
    plain_.std = {1, 1, 1};
  }

  /// By member, of a plan whose images are made ready like that.
  std::vector<Pixels> pixels(const ImagePreparation& images, InputSharing sharing = InputSharing::kShared,
                             std::uint64_t seed = 3, int workers = 2) {
    const Model model = echo();
    const Weights weights = random_weights(model, 0);
    Plan plan = uniform_plan({{"m0", {"echo", {}, 2}, 0}, {"m1", {"echo", {}, 2}, 1}}, Strategy::kSerial, 1);
    plan.device = "reference:0";
    plan.layout = Layout::kNchw;
    plan.input = {InputSource::kFolder, folder_.path().string(), sharing, workers, 2, seed, BadImages::kFatal, images};
    plan = *parse_plan(write_plan(plan));
    HostBackend backend(make_reference_kernels(1), reference_device_info(1));
    const auto run = BatchRun::open(backend, plan, {{&model, &model}, {&weights, &weights}}, {});
    EXPECT_TRUE(run) << run.error().message;
    std::vector<Pixels> read(2);
    for (int step = 0; run && step < kSteps; ++step) {
      EXPECT_TRUE((*run)->step());
      for (std::size_t member = 0; member < read.size(); ++member)
        read[member].push_back(*(*run)->runner().session().read_output(member));
    }
    return read;
  }

  TemporaryFolder folder_;
  ImagePreparation plain_;  ///< pixels from 0 to 1
};

/// One of the images of a step, turned left to right.
std::vector<float> mirrored(const std::vector<float>& image) {
  std::vector<float> turned;
  for (std::size_t row = 0; row < image.size(); row += kSide) {
    const auto begin = image.begin() + static_cast<std::ptrdiff_t>(row);
    turned.insert(turned.end(), std::make_reverse_iterator(begin + kSide), std::make_reverse_iterator(begin));
  }
  return turned;
}

TEST_F(ImagePlans, RepeatAndMembersWithoutASharedInputSeeTheSame) {
  ImagePreparation varied = plain_;
  varied.random_crop = varied.random_flip = true;
  const auto first = pixels(varied);
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(pixels(varied), first);
  EXPECT_EQ(pixels(varied, InputSharing::kSeparate, 3, 1), first);
  EXPECT_NE(pixels(varied, InputSharing::kShared, 4), first);
  EXPECT_NE(pixels(plain_), first);
}

TEST_F(ImagePlans, FlipSomeImagesAndChangeNothingElse) {
  ImagePreparation flips = plain_;
  flips.random_flip = true;
  const Pixels straight = pixels(plain_)[0];
  const Pixels turned = pixels(flips)[0];
  int count = 0;
  for (std::size_t step = 0; step < straight.size(); ++step) {
    const auto half = static_cast<std::ptrdiff_t>(straight[step].size() / 2);
    for (const std::ptrdiff_t from : {std::ptrdiff_t{0}, half}) {
      const auto image = [&](const std::vector<float>& minibatch) {
        return std::vector<float>(minibatch.begin() + from, minibatch.begin() + from + half);
      };
      const bool is_turned = image(turned[step]) != image(straight[step]);
      EXPECT_EQ(image(turned[step]), is_turned ? mirrored(image(straight[step])) : image(straight[step]));
      count += is_turned ? 1 : 0;
    }
  }
  EXPECT_GT(count, 0);
  EXPECT_LT(count, 2 * kSteps);
}

TEST_F(ImagePlans, CutOutElsewhereAndOfOtherSizes) {
  ImagePreparation crops = plain_;
  crops.random_crop = true;
  EXPECT_NE(pixels(crops), pixels(plain_));
  ImagePreparation larger = plain_;
  larger.resize = 16;
  EXPECT_NE(pixels(larger), pixels(plain_));
  larger.resize = 8;  // the shorter side of all of these images covers the input
  EXPECT_EQ(pixels(larger), pixels(plain_));
}

TEST_F(ImagePlans, NormaliseByTheirOwnFigures) {
  ImagePreparation own = plain_;
  own.mean = {-1, -0.5, -0.25};
  own.std = {2, 0.5, 0.125};
  const Pixels raw = pixels(plain_)[0];
  const Pixels normalised = pixels(own)[0];
  for (std::size_t step = 0; step < raw.size(); ++step) {
    for (std::size_t i = 0; i < raw[step].size(); ++i) {
      const std::size_t channel = i / (kSide * kSide) % 3;
      const double expected = (static_cast<double>(raw[step][i]) - own.mean[channel]) / own.std[channel];
      ASSERT_NEAR(static_cast<double>(normalised[step][i]), expected, 1e-5) << step << " at " << i;
    }
  }
}

}  // namespace
}  // namespace cohort
