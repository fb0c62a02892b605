// Multilayer perceptron: Rumelhart, Hinton, Williams, "Learning representations by back-propagating
// errors", Nature 323, 1986, with rectifiers (Glorot, Bordes, Bengio, AISTATS 2011).

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_mlp(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t inputs, integer_argument(arguments, "inputs", 1, 1'000'000));
  COHORT_TRY(const std::int64_t hidden, integer_argument(arguments, "hidden", 1, 16384));
  COHORT_TRY(const std::int64_t layers, integer_argument(arguments, "layers", 0, 256));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("mlp");
  TensorId x = b.input("input", {minibatch, inputs});
  for (std::int64_t i = 1; i <= layers; ++i) {
    x = b.linear(fmt::format("fc{}", i), x, hidden);
    x = b.relu(fmt::format("relu{}", i), x);
  }
  x = b.linear(fmt::format("fc{}", layers + 1), x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network mlp() {
  return {"mlp",
          "fully connected layers with rectifiers (Rumelhart et al. 1986; Glorot et al. 2011)",
          {{"inputs", "784", "features of a sample"},
           {"hidden", "256", "width of each hidden layer"},
           {"layers", "2", "number of hidden layers"},
           {"classes", "10", "number of outputs"}},
          make_mlp};
}

}  // namespace cohort
