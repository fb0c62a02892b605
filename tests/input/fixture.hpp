#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "executor/input/pipeline.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort::input_test {

/// Owned pixels, as a PixelView sees them.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<std::uint8_t> values;

  [[nodiscard]] PixelView view() const { return {width, height, channels, values}; }
  [[nodiscard]] int at(int x, int y, int channel) const;
};

/// All pixels the same.
Picture plain_picture(int width, int height, std::vector<std::uint8_t> colour);
/// Every value random.
Picture noisy_picture(int width, int height, int channels, std::uint64_t seed);
/// Slow slopes in all channels, which a JPEG keeps to within a few steps of 255.
Picture smooth_picture(int width, int height, int channels);

/// JPEG bytes of quality 95.
std::string jpeg_of(const Picture& picture);
/// A small JPEG whose colour tells `number`.
std::string numbered_jpeg(int number);
/// A JPEG with four colour channels.
std::string cmyk_jpeg(int width, int height);
/// `jpeg` with other extents in its frame header.
std::string with_claimed_size(std::string jpeg, int width, int height);

/// FOLDER/a/000.jpg, FOLDER/b/001.jpg, FOLDER/a/002.jpg, ...: `count` numbered JPEGs in two classes.
void write_numbered_images(const TemporaryFolder& folder, int count);
/// Scans, and fails the test if that does.
ImageFolder scan(const std::filesystem::path& path);

/// One pipeline's memory and options: 8 x 8 RGB, everything random that can be.
class Buffers {
 public:
  Buffers(int minibatch, int slots);
  Buffers(const Buffers&) = delete;
  Buffers(Buffers&&) = default;  // the slots stay where they are
  Buffers& operator=(const Buffers&) = delete;
  Buffers& operator=(Buffers&&) = delete;
  ~Buffers() = default;
  [[nodiscard]] PipelineOptions options() const { return options_; }
  [[nodiscard]] std::vector<float> content(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }

 private:
  std::vector<std::vector<float>> slots_;
  PipelineOptions options_;
};

/// What a caller got from next().
struct Received {
  std::vector<std::uint32_t> images;
  std::vector<std::uint32_t> labels;
  std::vector<float> values;

  friend bool operator==(const Received&, const Received&) = default;
};

/// The next `count` minibatches of a pipeline, each released again; the test fails at the first error.
std::vector<Received> receive(InputPipelines& pipelines, int pipeline, const Buffers& buffers, int count);

}  // namespace cohort::input_test
