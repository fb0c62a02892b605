// Sweeps whose network is an ONNX file.

#include <gmock/gmock.h>

#include "models/builder.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/training/sweeps.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

/// Two layers, between which is dropout where `rate` is above 0; what they give is taken times a number.
std::string onnx_network(const std::string& input, float rate, float factor) {
  ModelBuilder builder("net");
  TensorId x = builder.linear("hidden", builder.input(input, {8, 4}), 16);
  const auto number = [&](const char* name, Shape shape) {
    return builder.add_tensor({name, std::move(shape), TensorRole::kWeight, ElementType::kFloat32, /*fixed=*/true});
  };
  const TensorId rate_id = number("rate", {1}), factor_id = number("factor", {});
  if (rate > 0) {
    const TensorId random = builder.add_input({"random", {4}, TensorRole::kSetting, ElementType::kInt32});
    x = builder.add("drop", Dropout{0}, {x, rate_id, random});
  }
  x = builder.linear("scores", x, 3);
  builder.output(builder.add("times", Binary{BinaryKind::kMul}, {x, factor_id}));
  LoadedModel network{builder.finish().value(), {}};
  network.weights = random_weights(network.model, 1);
  network.weights.by_tensor[to_index(rate_id)] = std::make_shared<const std::vector<float>>(1, rate);
  network.weights.by_tensor[to_index(factor_id)] = std::make_shared<const std::vector<float>>(1, factor);
  return onnx::serialize_model(network).value();
}

std::string of_file(const std::string& space) {
  return "model = \"net.onnx\"\nminibatch = 8\nepochs = 2\noptimizer = \"sgd\"\ncheckpoint_every = 1\n"
         "[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\nlearning_rate = 0.1\n" +
         space;
}

TEST_F(Sweeps, TakeTheDropoutOfAFileOrOfTheirMembers) {
  temporary_.write("net.onnx", onnx_network("x", 0.5F, 1));
  const auto losses = [&](const std::string& space) {
    PreparedSweep prepared = prepare(of_file(space)).value();
    EXPECT_TRUE(train(prepared, of_file(space), "out"));
    std::vector<double> found;
    for (const SweepMember& member : prepared.members) found.push_back(member.epochs.back().train_loss);
    return found;
  };
  const std::vector<double> own = losses("");
  const std::vector<double> given = losses("dropout = [0.5, 0]\n");
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[0], own[0]);
  EXPECT_NE(given[1], own[0]);
}

TEST_F(Sweeps, RefuseDropoutThatHasNoEffect) {
  EXPECT_THAT(prepare(head() + "dropout = [0, 0.5]\n").error().message,
              HasSubstr("mlp: dropout has no effect: the network has no Dropout"));
}

TEST_F(Sweeps, GiveSamplesToAnInputOfAnyName) {
  temporary_.write("net.onnx", onnx_network("net/labels", 0, 1));
  const std::string text = of_file("seed = [0, 1]\n");
  PreparedSweep prepared = prepare("initial_weights = \"random\"\n" + text).value();
  ASSERT_TRUE(train(prepared, text, "out"));
  for (const SweepMember& member : prepared.members)
    EXPECT_EQ(member.outcome, MemberOutcome::kFinished) << member.reason;
}

TEST_F(Sweeps, RefuseACheckpointOfAFileThatHasChanged) {
  temporary_.write("net.onnx", onnx_network("x", 0, 1));
  const std::string text = of_file("");
  ASSERT_FALSE(train(text, "out", false, 3));
  temporary_.write("net.onnx", onnx_network("x", 0, -1));
  const auto resumed = train(text, "out", true);
  ASSERT_FALSE(resumed) << "a factor that is not trained is another one";
  EXPECT_THAT(resumed.error().message, HasSubstr("m00.state"));
  temporary_.write("net.onnx", onnx_network("x", 0, 1));
  EXPECT_TRUE(train(text, "out", true));
}

}  // namespace
}  // namespace cohort
