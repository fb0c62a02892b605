#include "models/branches.hpp"

#include <algorithm>

namespace cohort {

namespace {

/// By element of the narrow kernel: the element of the wide one that reads the same.
std::optional<std::vector<std::size_t>> same_taps(const Window& wide, const Window& narrow) {
  std::vector<std::size_t> taps{0};
  for (std::size_t d = 0; d < wide.kernel.size(); ++d) {
    std::vector<std::size_t> longer;
    for (const std::size_t before : taps) {
      for (std::int64_t t = 0; t < narrow.kernel[d]; ++t) {
        const std::int64_t place = wide.pad_begin[d] - narrow.pad_begin[d] + t * narrow.dilation[d];
        const std::int64_t tap = place / wide.dilation[d];
        if (place < 0 || place % wide.dilation[d] != 0 || tap >= wide.kernel[d]) return std::nullopt;
        longer.push_back(before * static_cast<std::size_t>(wide.kernel[d]) + static_cast<std::size_t>(tap));
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

std::size_t channels_of(const ConvolutionWeights& of) { return static_cast<std::size_t>(of.shape[0]); }
std::size_t group_size(const ConvolutionWeights& of) { return static_cast<std::size_t>(of.shape[1]); }

std::size_t kernel_size(const ConvolutionWeights& of) { return of.weight.size() / (channels_of(of) * group_size(of)); }

/// Parameters of several models have an axis more.
bool is_of_one_model(const ConvolutionWeights& of) {
  return of.shape.size() == of.convolution.window.kernel.size() + 2 && !of.weight.empty();
}

float bias_at(const ConvolutionWeights& of, std::size_t channel) {
  return of.bias != nullptr ? (*of.bias)[channel] : 0.0F;
}

}  // namespace

std::optional<WeightAndBias> with_branch(const ConvolutionWeights& wide, const ConvolutionWeights& narrow) {
  if (!is_of_one_model(wide) || !is_of_one_model(narrow)) return std::nullopt;
  const bool differ = wide.convolution.groups != narrow.convolution.groups ||
                      wide.convolution.window.stride != narrow.convolution.window.stride ||
                      wide.shape[0] != narrow.shape[0] || wide.shape[1] != narrow.shape[1];
  if (differ) return std::nullopt;
  const auto taps = same_taps(wide.convolution.window, narrow.convolution.window);
  if (!taps) return std::nullopt;
  WeightAndBias sum{wide.weight, {}};
  for (std::size_t kernel = 0; kernel < channels_of(wide) * group_size(wide); ++kernel) {
    for (std::size_t t = 0; t < taps->size(); ++t)
      sum.weight[kernel * kernel_size(wide) + (*taps)[t]] += narrow.weight[kernel * taps->size() + t];
  }
  for (std::size_t k = 0; k < channels_of(wide); ++k) sum.bias.push_back(bias_at(wide, k) + bias_at(narrow, k));
  return sum;
}

std::optional<WeightAndBias> with_affine_branch(const ConvolutionWeights& wide, const ChannelAffine& affine) {
  const std::vector<std::int64_t> ones(wide.convolution.window.kernel.size(), 1);
  const std::vector<std::int64_t> zeros(ones.size(), 0);
  if (!is_of_one_model(wide) || wide.convolution.window.stride != ones) return std::nullopt;
  if (wide.shape[0] != wide.shape[1] * wide.convolution.groups || affine.scale.size() != channels_of(wide))
    return std::nullopt;
  const auto taps = same_taps(wide.convolution.window, {ones, ones, zeros, zeros, ones});
  if (!taps) return std::nullopt;
  WeightAndBias sum{wide.weight, {}};
  for (std::size_t k = 0; k < channels_of(wide); ++k) {
    const std::size_t kernel = k * group_size(wide) + k % group_size(wide);
    float& element = sum.weight[kernel * kernel_size(wide) + taps->front()];
    element = static_cast<float>(static_cast<double>(element) + affine.scale[k]);
    sum.bias.push_back(static_cast<float>(static_cast<double>(bias_at(wide, k)) + affine.shift[k]));
  }
  return sum;
}

}  // namespace cohort
