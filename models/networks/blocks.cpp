#include "models/networks/blocks.hpp"

namespace cohort {

ConvolutionShape same_convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                                  std::int64_t groups) {
  return {channels, {kernel, kernel}, stride, {kernel / 2, kernel / 2}, groups};
}

TensorId plain_convolution(ModelBuilder& b, const std::string& name, TensorId x, const ConvolutionShape& shape) {
  const std::int64_t channels_in = b.shape(x).size() > 1 ? b.shape(x)[1] : 0;
  const auto [kernel_h, kernel_w] = shape.kernel;
  const auto [pad_h, pad_w] = shape.pad;
  const Window window{{kernel_h, kernel_w}, {shape.stride, shape.stride}, {pad_h, pad_w}, {pad_h, pad_w}, {1, 1}};
  const TensorId w = b.weight(name + ".weight", {shape.channels, channels_in / shape.groups, kernel_h, kernel_w});
  return b.add(name, Convolution{window, shape.groups}, {x, w});
}

TensorId batch_normalization(ModelBuilder& b, const std::string& name, TensorId x, float epsilon) {
  const std::int64_t channels = b.shape(x).size() > 1 ? b.shape(x)[1] : 0;
  std::vector<TensorId> inputs{x};
  for (const char* operand : {".scale", ".shift", ".mean", ".variance"})
    inputs.push_back(b.weight(name + operand, {channels}));
  return b.add(name, BatchNormalization{epsilon}, std::move(inputs));
}

TensorId normalized_convolution(ModelBuilder& b, const std::string& convolution, const std::string& normalization,
                                TensorId x, const ConvolutionShape& shape) {
  return batch_normalization(b, normalization, plain_convolution(b, convolution, x, shape));
}

TensorId add(ModelBuilder& b, const std::string& name, TensorId left, TensorId right) {
  return b.add(name, Binary{BinaryKind::kAdd}, {left, right});
}

TensorId average_pool(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t kernel, std::int64_t stride,
                      std::int64_t pad) {
  const Window window{{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {1, 1}};
  return b.add(name, Pool{PoolKind::kAverage, window, false, false}, {x});
}

Result<Model> finish_classifier(ModelBuilder& b, TensorId x, std::int64_t classes) {
  x = b.global_average_pool("pool", x);
  x = b.flatten("flatten", x);
  b.output(b.linear("fc", x, classes));
  return b.finish();
}

}  // namespace cohort
