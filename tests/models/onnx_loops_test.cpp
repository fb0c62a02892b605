#include <gmock/gmock.h>

#include "executor/device_error.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Loop and Scan, which are unrolled, and what packed sequences need.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string header(const Shape& shape = {2}) { return input_text("x", shape) + output_text("y"); }

/// An attribute with a graph: its inputs, nodes and outputs.
std::string body(const std::vector<std::string>& inputs, const std::string& nodes,
                 const std::vector<std::string>& outputs) {
  std::string text = " attribute { name: \"body\" type: GRAPH g { ";
  for (const std::string& input : inputs) text += fmt::format("input {{ name: \"{}\" }} ", input);
  text += nodes;
  for (const std::string& output : outputs) text += fmt::format(" output {{ name: \"{}\" }}", output);
  return text + " } }";
}

std::string truth(std::string_view name, bool value) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: 9 int32_data: {} }}", name, value ? 1 : 0);
}

std::vector<float> result(const std::string& graph, const std::vector<float>& x) {
  const auto loaded = onnx::parse_model(onnx_model(17, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(simplify(*loaded), {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::string problem(const std::string& graph, int opset = 17) {
  const auto loaded = onnx::parse_model(onnx_model(opset, graph), {});
  return loaded ? "read" : loaded.error().message;
}

/// y = x * 2^turns.
std::string doubling(const std::string& turns, const std::string& condition) {
  return node_text(
      "Loop", {turns, condition, "x"}, {"y"},
      body({"i", "c", "s"}, node_text("Identity", {"c"}, {"d"}) + node_text("Add", {"s", "s"}, {"t"}), {"d", "t"}));
}

TEST(OnnxLoop, RunsAsManyTurnsAsAreKnown) {
  EXPECT_THAT(result(header() + integers_text("n", {}, {3}) + doubling("n", ""), {1, 2}), ElementsAre(8, 16));
  EXPECT_THAT(result(header() + integers_text("n", {1}, {2}) + truth("go", true) + doubling("n", "go"), {1, 2}),
              ElementsAre(4, 8));
  EXPECT_THAT(result(header() + integers_text("n", {}, {3}) + truth("go", false) + doubling("n", "go"), {1, 2}),
              ElementsAre(1, 2));
  EXPECT_THAT(result(header() + integers_text("n", {}, {0}) + doubling("n", ""), {1, 2}), ElementsAre(1, 2));
}

TEST(OnnxLoop, EndsByAConditionThatIsKnownInEachTurn) {
  const std::string nodes = node_text("Add", {"k", "one"}, {"k1"}) + node_text("Less", {"k1", "four"}, {"d"}) +
                            node_text("Add", {"s", "x"}, {"t"});
  const std::string loop =
      node_text("Loop", {"", "", "zero", "x"}, {"count", "y"}, body({"i", "c", "k", "s"}, nodes, {"d", "k1", "t"}));
  const std::string graph =
      header() + integers_text("zero", {}, {0}) + integers_text("one", {}, {1}) + integers_text("four", {}, {4}) + loop;
  EXPECT_THAT(result(graph, {1, 2}), ElementsAre(5, 10));
}

TEST(OnnxLoop, StacksWhatEachTurnGives) {
  const std::string nodes = node_text("Cast", {"i"}, {"f"}, integer_attribute("to", 1)) +
                            node_text("Add", {"s", "f"}, {"t"}) + node_text("Mul", {"t", "t"}, {"u"});
  const std::string graph =
      input_text("x", {2}) + output_text("z") + integers_text("n", {}, {3}) +
      node_text("Loop", {"n", "", "x"}, {"last", "squares"}, body({"i", "c", "s"}, nodes, {"c", "t", "u"})) +
      node_text("Transpose", {"squares"}, {"z"});
  // x + 0, x + 1, x + 3
  EXPECT_THAT(result(graph, {1, 2}), ElementsAre(1, 4, 16, 4, 9, 25));
}

TEST(OnnxLoop, ReadsWhatIsTheSameInEveryTurnOnce) {
  const std::string nodes = floats_text("w", {2, 2}, {0, 1, 1, 0}) + node_text("Transpose", {"w"}, {"v"}) +
                            node_text("MatMul", {"s", "v"}, {"t"}) + node_text("Identity", {"c"}, {"d"});
  const std::string graph = header({1, 2}) + integers_text("n", {}, {3}) +
                            node_text("Loop", {"n", "", "x"}, {"y"}, body({"i", "c", "s"}, nodes, {"d", "t"}));
  EXPECT_THAT(result(graph, {1, 2}), ElementsAre(2, 1));
  const auto loaded = onnx::parse_model(onnx_model(17, graph), {});
  ASSERT_TRUE(loaded);
  const auto weights = std::count_if(loaded->model.tensors.begin(), loaded->model.tensors.end(),
                                     [](const Tensor& tensor) { return tensor.role == TensorRole::kWeight; });
  EXPECT_EQ(weights, 1);
}

TEST(OnnxLoop, MayStandInLoopsAndReadFromOutside) {
  const std::string inner = node_text(
      "Loop", {"n", "", "s"}, {"t"},
      body({"j", "e", "r"}, node_text("Add", {"r", "x"}, {"q"}) + node_text("Identity", {"e"}, {"f"}), {"f", "q"}));
  const std::string graph = header() + integers_text("n", {}, {3}) +
                            node_text("Loop", {"n", "", "x"}, {"y"}, body({"i", "c", "s"}, inner, {"c", "t"}));
  EXPECT_THAT(result(graph, {1, 2}), ElementsAre(10, 20));
}

TEST(OnnxLoop, NeedsANumberOfTurns) {
  const std::string counted = node_text("Cast", {"x"}, {"n"}, integer_attribute("to", 7));
  EXPECT_THAT(problem(header({1}) + counted + doubling("n", "")),
              HasSubstr("node n_y (Loop, opset 17): input n (number of turns) is not constant, which is not supported; "
                        "--set-input n=VALUE makes it so"));
  const std::string nodes = node_text("ReduceMax", {"s"}, {"m"}, integer_attribute("keepdims", 0)) +
                            node_text("Less", {"m", "limit"}, {"d"}) + node_text("Add", {"s", "s"}, {"t"});
  EXPECT_THAT(problem(header() + floats_text("limit", {}, {10}) +
                      node_text("Loop", {"", "", "x"}, {"y"}, body({"i", "c", "s"}, nodes, {"d", "t"}))),
              HasSubstr("its condition is computed at run time, which is not supported"));
  EXPECT_THAT(problem(header() + doubling("", "")), HasSubstr("make the file more than 100000 nodes"));
  EXPECT_THAT(problem(header() + integers_text("n", {2}, {1, 2}) + doubling("n", "")),
              HasSubstr("its number of turns must be one whole number"));
}

TEST(OnnxLoop, NamesWhatIsWrongOnce) {
  const std::string message = problem(
      header() + integers_text("n", {}, {5}) +
      node_text("Loop", {"n", "", "x"}, {"y"}, body({"i", "c", "s"}, node_text("NoSuchOp", {"s"}, {"t"}), {"c", "t"})));
  EXPECT_EQ(message, "an op is not supported: node n_t/0 (NoSuchOp, opset 17)");
  EXPECT_THAT(problem(header() + integers_text("n", {}, {5}) +
                      node_text("Loop", {"n", "", "x"}, {"y"}, body({"i", "c"}, "", {"c"}))),
              HasSubstr("its body has 2 inputs and 1 outputs, which do not fit the node's 3 and 1"));
  EXPECT_THAT(problem(header() + integers_text("n", {}, {5}) +
                      node_text("Loop", {"n", "", "x"}, {"y"}, body({"i", "c", "s"}, "", {"c", "t"}))),
              HasSubstr("(Loop, opset 17) reads tensor t, which nothing writes"));
}

TEST(OnnxScan, RunsAlongAxesInBothDirections) {
  // Running sums of the columns of x from the right, as rows from the bottom.
  const std::string nodes = node_text("Add", {"s", "column"}, {"t"}) + node_text("Identity", {"t"}, {"u"});
  const std::string graph =
      header({2, 3}) + floats_text("zero", {2}, {0, 0}) +
      node_text("Scan", {"zero", "x"}, {"last", "y"},
                integer_attribute("num_scan_inputs", 1) + integers_attribute("scan_input_axes", {1}) +
                    integers_attribute("scan_input_directions", {1}) +
                    integers_attribute("scan_output_directions", {1}) + body({"s", "column"}, nodes, {"t", "u"}));
  EXPECT_THAT(result(graph, {1, 2, 3, 10, 20, 30}), ElementsAre(6, 60, 5, 50, 3, 30));
}

TEST(OnnxScan, NeedsInputsOfOneLength) {
  const std::string graph =
      header({2, 3}) + floats_text("w", {3}, {1, 2, 3}) +
      node_text("Scan", {"x", "w"}, {"y"},
                integer_attribute("num_scan_inputs", 2) + body({"a", "b"}, node_text("Add", {"a", "b"}, {"c"}), {"c"}));
  EXPECT_THAT(problem(graph), HasSubstr("node n_y (Scan, opset 17): scans 2 and 3 entries at a time"));
  EXPECT_THAT(problem(graph, 8), HasSubstr("is supported from opset 9 on, not in 8"));
}

TEST(OnnxSequence, GathersWhatTurnsOfALoopGive) {
  const std::string nodes =
      node_text("Add", {"s", "x"}, {"t"}) + node_text("SequenceInsert", {"list", "t"}, {"longer"});
  const std::string loop = header() + integers_text("n", {}, {3}) + node_text("SequenceEmpty", {}, {"nothing"}) +
                           node_text("Loop", {"n", "", "x", "nothing"}, {"last", "all"},
                                     body({"i", "c", "s", "list"}, nodes, {"c", "t", "longer"})) +
                           node_text("Identity", {"all"}, {"same"});
  EXPECT_THAT(result(loop + node_text("ConcatFromSequence", {"same"}, {"y"}, integer_attribute("axis", 0)), {1, 10}),
              ElementsAre(2, 20, 3, 30, 4, 40));
  EXPECT_THAT(result(loop + node_text("ConcatFromSequence", {"same"}, {"y"},
                                      integer_attribute("axis", -1) + integer_attribute("new_axis", 1)),
                     {1, 10}),
              ElementsAre(2, 3, 4, 20, 30, 40));
}

TEST(OnnxSequence, EndsBeforeALoopMakesTooManyLongOnes) {
  EXPECT_THAT(problem(header() + integers_text("n", {}, {40'000}) + node_text("SequenceEmpty", {}, {"nothing"}) +
                      node_text("Loop", {"n", "", "nothing"}, {"all"},
                                body({"i", "c", "list"}, node_text("SequenceInsert", {"list", "x"}, {"longer"}),
                                     {"c", "longer"})) +
                      node_text("ConcatFromSequence", {"all"}, {"y"}, integer_attribute("axis", 0))),
              HasSubstr("(SequenceInsert, opset 17): the file's sequences of tensors have more than 1000000 entries"));
}

/// The last of the list "list" times ten, and behind it how long that is.
std::string last_and_count(const std::string& list) {
  return header({5}) + list + integers_text("end", {}, {-1}) + integers_text("flat", {1}, {-1}) +
         floats_text("ten", {}, {10}) + node_text("SequenceAt", {"list", "end"}, {"last"}) +
         node_text("Mul", {"last", "ten"}, {"more"}) + node_text("Reshape", {"more", "flat"}, {"row"}) +
         node_text("SequenceLength", {"list"}, {"n"}) + node_text("Cast", {"n"}, {"f"}, integer_attribute("to", 1)) +
         node_text("Reshape", {"f", "flat"}, {"count"}) +
         node_text("Concat", {"row", "count"}, {"y"}, integer_attribute("axis", 0));
}

TEST(OnnxSequence, IsSplitFromATensor) {
  const std::vector<float> x{1, 2, 3, 4, 5};
  const auto of = [&](const std::string& list) { return result(last_and_count(list), x); };
  EXPECT_THAT(of(integers_text("k", {}, {2}) + node_text("SplitToSequence", {"x", "k"}, {"list"})), ElementsAre(50, 3));
  EXPECT_THAT(of(integers_text("k", {2}, {3, 2}) + node_text("SplitToSequence", {"x", "k"}, {"list"})),
              ElementsAre(40, 50, 2));
  EXPECT_THAT(of(node_text("SplitToSequence", {"x"}, {"list"}, integer_attribute("keepdims", 0))), ElementsAre(50, 5));
  EXPECT_THAT(
      problem(last_and_count(integers_text("k", {2}, {3, 1}) + node_text("SplitToSequence", {"x", "k"}, {"list"}))),
      HasSubstr("node n_list (SplitToSequence, opset 17): split must be extents that add up to 5"));
  EXPECT_THAT(problem(last_and_count(integers_text("k", {}, {0}) + node_text("SplitToSequence", {"x", "k"}, {"list"}))),
              HasSubstr("node n_list (SplitToSequence, opset 17): split must be 1 or more, not 0"));
}

TEST(OnnxSequence, TakesTensorsInAndOutAnywhere) {
  const std::string parts = integers_text("k", {}, {1}) + node_text("SplitToSequence", {"x", "k"}, {"parts"}) +
                            integers_text("second", {}, {1}) + integers_text("before_last", {}, {-1}) +
                            floats_text("w", {1}, {7});
  const auto of = [&](const std::string& list) { return result(last_and_count(parts + list), {1, 2, 3, 4, 5}); };
  EXPECT_THAT(of(node_text("SequenceErase", {"parts"}, {"list"})), ElementsAre(40, 4));
  EXPECT_THAT(of(node_text("SequenceErase", {"parts", "second"}, {"less"}) +
                 node_text("SequenceAt", {"less", "second"}, {"third"}) +
                 node_text("SequenceConstruct", {"w", "third"}, {"list"})),
              ElementsAre(30, 2));
  EXPECT_THAT(of(node_text("SequenceInsert", {"parts", "w", "before_last"}, {"longer"}) +
                 node_text("SequenceErase", {"longer"}, {"list"})),
              ElementsAre(70, 5));
  EXPECT_THAT(problem(last_and_count(parts + integers_text("at", {}, {5}) +
                                     node_text("SequenceErase", {"parts", "at"}, {"list"}))),
              HasSubstr("position 5 is outside of a sequence of 5"));
}

TEST(OnnxSequence, HasToBeKnownAndStaysInside) {
  const std::string parts = node_text("SplitToSequence", {"x"}, {"parts"});
  const std::string place = node_text("ArgMax", {"x"}, {"at"}, integer_attribute("keepdims", 0));
  EXPECT_THAT(problem(header() + parts + place + node_text("SequenceAt", {"parts", "at"}, {"y"})),
              HasSubstr("input at (position) is not constant, which is not supported"));
  EXPECT_THAT(problem(header() + node_text("SequenceConstruct", {"x", "x"}, {"y"})),
              HasSubstr("output y is a sequence of tensors, which is not supported"));
  EXPECT_THAT(problem(header() + parts + node_text("Relu", {"parts"}, {"y"})),
              HasSubstr("node n_y (Relu, opset 17): reads a sequence of tensors, which is not supported"));
  EXPECT_THAT(problem(header() + node_text("SequenceEmpty", {}, {"none"}) +
                      node_text("ConcatFromSequence", {"none"}, {"y"}, integer_attribute("axis", 0))),
              HasSubstr("the sequence is empty"));
  EXPECT_EQ(problem(header() + parts +
                    node_text("ConcatFromSequence", {"parts"}, {"y"},
                              integer_attribute("axis", 4) + integer_attribute("new_axis", 1))),
            "node n_y (Unsqueeze, opset 11): axis must be from -2 to 1, not 4");
  EXPECT_THAT(problem(header() + node_text("SequenceConstruct", {"x", ""}, {"list"}) +
                      node_text("ConcatFromSequence", {"list"}, {"y"}, integer_attribute("axis", 0))),
              HasSubstr("node n_list (SequenceConstruct, opset 17): input 1 is missing"));
  EXPECT_THAT(problem(header() + parts + node_text("SequenceConstruct", {"parts"}, {"y"})),
              HasSubstr("input 0 is a sequence of tensors, not a tensor"));
  const std::string wrong = node_text("NoSuchOp", {"x"}, {"a"}) + node_text("NoSuchOp", {"x"}, {"b"});
  EXPECT_THAT(problem(header() + wrong + node_text("SequenceConstruct", {"a", "b"}, {"list"}) +
                      node_text("ConcatFromSequence", {"list"}, {"y"}, integer_attribute("axis", 0))),
              Not(HasSubstr("--from list")));
  EXPECT_THAT(problem(header() + node_text("SequenceLength", {"x"}, {"y"})),
              HasSubstr("input 0 is not a sequence of tensors made in the file"));
}

TEST(OnnxReverseSequence, TurnsTheFirstEntriesOfEachSequence) {
  const std::string graph =
      header({4, 3}) + integers_text("lengths", {3}, {4, 2, 0}) + node_text("ReverseSequence", {"x", "lengths"}, {"y"});
  EXPECT_THAT(result(graph, {0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}),
              ElementsAre(3, 11, 20, 2, 10, 21, 1, 12, 22, 0, 13, 23));
  EXPECT_THAT(problem(header({4, 3}) + integers_text("lengths", {3}, {4, 5, 0}) +
                      node_text("ReverseSequence", {"x", "lengths"}, {"y"})),
              HasSubstr("a sequence of 5 entries is not possible, only 0 to 4"));
}

TEST(OnnxTopK, OfWhatIsKnownIsKnown) {
  const auto of = [](const std::string& attributes, const std::string& take) {
    return result(header({1}) + integers_text("lengths", {2, 3}, {4, 7, 7, 1, 2, 0}) + integers_text("k", {1}, {2}) +
                      node_text("TopK", {"lengths", "k"}, {"values", "places"}, attributes) +
                      node_text("Cast", {take}, {"f"}, integer_attribute("to", 1)) +
                      node_text("Add", {"x", "f"}, {"y"}),
                  {0});
  };
  EXPECT_THAT(of("", "values"), ElementsAre(7, 7, 2, 1));
  EXPECT_THAT(of("", "places"), ElementsAre(1, 2, 1, 0));
  EXPECT_THAT(of(integer_attribute("largest", 0), "values"), ElementsAre(4, 7, 0, 1));
}

TEST(OnnxTopK, OfDataIsComputed) {
  const auto of = [](const std::string& attributes, const std::string& read) {
    return result(input_text("x", {2, 4}) + output_text("y") + integers_text("k", {1}, {3}) +
                      node_text("TopK", {"x", "k"}, {"values", "places"}, attributes) + read,
                  {1, 4, 4, 2, -1, -5, -2, 0});
  };
  const std::string values = node_text("Identity", {"values"}, {"y"});
  const std::string places = node_text("Cast", {"places"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(of("", values), ElementsAre(4, 4, 2, 0, -1, -2));
  EXPECT_THAT(of("", places), ElementsAre(1, 2, 3, 3, 0, 2));
  EXPECT_THAT(of(integer_attribute("largest", 0), values), ElementsAre(1, 2, 4, -5, -2, -1));
  EXPECT_THAT(of(integer_attribute("largest", 0), places), ElementsAre(0, 3, 1, 1, 2, 0));
  EXPECT_THAT(problem(header() + integers_text("k", {1}, {3}) + node_text("TopK", {"x", "k"}, {"y", "places"})),
              HasSubstr("K must be from 0 to 2, not 3"));
}

TEST(OnnxTopK, OfWholeNumbersOfDataStopsWhereOneIsTooLarge) {
  const std::string graph = input_text("x", {3}) + output_text("y") + integers_text("k", {1}, {2}) +
                            node_text("Cast", {"x"}, {"i"}, integer_attribute("to", 7)) +
                            node_text("TopK", {"i", "k"}, {"v", "p"}) +
                            node_text("Cast", {"v"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(result(graph, {0x1p24F - 2, -0x1p24F, 0x1p24F - 1}), ElementsAre(0x1p24F - 1, 0x1p24F - 2));
  EXPECT_THROW((void)result(graph, {0, 0x1p24F, 1}), DeviceError);
}

}  // namespace
}  // namespace cohort
