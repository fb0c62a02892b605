#include "tests/input/fixture.hpp"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/random.hpp"
#include "executor/input/encode.hpp"

namespace cohort::input_test {

namespace fs = std::filesystem;

int Picture::at(int x, int y, int channel) const {
  return values[static_cast<std::size_t>((y * width + x) * channels + channel)];
}

Picture plain_picture(int width, int height, std::vector<std::uint8_t> colour) {
  Picture picture{width, height, static_cast<int>(colour.size()), {}};
  for (int i = 0; i < width * height; ++i) picture.values.insert(picture.values.end(), colour.begin(), colour.end());
  return picture;
}

Picture noisy_picture(int width, int height, int channels, std::uint64_t seed) {
  Random random(seed);
  Picture picture{width, height, channels, {}};
  for (int i = 0; i < width * height * channels; ++i)
    picture.values.push_back(static_cast<std::uint8_t>(random.below(256)));
  return picture;
}

Picture smooth_picture(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        const int across = 255 * x / width;
        const int down = 255 * y / height;
        picture.values.push_back(static_cast<std::uint8_t>(c == 0   ? across
                                                           : c == 1 ? down
                                                                    : (510 - across - down) / 2));
      }
  return picture;
}

std::string jpeg_of(const Picture& picture) { return encode_jpeg(picture.view(), 95).value(); }

std::string numbered_jpeg(int number) {
  const auto shade = [&](int factor) { return static_cast<std::uint8_t>(20 + number * factor % 200); };
  return jpeg_of(plain_picture(24 + number % 5, 16, {shade(7), shade(13), shade(29)}));
}

std::string cmyk_jpeg(int width, int height) {
  const Picture picture = noisy_picture(width, height, 4, 1);
  tjhandle handle = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const int status =
      tjCompress2(handle, picture.values.data(), width, 0, height, TJPF_CMYK, &data, &size, TJSAMP_444, 90, 0);
  std::string jpeg(reinterpret_cast<const char*>(data), size);
  tjFree(data);
  tjDestroy(handle);
  EXPECT_EQ(status, 0);
  return jpeg;
}

std::string with_claimed_size(std::string jpeg, int width, int height) {
  const std::size_t frame = jpeg.find("\xff\xc0");  // marker, length (2), precision (1), height (2), width (2)
  EXPECT_NE(frame, std::string::npos);
  jpeg[frame + 5] = static_cast<char>(height >> 8);
  jpeg[frame + 6] = static_cast<char>(height & 0xff);
  jpeg[frame + 7] = static_cast<char>(width >> 8);
  jpeg[frame + 8] = static_cast<char>(width & 0xff);
  return jpeg;
}

void write_numbered_images(const TemporaryFolder& folder, int count) {
  for (int i = 0; i < count; ++i)
    folder.write(fmt::format("{}/{:03}.jpg", i % 2 == 0 ? "a" : "b", i), numbered_jpeg(i));
}

ImageFolder scan(const fs::path& path) {
  auto folder = scan_image_folder(path);
  EXPECT_TRUE(folder) << folder.error().message;
  return folder.value_or(ImageFolder{});
}

Buffers::Buffers(int minibatch, int slots) {
  options_.minibatch = minibatch;
  options_.target.height = options_.target.width = 8;
  options_.target.resize = 10;
  options_.target.random_crop = options_.target.random_flip = true;
  for (int i = 0; i < slots; ++i)
    slots_.emplace_back(static_cast<std::size_t>(minibatch) * options_.target.size(), std::nanf(""));
  for (std::vector<float>& slot : slots_) options_.slots.emplace_back(slot);
}

std::vector<Received> receive(InputPipelines& pipelines, int pipeline, const Buffers& buffers, int count) {
  std::vector<Received> all;
  for (int i = 0; i < count; ++i) {
    const auto ready = pipelines.next(pipeline);
    EXPECT_TRUE(ready) << ready.error().message;
    if (!ready) break;
    EXPECT_EQ(ready->index, i);
    all.push_back({{ready->images.begin(), ready->images.end()},
                   {ready->labels.begin(), ready->labels.end()},
                   buffers.content(ready->slot)});
    pipelines.release(pipeline, ready->slot);
  }
  return all;
}

}  // namespace cohort::input_test
