#include <gmock/gmock.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Tensors in the middle of a file that are given in place of being computed, as inputs or constants, and numbers that
// nodes draw at random, which are inputs, too.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

onnx::ReadOptions from(std::vector<std::string> names, std::map<std::string, std::int64_t> dims = {}) {
  onnx::ReadOptions options;
  options.from = std::move(names);
  options.dims = std::move(dims);
  return options;
}

onnx::ReadOptions fixed(std::map<std::string, std::string> values) {
  onnx::ReadOptions options;
  options.fixed = std::move(values);
  return options;
}

/// What a file says of a tensor that a node writes.
std::string described_text(std::string_view name, const std::vector<std::string>& dims, int type = 1) {
  std::string text;
  for (const std::string& dim : dims) {
    const bool is_number = dim.find_first_not_of("0123456789") == std::string::npos;
    text += is_number ? fmt::format(" dim {{ dim_value: {} }}", dim) : fmt::format(" dim {{ dim_param: \"{}\" }}", dim);
  }
  return fmt::format(" value_info {{ name: \"{}\" type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }}", name,
                     type, text);
}

/// "x [2, 3], n int32 [4]"
std::string inputs_of(const Result<LoadedModel>& loaded) {
  if (!loaded) return loaded.error().message;
  std::string text;
  for (const TensorId id : loaded->model.inputs) {
    const Tensor& input = loaded->model.tensor(id);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", input.name,
                        input.element == ElementType::kInt32 ? "int32 " : "", to_string(input.shape));
  }
  return text;
}

/// Values of the first output.
std::vector<float> result(const std::string& bytes, const onnx::ReadOptions& options,
                          const std::vector<std::vector<float>>& inputs) {
  const auto loaded = onnx::parse_model(bytes, options);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  auto outputs = evaluate(*loaded, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? std::move(outputs->front()) : std::vector<float>();
}

/// y = exp(transpose(x) * scale) + k, of x [2, 3].
std::string chain() {
  return onnx_model(17, input_text("x", {2, 3}) + input_text("k", {}) + output_text("y") +
                            floats_text("scale", {}, {2}) + node_text("Transpose", {"x"}, {"turned"}) +
                            node_text("Mul", {"turned", "scale"}, {"scaled"}) + node_text("Exp", {"scaled"}, {"e"}) +
                            node_text("Add", {"e", "k"}, {"y"}));
}

TEST(OnnxFrom, MakesATensorAnInputAndLeavesOutWhatComputedIt) {
  const auto loaded = onnx::parse_model(chain(), from({"scaled"}));
  EXPECT_EQ(inputs_of(loaded), "k [], scaled [3, 2]");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->model.ops.size(), 2U);
  EXPECT_THAT(result(chain(), from({"scaled"}), {{5}, {0, 0, 0, 0, 0, 0}}), ElementsAre(6, 6, 6, 6, 6, 6));
}

TEST(OnnxFrom, LeavesOutWhatComputedATensorBeforeAnOpWithoutAnInput) {
  const std::string bytes = onnx_model(17, input_text("x", {2}) + output_text("y") + floats_text("most", {}, {1}) +
                                               node_text("Unique", {"x"}, {"t"}) + described_text("t", {"2"}) +
                                               node_text("Clip", {"t", "", "most"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, from({"t"}))), "t [2]");
}

TEST(OnnxFrom, TakesSeveralTensorsInTheirOrder) {
  const std::string bytes = onnx_model(17, input_text("x", {2}) + output_text("y") + node_text("Neg", {"x"}, {"a"}) +
                                               node_text("Exp", {"x"}, {"b"}) + node_text("Sub", {"a", "b"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, from({"b", "a"}))), "b [2], a [2]");
  EXPECT_THAT(result(bytes, from({"b", "a"}), {{1, 2}, {7, 7}}), ElementsAre(6, 5));
}

TEST(OnnxFrom, KeepsTheTypeOfATensor) {
  const std::string whole = onnx_model(17, input_text("x", {2}) + output_text("y") +
                                               node_text("Cast", {"x"}, {"n"}, integer_attribute("to", 7)) +
                                               node_text("Add", {"n", "n"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(whole, from({"n"}))), "n int32 [2]");
  // Whole numbers of 8 bits are computed with as float32.
  const std::string levels =
      onnx_model(17, input_text("x", {2}) + output_text("y") + floats_text("step", {}, {0.5F}) +
                         narrow_text("zero", {}, 2, {128}) + node_text("QuantizeLinear", {"x", "step", "zero"}, {"q"}) +
                         node_text("DequantizeLinear", {"q", "step", "zero"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(levels, from({"q"}))), "q [2]");
  EXPECT_THAT(result(levels, from({"q"}), {{130, 100}}), ElementsAre(1, -14));
}

/// y = 2 * t, where t is computed by an op that is not supported.
std::string behind_unsupported(const std::string& described) {
  return onnx_model(17, input_text("x", {4}) + output_text("y") + described + node_text("Unique", {"x"}, {"t"}) +
                            node_text("Add", {"t", "t"}, {"y"}));
}

TEST(OnnxFrom, TakesTheShapeOfTheFileWhereWhatComputesTheTensorIsNotSupported) {
  const std::string open = behind_unsupported(described_text("t", {"1", "frames"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(open, from({"t"}, {{"frames", 5}}))), "t [1, 5]");
  EXPECT_EQ(inputs_of(onnx::parse_model(open, from({"t"}, {{"t:1", 6}}))), "t [1, 6]");
  EXPECT_EQ(inputs_of(onnx::parse_model(open, from({"t"}, {{"t:0", 2}, {"t:1", 3}}))), "t [2, 3]");
  EXPECT_EQ(inputs_of(onnx::parse_model(open, from({"t"}))),
            "input t leaves dimension 1 open, which the file calls frames; set it with --dim frames=N");
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(described_text("t", {"3"}, 7)), from({"t"}))),
            "t int32 [3]");
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(described_text("t", {}, 7)), from({"t"}))), "t int32 []");
}

TEST(OnnxFrom, DoesNotTakeTheFirstDimensionForTheMinibatch) {
  const std::string counted = behind_unsupported(described_text("t", {"found", "4"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(counted, from({"t"}))),
            "input t leaves dimension 0 open, which the file calls found; set it with --dim found=N");
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(described_text("t", {"batch", "4"})), from({"t"}))),
            "t [1, 4]");
}

TEST(OnnxFrom, NeedsAShape) {
  const std::string why =
      "--from t: its shape is not known (an op is not supported: node n_t (Unique, opset 17)); give its "
      "dimensions, as --dim t:0=N, of float32 numbers";
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(""), from({"t"}))), why);
  // Exporters write the shape of a number for what they do not know.
  const std::string unknown = behind_unsupported(described_text("t", {}));
  EXPECT_EQ(inputs_of(onnx::parse_model(unknown, from({"t"}))), why);
  EXPECT_EQ(inputs_of(onnx::parse_model(unknown, from({"t"}, {{"t:0", 2}, {"t:1", 3}}))), "t [2, 3]");
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(""), from({"t"}, {{"t:0", 2}}))), "t [2]");
  // A dimension less than the file says is no shape.
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(described_text("t", {"frames", "80"})),
                                        from({"t"}, {{"t:0", 60}}))),
            "t [60, 80]");
}

TEST(OnnxFrom, TensorsNeedNotHaveTheMinibatch) {
  const std::string bytes =
      onnx_model(17, input_text("x", {-1, 2}) + output_text("y") +
                         node_text("ReduceMax", {"x"}, {"most"}, integer_attribute("keepdims", 0)) +
                         node_text("RandomNormalLike", {"most"}, {"noise"}) +
                         node_text("Mul", {"most", "noise"}, {"scale"}) + node_text("Mul", {"x", "scale"}, {"y"}));
  onnx::ReadOptions options = from({"most"});
  options.minibatch = 3;
  options.same_minibatch = true;
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, options)), "x [3, 2], most [], noise []");
  const std::string fixed_rows =
      onnx_model(17, input_text("x", {1, 2}) + output_text("y") + node_text("Neg", {"x"}, {"y"}));
  options.from.clear();
  EXPECT_EQ(inputs_of(onnx::parse_model(fixed_rows, options)),
            "input x has shape [1, 2], so the minibatch cannot be 3; export the model with an open first dimension");
}

TEST(OnnxFrom, IsProposedWhereOpsAreNotSupportedAndMuchComesBehindThem) {
  const auto problem = [](const std::string& behind, int more) {
    std::string chain = node_text("Neg", {"last"}, {"n0"});
    for (int i = 0; i < more; ++i) chain += node_text("Neg", {fmt::format("n{}", i)}, {fmt::format("n{}", i + 1)});
    return inputs_of(
        onnx::parse_model(onnx_model(17, input_text("x", {4}) + output_text("y") + node_text("Unique", {"x"}, {"a"}) +
                                             node_text("Unique", {"x"}, {"b"}) + node_text("Add", {"a", "b"}, {"sum"}) +
                                             behind + chain + node_text("Add", {fmt::format("n{}", more), "x"}, {"y"})),
                          {}));
  };
  const std::string reads_sum = node_text("Add", {"sum", "x"}, {"last"});
  const std::string reads_both = node_text("Mul", {"sum", "a"}, {"t"}) + node_text("Add", {"t", "b"}, {"last"});
  EXPECT_THAT(problem(reads_sum, 10), EndsWith("; or, to give what they compute: --from sum"));
  EXPECT_THAT(problem(reads_sum, 2), Not(HasSubstr("--from")));
  EXPECT_THAT(problem(reads_both, 10), EndsWith("; or, to give what they compute: --from last"));
}

TEST(OnnxFrom, RefusesTensorsThatNothingWritesOrNeeds) {
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({"scalde"}))),
            "--from scalde: no node writes a tensor of that name; did you mean \"scaled\"?");
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({"total"}))),
            "--from total: no node writes a tensor of that name");
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({"k"}))),
            "--from k: it is an input; no node writes a tensor of that name; did you mean \"e\"?");
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({""}))),
            "--from : no node writes a tensor of that name; did you mean \"e\"?");
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({"turned", "e"}))),
            "--from turned: nothing that is computed needs it");
  onnx::ReadOptions both = from({"e"});
  both.fixed = {{"e", "1"}};
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), both)), "tensor e is given by --from and by --set-input");
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), from({"e"}, {{"e:0", 3}}))),
            "no input has an open dimension called e:0");
}

TEST(OnnxFrom, GoesTogetherWithUntil) {
  onnx::ReadOptions options = from({"turned"});
  options.until = {"e"};
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), options)), "turned [3, 2]");
  EXPECT_THAT(result(chain(), options, {{0, 0, 0, 0, 0, 0}}), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(OnnxFixedTensors, AreNotAskedForWhereAnInputIsMissing) {
  const std::string bytes = onnx_model(17, input_text("x", {}, 7) + output_text("y") + integers_text("zero", {}, {0}) +
                                               node_text("Range", {"zero", "zero"}, {"y"}));
  EXPECT_THAT(inputs_of(onnx::parse_model(bytes, {})), HasSubstr("input 2 (delta) is missing"));
}

/// As text to speech has it: y is x [2], once for each place that the largest of x counts.
std::string counted() {
  return onnx_model(
      17, input_text("x", {2}) + output_text("y") + integers_text("start", {}, {0}) + integers_text("step", {}, {1}) +
              integers_text("axis", {1}, {1}) + node_text("Cast", {"x"}, {"lengths"}, integer_attribute("to", 7)) +
              node_text("ReduceMax", {"lengths"}, {"longest"}, integer_attribute("keepdims", 0)) +
              node_text("Range", {"start", "longest", "step"}, {"places"}) +
              node_text("Cast", {"places"}, {"at"}, integer_attribute("to", 1)) +
              node_text("Unsqueeze", {"x", "axis"}, {"column"}) + node_text("Add", {"column", "at"}, {"y"}));
}

TEST(OnnxFixedTensors, MayBeComputedInTheFile) {
  EXPECT_THAT(
      inputs_of(onnx::parse_model(counted(), {})),
      HasSubstr("input longest (limit) is not constant, which is not supported; --set-input longest=VALUE makes "
                "it so"));
  EXPECT_THAT(result(counted(), fixed({{"longest", "3"}}), {{1, 5}}), ElementsAre(1, 2, 3, 5, 6, 7));
  EXPECT_EQ(inputs_of(onnx::parse_model(counted(), fixed({{"longest", "2.5"}}))),
            "tensor longest is int64; its value must be a whole number or a list of them with commas, not \"2.5\"");
  EXPECT_EQ(
      inputs_of(onnx::parse_model(counted(), fixed({{"longes", "3"}}))),
      "--set-input longes: there is no input, and no node writes a tensor, of that name; did you mean \"longest\"?");
}

TEST(OnnxFixedTensors, MayBeLeftOut) {
  onnx::ReadOptions options = fixed({{"k", "5"}, {"y", "1"}, {"scale", "3"}});
  options.until = {"turned"};
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), options)), "x [2, 3]");
}

TEST(OnnxFixedTensors, TakeTheShapeOfTheFileWithItsOpenDimensions) {
  onnx::ReadOptions options = fixed({{"t", "1.5"}});
  options.dims = {{"rows", 2}, {"t:1", 3}};
  EXPECT_THAT(result(behind_unsupported(described_text("t", {"rows", "columns"})), options, {}),
              ElementsAre(3, 3, 3, 3, 3, 3));
}

TEST(OnnxFixedTensors, TakeTheShapeThatIsComputed) {
  EXPECT_THAT(result(chain(), fixed({{"e", "4"}}), {{1}}), ElementsAre(5, 5, 5, 5, 5, 5));
  EXPECT_THAT(result(chain(), fixed({{"e", "1,2,3,4,5,6"}}), {{1}}), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_EQ(inputs_of(onnx::parse_model(chain(), fixed({{"e", "1,2"}}))),
            "tensor e has shape [3, 2]; its value must be one number or 6, not 2");
}

TEST(OnnxFixedTensors, AreOneNumberOrAListWhereNothingIsKnownOfThem) {
  EXPECT_THAT(result(behind_unsupported(""), fixed({{"t", "1.5,2"}}), {}), ElementsAre(3, 4));
  EXPECT_THAT(result(behind_unsupported(""), fixed({{"t", "1.5"}}), {}), ElementsAre(3));
  EXPECT_EQ(inputs_of(onnx::parse_model(behind_unsupported(""), fixed({{"t", "1.5,"}}))),
            "tensor t needs a number or a list of them with commas, not \"1.5,\"");
}

TEST(OnnxFixedTensors, MayBeInitialisers) {
  EXPECT_THAT(result(chain(), fixed({{"scale", "0"}}), {{1, 2, 3, 4, 5, 6}, {1}}), ElementsAre(2, 2, 2, 2, 2, 2));
}

TEST(OnnxRandom, NumbersAreInputs) {
  const std::string bytes = onnx_model(
      17,
      input_text("x", {2, 2}) + output_text("y") + floats_text("scale", {}, {10}) +
          node_text("RandomNormalLike", {"x"}, {"noise"}, float_attribute("mean", 3)) +
          node_text("RandomUniform", {}, {"offset"}, integers_attribute("shape", {2}) + float_attribute("high", 2)) +
          node_text("RandomUniformLike", {"x"}, {"unread"}) + node_text("Mul", {"noise", "scale"}, {"scaled"}) +
          node_text("Add", {"x", "scaled"}, {"sum"}) + node_text("Add", {"sum", "offset"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, {})), "x [2, 2], noise [2, 2], offset [2]");
  EXPECT_THAT(result(bytes, {}, {{1, 2, 3, 4}, {0, 1, 2, 3}, {0.5F, 0.25F}}), ElementsAre(1.5F, 12.25F, 23.5F, 34.25F));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, fixed({{"noise", "0"}}))), "x [2, 2], offset [2]");
}

TEST(OnnxRandom, NumbersAreInputsWhereTheirShapeIsAConstant) {
  const std::string bytes =
      onnx_model(17, input_text("x", {3}) + output_text("y") + floats_text("like", {3}, {0, 0, 0}) +
                         node_text("RandomNormalLike", {"like"}, {"noise"}) + node_text("Add", {"x", "noise"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, {})), "x [3], noise [3]");
}

TEST(OnnxRandom, NumbersOfEachTurnOfALoopAreInputs) {
  const std::string body =
      " attribute { name: \"body\" type: GRAPH g { input { name: \"i\" } input { name: \"go\" } input { name: \"s\" "
      "} " +
      node_text("Identity", {"go"}, {"go_on"}) +
      node_text("RandomUniform", {}, {"r"}, integers_attribute("shape", {2})) + node_text("Add", {"s", "r"}, {"t"}) +
      " output { name: \"go_on\" } output { name: \"t\" } } }";
  const std::string bytes = onnx_model(17, input_text("x", {2}) + output_text("y") + integers_text("turns", {}, {2}) +
                                               node_text("Loop", {"turns", "", "x"}, {"y"}, body));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, {})), "x [2], n_y/r/0 [2], n_y/r/1 [2]");
  EXPECT_THAT(result(bytes, {}, {{1, 2}, {10, 20}, {100, 200}}), ElementsAre(111, 222));
}

TEST(OnnxRandom, NumbersMayHaveTheShapeOfWholeOnes) {
  const std::string bytes = onnx_model(
      17, input_text("x", {3}) + output_text("y") + floats_text("step", {}, {0.5F}) +
              narrow_text("zero", {}, 2, {128}) + node_text("QuantizeLinear", {"x", "step", "zero"}, {"q"}) +
              node_text("RandomNormalLike", {"q"}, {"noise"}, integer_attribute("dtype", 1)) +
              node_text("DequantizeLinear", {"q", "step", "zero"}, {"d"}) + node_text("Add", {"d", "noise"}, {"y"}));
  EXPECT_EQ(inputs_of(onnx::parse_model(bytes, {})), "x [3], noise [3]");
}

TEST(OnnxRandom, NumbersAreFloatingPoint) {
  const std::string bytes =
      onnx_model(17, input_text("x", {3}) + output_text("y") +
                         node_text("RandomNormalLike", {"x"}, {"y"}, integer_attribute("dtype", 7)));
  EXPECT_THAT(inputs_of(onnx::parse_model(bytes, {})),
              HasSubstr("draws numbers of type int64; random numbers are floating-point"));
}

}  // namespace
}  // namespace cohort
