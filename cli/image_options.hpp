#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// How the command line says what becomes of the images of --data.
struct ImageOptions {
  std::optional<int> resize;
  bool random_crop = false;
  bool random_flip = false;
  std::vector<double> mean;  ///< empty: as usual
  std::vector<double> std;   ///< likewise
};

inline constexpr std::array kImageOptions{"--resize", "--random-crop", "--random-flip", "--mean", "--std"};

/// Declares kImageOptions, each of which needs --data; that is there already.
void add_image_options(CLI::App& app, ImageOptions& options);

/// Errors: kUsage naming the option.
Result<ImagePreparation> images_of(const ImageOptions& options);

/// Among the settings of a profile: how the images were made ready whose stages it timed.
void write_images(const ImagePreparation& images, std::map<std::string, std::string>& settings);

/// Decoding and resizing take as long as was recorded only for images of the recorded size; the rest of their
/// preparation changes no time. `asked` says who asks for the plan's size: "--resize", "the plan's input.resize".
/// Errors: kUsage naming `file` and what to profile.
Result<void> check_timed_alike(const InputPlan& input, std::string_view asked, const Trace& profile,
                               const std::filesystem::path& file);

}  // namespace cohort
