#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/plan.hpp"

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

}  // namespace cohort
