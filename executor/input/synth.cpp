#include "executor/input/synth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <system_error>

#include "base/file.hpp"
#include "base/random.hpp"
#include "executor/input/encode.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;

using Colour = std::array<float, 3>;  // red, green, blue in [0, 1]
constexpr float kTurn = 2.0F * std::numbers::pi_v<float>;

/// `hue` in turns.
Colour colour_of(float hue, float saturation, float value) {
  Colour colour{};
  for (std::size_t c = 0; c < 3; ++c) {
    const float position = hue + static_cast<float>(3 - c) / 3.0F;
    const float distance = std::fabs((position - std::floor(position)) * 6.0F - 3.0F);
    colour[c] = value * (1.0F - saturation + saturation * std::clamp(distance - 1.0F, 0.0F, 1.0F));
  }
  return colour;
}

enum class Shape { kDisc, kSquare, kRing, kCross, kDiamond };
constexpr int kShapes = 5;

/// Whether a point, in units of the shape's radius from its centre, lies on it.
bool covers(Shape shape, float x, float y) {
  const float ax = std::fabs(x);
  const float ay = std::fabs(y);
  switch (shape) {
    case Shape::kDisc:
      return x * x + y * y < 1.0F;
    case Shape::kSquare:
      return std::max(ax, ay) < 0.85F;
    case Shape::kRing:
      return x * x + y * y < 1.0F && x * x + y * y > 0.4F;
    case Shape::kCross:
      return (ax < 0.3F && ay < 1.0F) || (ay < 0.3F && ax < 1.0F);
    case Shape::kDiamond:
      return ax + ay < 1.1F;
  }
  return false;
}

/// Smooth noise in [-1, 1]: random values on a lattice that repeats, mixed linearly in between.
class Texture {
 public:
  explicit Texture(Random& random) : lattice_(kSide * kSide) {
    for (float& value : lattice_) value = random.uniform(-1.0F, 1.0F);
  }

  /// Adds `amplitude` times the noise along row y, a lattice cell every `cell` pixels.
  void add_row(std::vector<float>& row, float y, float cell, float amplitude) const {
    const float v = y / cell;
    const auto j = static_cast<std::size_t>(v);
    const float mix_v = v - static_cast<float>(j);
    const float* const above = &lattice_[j % kSide * kSide];
    const float* const below = &lattice_[(j + 1) % kSide * kSide];
    for (std::size_t x = 0; x < row.size(); ++x) {
      const float u = static_cast<float>(x) / cell;
      const auto i = static_cast<std::size_t>(u);
      const float mix_u = u - static_cast<float>(i);
      const std::size_t left = i % kSide;
      const std::size_t right = (i + 1) % kSide;
      const float top = above[left] + mix_u * (above[right] - above[left]);
      const float bottom = below[left] + mix_u * (below[right] - below[left]);
      row[x] += amplitude * (top + mix_v * (bottom - top));
    }
  }

 private:
  static constexpr std::size_t kSide = 128;
  std::vector<float> lattice_;
};

/// Everything about one image but its pixels.
struct Scene {
  int width = 0;
  int height = 0;
  Colour background{};
  Colour foreground{};
  Shape shape = Shape::kDisc;
  float centre_x = 0;
  float centre_y = 0;
  float radius = 0;
  float wave_x = 0;  ///< of the grating, turns per pixel
  float wave_y = 0;
  float phase = 0;
  float light_x = 0;  ///< slope of the light over the width
  float light_y = 0;
  float detail = 0;  ///< amplitude of the finest texture
  float noise = 0;   ///< amplitude of the sensor's noise, of 255
};

Scene compose(const SynthOptions& options, int class_index, Random& random) {
  constexpr std::array<float, 8> kAspects{4.0F / 3, 4.0F / 3, 4.0F / 3, 4.0F / 3, 3.0F / 2, 3.0F / 2, 1.0F, 16.0F / 9};
  Scene scene;
  const float aspect = kAspects[random.below(kAspects.size())];
  const auto long_side =
      static_cast<int>(std::lround(static_cast<float>(options.long_side) * random.uniform(0.94F, 1.06F)));
  const int short_side = std::max(1, static_cast<int>(std::lround(static_cast<float>(long_side) / aspect)));
  const bool upright = random.below(4) == 0;
  scene.width = upright ? short_side : long_side;
  scene.height = upright ? long_side : short_side;

  const auto index = static_cast<float>(class_index);
  const float hue = index / static_cast<float>(options.classes) + random.uniform(-0.03F, 0.03F);
  scene.background = colour_of(hue, random.uniform(0.45F, 0.75F), random.uniform(0.55F, 0.85F));
  scene.foreground = colour_of(hue + 0.4F, random.uniform(0.5F, 0.9F), random.uniform(0.5F, 0.95F));
  scene.shape = static_cast<Shape>(class_index % kShapes);
  scene.radius = static_cast<float>(short_side) * random.uniform(0.18F, 0.3F);
  scene.centre_x = static_cast<float>(scene.width) * random.uniform(0.3F, 0.7F);
  scene.centre_y = static_cast<float>(scene.height) * random.uniform(0.3F, 0.7F);

  // Steps of the golden ratio keep the directions and periods of few and of many classes apart.
  const float golden = index * 0.618034F;
  const float direction = (golden - std::floor(golden)) * 0.5F * kTurn + random.uniform(-0.1F, 0.1F);
  const float frequency = random.uniform(0.9F, 1.1F) / (9.0F + 5.0F * static_cast<float>(class_index % 4));
  scene.wave_x = frequency * std::cos(direction);
  scene.wave_y = frequency * std::sin(direction);
  scene.phase = random.uniform();
  scene.light_x = random.uniform(-0.3F, 0.3F);
  scene.light_y = random.uniform(-0.3F, 0.3F);
  scene.detail = random.uniform(0.08F, 0.2F);
  scene.noise = random.uniform(14.0F, 34.0F);
  return scene;
}

/// sin(2 pi (x * wave_x + y * wave_y + phase)) by the addition theorem: two products a pixel.
class Grating {
 public:
  explicit Grating(const Scene& scene) : scene_(scene) {
    for (int x = 0; x < scene.width; ++x) {
      sines_.push_back(std::sin(kTurn * scene.wave_x * static_cast<float>(x)));
      cosines_.push_back(std::cos(kTurn * scene.wave_x * static_cast<float>(x)));
    }
  }
  void add_row(std::vector<float>& row, float y, float amplitude) const {
    const float angle = kTurn * (scene_.wave_y * y + scene_.phase);
    const float sine = amplitude * std::sin(angle);
    const float cosine = amplitude * std::cos(angle);
    for (std::size_t x = 0; x < row.size(); ++x) row[x] += sines_[x] * cosine + cosines_[x] * sine;
  }

 private:
  const Scene& scene_;
  std::vector<float> sines_;
  std::vector<float> cosines_;
};

Result<void> check(const SynthOptions& options) {
  const auto within = [](std::string_view name, int value, int least, int most) -> Result<void> {
    if (value < least || value > most)
      return fail(ErrorCode::kInvalidInput, "{} is {}; must be {} to {}", name, value, least, most);
    return {};
  };
  COHORT_CHECK(within("classes", options.classes, 1, kMostSynthClasses));
  COHORT_CHECK(within("images per class", options.images_per_class, 1, kMostSynthImages));
  COHORT_CHECK(within("long side", options.long_side, kLeastSynthSide, kMostSynthSide));
  return within("quality", options.quality, 1, 100);
}

Result<void> prepare_folder(const fs::path& folder, bool force, MadeFolders& folders) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    return fail(ErrorCode::kInvalidInput, "{} is not a folder", folder.string());
  if (!force && fs::exists(folder, error) && !fs::is_empty(folder, error))
    return fail(ErrorCode::kInvalidInput, "folder {} is not empty; give -f to write into it", folder.string());
  return folders.make(folder);
}

}  // namespace

SynthImage draw_synth_image(const SynthOptions& options, int class_index, int number) {
  Random random(derive_seed(derive_seed(options.seed, static_cast<std::uint64_t>(class_index)),
                            static_cast<std::uint64_t>(number)));
  const Scene scene = compose(options, class_index, random);
  const Texture texture(random);
  const Grating grating(scene);
  const auto width = static_cast<std::size_t>(scene.width);
  SynthImage image{scene.width, scene.height, {}};
  image.values.reserve(width * static_cast<std::size_t>(scene.height) * 3);
  std::vector<float> brightness(width);
  for (int row = 0; row < scene.height; ++row) {
    const auto y = static_cast<float>(row);
    const float light = 1.0F + scene.light_y * (y / static_cast<float>(scene.height) - 0.5F);
    std::fill(brightness.begin(), brightness.end(), light);
    texture.add_row(brightness, y, 61.0F, 0.2F);
    texture.add_row(brightness, y, 17.0F, 0.1F);
    texture.add_row(brightness, y, 4.3F, scene.detail);
    grating.add_row(brightness, y, 0.12F);
    for (std::size_t column = 0; column < width; ++column) {
      const auto x = static_cast<float>(column);
      const bool on_shape =
          covers(scene.shape, (x - scene.centre_x) / scene.radius, (y - scene.centre_y) / scene.radius);
      const Colour& colour = on_shape ? scene.foreground : scene.background;
      const float lit = brightness[column] + scene.light_x * (x / static_cast<float>(width) - 0.5F);
      const std::uint64_t bits = random.next();
      for (std::size_t c = 0; c < 3; ++c) {
        const float grain = static_cast<float>(bits >> (16 * c) & 0xffff) * 0x1.0p-15F - 1.0F;
        const float value = 255.0F * colour[c] * lit + scene.noise * grain;
        image.values.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F)));
      }
    }
  }
  return image;
}

Result<SynthSummary> write_synth_dataset(const fs::path& folder, const SynthOptions& options) {
  COHORT_CHECK(check(options));
  MadeFolders folders;
  COHORT_CHECK(prepare_folder(folder, options.force, folders));
  SynthSummary summary;
  const auto class_digits = std::max<std::size_t>(2, std::to_string(options.classes - 1).size());
  for (int c = 0; c < options.classes; ++c) {
    const fs::path class_folder = folder / fmt::format("class_{:0{}}", c, class_digits);
    COHORT_CHECK(folders.make(class_folder));
    for (int i = 0; i < options.images_per_class; ++i) {
      if (options.cancel != nullptr) COHORT_CHECK(options.cancel->check());
      const SynthImage image = draw_synth_image(options, c, i);
      COHORT_TRY(const std::string jpeg, encode_jpeg({image.width, image.height, 3, image.values}, options.quality));
      COHORT_CHECK(write_file(class_folder / fmt::format("{:05}.jpg", i), jpeg,
                              options.force ? Overwrite::kAllow : Overwrite::kNever));
      ++summary.images;
      summary.bytes += {static_cast<std::int64_t>(jpeg.size())};
      if (options.progress) options.progress(summary.images, options.classes * options.images_per_class);
    }
  }
  return summary;
}

}  // namespace cohort
