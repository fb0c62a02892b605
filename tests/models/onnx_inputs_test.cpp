#include <gmock/gmock.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Open dimensions, and inputs that are fixed.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An input whose dimensions are numbers, names, or open without a name ("").
std::string named_input(std::string_view name, const std::vector<std::string>& dims, int type = 1) {
  std::string text;
  for (const std::string& dim : dims) {
    const bool is_number = !dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos;
    text += is_number ? fmt::format(" dim {{ dim_value: {} }}", dim) : fmt::format(" dim {{ dim_param: \"{}\" }}", dim);
  }
  return fmt::format(" input {{ name: \"{}\" type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }}", name, type,
                     text);
}

struct Read {
  std::vector<Shape> shapes;
  std::string message;
};

/// Shapes of the inputs of a model that negates x.
Read shapes(const std::string& inputs, const std::map<std::string, std::int64_t>& dims, std::int64_t minibatch = 1) {
  onnx::ReadOptions options;
  options.minibatch = minibatch;
  options.dims = dims;
  const auto loaded =
      onnx::parse_model(onnx_model(17, inputs + output_text("y") + node_text("Neg", {"x"}, {"y"})), options);
  if (!loaded) return {{}, loaded.error().message};
  Read read;
  for (const TensorId id : loaded->model.inputs) read.shapes.push_back(loaded->model.tensor(id).shape);
  return read;
}

TEST(OnnxDimensions, AreSetByPosition) {
  const std::string same = named_input("x", {"?", "3", "?", "?"});
  EXPECT_THAT(shapes(same, {{"x:2", 48}, {"x:3", 320}}).shapes, ElementsAre(Shape{1, 3, 48, 320}));
  EXPECT_THAT(shapes(same, {{"x:0", 4}, {"x:2", 48}, {"x:3", 320}}, 2).shapes, ElementsAre(Shape{4, 3, 48, 320}));
  EXPECT_THAT(shapes(same, {{"?", 8}, {"x:3", 320}}).shapes, ElementsAre(Shape{8, 3, 8, 320}));
  EXPECT_THAT(shapes(named_input("x", {"", "3", ""}), {{"x:2", 5}}).shapes, ElementsAre(Shape{1, 3, 5}));
  EXPECT_THAT(shapes(named_input("a:0", {"1"}) + named_input("x", {"1", "w"}), {{"x:1", 5}}).shapes,
              ElementsAre(Shape{1}, Shape{1, 5}));
}

TEST(OnnxDimensions, ThatAreNotSetAreNamedWithTheWayOut) {
  EXPECT_THAT(shapes(named_input("x", {"?", "3", "?", "?"}), {}).message,
              HasSubstr("input x leaves dimension 2 open, which the file calls ?; set it with --dim ?=N, or it alone "
                        "with --dim x:2=N"));
  EXPECT_THAT(shapes(named_input("x", {"", "3", ""}), {}).message,
              HasSubstr("input x leaves dimension 2 open; set it with --dim x:2=N"));
  EXPECT_THAT(shapes(named_input("x", {"b", "3"}), {{"x:1", 4}}).message,
              HasSubstr("no input has an open dimension called x:1"));
  EXPECT_THAT(shapes(named_input("x", {"b", "3"}), {{"x:2", 4}}).message,
              HasSubstr("no input has an open dimension called x:2"));
}

TEST(OnnxDimensions, AreTheMinibatchWhereTheyPlainlyAre) {
  EXPECT_THAT(shapes(named_input("x", {"b", "3"}) + named_input("h", {"2", "b", "5"}), {}, 4).shapes,
              ElementsAre(Shape{4, 3}, Shape{2, 4, 5}));
  EXPECT_THAT(shapes(named_input("x", {"7", "batch_size", "3"}), {}, 4).shapes, ElementsAre(Shape{7, 4, 3}));
  EXPECT_THAT(shapes(named_input("x", {"7", "N", "3"}), {{"N", 2}}, 4).shapes, ElementsAre(Shape{7, 2, 3}));
  EXPECT_THAT(shapes(named_input("x", {"N", "N"}), {}).message, HasSubstr("leaves dimension 1 open"));
  EXPECT_THAT(shapes(named_input("x", {"batch_size", "N"}), {}).message, HasSubstr("leaves dimension 1 open"));
  EXPECT_THAT(shapes(named_input("x", {"batch_size", "N"}), {{"N", 9}}, 4).shapes, ElementsAre(Shape{4, 9}));
  EXPECT_THAT(
      shapes(named_input("x", {"batch_size", "N"}), {}).message,
      HasSubstr("set it with --dim N=N (or, if it is the minibatch and batch_size is not, --dim batch_size=N)"));
  EXPECT_THAT(shapes(named_input("x", {"T", "N", "3"}), {{"T", 9}}, 4).shapes, ElementsAre(Shape{9, 4, 3}));
  EXPECT_THAT(shapes(named_input("x", {"T", "N", "3"}), {{"x:0", 9}}, 4).shapes, ElementsAre(Shape{9, 4, 3}));
}

/// y = x + k.
std::string sum(const std::vector<std::string>& dims, int type) {
  return onnx_model(17, named_input("x", {"2"}) + named_input("k", dims, type) + output_text("y") +
                            node_text("Cast", {"k"}, {"c"}, integer_attribute("to", 1)) +
                            node_text("Add", {"x", "c"}, {"y"}));
}

Read values(const std::string& bytes, const std::string& name, const std::string& value, std::vector<float>& y) {
  onnx::ReadOptions options;
  options.fixed = {{name, value}};
  const auto loaded = onnx::parse_model(bytes, options);
  if (!loaded) return {{}, loaded.error().message};
  Read read;
  for (const TensorId id : loaded->model.inputs) read.shapes.push_back(loaded->model.tensor(id).shape);
  const auto outputs = evaluate(simplify(*loaded), {{1, 2}});
  if (outputs) y = outputs->front();
  return read;
}

TEST(OnnxFixedInputs, BecomeConstants) {
  std::vector<float> y;
  EXPECT_THAT(values(sum({}, 1), "k", "2.5", y).shapes, ElementsAre(Shape{2}));
  EXPECT_THAT(y, ElementsAre(3.5F, 4.5F));
  values(sum({"2"}, 7), "k", "3,-4", y);
  EXPECT_THAT(y, ElementsAre(4, -2));
  values(sum({"2"}, 6), "k", "5", y);  // for all elements
  EXPECT_THAT(y, ElementsAre(6, 7));
  values(sum({"n"}, 1), "k", "1e1,20", y);
  EXPECT_THAT(y, ElementsAre(11, 22));
  values(sum({}, 9), "k", "true", y);
  EXPECT_THAT(y, ElementsAre(2, 3));
}

TEST(OnnxFixedInputs, WithValuesThatDoNotFitAreRefused) {
  std::vector<float> y;
  EXPECT_THAT(values(sum({}, 1), "total", "1", y).message,
              HasSubstr("--set-input total: there is no input, and no node writes a tensor, of that name"));
  EXPECT_THAT(values(sum({"2"}, 3), "k", "1,200", y).message, HasSubstr("is int8, which has no 200"));
  EXPECT_THAT(values(sum({"2"}, 1), "k", "1,2,3", y).message,
              HasSubstr("input k has shape [2]; its value must be one number or 2, not 3"));
  EXPECT_THAT(values(sum({}, 7), "k", "1.5", y).message,
              HasSubstr("input k is int64; its value must be a whole number or a list of them with commas, not"));
  EXPECT_THAT(values(sum({}, 1), "k", "1,", y).message, HasSubstr("its value must be a number"));
  EXPECT_THAT(values(sum({"n", "m"}, 1), "k", "1", y).message, HasSubstr("more than one open dimension"));
}

TEST(OnnxFixedInputs, OfOpenLengthNeedNotHaveThatOfTheirDefault) {
  const std::string bytes =
      onnx_model(17, named_input("x", {"2"}) + named_input("k", {"n"}) + floats_text("k", {4}, {1, 2, 3, 4}) +
                         output_text("y") + node_text("Add", {"x", "k"}, {"y"}));
  std::vector<float> y;
  values(bytes, "k", "10,20", y);
  EXPECT_THAT(y, ElementsAre(11, 22));
}

TEST(OnnxFixedInputs, ChooseTheBranchOfAnIf) {
  const auto branch = [](std::string_view name, std::string_view op) {
    return fmt::format(" attribute {{ name: \"{}\" type: GRAPH g {{ {} output {{ name: \"r\" }} }} }}", name,
                       node_text(op, {"x"}, {"r"}));
  };
  const std::string bytes =
      onnx_model(17, named_input("x", {"2"}) + named_input("k", {}, 9) + output_text("y") +
                         node_text("If", {"k"}, {"y"}, branch("then_branch", "Neg") + branch("else_branch", "Exp")));
  std::vector<float> y;
  EXPECT_THAT(values(bytes, "k", "1", y).shapes, ElementsAre(Shape{2}));
  EXPECT_THAT(y, ElementsAre(-1, -2));
}

}  // namespace
}  // namespace cohort
