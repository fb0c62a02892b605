// ResNet-18: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016,
// arXiv:1512.03385, with projection shortcuts where the shape changes (option B).

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

/// Convolution without bias, then batch normalisation.
TensorId normalized_convolution(ModelBuilder& b, const std::string& convolution, const std::string& normalization,
                                TensorId x, ModelBuilder::ConvolutionOptions options) {
  options.bias = false;
  const TensorId y = b.convolution(convolution, x, options);
  std::vector<TensorId> inputs{y};
  for (const char* operand : {".scale", ".shift", ".mean", ".variance"})
    inputs.push_back(b.weight(normalization + operand, {options.channels}));
  return b.add(normalization, BatchNormalization{}, std::move(inputs));
}

TensorId block(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t channels, std::int64_t stride) {
  TensorId shortcut = x;
  TensorId y = normalized_convolution(b, name + ".conv1", name + ".bn1", x,
                                      {.channels = channels, .kernel = 3, .stride = stride, .pad = 1});
  y = b.relu(name + ".relu1", y);
  y = normalized_convolution(b, name + ".conv2", name + ".bn2", y, {.channels = channels, .kernel = 3, .pad = 1});
  if (stride != 1)
    shortcut = normalized_convolution(b, name + ".shortcut", name + ".shortcut_bn", x,
                                      {.channels = channels, .stride = stride});
  y = b.add(name + ".add", Binary{BinaryKind::kAdd}, {y, shortcut});
  return b.relu(name + ".relu2", y);
}

Result<Model> make(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("resnet18");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = normalized_convolution(b, "conv1", "bn1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = b.relu("relu1", x);
  x = b.max_pool("pool1", x, 3, 2, 1);
  for (int stage = 1; stage <= 4; ++stage) {
    const std::int64_t channels = 32 * (std::int64_t{1} << stage);
    x = block(b, fmt::format("layer{}.0", stage), x, channels, stage == 1 ? 1 : 2);
    x = block(b, fmt::format("layer{}.1", stage), x, channels, 1);
  }
  x = b.global_average_pool("pool", x);
  x = b.flatten("flatten", x);
  x = b.linear("fc", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network resnet18() {
  return {"resnet18",
          "ResNet-18 on 3x224x224 (He et al., arXiv:1512.03385)",
          {{"classes", "1000", "number of outputs"}},
          make};
}

}  // namespace cohort
