#include "cli/image_options.hpp"

#include <algorithm>

namespace cohort {

void add_image_options(CLI::App& app, ImageOptions& options) {
  app.add_option("--resize", options.resize,
                 "Resize each image's shorter side to N pixels; default: the least that covers the input")
      ->type_name("N");
  app.add_flag("--random-crop", options.random_crop, "Crop at a random position instead of the centre");
  app.add_flag("--random-flip", options.random_flip, "Mirror images left to right, each with probability 1/2");
  for (auto [name, values, what] :
       {std::tuple("--mean", &options.mean, "Mean to subtract from each channel"),
        std::tuple("--std", &options.std, "Standard deviation to divide each channel by")}) {
    app.add_option(name, *values, fmt::format("{}, on a scale from 0 to 1; default: ImageNet's", what))
        ->type_name("R,G,B")
        ->delimiter(',')
        ->expected(3);
  }
  for (const char* const name : kImageOptions) app.get_option(name)->needs(app.get_option("--data"));
}

Result<ImagePreparation> images_of(const ImageOptions& options) {
  ImagePreparation images;
  images.resize = options.resize;
  images.random_crop = options.random_crop;
  images.random_flip = options.random_flip;
  if (!options.mean.empty()) std::copy_n(options.mean.begin(), images.mean.size(), images.mean.begin());
  if (!options.std.empty()) std::copy_n(options.std.begin(), images.std.size(), images.std.begin());
  if (const auto valid = validate(images, "--"); !valid) return fail(ErrorCode::kUsage, "{}", valid.error().message);
  return images;
}

}  // namespace cohort
