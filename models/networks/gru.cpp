// Character-level language model with one GRU layer: Cho et al., "Learning Phrase Representations using
// RNN Encoder-Decoder for Statistical Machine Translation", EMNLP 2014, arXiv:1406.1078, its reset gate
// applied after the matrix product as in cuDNN and PyTorch, and a fully connected layer at each step. By
// default a character is a one-hot vector over 128 symbols.

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

Result<Model> make_gru(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t steps, integer_argument(arguments, "steps", 1, 65536));
  COHORT_TRY(const std::int64_t inputs, integer_argument(arguments, "inputs", 1, 65536));
  COHORT_TRY(const std::int64_t hidden, integer_argument(arguments, "hidden", 1, 8192));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("gru");
  TensorId x = b.input("input", {steps, minibatch, inputs});
  Recurrent cell;
  cell.cell = RecurrentCell::kGru;
  cell.hidden = hidden;
  cell.linear_before_reset = true;
  const TensorId w = b.weight("gru.weight", {1, 3 * hidden, inputs});
  const TensorId r = b.weight("gru.recurrent_weight", {1, 3 * hidden, hidden});
  const TensorId bias = b.weight("gru.bias", {1, 6 * hidden});
  x = b.add("gru", cell, {x, w, r, bias});
  x = b.reshape("steps", x, {steps * minibatch, hidden});
  x = b.linear("fc", x, classes);
  b.output(x);
  return b.finish();
}

}  // namespace

Network gru() {
  return {
      "gru",
      "character-level language model with one GRU layer, x [steps, minibatch, inputs] (Cho et al., arXiv:1406.1078)",
      {{"steps", "20", "length of a sequence"},
       {"inputs", "128", "features of a step"},
       {"hidden", "128", "width of the GRU layer"},
       {"classes", "128", "number of outputs a step"}},
      make_gru};
}

}  // namespace cohort
