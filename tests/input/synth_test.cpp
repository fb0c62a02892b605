#include "executor/input/synth.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.hpp"
#include "executor/input/image_loader.hpp"
#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using input_test::scan;
using testing::HasSubstr;

std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path()).value();
  return files;
}

SynthOptions small_set(int classes, int images_per_class) {
  SynthOptions options;
  options.classes = classes;
  options.images_per_class = images_per_class;
  options.long_side = 96;
  return options;
}

TEST(Synth, WritesAFolderPerClassThatCanBeRead) {
  const TemporaryFolder folder;
  int reported = 0;
  SynthOptions options = small_set(3, 4);
  options.progress = [&](int done, int total) {
    EXPECT_EQ(done, ++reported);
    EXPECT_EQ(total, 12);
  };
  const auto summary = write_synth_dataset(folder.path() / "new" / "set", options);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->images, 12);
  EXPECT_EQ(reported, 12);
  const ImageFolder images = scan(folder.path() / "new" / "set");
  EXPECT_THAT(images.classes, testing::ElementsAre("class_00", "class_01", "class_02"));
  ASSERT_EQ(images.images.size(), 12U);
  ImageLoader loader;
  ImageTarget target;
  std::vector<float> out(target.size());
  std::int64_t bytes = 0;
  for (const ImageFile& image : images.images) {
    EXPECT_TRUE(loader.load(image.path, 0, target, out));
    bytes += static_cast<std::int64_t>(fs::file_size(image.path));
  }
  EXPECT_EQ(summary->bytes.value, bytes);
}

TEST(Synth, GivesTheSameBytesForTheSameSeed) {
  const TemporaryFolder folder;
  SynthOptions options = small_set(2, 2);
  ASSERT_TRUE(write_synth_dataset(folder.path() / "a", options));
  ASSERT_TRUE(write_synth_dataset(folder.path() / "b", options));
  options.seed = 1;
  ASSERT_TRUE(write_synth_dataset(folder.path() / "c", options));
  const auto first = files_below(folder.path() / "a");
  EXPECT_EQ(first.size(), 4U);
  EXPECT_EQ(first, files_below(folder.path() / "b"));
  for (const auto& [name, content] : files_below(folder.path() / "c")) EXPECT_NE(first.at(name), content) << name;
}

TEST(Synth, MakesImagesOfTheSizeAndWeightOfPhotographs) {
  const TemporaryFolder folder;
  SynthOptions options;
  options.classes = 5;
  options.images_per_class = 8;
  const auto summary = write_synth_dataset(folder.path(), options);
  ASSERT_TRUE(summary) << summary.error().message;
  const double mean_kilobytes = static_cast<double>(summary->bytes.value) / 1000.0 / summary->images;
  EXPECT_GT(mean_kilobytes, 60);
  EXPECT_LT(mean_kilobytes, 110);
  std::set<std::pair<int, int>> sizes;
  int upright = 0;
  JpegDecoder decoder;
  for (const auto& [name, content] : files_below(folder.path())) {
    const auto pixels = decoder.decode(content, {3, 10'000, 10'000});
    ASSERT_TRUE(pixels);
    sizes.insert({pixels->width, pixels->height});
    upright += pixels->height > pixels->width ? 1 : 0;
    EXPECT_GE(std::max(pixels->width, pixels->height), 470) << name;
    EXPECT_LE(std::max(pixels->width, pixels->height), 530) << name;
  }
  EXPECT_GT(sizes.size(), 20U);
  EXPECT_GT(upright, 2);
  EXPECT_LT(upright, 20);
}

/// Decoded to 6 x 6 pixels of three colours.
std::vector<float> thumbnail(const SynthOptions& options, int class_index, int number) {
  const SynthImage image = draw_synth_image(options, class_index, number);
  ImageTarget target;
  target.height = target.width = 6;
  std::vector<float> out(target.size());
  ImageTransform transform;
  transform.apply({image.width, image.height, 3, image.values}, covering_size(image.width, image.height, target),
                  target, out);
  return out;
}

TEST(Synth, MakesClassesThatNearestCentroidsTellApart) {
  constexpr int kClasses = 10;
  const SynthOptions options = small_set(kClasses, 20);
  std::vector<std::vector<float>> centroids;
  for (int c = 0; c < kClasses; ++c) {
    std::vector<float>& centroid = centroids.emplace_back(6 * 6 * 3, 0.0F);
    for (int i = 0; i < 10; ++i) {
      const auto values = thumbnail(options, c, i);
      for (std::size_t k = 0; k < values.size(); ++k) centroid[k] += values[k] / 10.0F;
    }
  }
  int right = 0;
  for (int c = 0; c < kClasses; ++c)
    for (int i = 10; i < 20; ++i) {
      const auto values = thumbnail(options, c, i);
      const auto distance = [&](const std::vector<float>& centroid) {
        float sum = 0;
        for (std::size_t k = 0; k < values.size(); ++k) sum += (values[k] - centroid[k]) * (values[k] - centroid[k]);
        return sum;
      };
      const auto nearest = std::min_element(centroids.begin(), centroids.end(),
                                            [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
      right += nearest - centroids.begin() == c ? 1 : 0;
    }
  EXPECT_GE(right, 60) << "of 100; guessing gives 10";
}

TEST(Synth, VariesWithinAClass) {
  const SynthOptions options = small_set(2, 2);
  EXPECT_NE(draw_synth_image(options, 0, 0).values, draw_synth_image(options, 0, 1).values);
}

TEST(Synth, LeavesAFolderThatIsNotEmptyAloneUnlessForced) {
  const TemporaryFolder folder;
  folder.write("precious.txt", "x");
  SynthOptions options = small_set(1, 1);
  const auto refused = write_synth_dataset(folder.path(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(refused.error().message, HasSubstr("is not empty; give -f"));
  EXPECT_EQ(files_below(folder.path()).size(), 1U);
  options.force = true;
  EXPECT_TRUE(write_synth_dataset(folder.path(), options));
  EXPECT_TRUE(write_synth_dataset(folder.path(), options));
  EXPECT_EQ(files_below(folder.path()).size(), 2U);
  const auto file = write_synth_dataset(folder.path() / "precious.txt", options);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("is not a folder"));
}

TEST(Synth, StopsWhenCancelledAndLeavesWholeFiles) {
  const TemporaryFolder folder;
  CancelToken cancel;
  SynthOptions options = small_set(3, 3);
  options.cancel = &cancel;
  options.progress = [&](int done, int) {
    if (done == 4) cancel.cancel();
  };
  const auto summary = write_synth_dataset(folder.path(), options);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, ErrorCode::kInterrupted);
  JpegDecoder decoder;
  const auto files = files_below(folder.path());
  EXPECT_EQ(files.size(), 4U);
  for (const auto& [name, content] : files) EXPECT_TRUE(decoder.decode(content, {})) << name;
}

TEST(Synth, RefusesOptionsThatCannotBe) {
  const TemporaryFolder folder;
  const auto message = [&](const auto& change) {
    SynthOptions options = small_set(1, 1);
    change(options);
    const auto summary = write_synth_dataset(folder.path(), options);
    return summary ? std::string("no error") : summary.error().message;
  };
  EXPECT_THAT(message([](SynthOptions& o) { o.classes = 0; }), HasSubstr("classes is 0; must be 1 to 10000"));
  EXPECT_THAT(message([](SynthOptions& o) { o.images_per_class = -1; }), HasSubstr("images per class is -1"));
  EXPECT_THAT(message([](SynthOptions& o) { o.quality = 101; }), HasSubstr("quality is 101"));
  EXPECT_THAT(message([](SynthOptions& o) { o.long_side = 1; }), HasSubstr("long side is 1"));
  EXPECT_TRUE(files_below(folder.path()).empty());
}

}  // namespace
}  // namespace cohort
