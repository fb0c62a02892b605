#include <gmock/gmock.h>

#include <bit>

#include "executor/device_error.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Ops of ONNX Runtime compute what ONNX's own do that they stand for; bench/peers/onnx_runtime_ops.py compares them
// with ONNX Runtime itself.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string runtime_text(std::string_view op_type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const std::string& attributes = "") {
  return node_text(op_type, inputs, outputs, attributes + " domain: \"com.microsoft\"");
}

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(24, graph), {});
  return loaded ? std::string("read") : loaded.error().message;
}

std::vector<std::vector<float>> results(const std::string& graph, const std::vector<std::vector<float>>& inputs) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(24, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(*loaded, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs.value_or(std::vector<std::vector<float>>());
}

/// Some numbers between -1 and 1.
std::vector<float> numbers(const Shape& shape, int seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 41) / 20 - 1;
  return values;
}

std::string weight_text(std::string_view name, const Shape& shape, int seed) {
  return floats_text(name, shape, numbers(shape, seed));
}

/// Both graphs, behind `head`, give the same.
void expect_same(const std::string& head, const std::string& runtime, const std::string& own,
                 const std::vector<std::vector<float>>& inputs) {
  const auto a = results(head + runtime, inputs), b = results(head + own, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_THAT(a[i], Pointwise(FloatNear(1e-5F), b[i])) << "output " << i;
}

TEST(OnnxRuntimeOps, NormaliseSums) {
  const Shape shape{2, 3, 4};
  const std::string head = input_text("x", shape) + input_text("skip", shape) + output_text("y") + output_text("sum") +
                           weight_text("scale", {4}, 2) + weight_text("offset", {4}, 3) + weight_text("bias", {4}, 4);
  const std::string sum = node_text("Add", {"x", "skip"}, {"s"}) + node_text("Add", {"s", "bias"}, {"sum"});
  const std::vector<std::vector<float>> inputs = {numbers(shape), numbers(shape, 5)};
  expect_same(
      head,
      runtime_text("SkipLayerNormalization", {"x", "skip", "scale", "offset", "bias"}, {"y", "", "", "sum"},
                   float_attribute("epsilon", 0.01F)),
      sum + node_text("LayerNormalization", {"sum", "scale", "offset"}, {"y"}, float_attribute("epsilon", 0.01F)),
      inputs);
  // ONNX Runtime adds 1e-12 where the node does not say how much, ONNX 1e-5.
  expect_same(head,
              runtime_text("SkipSimplifiedLayerNormalization", {"x", "skip", "scale", "bias"}, {"y", "", "", "sum"}),
              sum + node_text("RMSNormalization", {"sum", "scale"}, {"y"}, float_attribute("epsilon", 1e-12F)), inputs);
}

TEST(OnnxRuntimeOps, MultiplyTransposedAndScaled) {
  const std::string head = input_text("a", {2, 4, 3}) + input_text("b", {2, 5, 4}) + output_text("y");
  expect_same(
      head,
      runtime_text("FusedMatMul", {"a", "b"}, {"y"},
                   float_attribute("alpha", 0.5F) + integer_attribute("transA", 1) + integer_attribute("transB", 1)),
      floats_text("half", {}, {0.5F}) + node_text("Transpose", {"a"}, {"at"}, integers_attribute("perm", {0, 2, 1})) +
          node_text("Transpose", {"b"}, {"bt"}, integers_attribute("perm", {0, 2, 1})) +
          node_text("MatMul", {"at", "bt"}, {"p"}) + node_text("Mul", {"p", "half"}, {"y"}),
      {numbers({2, 4, 3}), numbers({2, 5, 4}, 2)});
}

TEST(OnnxRuntimeOps, ConvolveAddAndActivate) {
  const std::string head = input_text("x", {1, 2, 5, 5}) + input_text("z", {1, 3, 5, 5}) + output_text("y") +
                           weight_text("w", {3, 2, 3, 3}, 2) + weight_text("b", {3}, 3);
  const std::string pads = integers_attribute("pads", {1, 1, 1, 1});
  const std::string parameters = " attribute { name: \"activation_params\" type: FLOATS floats: -0.25 floats: 0.5 }";
  expect_same(
      head,
      runtime_text("FusedConv", {"x", "w", "b", "z"}, {"y"}, pads + text_attribute("activation", "Clip") + parameters),
      floats_text("low", {}, {-0.25F}) + floats_text("high", {}, {0.5F}) +
          node_text("Conv", {"x", "w", "b"}, {"c"}, pads) + node_text("Add", {"c", "z"}, {"s"}) +
          node_text("Clip", {"s", "low", "high"}, {"y"}),
      {numbers({1, 2, 5, 5}), numbers({1, 3, 5, 5}, 4)});
  EXPECT_THAT(problem(head + runtime_text("FusedConv", {"x", "w"}, {"y"}, pads + text_attribute("activation", "Mish"))),
              HasSubstr("activation Mish with 0 parameters is not supported"));
}

TEST(OnnxRuntimeOps, AttendToWhatMasksShow) {
  const Shape shape{2, 3, 4};
  const std::string head = input_text("x", shape) + output_text("y") + weight_text("w", {4, 12}, 2) +
                           weight_text("b", {12}, 3) + integers_text("counts", {2}, {2, 3}) +
                           integers_text("shown", {2, 3}, {1, 1, 0, 1, 1, 1});
  const std::string own = integers_text("thirds", {3}, {4, 4, 4}) + node_text("MatMul", {"x", "w"}, {"p"}) +
                          node_text("Add", {"p", "b"}, {"all"}) +
                          node_text("Split", {"all", "thirds"}, {"q", "k", "v"}, integer_attribute("axis", 2)) +
                          node_text("Cast", {"shown"}, {"t"}, integer_attribute("to", 9)) +
                          integers_text("ends", {2}, {1, 2}) + node_text("Unsqueeze", {"t", "ends"}, {"mask"}) +
                          node_text("Attention", {"q", "k", "v", "mask"}, {"y"},
                                    integer_attribute("q_num_heads", 2) + integer_attribute("kv_num_heads", 2));
  for (const std::string mask : {"counts", "shown"}) {
    expect_same(head, runtime_text("Attention", {"x", "w", "b", mask}, {"y"}, integer_attribute("num_heads", 2)), own,
                {numbers(shape)});
  }
  EXPECT_THAT(problem(head + runtime_text("Attention", {"x", "w", "b", "w"}, {"y"}, integer_attribute("num_heads", 2))),
              HasSubstr("a mask of [4, 12] for 2 samples of 3 keys is not supported"));
  EXPECT_THAT(
      problem(head + runtime_text("Attention", {"x", "w", "b", "", "x"}, {"y"}, integer_attribute("num_heads", 2))),
      HasSubstr("input 4 (past) is not supported"));
}

/// Four heads of eight numbers share two; a past of three positions, one new one.
struct Groups {
  std::string head = input_text("q", {2, 1, 32}) + input_text("k", {2, 1, 16}) + input_text("v", {2, 1, 16}) +
                     input_text("pk", {2, 2, 3, 8}) + input_text("pv", {2, 2, 3, 8}) + input_text("last", {2}, 6) +
                     output_text("y") + output_text("keys") + output_text("values") + integers_text("total", {}, {4}) +
                     weight_text("cos", {9, 4}, 1) + weight_text("sin", {9, 4}, 2);
  std::string heads = integer_attribute("num_heads", 4) + integer_attribute("kv_num_heads", 2);

  [[nodiscard]] std::string node(const std::string& attributes, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> inputs = {"q", "k", "v", "pk", "pv", "last", "total"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return runtime_text("GroupQueryAttention", inputs, {"y", "keys", "values"}, heads + attributes);
  }
  /// `last`: position of the last key.
  [[nodiscard]] static std::vector<std::vector<float>> inputs(std::int32_t last) {
    return {numbers({2, 1, 32}, 1),   numbers({2, 1, 16}, 2),   numbers({2, 1, 16}, 3),
            numbers({2, 2, 3, 8}, 4), numbers({2, 2, 3, 8}, 5), {std::bit_cast<float>(3), std::bit_cast<float>(last)}};
  }
};

TEST(OnnxRuntimeOps, AttendInGroupsBehindACache) {
  const Groups groups;
  const std::vector<std::string> turned = {"tq", "tk", "v", "", "pk", "pv"};
  const std::string shared = integer_attribute("q_num_heads", 4) + integer_attribute("kv_num_heads", 2) +
                             integer_attribute("is_causal", 1) + integer_attribute("left_window_size", 1);
  const auto rotated = [](const std::string& x, int heads) {
    return node_text("RotaryEmbedding", {x, "cos", "sin", "at"}, {"t" + x}, integer_attribute("num_heads", heads));
  };
  expect_same(
      groups.head,
      groups.node(integer_attribute("do_rotary", 1) + integer_attribute("local_window_size", 2), {"cos", "sin"}),
      integers_text("at", {2, 1}, {3, 3}) + rotated("q", 4) + rotated("k", 2) +
          node_text("Attention", turned, {"y", "keys", "values"}, shared),
      Groups::inputs(3));
  expect_same(groups.head + integers_text("at", {2, 1}, {5, 2}),
              groups.node(integer_attribute("do_rotary", 1), {"cos", "sin", "at"}),
              rotated("q", 4) + rotated("k", 2) +
                  node_text("Attention", turned, {"y", "keys", "values"},
                            integer_attribute("q_num_heads", 4) + integer_attribute("kv_num_heads", 2) +
                                integer_attribute("is_causal", 1)),
              Groups::inputs(3));
}

/// The second sample has one past key, so that its new one is the second.
TEST(OnnxRuntimeOps, AttendInGroupsToAsManyPastKeysAsASampleHas) {
  const Groups groups;
  for (const std::string window : {"", "local_window_size"}) {
    const std::string attributes = window.empty() ? "" : integer_attribute(window, 2);
    const auto own = [&](std::size_t output, std::int32_t last) {
      return results(groups.head + groups.node(attributes), Groups::inputs(last))[output];
    };
    const auto full = own(0, 3), fewer = own(0, 1);
    EXPECT_TRUE(std::equal(full.begin(), full.begin() + 32, fewer.begin()));
    std::vector<std::vector<float>> only = Groups::inputs(1);
    const auto keep_first = [](std::vector<float>& x) {  // one position of three
      std::vector<float> kept;
      for (std::ptrdiff_t row = 0; row < 4; ++row)
        kept.insert(kept.end(), x.begin() + row * 24, x.begin() + row * 24 + 8);
      x = kept;
    };
    keep_first(only[3]);
    keep_first(only[4]);
    only[5] = {std::bit_cast<float>(1), std::bit_cast<float>(1)};
    std::string head = groups.head;
    for (const std::string past : {"pk", "pv"}) {
      const std::string before = input_text(past, {2, 2, 3, 8}), after = input_text(past, {2, 2, 1, 8});
      head.replace(head.find(before), before.size(), after);
    }
    const std::string total = integers_text("total", {}, {4});
    head.replace(head.find(total), total.size(), integers_text("total", {}, {2}));
    const auto shorter = results(head + groups.node(attributes), only);
    EXPECT_THAT(std::vector(fewer.begin() + 32, fewer.end()),
                Pointwise(FloatNear(1e-6F), std::vector(shorter[0].begin() + 32, shorter[0].end())));
    const auto keys = own(1, 1);
    for (std::ptrdiff_t head_of_sample = 2; head_of_sample < 4; ++head_of_sample) {
      const auto from = keys.begin() + head_of_sample * 32, expected = shorter[1].begin() + head_of_sample * 16;
      EXPECT_TRUE(std::equal(from, from + 16, expected)) << head_of_sample;
    }
  }
}

TEST(OnnxRuntimeOps, RefuseCachesTheyCannotTellTheEndOf) {
  const Groups groups;
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(24, groups.head + groups.node("")), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THROW((void)evaluate(*loaded, Groups::inputs(4)), DeviceError);
  const std::string longer = integers_text("more", {}, {7});
  EXPECT_THAT(
      problem(groups.head + longer +
              runtime_text("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "more"}, {"y"}, groups.heads)),
      HasSubstr("total_sequence_length is 7 where 3 past and 1 new keys are 4; a cache longer"));
  EXPECT_THAT(problem(groups.head + groups.node(integer_attribute("do_rotary", 1), {"cos", "sin", "last"})),
              HasSubstr("input 9 (position_ids) [2] must be [2, 1]"));
  EXPECT_THAT(problem(groups.head + groups.node("", {"", "", "", "", "cos"})), HasSubstr("input 11 (head_sink)"));
  EXPECT_THAT(problem(groups.head + groups.node(integer_attribute("smooth_softmax", 1))), HasSubstr("smooth_softmax"));
  EXPECT_THAT(problem(groups.head + groups.node(integer_attribute("causal", 0))),
              HasSubstr("causal is supported only"));
  EXPECT_THAT(problem(groups.head + groups.node(integer_attribute("local_window_size", 0))),
              HasSubstr("local_window_size must be -1 or above 0, not 0"));
  EXPECT_THAT(problem(groups.head + input_text("computed", {}, 6) +
                      runtime_text("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "computed"}, {"y"},
                                   groups.heads)),
              HasSubstr("input 6 (total_sequence_length) must be one whole number that is known"));
  const std::int64_t many = INT64_MAX / 3 + 1;  // three times that is less than nothing
  EXPECT_THAT(problem(groups.head +
                      runtime_text("GroupQueryAttention", {"q", "", "", "pk", "pv", "last", "total"}, {"y"},
                                   integer_attribute("num_heads", many) + integer_attribute("kv_num_heads", many))),
              HasSubstr("query [2, 1, 32] does not divide into 3074457345618258603 heads that share"));
}

TEST(OnnxRuntimeOps, GatherRowsOfFourBits) {
  const auto graph = [](std::int64_t block, const std::string& zeros) {
    std::vector<std::int64_t> table(32, 0x98);  // 8 and 9
    table[16] = 0x0F;                           // 15 and 0, the first two of row 1
    return input_text("rows", {2}, 6) + output_text("y") + narrow_text("w", {2, 16}, 2, table) +
           floats_text("scales", {2, 2}, {1, 2, 0.5F, 4}) + narrow_text("zeros", {2, 1}, 2, {0x08, 0xF8}) +
           runtime_text("GatherBlockQuantized", {"w", "rows", "scales", zeros}, {"y"},
                        integer_attribute("block_size", block) + integer_attribute("quantize_axis", 1));
  };
  const auto row = [](float even, float odd, float later_even, float later_odd) {
    std::vector<float> values;
    for (int i = 0; i < 16; ++i) values.push_back(i % 2 == 0 ? even : odd);
    for (int i = 0; i < 16; ++i) values.push_back(i % 2 == 0 ? later_even : later_odd);
    return values;
  };
  std::vector<float> first = row(0, 0.5F, 0, 4), second = row(0, 1, 0, 2);
  first[0] = 3.5F;
  first[1] = -4;
  std::vector<float> expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  const std::vector<float> rows = {std::bit_cast<float>(1), std::bit_cast<float>(0)};
  EXPECT_EQ(results(graph(16, ""), {rows}).front(), expected);
  // Zero points 8 and 0; 8 and 15.
  first = row(0, 0.5F, -28, -24);
  first[0] = 3.5F;
  first[1] = -4;
  second = row(0, 1, 16, 18);
  expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(results(graph(16, "zeros"), {rows}).front(), expected);
  EXPECT_THAT(problem(graph(64, "")), HasSubstr("2 rows of 32 values do not divide into blocks of 64"));
  EXPECT_THAT(problem(graph(8, "")), HasSubstr("in blocks of 8"));
}

TEST(OnnxRuntimeOps, OfDiffusionModels) {
  const std::string head = input_text("x", {1, 3, 2, 4}) + output_text("y") + weight_text("scale", {4}, 2) +
                           weight_text("offset", {4}, 3) + weight_text("bias", {4}, 4) +
                           integers_text("halves", {2}, {2, 2});
  const std::vector<std::vector<float>> inputs = {numbers({1, 3, 2, 4})};
  expect_same(
      head,
      runtime_text("GroupNorm", {"x", "scale", "offset"}, {"y"},
                   integer_attribute("groups", 2) + integer_attribute("activation", 1)),
      node_text("Transpose", {"x"}, {"first"}, integers_attribute("perm", {0, 3, 1, 2})) +
          node_text("GroupNormalization", {"first", "scale", "offset"}, {"n"}, integer_attribute("num_groups", 2)) +
          node_text("Sigmoid", {"n"}, {"s"}) + node_text("Mul", {"n", "s"}, {"swished"}) +
          node_text("Transpose", {"swished"}, {"y"}, integers_attribute("perm", {0, 2, 3, 1})),
      inputs);
  expect_same(head, runtime_text("BiasSplitGelu", {"x", "bias"}, {"y"}),
              node_text("Add", {"x", "bias"}, {"s"}) +
                  node_text("Split", {"s", "halves"}, {"a", "b"}, integer_attribute("axis", 3)) +
                  node_text("Gelu", {"b"}, {"g"}) + node_text("Mul", {"a", "g"}, {"y"}),
              inputs);
  expect_same(head, runtime_text("BiasAdd", {"x", "bias", "x"}, {"y"}),
              node_text("Add", {"x", "bias"}, {"s"}) + node_text("Add", {"s", "x"}, {"y"}), inputs);
}

TEST(OnnxRuntimeOps, MultiplyByWeightsOfFourBits) {
  const auto graph = [](std::int64_t block, const std::vector<std::int64_t>& levels, const std::string& more = "",
                        const std::string& groups = "") {
    return input_text("x", {1, 4}) + output_text("y") + narrow_text("w", {2, 2, 1}, 2, levels) +
           floats_text("scales", {2, 2}, {1, 2, 0.5F, 1}) + narrow_text("zeros", {2, 1}, 2, {0x08, 0xF8}) +
           integers_text("groups", {4}, {1, 1, 0, 0}) +
           runtime_text("MatMulNBits", {"x", "w", "scales", more, groups}, {"y"},
                        integer_attribute("K", 4) + integer_attribute("N", 2) + integer_attribute("block_size", block));
  };
  const std::vector<std::int64_t> levels = {0x98, 0x7A, 0x08, 0x0F};  // the lower four bits come first
  const std::vector<float> x = {1, 10, 100, 1000};
  // Less 8 and scaled: 0 1 4 -2; 0 -4 7 -8.
  EXPECT_THAT(results(graph(2, levels), {x}).front(), ElementsAre(-1590, -7340));
  // Zero points 8 and 0; 8 and 15: 0 1 20 14; 0 -4 0 -15.
  EXPECT_THAT(results(graph(2, levels, "zeros"), {x}).front(), ElementsAre(16010, -15040));
  // Scales the other way round: 0 2 2 -1; 0 -8 3.5 -4.
  EXPECT_THAT(results(graph(2, levels, "", "groups"), {x}).front(), ElementsAre(-780, -3730));
  EXPECT_THAT(problem(graph(2, levels, "zeros", "groups")), HasSubstr("4 bits without zero points only"));
  EXPECT_THAT(problem(graph(4, levels)), HasSubstr("scales has 4 values, not 2"));
  EXPECT_THAT(problem(graph(0, levels)), HasSubstr("in blocks of 0 are not supported"));
  EXPECT_THAT(problem(graph(3, levels)), HasSubstr("in blocks of 3 are not supported"));
}

TEST(OnnxRuntimeOps, MultiplyRowsOfEveryRankByWeightsOfFourBits) {
  const std::string weights = narrow_text("w", {2, 2, 1}, 2, {0x98, 0x7A, 0x08, 0x0F}) +
                              floats_text("scales", {2, 2}, {1, 2, 0.5F, 1}) +
                              floats_text("plain", {4, 2}, {0, 0, 1, -4, 4, 7, -2, -8});
  const auto product = [](const std::string& x, const std::string& bias, const std::string& y) {
    return runtime_text("MatMulNBits", {x, "w", "scales", "", "", bias}, {y},
                        integer_attribute("K", 4) + integer_attribute("N", 2) + integer_attribute("block_size", 2));
  };
  const auto own = [](const std::string& bias) {
    return node_text("MatMul", {"x", "plain"}, {bias.empty() ? "y" : "xw"}) +
           (bias.empty() ? "" : node_text("Add", {"xw", bias}, {"y"}));
  };
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}, Shape{2, 1, 3, 4}}) {
    const std::string head = input_text("x", shape) + input_text("b", {2}) + output_text("y") + weights +
                             floats_text("bias", {2}, {0.25F, -3});
    for (const std::string bias : {"", "bias", "b"})
      expect_same(head, product("x", bias, "y"), own(bias), {numbers(shape), {7, -1}});
  }
  // No rows beside some.
  const std::string head = input_text("x", {2, 3, 4}) + output_text("y") + weights + integers_text("none", {1}, {0}) +
                           integers_text("axis", {1}, {1}) +
                           node_text("Slice", {"x", "none", "none", "axis"}, {"no_rows"});
  expect_same(head,
              product("no_rows", "", "a") + product("x", "", "b") +
                  node_text("Concat", {"a", "b"}, {"y"}, integer_attribute("axis", 1)),
              own(""), {numbers({2, 3, 4})});
  EXPECT_THAT(problem(input_text("x", {2, 3}) + output_text("y") + weights + product("x", "", "y")),
              HasSubstr("A [2, 3] does not fit B, which has 4 rows"));
}

TEST(OnnxRuntimeOps, AddLevels) {
  const std::string head = input_text("a", {3}, 2) + input_text("b", {3}, 2) + output_text("y") +
                           floats_text("sa", {}, {0.5F}) + narrow_text("za", {}, 2, {10}) + floats_text("sb", {}, {1}) +
                           narrow_text("zb", {}, 2, {0}) + floats_text("sy", {}, {2}) + narrow_text("zy", {}, 2, {100});
  // (a - 10) / 2 + b, in units of 2 from 100 on, up to 255.
  EXPECT_THAT(results(head + runtime_text("QLinearAdd", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}, {"y"}),
                      {{14, 10, 250}, {4, 0, 255}})
                  .front(),
              ElementsAre(103, 100, 255));
}

TEST(OnnxRuntimeOps, ChooseBetweenLevels) {
  constexpr int kUint8 = 2, kBool = 9;
  const std::string head = input_text("a", {3}, kUint8) + output_text("y") + narrow_text("c", {3}, kBool, {1, 0, 1}) +
                           narrow_text("b", {}, kUint8, {4}) + floats_text("sa", {}, {0.5F}) +
                           narrow_text("za", {}, kUint8, {10}) + floats_text("one", {}, {1}) +
                           narrow_text("none", {}, kUint8, {0});
  EXPECT_THAT(
      results(head + runtime_text("QLinearWhere", {"c", "a", "sa", "za", "b", "one", "none", "one", "none"}, {"y"}),
              {{14, 10, 250}})
          .front(),
      ElementsAre(2, 4, 120));
}

TEST(OnnxRuntimeOps, EmbedRowsOfLevels) {
  constexpr int kUint8 = 2, kInt32 = 6;
  std::string head =
      input_text("x", {1, 2}, kInt32) + output_text("y") + narrow_text("segments", {1, 2}, kInt32, {1, 0});
  const std::vector<std::pair<std::string, Shape>> tables = {
      {"words", {3, 2}}, {"positions", {4, 2}}, {"parts", {2, 2}}, {"gamma", {2}}, {"beta", {2}}};
  std::int64_t next = 0;
  for (const auto& [name, shape] : tables) {
    const float step = 0.25F * static_cast<float>(++next);
    std::vector<std::int64_t> levels;
    std::vector<float> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      levels.push_back((i * i * 7 + next * 5) % 23);
      values.push_back(static_cast<float>(levels.back() - 10 - next) * step);
    }
    head += narrow_text(name, shape, kUint8, levels) + floats_text("s_" + name, {}, {step}) +
            narrow_text("z_" + name, {}, kUint8, {10 + next}) + floats_text("own_" + name, shape, values);
  }
  const std::vector<std::vector<float>> words{{std::bit_cast<float>(2), std::bit_cast<float>(1)}};
  const auto quantised = [](const std::string& segments, const std::string& parts) {
    const auto of = [&](const std::string& kind) { return parts.empty() ? "" : kind + parts; };
    return runtime_text("QEmbedLayerNormalization",
                        {"x", segments, "words", "positions", parts, "gamma", "beta", "", "s_words", "s_positions",
                         of("s_"), "s_gamma", "s_beta", "z_words", "z_positions", of("z_"), "z_gamma", "z_beta"},
                        {"y"});
  };
  const auto own = [](const std::string& segments, const std::string& parts) {
    return runtime_text("EmbedLayerNormalization",
                        {"x", segments, "own_words", "own_positions", parts, "own_gamma", "own_beta"}, {"y"});
  };
  expect_same(head, quantised("segments", "parts"), own("segments", "own_parts"), words);
  expect_same(head, quantised("", ""), own("", ""), words);
}

TEST(OnnxRuntimeOps, RunLstmsWithWeightsOfLevels) {
  constexpr int kInt8 = 3;
  const std::int64_t features = 2, hidden = 1;
  // Weights lie the other way round than those of ONNX: [directions, features, gates].
  const std::string head = input_text("x", {3, 1, features}) + output_text("y") + output_text("h") +
                           narrow_text("w", {1, features, 4}, kInt8, {1, -2, 3, -4, 5, 6, -7, 8}) +
                           narrow_text("r", {1, hidden, 4}, kInt8, {2, -3, 4, 5}) + floats_text("sw", {1}, {0.25F}) +
                           narrow_text("zw", {1}, kInt8, {1}) + floats_text("sr", {1, 4}, {0.5F, 0.25F, 0.125F, 1}) +
                           narrow_text("zr", {1, 4}, kInt8, {0, 0, 0, 1}) + weight_text("b", {1, 8}, 3) +
                           floats_text("own_w", {1, 4, features}, {0, 1, -0.75F, 1.25F, 0.5F, -2, -1.25F, 1.75F}) +
                           floats_text("own_r", {1, 4, hidden}, {1, -0.75F, 0.5F, 4});
  const std::string size = integer_attribute("hidden_size", hidden);
  expect_same(head,
              runtime_text("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "sw", "zw", "sr", "zr"},
                           {"y", "h"}, size),
              node_text("LSTM", {"x", "own_w", "own_r", "b"}, {"y", "h"}, size), {numbers({3, 1, features})});
  EXPECT_THAT(
      problem(head + runtime_text("DynamicQuantizeLSTM",
                                  {"x", "w", "r", "b", "", "", "", "", "own_r", "zw", "sr", "zr"}, {"y", "h"}, size)),
      HasSubstr("input 8 (scale) [1, 4, 1] does not fit weights [1, 2, 4]"));
}

TEST(OnnxRuntimeOps, WithoutAZeroPointKeepTheTypeOfTheirLevels) {
  constexpr int kInt8 = 3;
  const std::string head = input_text("a", {3}, kInt8) + output_text("y") + floats_text("s", {}, {1});
  EXPECT_THAT(
      results(head + runtime_text("QLinearAdd", {"a", "s", "", "a", "s", "", "s"}, {"y"}), {{-50, 3, -100}}).front(),
      ElementsAre(-100, 6, -128));
  EXPECT_THAT(problem(head + runtime_text("QLinearConcat", {"s", "", "a", "s", "", "a", "s"}, {"y"})),
              HasSubstr("has 7 inputs"));
}

TEST(OnnxRuntimeOps, RefuseWhatWouldComputeSomethingElse) {
  const std::string rows = input_text("x", {1, 4, 4}) + output_text("y") + weight_text("w", {4, 12}, 2);
  const std::string heads = integer_attribute("num_heads", 2);
  const std::string tables =
      weight_text("cos", {8, 1}, 1) + weight_text("sin", {8, 1}, 2) + integers_text("at", {4}, {0, 1, 2, 3});
  EXPECT_THAT(
      problem(rows + runtime_text("Attention", {"x", "w"}, {"y"}, heads + float_attribute("mask_filter_value", -1))),
      HasSubstr("mask_filter_value is -1"));
  EXPECT_THAT(problem(rows + runtime_text("Attention", {"x", "w"}, {"y"},
                                          heads + integers_attribute("qkv_hidden_sizes", {24, -6, -6}))),
              HasSubstr("do not divide into query, key and value"));
  EXPECT_THAT(problem(rows + tables + runtime_text("RotaryEmbedding", {"x", "at", "cos", "sin"}, {"y"})),
              HasSubstr("positions must be one, or [minibatch, length], not [4]"));
  EXPECT_THAT(problem(rows + tables + integers_text("one", {1}, {1}) +
                      runtime_text("RotaryEmbedding", {"x", "one", "cos", "sin"}, {"y"},
                                   integer_attribute("rotary_embedding_dim", 2))),
              HasSubstr("num_heads must be given"));
  EXPECT_THAT(
      problem(rows + runtime_text("FusedGemm", {"w", "w"}, {"y"},
                                  text_attribute("activation", "HardSigmoid") + float_attribute("activation_beta", 1))),
      HasSubstr("activation_beta stands without activation_alpha"));
  EXPECT_THAT(
      problem(input_text("at", {1, 5}, 7) + output_text("y") + weight_text("rows", {9, 4}, 1) +
              weight_text("places", {1, 4}, 2) + weight_text("scale", {4}, 3) +
              runtime_text("EmbedLayerNormalization", {"at", "", "rows", "places", "", "scale", "scale"}, {"y"})),
      HasSubstr("too few for 5 words"));
  // Keys without a head.
  EXPECT_THAT(problem(input_text("x", {1, 4, 12}) + output_text("y") + floats_text("k", {1, 0, 6, 4}, {}) +
                      runtime_text("MultiHeadAttention", {"x", "k", "k"}, {"y"}, integer_attribute("num_heads", 3))),
              HasSubstr("do not fit"));
}

TEST(OnnxRuntimeOps, AreNamedInMessagesWhereTheyAreNotKnown) {
  EXPECT_THAT(problem(input_text("x", {2, 2}) + output_text("y") + runtime_text("CDist", {"x", "x"}, {"y"})),
              HasSubstr("node n_y (com.microsoft.CDist"));
  const std::string unread =
      input_text("x", {2, 2}) + output_text("y") + output_text("deviation") + weight_text("scale", {2}, 1);
  EXPECT_THAT(problem(unread + node_text("SimplifiedLayerNormalization", {"x", "scale"}, {"y", "deviation"})),
              HasSubstr("output 1 (deviation) is not supported"));
  EXPECT_THAT(problem(input_text("x", {2, 2}) + output_text("y") +
                      runtime_text("QuickGelu", {"x"}, {"y"}, integer_attribute("beta", 1))),
              HasSubstr("beta"));
}

}  // namespace
}  // namespace cohort
