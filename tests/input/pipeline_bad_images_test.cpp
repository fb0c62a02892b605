#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/random.hpp"
#include "executor/input/pipeline.hpp"
#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using input_test::Buffers;
using input_test::cmyk_jpeg;
using input_test::jpeg_of;
using input_test::noisy_picture;
using input_test::numbered_jpeg;
using input_test::receive;
using input_test::Received;
using input_test::scan;
using input_test::with_claimed_size;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string random_bytes(std::size_t count) {
  Random random(3);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::string truncated_jpeg() {
  const std::string jpeg = jpeg_of(noisy_picture(40, 40, 3, 1));
  return jpeg.substr(0, jpeg.size() / 2);
}

std::unique_ptr<InputPipelines> open_pipelines(const TemporaryFolder& folder, const InputOptions& options,
                                               std::vector<PipelineOptions> pipelines) {
  auto opened = InputPipelines::open(scan(folder.path()), options, std::move(pipelines));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

/// Six of the twelve images are bad, each in a way of its own; in the folder's order:
/// 0 good, 1 cut off, 2 random bytes, 3 good, 4 CMYK, 5 good, 6 text, 7 good, 8 empty, 9 good, 10 huge, 11 good.
class BadImagesTest : public testing::Test {
 protected:
  BadImagesTest() {
    for (int i = 0; i < 12; ++i) folder_.write(fmt::format("a/{:02}.jpg", i), numbered_jpeg(i));
    folder_.write("a/01.jpg", truncated_jpeg());
    folder_.write("a/02.jpg", random_bytes(5000));
    folder_.write("a/04.jpg", cmyk_jpeg(16, 16));
    folder_.write("a/06.jpg", "this is no image");
    folder_.write("a/08.jpg", "");
    folder_.write("a/10.jpg", with_claimed_size(numbered_jpeg(1), 60000, 60000));
  }
  [[nodiscard]] std::string path_of(const char* name) const { return (folder_.path() / "a" / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(BadImagesTest, ArePassedOverForTheNextGoodOne) {
  InputOptions options;
  options.shuffle = false;
  const Buffers buffers(6, 2);
  const auto pipelines = open_pipelines(folder_, options, {buffers.options()});
  EXPECT_TRUE(pipelines->bad_images().empty());
  const auto minibatches = receive(*pipelines, 0, buffers, 2);
  ASSERT_EQ(minibatches.size(), 2U);
  EXPECT_THAT(minibatches[0].images, ElementsAre(0, 3, 3, 3, 5, 5));
  EXPECT_THAT(minibatches[1].images, ElementsAre(7, 7, 9, 9, 11, 11));
  for (const Received& minibatch : minibatches)
    EXPECT_TRUE(std::none_of(minibatch.values.begin(), minibatch.values.end(), [](float v) { return v != v; }));
}

TEST_F(BadImagesTest, AreNamedWithReasonAndCount) {
  InputOptions options;
  options.shuffle = false;
  options.workers = 2;
  const Buffers buffers(6, 2);
  const auto pipelines = open_pipelines(folder_, options, {buffers.options()});
  receive(*pipelines, 0, buffers, 2);
  const auto bad = pipelines->bad_images();
  ASSERT_EQ(bad.size(), 6U);
  const std::vector<std::tuple<const char*, std::string, int>> expected{
      {"01.jpg", "broken JPEG: Premature end", 1},
      {"02.jpg", "broken JPEG: Not a JPEG file", 2},  // by its own place and by that of 01.jpg
      {"04.jpg", "CMYK is not supported: convert to RGB", 1},
      {"06.jpg", "broken JPEG: Not a JPEG file", 1},
      {"08.jpg", "broken JPEG: the file is empty", 1},
      {"10.jpg", "its header claims 60000 x 60000 pixels; at most 100 million are read", 1}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(bad[i].path, path_of(std::get<0>(expected[i])));
    EXPECT_THAT(bad[i].reason, StartsWith(std::get<1>(expected[i])));
    EXPECT_EQ(bad[i].count, std::get<2>(expected[i])) << bad[i].path;
  }
}

TEST_F(BadImagesTest, ChangeNothingWithTheNumberOfWorkersOrPipelines) {
  const auto run = [&](int workers, int count) {
    InputOptions options;
    options.workers = workers;
    const Buffers buffers(5, 2);
    const auto pipelines = open_pipelines(folder_, options, {buffers.options()});
    auto minibatches = receive(*pipelines, 0, buffers, count);
    std::vector<std::string> report;
    for (const BadImage& image : pipelines->bad_images())
      report.push_back(fmt::format("{} {} {}", image.path, image.reason, image.count));
    return std::pair(std::move(minibatches), std::move(report));
  };
  for (const int count : {1, 2, 7}) {
    const auto expected = run(1, count);
    for (const int workers : {2, 3, 4}) EXPECT_EQ(run(workers, count), expected) << workers << " workers";
  }
}

TEST_F(BadImagesTest, CountForEveryPipelineThatMeetsThem) {
  InputOptions options;
  options.shuffle = false;
  options.workers = 2;
  const Buffers first(12, 1);
  const Buffers second(12, 1);
  const auto pipelines = open_pipelines(folder_, options, {first.options(), second.options()});
  EXPECT_EQ(receive(*pipelines, 0, first, 1), receive(*pipelines, 1, second, 1));
  const auto bad = pipelines->bad_images();
  ASSERT_EQ(bad.size(), 6U);
  EXPECT_EQ(bad[1].count, 4);
  EXPECT_EQ(bad[5].count, 2);
}

TEST_F(BadImagesTest, FailTheirMinibatchWhenFatalAndTheFirstIsNamed) {
  for (const int workers : {1, 2, 3, 4}) {
    InputOptions options;
    options.shuffle = false;
    options.workers = workers;
    options.on_bad_image = OnBadImage::kFatal;
    const Buffers buffers(12, 2);
    const auto pipelines = open_pipelines(folder_, options, {buffers.options()});
    for (int again = 0; again < 2; ++again) {
      const auto ready = pipelines->next(0);
      ASSERT_FALSE(ready);
      EXPECT_EQ(ready.error().code, ErrorCode::kInvalidInput);
      EXPECT_THAT(ready.error().message, StartsWith(path_of("01.jpg") + ": broken JPEG: Premature end"));
    }
  }
}

TEST_F(BadImagesTest, LeaveEarlierMinibatchesAloneWhenFatal) {
  InputOptions options;
  options.shuffle = false;
  options.workers = 4;
  options.on_bad_image = OnBadImage::kFatal;
  const Buffers buffers(1, 4);
  const auto pipelines = open_pipelines(folder_, options, {buffers.options()});
  EXPECT_EQ(receive(*pipelines, 0, buffers, 1).size(), 1U);
  EXPECT_FALSE(pipelines->next(0));
}

TEST(BadImages, AreAnErrorWhenThereIsNothingElse) {
  const TemporaryFolder folder;
  for (int i = 0; i < 9; ++i) folder.write(fmt::format("a/{}.jpg", i), "text");
  const Buffers buffers(4, 2);
  InputOptions options;
  options.workers = 3;
  const auto pipelines = open_pipelines(folder, options, {buffers.options()});
  const auto ready = pipelines->next(0);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(ready.error().message, HasSubstr("none of the 9 images in " + folder.path().string()));
  EXPECT_THAT(ready.error().message, HasSubstr("0.jpg: broken JPEG: Not a JPEG file"));
}

TEST(BadImages, LeaveOneGoodImageToFillEveryPlace) {
  const TemporaryFolder folder;
  for (int i = 0; i < 9; ++i) folder.write(fmt::format("a/{}.jpg", i), i == 6 ? numbered_jpeg(6) : "text");
  const Buffers buffers(20, 2);
  InputOptions options;
  options.workers = 3;
  const auto pipelines = open_pipelines(folder, options, {buffers.options()});
  for (const Received& minibatch : receive(*pipelines, 0, buffers, 3)) EXPECT_THAT(minibatch.images, testing::Each(6U));
  EXPECT_EQ(pipelines->bad_images().size(), 8U);
}

TEST(BadImages, IncludeFilesThatVanish) {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) folder.write(fmt::format("a/{}.jpg", i), numbered_jpeg(i));
  ImageFolder images = scan(folder.path());
  std::filesystem::remove(images.images[2].path);
  const Buffers buffers(4, 1);
  InputOptions options;
  options.shuffle = false;
  const auto pipelines = InputPipelines::open(images, options, {buffers.options()});
  ASSERT_TRUE(pipelines);
  EXPECT_THAT(receive(**pipelines, 0, buffers, 1).at(0).images, ElementsAre(0, 1, 3, 3));
  ASSERT_EQ((*pipelines)->bad_images().size(), 1U);
  EXPECT_THAT((*pipelines)->bad_images()[0].reason, HasSubstr("No such file"));
}

}  // namespace
}  // namespace cohort
