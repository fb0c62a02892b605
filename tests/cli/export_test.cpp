#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/onnx/onnx_file.hpp"
#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportCommand : public ProgramTest {
 protected:
  /// Three mlp that share an input and fuse all of their layers, in mlp.plan.json.
  void make_plan(const std::string& more = "") {
    write("mlp.plan.json", R"({"format": "cohort.plan", "version": 1, "device": "reference:0",
      "members": [{"name": "mlp", "model": "mlp", "arguments": {"inputs": "8", "hidden": "6"}, "minibatch": 2,
                   "seed": 0, "count": 3}],
      "input": {"source": "generated", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0,
                "bad_images": "skip"},
      "streams": 1, "layout": "nhwc", "launch": "graph", )" +
                               more + R"(
      "groups": [{"name": "all", "members": "0-2", "strategy": "strided_batch"}]})");
  }
};

TEST_F(ExportCommand, WritesTheModelBatchAsOneModel) {
  make_plan();
  const Outcome outcome = cohort({"export", "mlp.plan.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3 models as one of "));
  EXPECT_THAT(outcome.out, HasSubstr("inputs:  input [2, 8]\noutputs: mlp-0/fc3 [2, 10] and 2 more\n"));
  EXPECT_THAT(outcome.err, HasSubstr("wrote mlp.batch.onnx ("));
  const auto read = onnx::read_model(path("mlp.batch.onnx"), {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->model.outputs.size(), 3U);
}

TEST_F(ExportCommand, TellsInputsAndOutputsAsJson) {
  make_plan();
  const Outcome outcome = cohort({"export", "mlp.plan.json", "-o", "three.onnx", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("file"), "three.onnx");
  EXPECT_EQ(result.at("models"), 3);
  EXPECT_EQ(result.at("inputs"), json({{"input", {2, 8}}}));
  EXPECT_EQ(result.at("outputs"), json({{"mlp-0/fc3", {2, 10}}, {"mlp-1/fc3", {2, 10}}, {"mlp-2/fc3", {2, 10}}}));
  EXPECT_FALSE(result.contains("data"));
}

TEST_F(ExportCommand, SaysThatWeightsStayFloat32) {
  make_plan(R"("precision": "tf32",)");
  const Outcome outcome = cohort({"export", "mlp.plan.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("precision tf32 is left to the runtime"));
}

TEST_F(ExportCommand, OverwritesNothingUnasked) {
  make_plan();
  write("mlp.batch.onnx", "mine");
  const Outcome refused = cohort({"export", "mlp.plan.json"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(refused.err, "cohort: mlp.batch.onnx exists already; give -f to overwrite it\n");
  EXPECT_EQ(read("mlp.batch.onnx"), "mine");
  EXPECT_EQ(cohort({"export", "mlp.plan.json", "-f"}).exit_code, 0);
}

TEST_F(ExportCommand, NamesAPlanThatCannotBeOneModel) {
  make_plan();
  std::string text = read("mlp.plan.json");
  const std::string strategy = "strided_batch";
  write("mlp.plan.json", text.replace(text.find(strategy), strategy.size(), "grouped_convolution"));
  const Outcome outcome = cohort({"export", "mlp.plan.json"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("mlp.plan.json: op fc1 (Gemm) cannot be fused by grouped_convolution"));
  EXPECT_THAT(files(), ElementsAre("mlp.plan.json"));
}

}  // namespace
}  // namespace cohort
