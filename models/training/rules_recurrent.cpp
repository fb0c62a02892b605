#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

/// Hands on a pack of the gradients by all inputs of floating point, in their order.
void give_all(OpGradient& at, TensorId pack, std::optional<std::size_t> whole_input) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < at.input_count(); ++i) {
    if (i == whole_input) continue;
    if (at.wants(i)) at.give_part(i, pack, offset);
    offset = pack_place(offset + element_count(at.x_shape(i)));
  }
}

std::vector<TensorId> inputs_and_results(OpGradient& at) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < at.input_count(); ++i) inputs.push_back(at.x(i));
  inputs.push_back(at.y());
  inputs.push_back(at.dy());
  return inputs;
}

}  // namespace

Result<void> gradient(const Lstm& op, OpGradient& at) {
  give_all(at, at.add("dx_dw", LstmGradient{op.hidden}, inputs_and_results(at)), std::nullopt);
  return {};
}

Result<void> gradient(const Recurrent& op, OpGradient& at) {
  const TensorId pack = at.add("dx_dw", RecurrentGradient{op}, inputs_and_results(at));
  give_all(at, pack, op.has_lengths ? std::optional<std::size_t>(4) : std::nullopt);
  return {};
}

}  // namespace cohort::training
