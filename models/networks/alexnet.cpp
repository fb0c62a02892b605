// AlexNet on one device: Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
// arXiv:1404.5997, after Krizhevsky, Sutskever, Hinton, NeurIPS 2012, with the layer widths of
// torchvision's alexnet, which has no local response normalisation. Dropout does nothing at inference.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_alexnet(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("alexnet");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  const auto convolution = [&](int i, const ModelBuilder::ConvolutionOptions& options) {
    x = b.convolution(fmt::format("conv{}", i), x, options);
    x = b.relu(fmt::format("relu{}", i), x);
  };
  convolution(1, {.channels = 64, .kernel = 11, .stride = 4, .pad = 2});
  x = b.max_pool("pool1", x, 3, 2);
  convolution(2, {.channels = 192, .kernel = 5, .pad = 2});
  x = b.max_pool("pool2", x, 3, 2);
  convolution(3, {.channels = 384, .kernel = 3, .pad = 1});
  convolution(4, {.channels = 256, .kernel = 3, .pad = 1});
  convolution(5, {.channels = 256, .kernel = 3, .pad = 1});
  x = b.max_pool("pool5", x, 3, 2);
  x = b.flatten("flatten", x);
  x = b.relu("relu6", b.linear("fc6", x, 4096));
  x = b.relu("relu7", b.linear("fc7", x, 4096));
  x = b.linear("fc8", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network alexnet() {
  return {"alexnet",
          "AlexNet on 3x224x224 (Krizhevsky, arXiv:1404.5997, widths as in torchvision)",
          {{"classes", "1000", "number of outputs"}},
          make_alexnet};
}

}  // namespace cohort
