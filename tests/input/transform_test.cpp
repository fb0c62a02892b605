#include "executor/input/transform.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using input_test::noisy_picture;
using input_test::Picture;
using testing::HasSubstr;

ImageTarget target_of(int channels, int height, int width) {
  ImageTarget target;
  target.channels = channels;
  target.height = height;
  target.width = width;
  return target;
}

/// One value of the result by the definition, in double precision: the position of the output pixel's
/// centre in the resized image, scaled to the source, between its four neighbours.
double expected_value(const Picture& picture, const Crop& crop, const ImageTarget& target, int c, int y, int x) {
  const int column = crop.flip ? target.width - 1 - x : x;
  const double source_x = std::clamp((column + crop.x + 0.5) * picture.width / crop.resized_width - 0.5, 0.0,
                                     static_cast<double>(picture.width - 1));
  const double source_y = std::clamp((y + crop.y + 0.5) * picture.height / crop.resized_height - 0.5, 0.0,
                                     static_cast<double>(picture.height - 1));
  const int x0 = static_cast<int>(std::floor(source_x));
  const int y0 = static_cast<int>(std::floor(source_y));
  const int x1 = std::min(x0 + 1, picture.width - 1);
  const int y1 = std::min(y0 + 1, picture.height - 1);
  const double dx = source_x - x0;
  const double dy = source_y - y0;
  const double value = (picture.at(x0, y0, c) * (1 - dx) + picture.at(x1, y0, c) * dx) * (1 - dy) +
                       (picture.at(x0, y1, c) * (1 - dx) + picture.at(x1, y1, c) * dx) * dy;
  const auto channel = static_cast<std::size_t>(c);
  return (value / 255.0 - static_cast<double>(target.mean[channel])) / static_cast<double>(target.stddev[channel]);
}

std::size_t place_of(const ImageTarget& target, int c, int y, int x) {
  const int place = target.layout == ImageLayout::kNhwc ? (y * target.width + x) * target.channels + c
                                                        : (c * target.height + y) * target.width + x;
  return static_cast<std::size_t>(place);
}

std::vector<float> applied(const Picture& picture, const Crop& crop, const ImageTarget& target) {
  std::vector<float> out(target.size(), std::nanf(""));
  ImageTransform transform;
  transform.apply(picture.view(), crop, target, out);
  return out;
}

double largest_error(const Picture& picture, const Crop& crop, const ImageTarget& target) {
  const std::vector<float> out = applied(picture, crop, target);
  double largest = 0;
  for (int c = 0; c < target.channels; ++c)
    for (int y = 0; y < target.height; ++y)
      for (int x = 0; x < target.width; ++x) {
        const double error = std::fabs(static_cast<double>(out[place_of(target, c, y, x)]) -
                                       expected_value(picture, crop, target, c, y, x));
        largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
      }
  return largest;
}

TEST(ImageTransform, EqualsThePlainComputationForManySizesAndCrops) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const auto extent = [&](std::uint64_t most) { return 1 + static_cast<int>(random.below(most)); };
    const Picture picture =
        noisy_picture(extent(60), extent(60), round % 3 == 0 ? 1 : 3, static_cast<std::uint64_t>(round));
    ImageTarget target = target_of(picture.channels, extent(50), extent(50));
    if (round % 4 != 0) target.resize = std::max(target.height, target.width) + extent(20) - 1;
    target.random_crop = target.random_flip = true;
    target.layout = round % 2 == 0 ? ImageLayout::kNhwc : ImageLayout::kNchw;
    target.mean = {0.1F, 0.5F, 0.9F};
    target.stddev = {0.5F, 0.25F, 1.0F};
    const Crop crop = choose_crop(picture.width, picture.height, target, random);
    // Positions are computed in float32: up to 60 * 2^-23 pixels off, times a step of 255 between
    // neighbours, over the smallest stddev.
    EXPECT_LT(largest_error(picture, crop, target), 2e-4)
        << picture.width << " x " << picture.height << " to " << target.width << " x " << target.height;
  }
}

TEST(ImageTransform, CopiesAnImageThatHasTheSizeAlready) {
  const Picture picture = noisy_picture(5, 4, 3, 2);
  ImageTarget target = target_of(3, 4, 5);
  target.mean = {0, 0, 0};
  target.stddev = {1, 1, 1};
  const std::vector<float> out = applied(picture, covering_size(5, 4, target), target);
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_FLOAT_EQ(out[i], static_cast<float>(picture.values[i]) / 255.0F) << i;
}

TEST(ImageTransform, WritesTheSameValuesInBothLayouts) {
  const Picture picture = noisy_picture(37, 53, 3, 3);
  ImageTarget nhwc = target_of(3, 17, 23);
  ImageTarget nchw = nhwc;
  nchw.layout = ImageLayout::kNchw;
  const Crop crop = covering_size(37, 53, nhwc);
  const std::vector<float> a = applied(picture, crop, nhwc);
  const std::vector<float> b = applied(picture, crop, nchw);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 17; ++y)
      for (int x = 0; x < 23; ++x) EXPECT_EQ(a[place_of(nhwc, c, y, x)], b[place_of(nchw, c, y, x)]);
}

TEST(ImageTransform, FlipsLeftToRight) {
  const Picture picture = noisy_picture(30, 20, 3, 4);
  const ImageTarget target = target_of(3, 12, 14);
  Crop crop = covering_size(30, 20, target);
  const std::vector<float> straight = applied(picture, crop, target);
  crop.flip = true;
  const std::vector<float> flipped = applied(picture, crop, target);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 12; ++y)
      for (int x = 0; x < 14; ++x)
        EXPECT_EQ(straight[place_of(target, c, y, x)], flipped[place_of(target, c, y, 13 - x)]);
}

TEST(CoveringSize, FitsTheShortSideAndCentresTheLongOne) {
  const Crop wide = covering_size(500, 375, target_of(3, 224, 224));
  EXPECT_EQ(wide.resized_width, 299);
  EXPECT_EQ(wide.resized_height, 224);
  EXPECT_EQ(wide.x, 37);
  EXPECT_EQ(wide.y, 0);
  const Crop tall = covering_size(100, 400, target_of(3, 50, 50));
  EXPECT_EQ(tall.resized_width, 50);
  EXPECT_EQ(tall.resized_height, 200);
  EXPECT_EQ(tall.y, 75);
  EXPECT_EQ(covering_size(3, 5000, target_of(3, 8, 8)).resized_height, 13333);
}

TEST(CoveringSize, ResizesTheShortSideAsAskedWhateverTheTargetsAspect) {
  ImageTarget target = target_of(3, 100, 224);
  target.resize = 256;
  const Crop wide = covering_size(500, 375, target);
  EXPECT_EQ(wide.resized_height, 256);
  EXPECT_EQ(wide.resized_width, 341);
  EXPECT_EQ(wide.x, 58);
  EXPECT_EQ(wide.y, 78);
  const Crop tall = covering_size(300, 900, target);
  EXPECT_EQ(tall.resized_height, 768);
  EXPECT_EQ(tall.resized_width, 256);
}

TEST(ChooseCrop, StaysInsideAndReachesBothEnds) {
  ImageTarget target = target_of(3, 8, 8);
  target.random_crop = target.random_flip = true;
  Random random(5);
  std::set<int> places;
  std::set<bool> flips;
  for (int i = 0; i < 500; ++i) {
    const Crop crop = choose_crop(16, 8, target, random);
    EXPECT_EQ(crop.y, 0);
    places.insert(crop.x);
    flips.insert(crop.flip);
  }
  EXPECT_EQ(places, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(flips.size(), 2U);
}

TEST(ChooseCrop, IsTheMiddleWithoutRandomness) {
  const ImageTarget target = target_of(3, 8, 8);
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const Crop crop = choose_crop(16, 8, target, random);
    EXPECT_EQ(crop.x, 4);
    EXPECT_FALSE(crop.flip);
  }
}

TEST(ImageTarget, RefusesWhatNoImageCanBe) {
  const auto message = [](const auto& change) {
    ImageTarget target;
    change(target);
    const auto checked = validate(target);
    return checked ? std::string("no error") : checked.error().message;
  };
  EXPECT_EQ(message([](ImageTarget&) {}), "no error");
  EXPECT_THAT(message([](ImageTarget& t) { t.channels = 2; }), HasSubstr("1 or 3 channels; the input wants 2"));
  EXPECT_THAT(message([](ImageTarget& t) { t.height = 0; }), HasSubstr("must be 1 to 16384"));
  EXPECT_THAT(message([](ImageTarget& t) { t.width = 20000; }), HasSubstr("must be 1 to 16384"));
  EXPECT_THAT(message([](ImageTarget& t) { t.resize = 223; }),
              HasSubstr("resize is 223; must be 224 to 16384 for images of 224 x 224 (height x width)"));
  EXPECT_THAT(message([](ImageTarget& t) { t.resize = 20000; }), HasSubstr("resize is 20000"));
  EXPECT_THAT(message([](ImageTarget& t) { t.stddev[1] = 0; }), HasSubstr("stddev is 0"));
}

}  // namespace
}  // namespace cohort
