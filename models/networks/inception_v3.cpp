// Inception v3: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the Inception Architecture for
// Computer Vision", CVPR 2016, arXiv:1512.00567, with the widths of the authors' code and torchvision's
// inception_v3, without the auxiliary classifier, which only training reads.

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

constexpr float kEpsilon = 1e-3F;

/// Convolution, normalisation, rectifier.
TensorId unit(ModelBuilder& b, const std::string& name, TensorId x, const ConvolutionShape& shape) {
  const TensorId y = batch_normalization(b, name + ".bn", plain_convolution(b, name, x, shape), kEpsilon);
  return b.relu(name + ".relu", y);
}

/// A 1xN or Nx1 kernel that keeps the image's size.
ConvolutionShape row(std::int64_t channels, std::int64_t n) { return {channels, {1, n}, 1, {0, n / 2}, 1}; }
ConvolutionShape column(std::int64_t channels, std::int64_t n) { return {channels, {n, 1}, 1, {n / 2, 0}, 1}; }
ConvolutionShape reducing(std::int64_t channels) { return {channels, {3, 3}, 2, {0, 0}, 1}; }

TensorId concat(ModelBuilder& b, const std::string& name, std::vector<TensorId> branches) {
  return b.add(name + ".concat", Concat{1}, std::move(branches));
}

/// Average over 3x3, padding counted, then a 1x1 convolution.
TensorId pool_branch(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t channels) {
  const Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const TensorId y = b.add(name + ".pool", Pool{PoolKind::kAverage, window, false, true}, {x});
  return unit(b, name + ".pool1x1", y, {.channels = channels});
}

/// Figure 5 of the paper, with a 5x5 convolution left whole.
TensorId block_a(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t pool_channels) {
  const TensorId narrow = unit(b, name + ".1x1", x, {.channels = 64});
  TensorId five = unit(b, name + ".5x5_1", x, {.channels = 48});
  five = unit(b, name + ".5x5_2", five, same_convolution(64, 5));
  TensorId three = unit(b, name + ".3x3_1", x, {.channels = 64});
  three = unit(b, name + ".3x3_2", three, same_convolution(96, 3));
  three = unit(b, name + ".3x3_3", three, same_convolution(96, 3));
  return concat(b, name, {narrow, five, three, pool_branch(b, name, x, pool_channels)});
}

/// Figure 10: halves the image.
TensorId reduction_a(ModelBuilder& b, const std::string& name, TensorId x) {
  const TensorId three = unit(b, name + ".3x3", x, reducing(384));
  TensorId twice = unit(b, name + ".double_1", x, {.channels = 64});
  twice = unit(b, name + ".double_2", twice, same_convolution(96, 3));
  twice = unit(b, name + ".double_3", twice, reducing(96));
  return concat(b, name, {three, twice, b.max_pool(name + ".pool", x, 3, 2)});
}

/// Figure 6 with n = 7.
TensorId block_b(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t width) {
  const TensorId narrow = unit(b, name + ".1x1", x, {.channels = 192});
  TensorId once = unit(b, name + ".7x7_1", x, {.channels = width});
  once = unit(b, name + ".7x7_2", once, row(width, 7));
  once = unit(b, name + ".7x7_3", once, column(192, 7));
  TensorId twice = unit(b, name + ".double_1", x, {.channels = width});
  twice = unit(b, name + ".double_2", twice, column(width, 7));
  twice = unit(b, name + ".double_3", twice, row(width, 7));
  twice = unit(b, name + ".double_4", twice, column(width, 7));
  twice = unit(b, name + ".double_5", twice, row(192, 7));
  return concat(b, name, {narrow, once, twice, pool_branch(b, name, x, 192)});
}

TensorId reduction_b(ModelBuilder& b, const std::string& name, TensorId x) {
  TensorId three = unit(b, name + ".3x3_1", x, {.channels = 192});
  three = unit(b, name + ".3x3_2", three, reducing(320));
  TensorId seven = unit(b, name + ".7x7_1", x, {.channels = 192});
  seven = unit(b, name + ".7x7_2", seven, row(192, 7));
  seven = unit(b, name + ".7x7_3", seven, column(192, 7));
  seven = unit(b, name + ".7x7_4", seven, reducing(192));
  return concat(b, name, {three, seven, b.max_pool(name + ".pool", x, 3, 2)});
}

/// 1x3 and 3x1 side by side.
TensorId spread(ModelBuilder& b, const std::string& name, TensorId x) {
  return concat(b, name, {unit(b, name + "a", x, row(384, 3)), unit(b, name + "b", x, column(384, 3))});
}

/// Figure 7.
TensorId block_c(ModelBuilder& b, const std::string& name, TensorId x) {
  const TensorId narrow = unit(b, name + ".1x1", x, {.channels = 320});
  TensorId three = unit(b, name + ".3x3_1", x, {.channels = 384});
  three = spread(b, name + ".3x3_2", three);
  TensorId twice = unit(b, name + ".double_1", x, {.channels = 448});
  twice = unit(b, name + ".double_2", twice, same_convolution(384, 3));
  twice = spread(b, name + ".double_3", twice);
  return concat(b, name, {narrow, three, twice, pool_branch(b, name, x, 192)});
}

Result<Model> make_inception_v3(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("inception_v3");
  TensorId x = b.input("input", {minibatch, 3, 299, 299});
  x = unit(b, "conv1", x, reducing(32));
  x = unit(b, "conv2", x, {.channels = 32, .kernel = {3, 3}});
  x = unit(b, "conv3", x, same_convolution(64, 3));
  x = b.max_pool("pool1", x, 3, 2);
  x = unit(b, "conv4", x, {.channels = 80});
  x = unit(b, "conv5", x, {.channels = 192, .kernel = {3, 3}});
  x = b.max_pool("pool2", x, 3, 2);
  x = block_a(b, "mixed1", x, 32);
  x = block_a(b, "mixed2", x, 64);
  x = block_a(b, "mixed3", x, 64);
  x = reduction_a(b, "mixed4", x);
  x = block_b(b, "mixed5", x, 128);
  x = block_b(b, "mixed6", x, 160);
  x = block_b(b, "mixed7", x, 160);
  x = block_b(b, "mixed8", x, 192);
  x = reduction_b(b, "mixed9", x);
  x = block_c(b, "mixed10", x);
  x = block_c(b, "mixed11", x);
  return finish_classifier(b, x, classes);
}

}  // namespace

Network inception_v3() {
  return {"inception_v3",
          "Inception v3 on 3x299x299 (Szegedy et al., arXiv:1512.00567)",
          {{"classes", "1000", "number of outputs"}},
          make_inception_v3};
}

}  // namespace cohort
