#include "executor/input/image_loader.hpp"

#include "base/random.hpp"

namespace cohort {

std::string_view to_string(InputStage stage) {
  switch (stage) {
    case InputStage::kRead:
      return "read";
    case InputStage::kDecode:
      return "decode";
    case InputStage::kTransform:
      return "transform";
  }
  return "unknown";
}

/// Reports a stage for as long as it lives.
class ImageLoader::Stage {
 public:
  Stage(const ImageLoader& loader, InputStage stage) : loader_(loader), stage_(stage) {
    if (loader_.observer_ != nullptr) loader_.observer_->begin(stage_, loader_.work_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() {
    if (loader_.observer_ != nullptr) loader_.observer_->end(stage_, loader_.work_);
  }

 private:
  const ImageLoader& loader_;
  InputStage stage_;
};

Result<void> ImageLoader::load(const std::filesystem::path& path, std::uint64_t seed, const ImageTarget& target,
                               std::span<float> out) {
  const auto read = [&] {
    const Stage stage(*this, InputStage::kRead);
    return read_image(path);
  };
  const auto decode = [&](const std::string& jpeg) {
    const Stage stage(*this, InputStage::kDecode);
    return decoder_.decode(
        jpeg, {target.channels, target.resize.value_or(target.width), target.resize.value_or(target.height)});
  };
  COHORT_TRY(const std::string jpeg, read());
  const Result<PixelView> pixels = decode(jpeg);
  if (!pixels) return in_context(path.string(), pixels.error());
  const Stage stage(*this, InputStage::kTransform);
  Random random(seed);
  transform_.apply(*pixels, choose_crop(pixels->width, pixels->height, target, random), target, out);
  return {};
}

}  // namespace cohort
