#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "comparison.hpp"

/// Products with quantised weights against the reference, which takes no notice of what is said of them.
namespace cohort::testing {
namespace {

/// Rows of `inner` elements, of which each block is whole numbers, the extremes among them, times a step of its own.
std::vector<float> quantized(const Shape& shape, const QuantizedWeights& as, std::uint64_t seed) {
  const std::int64_t block = as.block;
  const float most = as.bits == 8 ? 128 : 8;
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  const std::int64_t inner = shape.back(), blocks = (inner + block - 1) / block;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / inner, k = static_cast<std::int64_t>(i) % inner;
    const float step =
        (row % 3 == 2 ? -0.05F : 0.05F) / most * (1 + 0.1F * static_cast<float>((row * blocks + k / block) % 11));
    const float level = std::floor(random.uniform(-most, most - 0.01F));
    values[i] = step * (k % block == 0 ? -most : k % block == 1 ? most - 1 : level);
  }
  return values;
}

/// The call with such weights for each of the inputs.
CallRunner with_quantized(const OpCall& call, std::initializer_list<std::size_t> inputs,
                          QuantizedWeights as = {1 << 20}) {
  CallRunner runner(call);
  for (const std::size_t input : inputs) {
    const Shape& shape = shape_of(call.inputs[input]);
    runner.set_input(input, quantized(shape, {std::min(as.block, shape.back()), as.bits}, input));
  }
  return runner;
}

TEST(OnednnQuantizedWeights, GemmsOfFewRows) {
  for (const std::int64_t block : {100, 32, 16}) {
    for (const std::int64_t rows : {1, 2, 3, 5, 6, 7, 13, 32, 33}) {
      for (const std::int64_t outputs : {9, 64, 130}) {
        for (const int bits : {4, 8}) {
          const Gemm op{false, {}, QuantizedWeights{block, bits}};
          OpCall call = with_output(op, {dense(0, {rows, 100}), weight({outputs, 100}), weight({outputs})}, 1);
          expect_equals_reference(with_quantized(call, {1}, {block, bits}));
          call.post_ops = {Activation{ActivationKind::kRelu}};
          expect_equals_reference(with_quantized(call, {1}, {block, bits}));
        }
      }
    }
  }
}

TEST(OnednnQuantizedWeights, TakeLessMemory) {
  const std::vector<Operand> inputs = {dense(0, {1, 256}), weight({128, 256})};
  const auto bytes_of_loops = [&](const Gemm& op) {
    const auto list = onednn().alternatives(with_output(op, inputs, 1), 1);
    for (const Alternative& way : *list) {
      if (way.algorithm == "loops") return way.packed_weights;
    }
    return Bytes{};
  };
  EXPECT_EQ(bytes_of_loops(Gemm{}).value, 128 * 256 * 4);
  EXPECT_EQ(bytes_of_loops(Gemm{false, {}, QuantizedWeights{256}}).value, 128 * 256 + 128 * 4);
  EXPECT_EQ(bytes_of_loops(Gemm{false, {}, QuantizedWeights{32, 4}}).value, 128 * 256 / 2 + 128 * 4 * 8);
}

TEST(OnednnQuantizedWeights, LeadForFewRowsAndAreThereForMore) {
  const auto place_of_loops = [](std::int64_t rows) {
    const Gemm op{false, {}, QuantizedWeights{64, 4}};
    const auto list = onednn().alternatives(with_output(op, {dense(0, {rows, 64}), weight({32, 64})}, 1), 1);
    const auto found =
        std::find_if(list->begin(), list->end(), [](const Alternative& way) { return way.algorithm == "loops"; });
    return found == list->end() ? -1 : found - list->begin();
  };
  EXPECT_EQ(place_of_loops(1), 0);
  EXPECT_EQ(place_of_loops(6), 0);
  EXPECT_GT(place_of_loops(7), 0);
  EXPECT_GT(place_of_loops(32), 0);
  EXPECT_EQ(place_of_loops(33), -1);
}

TEST(OnednnQuantizedWeights, OtherWeightsAreRefusedByName) {
  const OpCall call = with_output(Gemm{false, {}, QuantizedWeights{16, 4}}, {dense(0, {1, 16}), weight({8, 16})}, 1);
  std::vector<float> values(8 * 16, 1.0F);
  values[5] = 0.123F;
  const auto kernel = onednn().prepare(call, "loops", 1, std::vector<std::vector<float>>{values});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().message,
            "Gemm by loops: weights are not quantised as their op says: no number divides a block of them");
}

/// Where tensors are added before functions the loops take them, else the library alone.
TEST(OnednnQuantizedWeights, TensorsThatAreAdded) {
  const std::vector<std::vector<PostOp>> chains = {{AddOperand{3}},
                                                   {AddOperand{3}, Activation{ActivationKind::kTanh, 0, 0}},
                                                   {AddOperand{3}, AddOperand{4}, Activation{}},
                                                   {Activation{}, AddOperand{3}}};
  for (const bool stacked : {false, true}) {
    const Gemm op{stacked, {}, QuantizedWeights{32, 4}};
    const auto shape = [&](Shape of_one) {
      if (stacked) of_one.insert(of_one.begin(), 2);
      return of_one;
    };
    for (const std::vector<PostOp>& chain : chains) {
      for (const std::int64_t rows : {1, 4}) {
        OpCall call = with_output(op, {dense(0, shape({rows, 64})), weight(shape({40, 64})), weight(shape({40}))}, 1);
        for (std::uint32_t i = 2; i < 4; ++i) call.inputs.emplace_back(dense(i, shape({rows, 40})));
        call.post_ops = chain;
        if (chain.size() < 3) call.inputs.pop_back();
        expect_equals_reference(with_quantized(call, {1}, {32, 4}));
        const auto list = onednn().alternatives(call, 1);
        const bool is_first = list->front().algorithm == "loops";
        EXPECT_EQ(is_first, std::holds_alternative<AddOperand>(chain.front()));
      }
    }
  }
}

TEST(OnednnQuantizedWeights, InputsWithGapsBetweenSamples) {
  OpCall call = with_output(Gemm{false, {}, QuantizedWeights{32}}, {dense(0, {3, 64}), weight({20, 64})}, 1);
  std::get<View>(call.inputs[0]).strides = {90, 1};
  expect_equals_reference(with_quantized(call, {1}, {32}));
}

TEST(OnednnQuantizedWeights, GemmsOfSeveralModels) {
  const Gemm op{true, {}, QuantizedWeights{40}};
  for (const std::int64_t samples : {1, 5}) {
    const OpCall call = with_output(op, {dense(0, {3, samples, 80}), weight({3, 50, 80}), weight({3, 50})}, 1);
    expect_equals_reference(with_quantized(call, {1}, {40}));
  }
}

TEST(OnednnQuantizedWeights, RecurrentLayers) {
  const std::pair<RecurrentCell, std::int64_t> cells[] = {
      {RecurrentCell::kRnn, 1}, {RecurrentCell::kGru, 3}, {RecurrentCell::kLstm, 4}};
  for (const auto& [cell, gates] : cells) {
    for (const Direction direction : {Direction::kForward, Direction::kBidirectional}) {
      for (const bool linear_before_reset : {false, true}) {
        for (const std::int64_t steps : {5, 70}) {  // W is packed for few steps only
          Recurrent op;
          op.cell = cell;
          op.hidden = 36;
          op.direction = direction;
          op.linear_before_reset = linear_before_reset && cell == RecurrentCell::kGru;
          op.quantized_weights = true;
          const std::int64_t d = direction_count(direction), width = gates * op.hidden;
          const OpCall call = with_output(
              op, {dense(0, {steps, 1, 24}), weight({d, width, 24}), weight({d, width, 36}), weight({d, 2 * width})},
              1);
          expect_equals_reference(with_quantized(call, {1, 2}));
        }
      }
    }
  }
}

TEST(OnednnQuantizedWeights, UsualLstms) {
  for (const std::int64_t samples : {1, 4}) {
    const std::vector<Operand> inputs = {dense(0, {6, samples, 20}), weight({128, 20}), weight({128, 32}),
                                         weight({128})};
    expect_equals_reference(with_quantized(with_output(Lstm{32, true}, inputs, 1), {1, 2}));
  }
}

}  // namespace
}  // namespace cohort::testing
