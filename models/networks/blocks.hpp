#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/builder.hpp"

/// What several networks are built from. Weights are named after their op.
namespace cohort {

/// A convolution without bias; kernel and pad as H, W.
struct ConvolutionShape {
  std::int64_t channels = 0;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::int64_t stride = 1;
  std::array<std::int64_t, 2> pad{0, 0};
  std::int64_t groups = 1;
};

/// A square kernel, padded so that stride 1 keeps H and W.
ConvolutionShape same_convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
                                  std::int64_t groups = 1);

TensorId plain_convolution(ModelBuilder& b, const std::string& name, TensorId x, const ConvolutionShape& shape);

/// Inference-time batch normalisation with its four weights.
TensorId batch_normalization(ModelBuilder& b, const std::string& name, TensorId x, float epsilon = 1e-5F);

/// Convolution, then batch normalisation.
TensorId normalized_convolution(ModelBuilder& b, const std::string& convolution, const std::string& normalization,
                                TensorId x, const ConvolutionShape& shape);

TensorId add(ModelBuilder& b, const std::string& name, TensorId left, TensorId right);

/// Square window, `pad` on all sides; average without the padding.
TensorId average_pool(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t kernel, std::int64_t stride,
                      std::int64_t pad = 0);

/// The model whose output is a score for each class, linear in the channels' averages over all positions.
Result<Model> finish_classifier(ModelBuilder& b, TensorId x, std::int64_t classes);

}  // namespace cohort
