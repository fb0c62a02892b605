// Character-level language model in the manner of Graves, "Generating Sequences With Recurrent
// Neural Networks", arXiv:1308.0850: one LSTM layer (Hochreiter & Schmidhuber 1997) without
// peepholes and a fully connected layer at each step. By default a character is a one-hot vector
// over 128 symbols.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_lstm(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t steps, integer_argument(arguments, "steps", 1, 65536));
  COHORT_TRY(const std::int64_t inputs, integer_argument(arguments, "inputs", 1, 65536));
  COHORT_TRY(const std::int64_t hidden, integer_argument(arguments, "hidden", 1, 8192));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("lstm");
  TensorId x = b.input("input", {steps, minibatch, inputs});
  const TensorId w = b.weight("lstm.weight", {4 * hidden, inputs});
  const TensorId r = b.weight("lstm.recurrent_weight", {4 * hidden, hidden});
  const TensorId bias = b.weight("lstm.bias", {4 * hidden});
  x = b.add("lstm", Lstm{hidden}, {x, w, r, bias});
  x = b.reshape("steps", x, {steps * minibatch, hidden});
  x = b.linear("fc", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network lstm() {
  return {"lstm",
          "character-level language model with one LSTM layer, x [steps, minibatch, inputs] (Graves 2013)",
          {{"steps", "20", "length of a sequence"},
           {"inputs", "128", "features of a step"},
           {"hidden", "128", "width of the LSTM layer"},
           {"classes", "128", "number of outputs a step"}},
          make_lstm};
}

}  // namespace cohort
