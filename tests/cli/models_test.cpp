#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/onnx/onnx_file.hpp"
#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ModelsCommand = ProgramTest;

TEST_F(ModelsCommand, ListsEveryNetworkWithItsSize) {
  const Outcome outcome = cohort({"models", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  std::map<std::string, json> networks;
  for (const json& network : json::parse(outcome.out)) networks[network.at("name")] = network;
  for (const char* name : {"alexnet", "alexnet5", "densenet121", "encoder", "gru", "inception_v3", "lenet5", "lstm",
                           "mlp", "mobilenet_v2", "randwire", "resnet18", "resnet50", "smallcnn", "squeezenet1_1"})
    EXPECT_TRUE(networks.contains(name)) << name;
  EXPECT_EQ(networks["resnet18"].at("parameters"), 11689512 + 2 * 4800);  // with running means and variances
  EXPECT_EQ(networks["mlp"].at("parameters"), 784 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
}

TEST_F(ModelsCommand, SizesFollowArgumentsAndMinibatch) {
  const auto network = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"models", "mlp", "--json", "--set", "layers=1", "--set", "hidden=8"});
    return json::parse(cohort(words).out).at(0);
  };
  const json one = network({});
  EXPECT_EQ(one.at("parameters"), 784 * 8 + 8 + 8 * 10 + 10);
  EXPECT_EQ(one.at("inputs").at("input"), json({1, 784}));
  const json four = network({"--minibatch", "4"});
  EXPECT_EQ(four.at("inputs").at("input"), json({4, 784}));
  EXPECT_EQ(four.at("flops").get<int>(), 4 * one.at("flops").get<int>());
}

TEST_F(ModelsCommand, NamesWhatIsWrongWithAModel) {
  const Outcome unknown = cohort({"models", "nosuch"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("no built-in network \"nosuch\"; known are alexnet, alexnet5"));
  const Outcome argument = cohort({"models", "mlp", "--set", "hidden=none"});
  EXPECT_EQ(argument.exit_code, 3);
  EXPECT_THAT(argument.err, HasSubstr("hidden"));
}

TEST_F(ModelsCommand, SaysWhatAFileHolds) {
  ASSERT_EQ(cohort({"models", "mlp", "--set", "hidden=8", "--export", "net.onnx"}).exit_code, 0);
  const Outcome text = cohort({"models", "net.onnx"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out,
            "net.onnx: 6.44 k parameters, 12.9 k FLOPs a step\n"
            "  input input: float32 [1, 784]\n"
            "  output fc3: float32 [1, 10]\n"
            "  3 ops: 3 Gemm\n");
  const json described = json::parse(cohort({"models", "net.onnx", "--json"}).out);
  EXPECT_EQ(described.at("parameters"), 784 * 8 + 8 + 8 * 8 + 8 + 8 * 10 + 10);
  EXPECT_EQ(described.at("ops"), json({{"Gemm", 3}}));
  EXPECT_EQ(described.at("inputs").at("input"), json({1, 784}));
}

TEST_F(ModelsCommand, NamesWhatIsWrongWithAFile) {
  const Outcome missing = cohort({"models", "none.onnx"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("none.onnx"));
  ASSERT_EQ(cohort({"models", "mlp", "--export", "net.onnx"}).exit_code, 0);
  const Outcome exported = cohort({"models", "net.onnx", "--export", "other.onnx"});
  EXPECT_EQ(exported.exit_code, 2);
  EXPECT_THAT(exported.err, HasSubstr("--export writes a built-in network, and net.onnx is a file"));
}

TEST_F(ModelsCommand, ExportsOnnxThatIsReadBack) {
  const Outcome outcome = cohort({"models", "lenet5", "--export", "lenet5.onnx", "--minibatch", "2", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("file"), "lenet5.onnx");
  const auto loaded = onnx::read_model(path("lenet5.onnx"), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->model.tensor(loaded->model.inputs.at(0)).shape, (Shape{2, 1, 28, 28}));
}

TEST_F(ModelsCommand, ExportsEqualBytesFromEqualSeeds) {
  ASSERT_EQ(cohort({"models", "mlp", "--export", "a", "--seed", "7"}).exit_code, 0);
  ASSERT_EQ(cohort({"models", "mlp", "--export", "b", "--seed", "7"}).exit_code, 0);
  ASSERT_EQ(cohort({"models", "mlp", "--export", "c", "--seed", "8"}).exit_code, 0);
  EXPECT_TRUE(read("a") == read("b"));
  EXPECT_FALSE(read("a") == read("c"));
}

TEST_F(ModelsCommand, DoesNotOverwriteUnasked) {
  write("mlp.onnx", "mine");
  const Outcome refused = cohort({"models", "mlp", "--export", "mlp.onnx"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(refused.err, "cohort: mlp.onnx exists already; give -f to overwrite it\n");
  EXPECT_EQ(read("mlp.onnx"), "mine");
  EXPECT_EQ(cohort({"models", "mlp", "--export", "mlp.onnx", "-f"}).exit_code, 0);
  EXPECT_NE(read("mlp.onnx"), "mine");
}

TEST_F(ModelsCommand, NamesAnOutputThatCannotBeWritten) {
  const Outcome outcome = cohort({"models", "mlp", "--export", "none/mlp.onnx"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write none/mlp.onnx: folder none: No such file or directory"));
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace cohort
