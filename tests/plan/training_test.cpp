// Programs of training steps: parameters where they are read, gradients where they are collected, updates in place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/plan/test_catalog.hpp"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::TestCatalog;

constexpr std::int64_t kParameters = 320;

TensorId append(Model& model, const std::string& name, Shape shape, TensorRole role,
                ElementType element = ElementType::kFloat32) {
  model.tensors.push_back({name, std::move(shape), role, element});
  return static_cast<TensorId>(static_cast<std::uint32_t>(model.tensors.size() - 1));
}

TensorId given(Model& model, const std::string& name, Shape shape, TensorRole role,
               ElementType element = ElementType::kFloat32) {
  model.inputs.push_back(append(model, name, std::move(shape), role, element));
  return model.inputs.back();
}

TensorId add(Model& model, const std::string& name, const OpAttributes& attributes, std::vector<TensorId> inputs) {
  std::vector<Shape> shapes;
  for (const TensorId id : inputs) shapes.push_back(model.tensor(id).shape);
  const Result<Shape> shape = infer_shape(attributes, shapes);
  EXPECT_TRUE(shape) << name << ": " << shape.error().message;
  const TensorId y = append(model, name, *shape, TensorRole::kActivation);
  model.ops.push_back({name, attributes, {}, std::move(inputs), {y}});
  return y;
}

/// fc1 -> relu -> fc2 -> loss, their gradients, and one update of all parameters.
Model training_step() {
  Model model;
  model.name = "step";
  const TensorId x = given(model, "x", {4, 8}, TensorRole::kInput);
  const TensorId labels = given(model, "labels", {4}, TensorRole::kInput, ElementType::kInt32);
  const TensorId settings = given(model, "settings", {kSettingCount}, TensorRole::kSetting);
  const TensorId state = append(model, "parameters", {2, kParameters}, TensorRole::kState);
  const TensorId w1 = add(model, "w1", Unpack{0, {16, 8}}, {state});
  const TensorId b1 = add(model, "b1", Unpack{128, {16}}, {state});
  const TensorId w2 = add(model, "w2", Unpack{144, {10, 16}}, {state});
  const TensorId b2 = add(model, "b2", Unpack{304, {10}}, {state});
  TensorId h = add(model, "fc1", Gemm{}, {x, w1, b1});
  h = add(model, "relu", Activation{ActivationKind::kRelu, 0, 0}, {h});
  const TensorId logits = add(model, "fc2", Gemm{}, {h, w2, b2});
  model.outputs.push_back(add(model, "loss", SoftmaxCrossEntropy{}, {logits, labels}));
  const TensorId dy = add(model, "loss.dx", SoftmaxCrossEntropyGradient{}, {logits, labels});
  const TensorId dw2 = add(model, "fc2.dw", GemmWeightGradient{true, false}, {h, dy});
  TensorId dh = add(model, "fc2.dx", MatMul{}, {dy, w2});
  dh = add(model, "relu.dx", ActivationGradient{{ActivationKind::kRelu, 0, 0}}, {h, dh});
  const TensorId dw1 = add(model, "fc1.dw", GemmWeightGradient{true, false}, {x, dh});
  const TensorId gradient = add(model, "gradient", Pack{{0, 144}, kParameters}, {dw1, dw2});
  Update update;
  update.momentum = true;
  add(model, "update", update, {state, gradient, settings});
  for (Op& op : model.ops) {
    if (op.name.find(".d") != std::string::npos || op.name == "gradient") op.phase = Phase::kBackward;
    if (op.name == "update") op.phase = Phase::kUpdate;
  }
  const Result<void> valid = validate(model);
  EXPECT_TRUE(valid) << valid.error().message;
  return model;
}

Result<Program> lowered(const Model& model, std::size_t members, Strategy strategy, int streams = 1) {
  std::vector<Member> list;
  for (std::size_t i = 0; i < members; ++i) list.push_back({fmt::format("m{}", i), {"step", {}, 4}, i});
  Plan plan = uniform_plan(list, strategy, streams);
  const std::vector<const Model*> models(members, &model);
  return lower(plan, models, TestCatalog(4, true));
}

std::vector<std::string> tasks_of(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(step.task);
  return names;
}

const Step& step_of(const Program& program, const std::string& task) {
  for (const Step& step : program.steps) {
    if (step.task == task) return step;
  }
  ADD_FAILURE() << "no task " << task;
  return program.steps.front();
}

const View& input(const Step& step, std::size_t i) { return std::get<View>(step.call.inputs[i]); }

TEST(TrainingSteps, ReadParametersInTheirStateAndWriteGradientsSideBySide) {
  const auto program = lowered(training_step(), 1, Strategy::kSerial);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_THAT(tasks_of(*program), ElementsAre("0/fc1", "0/relu", "0/fc2", "0/loss", "0/loss.dx", "0/fc2.dw", "0/fc2.dx",
                                              "0/relu.dx", "0/fc1.dw", "0/update"));
  ASSERT_EQ(program->states.size(), 1U);
  const View& state = program->states[0].view;
  EXPECT_EQ(program->buffer(state.buffer).kind, BufferKind::kState);
  EXPECT_EQ(input(step_of(*program, "0/fc2"), 1), (View{state.buffer, 144, {10, 16}, {16, 1}, DataType::kFloat32}));
  const Step& update = step_of(*program, "0/update");
  EXPECT_EQ(input(update, 0), state);
  EXPECT_EQ(update.call.outputs[0], state) << "in place";
  const View& gradient = input(update, 1);
  EXPECT_EQ(step_of(*program, "0/fc1.dw").call.outputs[0], (View{gradient.buffer, 0, {144}, {1}, DataType::kFloat32}));
  EXPECT_EQ(step_of(*program, "0/fc2.dw").call.outputs[0],
            (View{gradient.buffer, 144, {176}, {1}, DataType::kFloat32}));
  EXPECT_EQ(update.phase, Phase::kUpdate);
  EXPECT_EQ(step_of(*program, "0/fc1.dw").phase, Phase::kBackward);
}

TEST(TrainingSteps, CountParametersOptimizerAndGradients) {
  const auto program = lowered(training_step(), 3, Strategy::kSerial);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->memory.parameters, Bytes{3 * kParameters * 4});
  EXPECT_EQ(program->memory.optimizer, Bytes{3 * kParameters * 4});
  EXPECT_EQ(program->memory.gradients, Bytes{kParameters * 4}) << "members in turn share the arena";
  EXPECT_EQ(program->memory.weights, Bytes{}) << "nothing is packed once and for all";
}

TEST(TrainingSteps, OfAStridedBatchCopyNothing) {
  const auto program = lowered(training_step(), 3, Strategy::kStridedBatch);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_THAT(tasks_of(*program), ElementsAre("0-2/fc1", "0-2/relu", "0-2/fc2", "0-2/loss", "0-2/loss.dx", "0-2/fc2.dw",
                                              "0-2/fc2.dx", "0-2/relu.dx", "0-2/fc1.dw", "0-2/update"));
  const BufferId state = program->states[0].view.buffer;
  EXPECT_EQ(program->states[2].view.offset, 2 * 2 * kParameters);
  EXPECT_EQ(input(step_of(*program, "0-2/fc1"), 1),
            (View{state, 0, {3, 16, 8}, {2 * kParameters, 8, 1}, DataType::kFloat32}));
  EXPECT_EQ(input(step_of(*program, "0-2/loss"), 1).strides, (Shape{0, 1})) << "all members read the same labels";
  const Step& update = step_of(*program, "0-2/update");
  EXPECT_EQ(update.call.outputs[0],
            (View{state, 0, {3, 2, kParameters}, {2 * kParameters, kParameters, 1}, DataType::kFloat32}));
  EXPECT_EQ(input(update, 1).shape, (Shape{3, kParameters}));
  EXPECT_EQ(input(update, 2).shape, (Shape{3, kSettingCount}));
  EXPECT_EQ(step_of(*program, "0-2/fc2.dw").call.outputs[0].strides, (Shape{kParameters, 1}));
}

TEST(TrainingSteps, PackWhatAFusedOpComputesSideBySideThoughMembersUpdateAlone) {
  const Model model = training_step();
  std::vector<Member> list;
  for (std::size_t i = 0; i < 3; ++i) list.push_back({fmt::format("m{}", i), {"step", {}, 4}, i});
  Plan plan = uniform_plan(list, Strategy::kSerial, 1);
  plan.groups.push_back({"gradient", plan.groups[0].members, {"fc2.dw"}, Strategy::kStridedBatch, 0, {}, {}});
  const std::vector<const Model*> models(3, &model);
  const auto program = lower(plan, models, TestCatalog(4, true));
  ASSERT_TRUE(program) << program.error().message;
  const View& whole = step_of(*program, "0-2/fc2.dw").call.outputs[0];
  EXPECT_EQ(whole, (View{whole.buffer, 144, {3, 176}, {kParameters, 1}, DataType::kFloat32}));
  EXPECT_EQ(input(step_of(*program, "2/update"), 1),
            (View{whole.buffer, 2 * kParameters, {kParameters}, {1}, DataType::kFloat32}));
  EXPECT_THAT(tasks_of(*program), ::testing::Not(Contains("0/gradient")));
}

TEST(TrainingSteps, UpdateBehindAllGradientsWhicheverStreamComputesThem) {
  const Model model = training_step();
  std::vector<Member> list;
  for (std::size_t i = 0; i < 3; ++i) list.push_back({fmt::format("m{}", i), {"step", {}, 4}, i});
  Plan plan = uniform_plan(list, Strategy::kStridedBatch, 2);
  plan.groups.push_back(
      {"other", plan.groups[0].members, {"fc2.dw", "gradient", "update"}, Strategy::kStridedBatch, 0, {1}, {}});
  const std::vector<const Model*> models(3, &model);
  const auto program = lower(plan, models, TestCatalog(4, true));
  ASSERT_TRUE(program) << program.error().message;
  const Step& update = step_of(*program, "0-2/update");
  const Step& gradient = step_of(*program, "0-2/fc1.dw");
  EXPECT_NE(update.stream, gradient.stream);
  EXPECT_THAT(update.dependencies, Contains(static_cast<StepId>(&gradient - program->steps.data())));
}

TEST(TrainingSteps, GiveEachMemberARowOfTheSettings) {
  const auto program = lowered(training_step(), 3, Strategy::kSerial);
  ASSERT_TRUE(program) << program.error().message;
  const ProgramInput& settings = program->inputs.back();
  EXPECT_EQ(settings.role, TensorRole::kSetting);
  EXPECT_EQ(settings.shape, (Shape{3, kSettingCount}));
  EXPECT_EQ(settings.members.size(), 3U);
  EXPECT_EQ(input(step_of(*program, "2/update"), 2).offset, 2 * kSettingCount);
  EXPECT_EQ(input(step_of(*program, "2/update"), 2).buffer, settings.buffer);
}

TEST(TrainingSteps, UpdateBehindWhoeverReadsTheState) {
  // A reader that no gradient depends on: what it shows must be of this step, not of the next.
  Model model = training_step();
  Op update = model.ops.back();
  model.ops.pop_back();
  const TensorId w1 = model.ops[0].outputs[0];
  model.outputs.push_back(add(model, "size", Reduce{ReduceKind::kL2, {0, 1}, true}, {w1}));
  model.ops.insert(model.ops.end() - 1, update);  // before the reader, as the model has it
  const auto program = lowered(model, 2, Strategy::kConcurrent, 2);
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<std::string> order = tasks_of(*program);
  for (const char* const member : {"0", "1"}) {
    const auto at = [&](const char* op) {
      return std::find(order.begin(), order.end(), fmt::format("{}/{}", member, op)) - order.begin();
    };
    EXPECT_LT(at("size"), at("update"));
  }
}

TEST(TrainingSteps, OfDifferentMembersNeedNotWaitForEachOther) {
  const auto program = lowered(training_step(), 2, Strategy::kConcurrent, 2);
  ASSERT_TRUE(program) << program.error().message;
  for (const Step& step : program->steps) {
    for (const StepId before : step.dependencies) EXPECT_EQ(program->step(before).members, step.members) << step.task;
  }
}

TEST(TrainingSteps, CopyAPackWhosePartsHaveOtherReaders) {
  Model model = training_step();
  const auto dw1 = std::find_if(model.ops.begin(), model.ops.end(), [](const Op& op) { return op.name == "fc1.dw"; });
  model.outputs.push_back(dw1->outputs[0]);
  const auto program = lowered(model, 1, Strategy::kSerial);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_THAT(tasks_of(*program), Contains("0/gradient"));
  EXPECT_NE(step_of(*program, "0/fc1.dw").call.outputs[0].buffer, input(step_of(*program, "0/update"), 1).buffer);
}

}  // namespace
}  // namespace cohort
