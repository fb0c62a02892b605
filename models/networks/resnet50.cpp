// ResNet-50: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016,
// arXiv:1512.03385, with projection shortcuts where the shape changes (option B) and the stride on the
// 3x3 convolution as in torchvision (ResNet "v1.5": Goyal et al., arXiv:1706.02677, has it so).

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

struct Bottleneck {
  std::int64_t width = 0;
  std::int64_t stride = 1;
  bool projects = false;  ///< the shortcut is a convolution
};

TensorId block(ModelBuilder& b, const std::string& name, TensorId x, const Bottleneck& shape) {
  const std::int64_t channels = 4 * shape.width;
  TensorId y = normalized_convolution(b, name + ".conv1", name + ".bn1", x, {.channels = shape.width});
  y = b.relu(name + ".relu1", y);
  y = normalized_convolution(b, name + ".conv2", name + ".bn2", y, same_convolution(shape.width, 3, shape.stride));
  y = b.relu(name + ".relu2", y);
  y = normalized_convolution(b, name + ".conv3", name + ".bn3", y, {.channels = channels});
  TensorId shortcut = x;
  if (shape.projects)
    shortcut = normalized_convolution(b, name + ".shortcut", name + ".shortcut_bn", x,
                                      {.channels = channels, .stride = shape.stride});
  return b.relu(name + ".relu3", add(b, name + ".add", y, shortcut));
}

Result<Model> make_resnet50(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("resnet50");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = normalized_convolution(b, "conv1", "bn1", x, same_convolution(64, 7, 2));
  x = b.relu("relu1", x);
  x = b.max_pool("pool1", x, 3, 2, 1);
  constexpr std::array<int, 4> kBlocks = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    for (int i = 0; i < kBlocks[stage]; ++i) {
      const Bottleneck shape{std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1, i == 0};
      x = block(b, fmt::format("layer{}.{}", stage + 1, i), x, shape);
    }
  }
  return finish_classifier(b, x, classes);
}

}  // namespace

Network resnet50() {
  return {"resnet50",
          "ResNet-50 on 3x224x224 (He et al., arXiv:1512.03385)",
          {{"classes", "1000", "number of outputs"}},
          make_resnet50};
}

}  // namespace cohort
