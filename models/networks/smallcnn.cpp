// A small image classifier of our own: strided 3x3 convolutions instead of pooling, after
// Springenberg et al., "Striving for Simplicity: The All Convolutional Net", arXiv:1412.6806. Small
// enough that decoding its JPEG input costs more than computing it.

#include <array>

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_smallcnn(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t width, integer_argument(arguments, "width", 1, 1024));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("smallcnn");
  TensorId x = b.input("input", {minibatch, 3, 227, 227});
  constexpr std::array<std::int64_t, 5> kWidths = {1, 2, 2, 4, 4};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const std::string name = fmt::format("conv{}", i + 1);
    x = b.convolution(name, x, {.channels = width * kWidths[i], .kernel = 3, .stride = 2, .pad = 1});
    x = b.relu(fmt::format("relu{}", i + 1), x);
  }
  return finish_classifier(b, x, classes);
}

}  // namespace

Network smallcnn() {
  return {"smallcnn",
          "five 3x3 convolutions of stride 2 on 3x227x227 (our own, after arXiv:1412.6806)",
          {{"width", "16", "channels of the first convolution; the others have 2, 2, 4 and 4 times as many"},
           {"classes", "10", "number of outputs"}},
          make_smallcnn};
}

}  // namespace cohort
