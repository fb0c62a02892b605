// LeNet-5: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document
// recognition", Proc. IEEE 86(11), 1998. The common reading of it: 28x28 digits with the paper's
// 32x32 as padding of the first convolution, plain average pooling for the trainable subsampling,
// every second layer's map connected to all of the maps before, C5 as a fully connected layer, tanh
// without the paper's scale, and a linear layer in place of the radial basis functions.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

TensorId average_pool(ModelBuilder& b, std::string name, TensorId x) {
  const Window window{{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}};
  return b.add(std::move(name), Pool{PoolKind::kAverage, window, false, false}, {x});
}

TensorId tanh(ModelBuilder& b, std::string name, TensorId x) {
  return b.add(std::move(name), Activation{ActivationKind::kTanh, 0, 0}, {x});
}

Result<Model> make_lenet5(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("lenet5");
  TensorId x = b.input("input", {minibatch, 1, 28, 28});
  x = b.convolution("conv1", x, {.channels = 6, .kernel = 5, .pad = 2});
  x = tanh(b, "tanh1", x);
  x = average_pool(b, "pool1", x);
  x = b.convolution("conv2", x, {.channels = 16, .kernel = 5});
  x = tanh(b, "tanh2", x);
  x = average_pool(b, "pool2", x);
  x = b.flatten("flatten", x);
  x = b.linear("fc1", x, 120);
  x = tanh(b, "tanh3", x);
  x = b.linear("fc2", x, 84);
  x = tanh(b, "tanh4", x);
  x = b.linear("fc3", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network lenet5() {
  return {"lenet5",
          "two convolutions and three fully connected layers on 1x28x28 (LeCun et al. 1998)",
          {{"classes", "10", "number of outputs"}},
          make_lenet5};
}

}  // namespace cohort
