// DenseNet-121: Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks",
// CVPR 2017, arXiv:1608.06993 (DenseNet-BC, growth rate 32).

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

constexpr std::int64_t kGrowth = 32;

/// Normalisation and rectifier stand before the convolution.
TensorId activated(ModelBuilder& b, const std::string& normalization, const std::string& relu, TensorId x) {
  return b.relu(relu, batch_normalization(b, normalization, x));
}

/// Joins what it computes to what it reads.
TensorId dense_layer(ModelBuilder& b, const std::string& name, TensorId x) {
  TensorId y = activated(b, name + ".bn1", name + ".relu1", x);
  y = plain_convolution(b, name + ".conv1", y, {.channels = 4 * kGrowth});
  y = activated(b, name + ".bn2", name + ".relu2", y);
  y = plain_convolution(b, name + ".conv2", y, same_convolution(kGrowth, 3));
  return b.add(name + ".concat", Concat{1}, {x, y});
}

/// Halves channels and image.
TensorId transition(ModelBuilder& b, const std::string& name, TensorId x) {
  const std::int64_t channels = b.shape(x).size() > 1 ? b.shape(x)[1] : 0;
  TensorId y = activated(b, name + ".bn", name + ".relu", x);
  y = plain_convolution(b, name + ".conv", y, {.channels = channels / 2});
  return average_pool(b, name + ".pool", y, 2, 2);
}

Result<Model> make_densenet121(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("densenet121");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = normalized_convolution(b, "conv1", "bn1", x, same_convolution(2 * kGrowth, 7, 2));
  x = b.relu("relu1", x);
  x = b.max_pool("pool1", x, 3, 2, 1);
  constexpr std::array<int, 4> kLayers = {6, 12, 24, 16};
  for (std::size_t block = 0; block < kLayers.size(); ++block) {
    for (int i = 1; i <= kLayers[block]; ++i) x = dense_layer(b, fmt::format("block{}.{}", block + 1, i), x);
    if (block + 1 < kLayers.size()) x = transition(b, fmt::format("transition{}", block + 1), x);
  }
  x = activated(b, "bn2", "relu2", x);
  return finish_classifier(b, x, classes);
}

}  // namespace

Network densenet121() {
  return {"densenet121",
          "DenseNet-121 on 3x224x224 (Huang et al., arXiv:1608.06993)",
          {{"classes", "1000", "number of outputs"}},
          make_densenet121};
}

}  // namespace cohort
