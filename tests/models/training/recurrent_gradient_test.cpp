#include <gtest/gtest.h>

#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

constexpr std::int64_t kSteps = 4, kSamples = 2, kInputs = 3, kHidden = 2;

/// Checks each part of the pack `gradient` gives of inputs of floating point.
void expect_gradients(const OpAttributes& layer, const OpAttributes& gradient, const std::vector<Array>& inputs,
                      std::optional<std::size_t> whole_input) {
  const Array y = run_op(layer, inputs);
  const Array dy = random_array(y.shape, 99);
  std::vector<Array> operands = inputs;
  operands.push_back(y);
  operands.push_back(dy);
  const Array pack = run_op(gradient, operands);
  std::int64_t place = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i == whole_input) continue;
    const Array part = part_of(pack, place, inputs[i].shape);
    EXPECT_LT(relative_distance(part, measured_gradient(function_of(layer), inputs, i, dy)), kTolerance)
        << "input " << i;
    place = pack_place(place + element_count(inputs[i].shape));
  }
  EXPECT_EQ(pack.shape, (Shape{place}));
}

TEST(LstmGradients, AgreeWithDifferences) {
  const std::vector<Array> inputs{random_array({kSteps, kSamples, kInputs}, 1), random_array({4 * kHidden, kInputs}, 2),
                                  random_array({4 * kHidden, kHidden}, 3), random_array({4 * kHidden}, 4)};
  expect_gradients(Lstm{kHidden}, LstmGradient{kHidden}, inputs, std::nullopt);
}

struct RecurrentCase {
  const char* name;
  Recurrent layer;
  std::uint64_t seed = 0;  ///< of inputs that keep away from where a gate's function has no derivative
};
void PrintTo(const RecurrentCase& it, std::ostream* out) { *out << it.name; }

class RecurrentGradients : public testing::TestWithParam<RecurrentCase> {};

TEST_P(RecurrentGradients, AgreeWithDifferences) {
  const Recurrent& layer = GetParam().layer;
  const std::uint64_t seed = 100 * GetParam().seed;
  const std::int64_t directions = direction_count(layer.direction);
  const std::int64_t rows = gate_count(layer.cell) * kHidden;
  std::vector<Array> inputs{
      random_array({kSteps, kSamples, kInputs}, seed + 1), random_array({directions, rows, kInputs}, seed + 2),
      random_array({directions, rows, kHidden}, seed + 3), random_array({directions, 2 * rows}, seed + 4)};
  if (layer.has_lengths) inputs.push_back(whole_array({kSamples}, {2, 4}));
  if (layer.has_state) inputs.push_back(random_array({directions, kSamples, kHidden}, seed + 5));
  if (layer.has_cell_state) inputs.push_back(random_array({directions, kSamples, kHidden}, seed + 6));
  if (layer.has_peepholes) inputs.push_back(random_array({directions, 3 * kHidden}, seed + 7));
  expect_gradients(layer, RecurrentGradient{layer}, inputs,
                   layer.has_lengths ? std::optional<std::size_t>(4) : std::nullopt);
}

Recurrent layer(RecurrentCell cell, Direction direction = Direction::kForward) {
  Recurrent made;
  made.cell = cell;
  made.hidden = kHidden;
  made.direction = direction;
  return made;
}

/// All that the cell takes.
Recurrent full(RecurrentCell cell, Direction direction) {
  Recurrent made = layer(cell, direction);
  made.has_lengths = made.has_state = made.final_state = true;
  made.has_cell_state = made.has_peepholes = cell == RecurrentCell::kLstm;
  return made;
}

Recurrent with(Recurrent made, bool Recurrent::*flag) {
  made.*flag = true;
  return made;
}

Recurrent clipped(Recurrent made, float clip) {
  made.clip = clip;
  return made;
}

Recurrent gated(Recurrent made, std::vector<Gate> gates) {
  made.gates = std::move(gates);
  return made;
}

using Cell = RecurrentCell;
using F = GateFunction;
const RecurrentCase kLayers[] = {
    {"Rnn", layer(Cell::kRnn)},
    {"RnnReverse", full(Cell::kRnn, Direction::kReverse)},
    {"RnnBidirectional", full(Cell::kRnn, Direction::kBidirectional)},
    {"RnnClipped", clipped(layer(Cell::kRnn), 0.8F)},
    {"Gru", layer(Cell::kGru)},
    {"GruReverse", full(Cell::kGru, Direction::kReverse)},
    {"GruBidirectional", full(Cell::kGru, Direction::kBidirectional)},
    {"GruLinearBeforeReset", with(full(Cell::kGru, Direction::kForward), &Recurrent::linear_before_reset)},
    {"GruLinearBeforeResetBidirectional",
     with(full(Cell::kGru, Direction::kBidirectional), &Recurrent::linear_before_reset)},
    {"GruClipped", clipped(layer(Cell::kGru), 0.7F), 5},
    {"Lstm", layer(Cell::kLstm)},
    {"LstmReverse", full(Cell::kLstm, Direction::kReverse)},
    {"LstmBidirectional", full(Cell::kLstm, Direction::kBidirectional)},
    {"LstmCoupledGates", with(full(Cell::kLstm, Direction::kForward), &Recurrent::couple_gates)},
    {"LstmPeepholesOnly", with(layer(Cell::kLstm), &Recurrent::has_peepholes)},
    {"LstmClipped", clipped(full(Cell::kLstm, Direction::kForward), 0.6F), 7},
    {"LstmClippedFarBelowItsCell", clipped(full(Cell::kLstm, Direction::kForward), 0.25F), 9},
    // Every function of a gate.
    {"GatesRelu", gated(layer(Cell::kGru), {{F::kSigmoid}, {F::kRelu}})},
    {"GatesLeakyRelu", gated(layer(Cell::kRnn), {{F::kLeakyRelu, 0.1F}}), 5},
    {"GatesThresholdedRelu", gated(layer(Cell::kRnn), {{F::kThresholdedRelu, 0.4F}}), 5},
    {"GatesElu", gated(layer(Cell::kRnn), {{F::kElu, 1.2F}}), 5},
    {"GatesHardSigmoid", gated(layer(Cell::kLstm), {{F::kHardSigmoid, 0.2F, 0.5F}, {F::kTanh}, {F::kTanh}})},
    {"GatesSoftsign", gated(layer(Cell::kLstm), {{F::kSigmoid}, {F::kSoftsign}, {F::kSoftplus}})},
    {"GatesAffine", gated(layer(Cell::kRnn), {{F::kAffine, 0.5F, 0.1F}})},
    {"GatesScaledTanh", gated(layer(Cell::kGru), {{F::kSigmoid}, {F::kScaledTanh, 1.7F, 0.6F}})},
    {"GatesOfEachDirection", gated(layer(Cell::kGru, Direction::kBidirectional),
                                   {{F::kSigmoid}, {F::kTanh}, {F::kHardSigmoid, 0.2F, 0.5F}, {F::kSoftsign}})},
};
INSTANTIATE_TEST_SUITE_P(Table, RecurrentGradients, testing::ValuesIn(kLayers),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(RecurrentGradients, OfSamplesWithoutStepsAreZero) {
  Recurrent op = full(Cell::kGru, Direction::kForward);
  const std::vector<Array> inputs{random_array({2, 1, kInputs}, 1),
                                  random_array({1, 3 * kHidden, kInputs}, 2),
                                  random_array({1, 3 * kHidden, kHidden}, 3),
                                  random_array({1, 6 * kHidden}, 4),
                                  whole_array({1}, {0}),
                                  random_array({1, 1, kHidden}, 5)};
  std::vector<Array> operands = inputs;
  operands.push_back(run_op(op, inputs));
  operands.push_back(random_array(operands.back().shape, 6));
  const Array pack = run_op(RecurrentGradient{op}, operands);
  const std::int64_t place = pack_of({inputs[0].shape, inputs[1].shape, inputs[2].shape, inputs[3].shape}).size;
  EXPECT_EQ(part_of(pack, place, {kHidden}).values, std::vector<float>(kHidden, 0.0F));
  EXPECT_EQ(part_of(pack, 0, {place}).values, std::vector<float>(static_cast<std::size_t>(place), 0.0F));
}

}  // namespace
}  // namespace cohort
