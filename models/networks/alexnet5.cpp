// ModelBatch's "5-layer stripped-down AlexNet" (Narayanan, Santhanam, Zaharia, "Accelerating Model
// Search with Model Batching", SysML 2018). The paper does not spell the layers out: three
// convolutional and two fully connected ones, with AlexNet's first kernels (Krizhevsky, "One weird
// trick for parallelizing convolutional neural networks", arXiv:1404.5997) and a smaller fully
// connected layer, is our reading.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_alexnet5(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t hidden, integer_argument(arguments, "hidden", 1, 16384));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("alexnet5");
  TensorId x = b.input("input", {minibatch, 3, 227, 227});
  x = b.convolution("conv1", x, {.channels = 64, .kernel = 11, .stride = 4});
  x = b.relu("relu1", x);
  x = b.max_pool("pool1", x, 3, 2);
  x = b.convolution("conv2", x, {.channels = 192, .kernel = 5, .pad = 2});
  x = b.relu("relu2", x);
  x = b.max_pool("pool2", x, 3, 2);
  x = b.convolution("conv3", x, {.channels = 256, .kernel = 3, .pad = 1});
  x = b.relu("relu3", x);
  x = b.max_pool("pool3", x, 3, 2);
  x = b.flatten("flatten", x);
  x = b.linear("fc1", x, hidden);
  x = b.relu("relu4", x);
  x = b.linear("fc2", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network alexnet5() {
  return {"alexnet5",
          "three convolutions and two fully connected layers on 3x227x227 (our reading of ModelBatch's, SysML 2018)",
          {{"hidden", "1024", "width of the first fully connected layer"}, {"classes", "1000", "number of outputs"}},
          make_alexnet5};
}

}  // namespace cohort
