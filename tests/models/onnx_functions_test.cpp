#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Functions local to a model, and If.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A model of opset 17 that may call functions of domain "local".
::onnx::ModelProto model_of(const std::string& graph, const std::string& functions) {
  ::onnx::ModelProto model;
  const std::string text =
      "ir_version: 8 opset_import { version: 17 } opset_import { domain: \"local\" version: 1 } graph { " + graph +
      " } " + functions;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model;
}

std::string function(std::string_view name, std::string_view inputs_and_outputs, std::string_view nodes,
                     int opset = 17) {
  return fmt::format(
      " functions {{ name: \"{}\" domain: \"local\" opset_import {{ version: {} }} opset_import {{ domain: \"local\" "
      "version: 1 }} {} {} }}",
      name, opset, inputs_and_outputs, nodes);
}

std::string call(std::string_view name, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 std::string_view attributes = "") {
  return node_text(name, inputs, outputs, std::string(" domain: \"local\" ") + std::string(attributes));
}

std::string header(const Shape& shape = {2}) { return input_text("x", shape) + output_text("y"); }

std::vector<float> result(const std::string& bytes, const std::vector<float>& x) {
  const auto loaded = onnx::parse_model(bytes, {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(simplify(*loaded), {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::vector<float> result(const std::string& graph, const std::string& functions, const std::vector<float>& x) {
  return result(model_of(graph, functions).SerializeAsString(), x);
}

std::string problem(const std::string& graph, const std::string& functions) {
  const auto loaded = onnx::parse_model(model_of(graph, functions).SerializeAsString(), {});
  return loaded ? std::string("read") : loaded.error().message;
}

TEST(OnnxFunctions, AreInlinedAtAnyDepth) {
  const std::string twice = function("Twice", "input: \"a\" output: \"b\"", node_text("Add", {"a", "a"}, {"b"}));
  const std::string times_four =
      function("Four", "input: \"a\" output: \"b\"", call("Twice", {"a"}, {"t"}) + call("Twice", {"t"}, {"b"}));
  EXPECT_THAT(result(header() + call("Twice", {"x"}, {"y"}), twice, {1, 2}), ElementsAre(2, 4));
  EXPECT_THAT(result(header() + call("Four", {"x"}, {"y"}), twice + times_four, {1, 2}), ElementsAre(4, 8));
}

TEST(OnnxFunctions, KeepTheirNamesApartFromTheGraphsAndFromEachOther) {
  // "t" is a name of the graph and inside of each function; two calls have no node names.
  const std::string plus_neg = function("F", "input: \"t\" input: \"x\" output: \"y\"",
                                        node_text("Neg", {"t"}, {"u"}) + node_text("Add", {"u", "x"}, {"y"}));
  const std::string graph = header() + node_text("Exp", {"x"}, {"u"}) + node_text("Sub", {"u", "u"}, {"t"}) +
                            call("F", {"x", "t"}, {"v"}) + call("F", {"v", "t"}, {"y"});
  EXPECT_THAT(result(graph, plus_neg, {1, 2}), ElementsAre(1, 2));
}

TEST(OnnxFunctions, TakeAttributesOfTheirCall) {
  const std::string leaky = function(
      "Leaky", "input: \"a\" output: \"b\" attribute: \"slope\"",
      node_text("LeakyRelu", {"a"}, {"b"}, " attribute { name: \"alpha\" type: FLOAT ref_attr_name: \"slope\" }"));
  const std::string outer =
      function("Outer", "input: \"a\" output: \"b\" attribute: \"s\"",
               call("Leaky", {"a"}, {"b"}, " attribute { name: \"slope\" type: FLOAT ref_attr_name: \"s\" }"));
  EXPECT_THAT(result(header() + call("Leaky", {"x"}, {"y"}, float_attribute("slope", 0.5F)), leaky, {-4, 2}),
              ElementsAre(-2, 2));
  EXPECT_THAT(result(header() + call("Outer", {"x"}, {"y"}, float_attribute("s", 0.25F)), leaky + outer, {-4, 2}),
              ElementsAre(-1, 2));
  // Left out, it is ONNX's own default.
  EXPECT_THAT(result(header() + call("Leaky", {"x"}, {"y"}), leaky, {-100, 2}), ElementsAre(-1, 2));
}

TEST(OnnxFunctions, HaveDefaultsOfAttributes) {
  auto model = model_of(header() + call("Leaky", {"x"}, {"y"}),
                        function("Leaky", "input: \"a\" output: \"b\"",
                                 node_text("LeakyRelu", {"a"}, {"b"},
                                           " attribute { name: \"alpha\" type: FLOAT ref_attr_name: \"s\" }")));
  ::onnx::AttributeProto slope;
  slope.set_name("s");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.5F);
  auto* const leaky = model.mutable_functions(0);
  leaky->GetReflection()->MutableUnknownFields(leaky)->AddLengthDelimited(11, slope.SerializeAsString());
  EXPECT_THAT(result(model.SerializeAsString(), {-4, 2}), ElementsAre(-2, 2));
}

TEST(OnnxFunctions, HaveAnOpsetOfTheirOwn) {
  // Squeeze takes its axes as an attribute before opset 13.
  const std::string squeeze = function("Drop", "input: \"a\" output: \"b\"",
                                       node_text("Squeeze", {"a"}, {"b"}, integers_attribute("axes", {0})), 11);
  EXPECT_THAT(result(header({1, 2}) + call("Drop", {"x"}, {"y"}), squeeze, {1, 2}), ElementsAre(1, 2));
}

TEST(OnnxFunctions, MayLeaveOutInputsAndPassThemOn) {
  const std::string pass = function("Pass", "input: \"a\" output: \"a\" output: \"b\"", node_text("Neg", {"a"}, {"b"}));
  EXPECT_THAT(result(header() + call("Pass", {"x"}, {"y", "z"}), pass, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(result(header() + call("Pass", {"x"}, {"", "y"}), pass, {1, 2}), ElementsAre(-1, -2));
  const std::string clip = function("Bound", "input: \"a\" input: \"low\" input: \"high\" output: \"b\"",
                                    node_text("Clip", {"a", "low", "high"}, {"b"}));
  EXPECT_THAT(result(header() + floats_text("l", {}, {0}) + call("Bound", {"x", "l"}, {"y"}), clip, {-1, 2}),
              ElementsAre(0, 2));
}

TEST(OnnxFunctions, ThatCallThemselvesOrGetTooMuchAreRefused) {
  const std::string itself = function("F", "input: \"a\" output: \"b\"", call("F", {"a"}, {"b"}));
  EXPECT_THAT(problem(header() + call("F", {"x"}, {"y"}), itself), HasSubstr("function F calls itself"));
  const std::string circle = function("F", "input: \"a\" output: \"b\"", call("G", {"a"}, {"b"})) +
                             function("G", "input: \"a\" output: \"b\"", call("F", {"a"}, {"b"}));
  EXPECT_THAT(problem(header() + call("F", {"x"}, {"y"}), circle), HasSubstr("function F calls itself"));
  const std::string twice = function("Twice", "input: \"a\" output: \"b\"", node_text("Add", {"a", "a"}, {"b"}));
  EXPECT_THAT(problem(header() + call("Twice", {"x", "x"}, {"y"}), twice), HasSubstr("2 inputs and 1 outputs"));
  EXPECT_THAT(problem(header() + call("Twice", {"x"}, {"y"}), twice + twice), HasSubstr("stands twice"));
  EXPECT_THAT(problem(header() + call("Other", {"x"}, {"y"}), twice), HasSubstr("local.Other"));
}

TEST(OnnxFunctions, ThatGrowWithoutEndAreRefused) {
  std::string functions = function("F0", "input: \"a\" output: \"b\"", node_text("Neg", {"a"}, {"b"}));
  for (int i = 1; i < 40; ++i) {
    const std::string inner = "F" + std::to_string(i - 1);
    functions += function("F" + std::to_string(i), "input: \"a\" output: \"b\"",
                          call(inner, {"a"}, {"t"}) + call(inner, {"t"}, {"b"}));
  }
  EXPECT_THAT(problem(header() + call("F39", {"x"}, {"y"}), functions), HasSubstr("its functions make more than"));
}

TEST(OnnxFunctions, NameNothingOutsideOfOnes) {
  EXPECT_THAT(problem(header() + node_text("LeakyRelu", {"x"}, {"y"},
                                           " attribute { name: \"alpha\" type: FLOAT ref_attr_name: \"slope\" }"),
                      ""),
              HasSubstr("attribute alpha is that of a function"));
}

/// An If that gives `output`, with branches that negate or double x.
std::string branches(std::string_view condition, std::string_view output) {
  const auto branch = [&](std::string_view name, const std::string& nodes) {
    return fmt::format(" attribute {{ name: \"{}\" type: GRAPH g {{ {} output {{ name: \"r\" }} }} }}", name, nodes);
  };
  return node_text("If", {std::string(condition)}, {std::string(output)},
                   branch("then_branch", node_text("Neg", {"x"}, {"t"}) + node_text("Identity", {"t"}, {"r"})) +
                       branch("else_branch", floats_text("t", {1}, {2}) + node_text("Mul", {"x", "t"}, {"r"})));
}

std::string truth(std::string_view name, bool value) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: 9 int32_data: {} }}", name, value ? 1 : 0);
}

TEST(OnnxIf, WithAKnownConditionIsTheBranchTaken) {
  EXPECT_THAT(result(header() + truth("c", true) + branches("c", "y"), "", {1, 2}), ElementsAre(-1, -2));
  EXPECT_THAT(result(header() + truth("c", false) + branches("c", "y"), "", {1, 2}), ElementsAre(2, 4));
  // Both write "t" and "r" of their own, twice, beside a "t" of the graph.
  EXPECT_THAT(
      result(header() + truth("c", true) + node_text("Not", {"c"}, {"d"}) + node_text("Add", {"x", "x"}, {"t"}) +
                 branches("c", "a") + branches("d", "b") + node_text("Sum", {"a", "b", "t"}, {"y"}),
             "", {1, 2}),
      ElementsAre(3, 6));
}

TEST(OnnxIf, FoldsAConditionOnAShape) {
  const std::string condition =
      node_text("Size", {"x"}, {"n"}) + integers_text("two", {}, {2}) + node_text("Equal", {"n", "two"}, {"c"});
  EXPECT_THAT(result(header({2}) + condition + branches("c", "y"), "", {1, 2}), ElementsAre(-1, -2));
  EXPECT_THAT(result(header({3}) + condition + branches("c", "y"), "", {1, 2, 3}), ElementsAre(2, 4, 6));
}

TEST(OnnxIf, MayStandInAFunctionAndHoldOutputsFromOutside) {
  const std::string choose = function("Choose", "input: \"x\" input: \"c\" output: \"y\"", branches("c", "y"));
  EXPECT_THAT(result(header() + truth("k", false) + call("Choose", {"x", "k"}, {"y"}), choose, {1, 2}),
              ElementsAre(2, 4));
  const std::string outside =
      node_text("If", {"c"}, {"y"},
                " attribute { name: \"then_branch\" type: GRAPH g { output { name: \"z\" } } }"
                " attribute { name: \"else_branch\" type: GRAPH g { output { name: \"z\" } } }");
  EXPECT_THAT(result(header() + truth("c", true) + outside + node_text("Neg", {"x"}, {"z"}), "", {1, 2}),
              ElementsAre(-1, -2));
}

TEST(OnnxIf, OnAnInputNeedsItsValue) {
  const std::string graph = header() + " input { name: \"k\" type { tensor_type { elem_type: 9 shape { } } } }" +
                            node_text("Not", {"k"}, {"c"}) + branches("c", "y");
  EXPECT_THAT(problem(graph, ""),
              HasSubstr("node n_y (If, opset 17): its condition depends on k, which --set-input NAME=VALUE fixes"));
}

TEST(OnnxIf, WithAComputedConditionChoosesBetweenBothBranches) {
  const std::string positive =
      node_text("ReduceSum", {"x"}, {"s"}) + floats_text("zero", {}, {0}) + node_text("Greater", {"s", "zero"}, {"c"});
  EXPECT_THAT(result(header() + positive + branches("c", "y"), "", {1, 2}), ElementsAre(-1, -2));
  EXPECT_THAT(result(header() + positive + branches("c", "y"), "", {1, -2}), ElementsAre(2, -4));
  // Two outputs, one of them a tensor from outside in one branch and a constant in the other, and a nested If.
  const std::string nested =
      node_text("If", {"c"}, {"a", "b"},
                " attribute { name: \"then_branch\" type: GRAPH g { " + branches("d", "t") +
                    " output { name: \"t\" } output { name: \"x\" } } }" +
                    " attribute { name: \"else_branch\" type: GRAPH g { " + floats_text("seven", {2}, {7, 7}) +
                    node_text("Abs", {"x"}, {"t"}) + " output { name: \"t\" } output { name: \"seven\" } } }");
  const std::string graph = header() + positive + integers_text("first", {1}, {0}) +
                            node_text("Gather", {"x", "first"}, {"f"}) + node_text("Greater", {"f", "zero"}, {"d"}) +
                            nested + node_text("Add", {"a", "b"}, {"y"});
  EXPECT_THAT(result(graph, "", {3, 1}), ElementsAre(0, 0));     // -x + x
  EXPECT_THAT(result(graph, "", {-1, 4}), ElementsAre(-3, 12));  // 2x + x
  EXPECT_THAT(result(graph, "", {-3, 1}), ElementsAre(10, 8));   // |x| + 7
}

TEST(OnnxIf, WithAComputedConditionNeedsBranchesOfOneShape) {
  const std::string condition =
      node_text("ReduceSum", {"x"}, {"s"}) + node_text("Cast", {"s"}, {"c"}, integer_attribute("to", 9));
  const std::string differing =
      node_text("If", {"c"}, {"y"},
                " attribute { name: \"then_branch\" type: GRAPH g { output { name: \"x\" } } }"
                " attribute { name: \"else_branch\" type: GRAPH g { output { name: \"s\" } } }");
  EXPECT_THAT(problem(header({2}) + condition + differing, ""),
              HasSubstr("its condition is computed at run time, and its branches give float32 [2] and float32 [1], "
                        "which is not supported"));
}

TEST(OnnxIf, GivesASequenceWhereTheConditionIsKnown) {
  const auto branch = [](std::string_view name, const std::vector<std::string>& tensors) {
    return fmt::format(" attribute {{ name: \"{}\" type: GRAPH g {{ {} output {{ name: \"r\" }} }} }}", name,
                       node_text("SequenceConstruct", tensors, {"r"}));
  };
  const std::string taken =
      node_text("If", {"c"}, {"list"}, branch("then_branch", {"x", "x"}) + branch("else_branch", {"x"})) +
      node_text("ConcatFromSequence", {"list"}, {"y"}, integer_attribute("axis", 0));
  EXPECT_THAT(result(header() + truth("c", true) + taken, "", {1, 2}), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(result(header() + truth("c", false) + taken, "", {1, 2}), ElementsAre(1, 2));
  const std::string computed =
      node_text("ReduceSum", {"x"}, {"s"}) + node_text("Cast", {"s"}, {"c"}, integer_attribute("to", 9));
  EXPECT_THAT(problem(header() + computed + taken, ""),
              HasSubstr("node n_list (If, opset 17): its condition is computed at run time, and its branches give "
                        "sequences of tensors"));
}

TEST(OnnxIf, NamesWhatIsWrongInTheBranchTakenAlone) {
  const auto with = [&](std::string_view then_op, std::string_view else_op) {
    const auto branch = [&](std::string_view name, std::string_view op) {
      return fmt::format(" attribute {{ name: \"{}\" type: GRAPH g {{ {} output {{ name: \"r\" }} }} }}", name,
                         node_text(op, {"x"}, {"r"}));
    };
    return problem(header() + truth("c", true) +
                       node_text("If", {"c"}, {"y"}, branch("then_branch", then_op) + branch("else_branch", else_op)),
                   "");
  };
  EXPECT_THAT(with("NoSuchOp", "Neg"), HasSubstr("an op is not supported: node n_r (NoSuchOp, opset 17)"));
  EXPECT_EQ(with("Neg", "NoSuchOp"), "read");
}

}  // namespace
}  // namespace cohort
