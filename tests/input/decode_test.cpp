#include "executor/input/decode.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using input_test::cmyk_jpeg;
using input_test::jpeg_of;
using input_test::noisy_picture;
using input_test::Picture;
using input_test::plain_picture;
using input_test::smooth_picture;
using input_test::with_claimed_size;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kHuge = 1 << 20;  // asks for pixels at full size
DecodeRequest full_size(int channels) { return {channels, kHuge, kHuge}; }

int largest_difference(const PixelView& pixels, const Picture& expected) {
  int largest = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    largest = std::max(largest, std::abs(int{pixels.values[i]} - int{expected.values[i]}));
  return largest;
}

std::string message_of(std::string_view jpeg) {
  JpegDecoder own;
  const auto pixels = own.decode(jpeg, full_size(3));
  return pixels ? "no error" : pixels.error().message;
}

TEST(JpegDecoder, GivesBackThePixelsOfASmoothImage) {
  JpegDecoder own;
  for (const int channels : {1, 3}) {
    const Picture picture = smooth_picture(61, 43, channels);
    const auto pixels = own.decode(jpeg_of(picture), full_size(channels));
    ASSERT_TRUE(pixels) << pixels.error().message;
    EXPECT_EQ(pixels->width, 61);
    EXPECT_EQ(pixels->height, 43);
    ASSERT_EQ(pixels->values.size(), picture.values.size());
    EXPECT_LE(largest_difference(*pixels, picture), 8) << channels << " channels";
  }
}

TEST(JpegDecoder, GivesTheLuminanceOfAColourImageForOneChannel) {
  JpegDecoder own;
  const auto pixels = own.decode(jpeg_of(plain_picture(20, 10, {200, 100, 50})), full_size(1));
  ASSERT_TRUE(pixels) << pixels.error().message;
  ASSERT_EQ(pixels->values.size(), 200U);
  const double luminance = 0.299 * 200 + 0.587 * 100 + 0.114 * 50;  // ITU-R BT.601
  for (const int value : pixels->values) EXPECT_NEAR(value, luminance, 2.0);
}

TEST(JpegDecoder, RepeatsAGrayImageInThreeChannels) {
  JpegDecoder own;
  const auto pixels = own.decode(jpeg_of(plain_picture(9, 9, {77})), full_size(3));
  ASSERT_TRUE(pixels) << pixels.error().message;
  ASSERT_EQ(pixels->values.size(), 9U * 9U * 3U);
  for (const int value : pixels->values) EXPECT_NEAR(value, 77, 1);
}

TEST(JpegDecoder, ShrinksWhileItStillCoversWhatIsAsked) {
  JpegDecoder own;
  const std::string jpeg = jpeg_of(smooth_picture(400, 300, 3));
  const auto extents = [&](int least_width, int least_height) {
    const auto pixels = own.decode(jpeg, {3, least_width, least_height});
    return pixels ? std::pair(pixels->width, pixels->height) : std::pair(0, 0);
  };
  EXPECT_EQ(extents(50, 37), std::pair(50, 38));
  EXPECT_EQ(extents(51, 37), std::pair(100, 75));
  EXPECT_EQ(extents(50, 39), std::pair(100, 75));
  EXPECT_EQ(extents(200, 150), std::pair(200, 150));
  EXPECT_EQ(extents(200, 151), std::pair(400, 300));
  EXPECT_EQ(extents(4000, 3000), std::pair(400, 300));
}

TEST(JpegDecoder, IsReadyForTheNextImageAfterABrokenOne) {
  JpegDecoder own;
  const Picture picture = smooth_picture(32, 32, 3);
  const std::string jpeg = jpeg_of(picture);
  EXPECT_FALSE(own.decode(jpeg.substr(0, jpeg.size() / 2), full_size(3)));
  EXPECT_FALSE(own.decode("text", full_size(3)));
  const auto pixels = own.decode(jpeg, full_size(3));
  ASSERT_TRUE(pixels) << pixels.error().message;
  EXPECT_LE(largest_difference(*pixels, picture), 8);
}

TEST(JpegDecoder, SaysWhatIsWrongWithWhatItCannotDecode) {
  const std::string jpeg = jpeg_of(noisy_picture(64, 64, 3, 5));
  EXPECT_THAT(message_of(""), StartsWith("broken JPEG: no data"));
  EXPECT_THAT(message_of("just some text, as a file can be named .jpg"), StartsWith("broken JPEG: Not a JPEG file"));
  EXPECT_THAT(message_of(jpeg.substr(0, jpeg.size() / 2)), StartsWith("broken JPEG: Premature end"));
  EXPECT_THAT(message_of(jpeg.substr(0, jpeg.size() - 2)), StartsWith("broken JPEG: Premature end"));
  EXPECT_THAT(message_of(jpeg.substr(0, 10)), StartsWith("broken JPEG: "));
  EXPECT_EQ(message_of(cmyk_jpeg(16, 16)), "CMYK is not supported: convert to RGB");
  EXPECT_THAT(message_of(with_claimed_size(jpeg, 65000, 65000)), HasSubstr("claims 65000 x 65000 pixels"));
  EXPECT_THAT(message_of(with_claimed_size(jpeg, 64, 4000)), HasSubstr("premature end of data"));
}

TEST(JpegDecoder, AnswersEveryCutAndEveryFlippedByteWithoutHarm) {
  const std::string jpeg = jpeg_of(noisy_picture(16, 16, 3, 6));
  for (std::size_t length = 0; length < jpeg.size(); ++length)
    EXPECT_NE(message_of(jpeg.substr(0, length)), "no error") << "cut to " << length << " bytes";
  JpegDecoder own;
  for (std::size_t i = 0; i < jpeg.size(); ++i) {
    std::string damaged = jpeg;
    damaged[i] = static_cast<char>(~damaged[i]);
    const auto pixels = own.decode(damaged, full_size(3));
    if (pixels) {
      EXPECT_EQ(pixels->values.size(), static_cast<std::size_t>(pixels->width * pixels->height * 3));
    } else {
      EXPECT_FALSE(pixels.error().message.empty());
    }
  }
}

TEST(ReadImage, NamesTheFileThatIsMissingEmptyOrTooLarge) {
  const TemporaryFolder folder;
  folder.write("empty.jpg", "");
  folder.write("large.jpg", "");
  std::filesystem::resize_file(folder.path() / "large.jpg", kMostFileBytes + 1);
  for (const auto& [name, reason] : std::vector<std::pair<std::string, std::string>>{
           {"missing.jpg", "No such file"}, {"empty.jpg", "the file is empty"}, {"large.jpg", "too many"}}) {
    const auto bytes = read_image(folder.path() / name);
    ASSERT_FALSE(bytes);
    EXPECT_THAT(bytes.error().message, HasSubstr((folder.path() / name).string()));
    EXPECT_THAT(bytes.error().message, HasSubstr(reason));
  }
}

}  // namespace
}  // namespace cohort
