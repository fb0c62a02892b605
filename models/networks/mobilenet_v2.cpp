// MobileNetV2: Sandler, Howard, Zhu, Zhmoginov, Chen, "MobileNetV2: Inverted Residuals and Linear
// Bottlenecks", CVPR 2018, arXiv:1801.04381, width 1.0.

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

/// A row of the paper's table 2.
struct Stage {
  std::int64_t expansion, channels, blocks, stride;
};

TensorId relu6(ModelBuilder& b, const std::string& name, TensorId x) {
  return b.add(name, Activation{ActivationKind::kClip, 0, 6}, {x});
}

TensorId convolution_relu6(ModelBuilder& b, const std::string& name, TensorId x, const ConvolutionShape& shape) {
  return relu6(b, name + ".relu6", normalized_convolution(b, name, name + ".bn", x, shape));
}

TensorId block(ModelBuilder& b, const std::string& name, TensorId x, const Stage& stage, std::int64_t stride) {
  const std::int64_t channels_in = b.shape(x).size() > 1 ? b.shape(x)[1] : 0;
  const std::int64_t hidden = channels_in * stage.expansion;
  TensorId y = x;
  if (stage.expansion != 1) y = convolution_relu6(b, name + ".expand", y, {.channels = hidden});
  y = convolution_relu6(b, name + ".depthwise", y, same_convolution(hidden, 3, stride, hidden));
  y = normalized_convolution(b, name + ".project", name + ".project.bn", y, {.channels = stage.channels});
  return stride == 1 && channels_in == stage.channels ? add(b, name + ".add", y, x) : y;
}

Result<Model> make_mobilenet_v2(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("mobilenet_v2");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = convolution_relu6(b, "conv1", x, same_convolution(32, 3, 2));
  constexpr std::array<Stage, 7> kStages = {
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  int number = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i)
      x = block(b, fmt::format("block{}", number++), x, stage, i == 0 ? stage.stride : 1);
  }
  x = convolution_relu6(b, "conv2", x, {.channels = 1280});
  return finish_classifier(b, x, classes);
}

}  // namespace

Network mobilenet_v2() {
  return {"mobilenet_v2",
          "MobileNetV2 1.0 on 3x224x224 (Sandler et al., arXiv:1801.04381)",
          {{"classes", "1000", "number of outputs"}},
          make_mobilenet_v2};
}

}  // namespace cohort
