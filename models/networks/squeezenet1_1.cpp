// SqueezeNet: Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters",
// arXiv:1602.07360, in the authors' version 1.1 (github.com/forresti/SqueezeNet), on the paper's
// 224x224 images, without dropout and without the softmax that only training and display need.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

/// 3x3, stride 2; the authors' framework rounds the number of windows up.
TensorId max_pool(ModelBuilder& b, std::string name, TensorId x) {
  const Window window{{3, 3}, {2, 2}, {0, 0}, {0, 0}, {1, 1}};
  return b.add(std::move(name), Pool{PoolKind::kMax, window, true, false}, {x});
}

TensorId fire(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t squeeze, std::int64_t expand) {
  x = b.convolution(name + ".squeeze", x, {.channels = squeeze});
  x = b.relu(name + ".squeeze_relu", x);
  TensorId narrow = b.convolution(name + ".expand1x1", x, {.channels = expand});
  narrow = b.relu(name + ".expand1x1_relu", narrow);
  TensorId wide = b.convolution(name + ".expand3x3", x, {.channels = expand, .kernel = 3, .pad = 1});
  wide = b.relu(name + ".expand3x3_relu", wide);
  return b.add(name + ".concat", Concat{1}, {narrow, wide});
}

Result<Model> make_squeezenet1_1(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("squeezenet1_1");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = b.convolution("conv1", x, {.channels = 64, .kernel = 3, .stride = 2});
  x = b.relu("relu1", x);
  x = max_pool(b, "pool1", x);
  x = fire(b, "fire2", x, 16, 64);
  x = fire(b, "fire3", x, 16, 64);
  x = max_pool(b, "pool3", x);
  x = fire(b, "fire4", x, 32, 128);
  x = fire(b, "fire5", x, 32, 128);
  x = max_pool(b, "pool5", x);
  x = fire(b, "fire6", x, 48, 192);
  x = fire(b, "fire7", x, 48, 192);
  x = fire(b, "fire8", x, 64, 256);
  x = fire(b, "fire9", x, 64, 256);
  x = b.convolution("conv10", x, {.channels = classes});
  x = b.relu("relu10", x);
  x = b.global_average_pool("pool10", x);
  x = b.flatten("flatten", x);
  b.output(x);
  return b.finish();
}

}  // namespace

Network squeezenet1_1() {
  return {"squeezenet1_1",
          "SqueezeNet 1.1 on 3x224x224 (Iandola et al., arXiv:1602.07360)",
          {{"classes", "1000", "number of outputs"}},
          make_squeezenet1_1};
}

}  // namespace cohort
