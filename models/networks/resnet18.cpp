// ResNet-18: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016,
// arXiv:1512.03385, with projection shortcuts where the shape changes (option B).

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

TensorId block(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t channels, std::int64_t stride) {
  TensorId shortcut = x;
  TensorId y = normalized_convolution(b, name + ".conv1", name + ".bn1", x, same_convolution(channels, 3, stride));
  y = b.relu(name + ".relu1", y);
  y = normalized_convolution(b, name + ".conv2", name + ".bn2", y, same_convolution(channels, 3));
  if (stride != 1)
    shortcut = normalized_convolution(b, name + ".shortcut", name + ".shortcut_bn", x,
                                      {.channels = channels, .stride = stride});
  return b.relu(name + ".relu2", add(b, name + ".add", y, shortcut));
}

Result<Model> make_resnet18(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("resnet18");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = normalized_convolution(b, "conv1", "bn1", x, same_convolution(64, 7, 2));
  x = b.relu("relu1", x);
  x = b.max_pool("pool1", x, 3, 2, 1);
  for (int stage = 1; stage <= 4; ++stage) {
    const std::int64_t channels = 32 * (std::int64_t{1} << stage);
    x = block(b, fmt::format("layer{}.0", stage), x, channels, stage == 1 ? 1 : 2);
    x = block(b, fmt::format("layer{}.1", stage), x, channels, 1);
  }
  return finish_classifier(b, x, classes);
}

}  // namespace

Network resnet18() {
  return {"resnet18",
          "ResNet-18 on 3x224x224 (He et al., arXiv:1512.03385)",
          {{"classes", "1000", "number of outputs"}},
          make_resnet18};
}

}  // namespace cohort
