#include "cli/image_options.hpp"

#include <algorithm>

#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

constexpr const char* kResizeSetting = "input.resize";

std::string resize_text(std::optional<int> resize) {
  return resize ? fmt::format("--resize {}", *resize) : "no --resize";
}

/// Empty where the images were as large as covers the input.
std::string recorded_resize(const Trace& profile) {
  const auto found = profile.info.settings.find(kResizeSetting);
  return found == profile.info.settings.end() ? std::string() : found->second;
}

}  // namespace

void add_image_options(CLI::App& app, ImageOptions& options) {
  app.add_option("--resize", options.resize,
                 "Pixels that the shorter side of each image is resized to; the least that covers the input unless "
                 "given")
      ->type_name("N");
  app.add_flag("--random-crop", options.random_crop, "Cut each image out at a random place instead of the middle");
  app.add_flag("--random-flip", options.random_flip, "Turn every other image left to right, at random");
  for (auto [name, values, what] :
       {std::tuple("--mean", &options.mean, "is taken away from red, green and blue, of values from 0 to 1"),
        std::tuple("--std", &options.std, "they are then divided by")}) {
    app.add_option(name, *values, fmt::format("What {}; ImageNet's unless given", what))
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

void write_images(const ImagePreparation& images, std::map<std::string, std::string>& settings) {
  if (images.resize) settings[kResizeSetting] = std::to_string(*images.resize);
  settings["input.random_crop"] = images.random_crop ? "true" : "false";
  settings["input.random_flip"] = images.random_flip ? "true" : "false";
  settings["input.mean"] = fmt::format("{}", fmt::join(images.mean, ","));
  settings["input.std"] = fmt::format("{}", fmt::join(images.std, ","));
}

Result<void> check_timed_alike(const InputPlan& input, std::string_view asked, const Trace& profile,
                               const std::filesystem::path& file) {
  if (input.source != InputSource::kFolder) return {};
  const std::string recorded = recorded_resize(profile);
  const std::optional<int> wanted = input.images.resize;
  if (recorded == (wanted ? std::to_string(*wanted) : "")) return {};
  const bool timed = std::any_of(profile.slices.begin(), profile.slices.end(), [&](const Slice& slice) {
    return profile.text_arg(slice, "signature").value_or("") == kInputDecodeRecord;
  });
  if (!timed) return {};
  return fail(ErrorCode::kUsage, "{} is {}: {} timed decoding with {}; profile with --data and {}", asked,
              wanted ? std::to_string(*wanted) : "not given", file.string(),
              recorded.empty() ? "no --resize" : "--resize " + recorded, resize_text(wanted));
}

}  // namespace cohort
