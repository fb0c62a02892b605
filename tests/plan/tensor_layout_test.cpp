#include "simulator/plan/tensor_layout.hpp"

#include <gmock/gmock.h>

#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/plan/test_catalog.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using testing::TestCatalog;

View view_of(Shape shape, Shape strides) { return {{}, 0, std::move(shape), std::move(strides)}; }

TEST(UsualLayout, IsOfImagesForTensorCoresAndCpusAndLogicalForAGpuWithoutThem) {
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16, Precision::kFloat16})
    EXPECT_EQ(usual_layout("cuda", precision), Layout::kNhwc);
  EXPECT_EQ(usual_layout("cuda", Precision::kFloat32), Layout::kNchw);
  EXPECT_EQ(usual_layout("cpu", Precision::kFloat32), Layout::kNhwc);
  EXPECT_EQ(usual_layout("reference", Precision::kFloat32), Layout::kNhwc);
}

TEST(ReshapedStrides, CutAndJoinDimensionsThatFollowOneAnother) {
  EXPECT_EQ(reshaped_strides(view_of({6, 4}, {4, 1}), {2, 3, 2, 2}), (Shape{12, 4, 2, 1}));
  EXPECT_EQ(reshaped_strides(view_of({2, 3, 4}, {24, 8, 2}), {6, 2, 2}), (Shape{8, 4, 2}));
  EXPECT_EQ(reshaped_strides(view_of({2, 3, 1, 4}, {12, 1, 77, 3}), {2, 3, 4}), (Shape{12, 1, 3}));
  EXPECT_EQ(reshaped_strides(view_of({1, 5}, {99, 1}), {5, 1, 1}).value()[0], 1);
}

TEST(ReshapedStrides, AreNoneWhereElementsWouldHaveToMove) {
  EXPECT_FALSE(reshaped_strides(view_of({2, 3}, {1, 2}), {6}));
  EXPECT_FALSE(reshaped_strides(view_of({2, 3, 4}, {12, 1, 3}), {2, 12}));
  EXPECT_FALSE(reshaped_strides(view_of({4, 6}, {8, 1}), {3, 8}));
}

/// softmax(q k^T) v of [minibatch 2, tokens 5, width 6] with 3 heads, as exporters write it.
Model attention(bool second_reader = false) {
  ModelBuilder b("attention");
  const TensorId x = b.input("x", {2, 5, 6});
  const auto heads = [&](const std::string& name, std::vector<std::int64_t> order) {
    const TensorId split = b.reshape(name + ".heads", x, {2, 5, 3, 2});
    return b.add(name + ".by_head", Transpose{std::move(order)}, {split});
  };
  const TensorId query = heads("query", {0, 2, 1, 3}), key = heads("key", {0, 2, 3, 1});
  TensorId scores = b.add("scores", MatMul{}, {query, key});
  scores = b.add("softmax", Softmax{3}, {scores});
  TensorId y = b.add("context", MatMul{}, {scores, heads("value", {0, 2, 1, 3})});
  if (second_reader) b.output(b.relu("relu", y));
  y = b.add("by_token", Transpose{{0, 2, 1, 3}}, {y});
  y = b.reshape("joined", y, {2, 5, 6});
  b.output(b.relu("out", y));
  auto model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

/// A convolution whose channels are normalised as rows and that then goes on as an image.
Model convolution_and_rows() {
  ModelBuilder b("rows");
  TensorId x = b.convolution("conv", b.input("x", {2, 3, 8, 8}), {.channels = 4, .kernel = 3, .pad = 1});
  x = b.add("to_rows", Transpose{{0, 2, 3, 1}}, {x});
  x = b.add("norm", LayerNormalization{3, 1e-5F}, {x, b.weight("scale", {4}), b.weight("shift", {4})});
  x = b.add("to_image", Transpose{{0, 3, 1, 2}}, {x});
  b.output(b.max_pool("pool", x, 2, 2));
  auto model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

Program lowered(const Model& model, bool strides) {
  const Plan plan = uniform_plan({{"m", {}, 0}}, Strategy::kSerial, 1);
  const std::vector<const Model*> models{&model};
  auto program = lower(plan, models, TestCatalog(1, strides));
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : Program{};
}

std::vector<std::string> task_names(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(step.task);
  return names;
}

Layout layout_of(const Model& model, std::string_view tensor) {
  const std::vector<Layout> layouts = tensor_layouts(model, Layout::kNhwc);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (model.tensors[i].name == tensor) return layouts[i];
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return Layout::kNhwc;
}

TEST(TensorLayouts, AreInLogicalOrderAroundMatrixProductsOnly) {
  const Model model = attention();
  for (const char* name : {"query.by_head", "scores", "softmax", "context", "by_token", "value.heads"})
    EXPECT_EQ(layout_of(model, name), Layout::kNchw) << name;
  const Model image = convolution_and_rows();
  for (const char* name : {"x", "conv", "to_image", "pool"}) EXPECT_EQ(layout_of(image, name), Layout::kNhwc) << name;
  for (const char* name : {"to_rows", "norm"}) EXPECT_EQ(layout_of(image, name), Layout::kNchw) << name;
}

TEST(TensorLayouts, AreInLogicalOrderWhereNothingHasChannels) {
  ModelBuilder b("windows");  // of an image whose channels come last
  const TensorId image = b.convolution("conv", b.input("x", {1, 3, 8, 8}), {.channels = 4});
  const TensorId split = b.reshape("split", b.reshape("rows", image, {64, 4}), {1, 2, 4, 2, 4, 4});
  const TensorId windows = b.add("windows", Transpose{{0, 1, 3, 2, 4, 5}}, {split});
  b.output(b.relu("relu", b.reshape("joined", windows, {4, 16, 4})));
  b.output(b.relu("of_image", image));
  const auto model = b.finish();
  ASSERT_TRUE(model) << model.error().message;
  for (const char* name : {"split", "windows"}) EXPECT_EQ(layout_of(*model, name), Layout::kNchw) << name;
  for (const char* name : {"x", "conv", "of_image"}) EXPECT_EQ(layout_of(*model, name), Layout::kNhwc) << name;
}

TEST(TensorLayouts, GoWithAnOpThatIsTimedAlone) {
  const Model model = attention();
  for (const Op& op : model.ops) {
    const bool of_rank_three = op.name == "out";
    EXPECT_EQ(layout_alone(model, op, Layout::kNhwc), of_rank_three ? Layout::kNhwc : Layout::kNchw) << op.name;
  }
  const Model image = convolution_and_rows();
  EXPECT_EQ(layout_alone(image, image.ops[0], Layout::kNhwc), Layout::kNhwc);
}

TEST(LowerAliases, LeaveOnlyProductsAndSoftmaxOfAnAttention) {
  const Model model = attention();
  const Program program = lowered(model, true);
  EXPECT_THAT(task_names(program), ElementsAre("0/scores", "0/softmax", "0/context", "0/out"));
  const View key = std::get<View>(program.steps[0].call.inputs[1]);
  EXPECT_EQ(key.shape, (Shape{2, 3, 2, 5}));
  EXPECT_EQ(key.strides, (Shape{30, 2, 1, 6}));
  // Written as the transpose would have left it.
  EXPECT_EQ(program.steps[2].call.outputs[0].strides, (Shape{30, 2, 6, 1}));
  EXPECT_EQ(std::get<View>(program.steps[3].call.inputs[0]).strides, (Shape{30, 6, 1}));
}

TEST(LowerAliases, CopyWhereTheDeviceReadsNoStridedViews) {
  const Model model = attention();
  EXPECT_THAT(task_names(lowered(model, false)),
              ElementsAre("0/query.by_head:split", "0/key.by_head:split", "0/scores", "0/softmax",
                          "0/value.by_head:split", "0/context", "0/joined", "0/out"));
}

TEST(LowerAliases, WriteAProductInItsOwnOrderWhereOthersReadIt) {
  const Program program = lowered(attention(true), true);
  EXPECT_THAT(task_names(program), ElementsAre("0/scores", "0/softmax", "0/context", "0/relu", "0/joined", "0/out"));
}

TEST(LowerAliases, TakeATransposeToChannelsLastForNothing) {
  const Model model = convolution_and_rows();
  EXPECT_THAT(task_names(lowered(model, false)), ElementsAre("0/conv", "0/norm", "0/pool"));
}

}  // namespace
}  // namespace cohort
