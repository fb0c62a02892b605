#include "simulator/plan/lower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"
#include "tests/plan/test_catalog.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestCatalog;

/// conv -> relu -> pool -> (flattening) linear.
Model small_cnn(const std::string& name = "cnn", std::int64_t channels = 8) {
  ModelBuilder builder(name);
  TensorId x = builder.input("x", {2, 3, 8, 8});
  x = builder.convolution("conv", x, {.channels = channels, .kernel = 3, .stride = 1, .pad = 1});
  x = builder.relu("relu", x);
  x = builder.max_pool("pool", x, 2, 2);
  builder.output(builder.linear("fc", x, 10));
  auto model = builder.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

Model two_layers() {
  ModelBuilder builder("mlp");
  TensorId x = builder.input("x", {4, 16});
  x = builder.linear("fc1", x, 32);
  x = builder.relu("relu", x);
  builder.output(builder.linear("fc2", x, 8));
  return *builder.finish();
}

std::vector<Member> members(std::size_t count) {
  std::vector<Member> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({fmt::format("m{}", i), {"cnn", {}, 2}, i});
  return list;
}

struct Case {
  Plan plan;
  std::vector<const Model*> models;
};

Case same_models(const Model& model, std::size_t count, Strategy strategy, int streams = 1) {
  return {uniform_plan(members(count), strategy, streams), std::vector<const Model*>(count, &model)};
}

Group group(const std::string& name, std::vector<std::string> ops, Strategy strategy, std::size_t count) {
  Group result{name, {}, std::move(ops), strategy, 0, {}, {}};
  for (std::uint32_t i = 0; i < count; ++i) result.members.push_back(i);
  return result;
}

std::vector<std::string> tasks(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(step.task);
  return names;
}

Program lowered(const Case& c, const OpCatalog& catalog = TestCatalog(2, true)) {
  auto program = lower(c.plan, c.models, catalog);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : Program{};
}

std::string refusal(const Case& c, ErrorCode code = ErrorCode::kInvalidInput) {
  const auto program = lower(c.plan, c.models, TestCatalog(2, true));
  EXPECT_FALSE(program);
  if (program) return "";
  EXPECT_EQ(program.error().code, code);
  return program.error().message;
}

/// A CPU of two cores.
class TwoCores final : public TestCatalog {
 public:
  TwoCores() : TestCatalog(2, true) {}
  std::optional<int> most_streams() const override { return 2; }
};

TEST(Lower, RefusesMoreStreamsThanACpuHasCores) {
  const Model model = two_layers();
  EXPECT_EQ(lowered(same_models(model, 5, Strategy::kConcurrent, 2), TwoCores()).streams, 2);
  const Case more = same_models(model, 5, Strategy::kConcurrent, 5);
  const auto refused = lower(more.plan, more.models, TwoCores());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(refused.error().message, "streams must be at most 2, the device's number of cores, not 5");
  EXPECT_EQ(lowered(more).streams, 5) << "as on a GPU";
}

/// Four products: three by the same weights, the third by others.
Model layers_used_again() {
  ModelBuilder b("tied");
  const TensorId w = b.weight("w", {16, 16}), other = b.weight("other", {16, 16});
  TensorId x = b.input("x", {4, 16});
  for (const auto& [name, weights] : {std::pair{"a", w}, {"b", w}, {"c", other}, {"d", w}})
    x = b.add(name, Gemm{}, {x, weights});
  b.output(x);
  return *b.finish();
}

std::vector<std::optional<StepId>> kernels_of(const Program& program) {
  std::vector<std::optional<StepId>> kernels;
  for (const Step& step : program.steps) kernels.push_back(step.same_kernel_as);
  return kernels;
}

TEST(Lower, EqualCallsOfACpuStreamWithTheSameWeightsRunOneKernel) {
  const Model model = layers_used_again();
  constexpr auto kOwn = std::nullopt;
  const Program program = lowered(same_models(model, 2, Strategy::kSerial), TwoCores());
  EXPECT_THAT(kernels_of(program), ElementsAre(kOwn, StepId{0}, kOwn, StepId{0}, kOwn, StepId{4}, kOwn, StepId{4}));
  EXPECT_EQ(program.memory.weights, Bytes{2 * 2 * 16 * 16 * 4});

  Case c = same_models(model, 1, Strategy::kConcurrent, 2);
  c.plan.groups[0].ops = {"a", "b", "c", "d"};
  c.plan.groups[0].op_streams = {0, 1, 0, 1};
  EXPECT_THAT(kernels_of(lowered(c, TwoCores())), ElementsAre(kOwn, kOwn, kOwn, StepId{1})) << "streams run at once";
}

TEST(Lower, StepsOfAGpuHaveKernelsOfTheirOwn) {
  const Model model = layers_used_again();
  const Program program = lowered(same_models(model, 1, Strategy::kSerial));
  for (const Step& step : program.steps) EXPECT_FALSE(step.same_kernel_as);
  EXPECT_EQ(program.memory.weights, Bytes{4 * 16 * 16 * 4});
}

TEST(Lower, SerialMembersFollowOneAnotherOnAllCores) {
  const Model model = small_cnn();
  const Program program = lowered(same_models(model, 2, Strategy::kSerial));
  EXPECT_THAT(tasks(program), ElementsAre("0/conv", "0/relu", "0/pool", "0/fc", "1/conv", "1/relu", "1/pool", "1/fc"));
  for (const Step& step : program.steps) EXPECT_EQ(step.cost.threads, 2);
  EXPECT_EQ(program.inputs.size(), 1U);
  EXPECT_EQ(program.outputs.size(), 2U);
}

TEST(Lower, ConcurrentMembersAlternateOverStreamsAndFollowEachOtherOnEach) {
  const Model model = small_cnn();
  const Program program = lowered(same_models(model, 3, Strategy::kConcurrent, 2));
  EXPECT_THAT(tasks(program), ElementsAre("0/conv", "2/conv", "0/relu", "2/relu", "0/pool", "2/pool", "0/fc", "2/fc",
                                          "1/conv", "1/relu", "1/pool", "1/fc"));
  for (const Step& step : program.steps) {
    EXPECT_EQ(step.cost.threads, 1);
    EXPECT_EQ(to_index(step.stream), to_index(step.members[0]) / 2);  // 0 and 1 on one, 2 on the other
    EXPECT_TRUE(step.dependencies.empty()) << step.task << ": its stream orders it already";
  }
}

TEST(Lower, MembersOfAStreamReuseEachOthersArenaAndThoseOfOthersDoNot) {
  const Model model = small_cnn();
  const Bytes one = lowered(same_models(model, 1, Strategy::kSerial)).arena;
  EXPECT_EQ(lowered(same_models(model, 4, Strategy::kSerial)).arena, one);
  const Bytes two = lowered(same_models(model, 2, Strategy::kConcurrent, 2)).arena;
  EXPECT_GE(two, one + one);
  EXPECT_EQ(lowered(same_models(model, 8, Strategy::kConcurrent, 2)).arena, two);
}

TEST(Lower, SeparateInputGivesEachMemberItsOwnBuffer) {
  const Model model = small_cnn();
  Case c = same_models(model, 3, Strategy::kSerial);
  c.plan.input.sharing = InputSharing::kSeparate;
  const Program program = lowered(c);
  EXPECT_EQ(program.inputs.size(), 3U);
  EXPECT_EQ(program.memory.input, Bytes{3 * 2 * 2 * 3 * 8 * 8 * 4});
}

TEST(Lower, RefusesImagesTooSmallToCutAnInputOutOf) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.input.source = InputSource::kFolder;
  c.plan.input.images.resize = 7;
  EXPECT_THAT(refusal(c),
              HasSubstr("input.resize: images of 7 pixels do not hold the 8 x 8 (height x width) of input"));
  c.plan.input.images.resize = 8;
  EXPECT_EQ(lowered(c).inputs.size(), 1U);
}

TEST(Lower, DenseConvolutionStacksOutputChannelsOverTheSharedInput) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.groups.insert(c.plan.groups.begin(), group("first", {"conv", "relu"}, Strategy::kDenseConvolution, 2));
  const Program program = lowered(c);
  EXPECT_THAT(tasks(program), ElementsAre("0-1/conv", "0-1/relu", "0/pool", "0/fc", "1/pool", "1/fc"));
  const OpCall& call = program.steps[0].call;
  EXPECT_EQ(std::get<WeightView>(call.inputs[1]).shape, (Shape{16, 3, 3, 3}));
  EXPECT_EQ(call.outputs[0].shape, (Shape{2, 16, 8, 8}));
  const View second = std::get<View>(program.steps[4].call.inputs[0]);
  EXPECT_EQ(second.offset, 8);
  EXPECT_EQ(second.shape, (Shape{2, 8, 8, 8}));
  EXPECT_EQ(second.strides, (Shape{8 * 8 * 16, 1, 8 * 16, 16}));
}

TEST(Lower, SplitsAStackWhereTheDeviceCannotReadStridedChannels) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.groups.insert(c.plan.groups.begin(), group("first", {"conv", "relu", "pool"}, Strategy::kDenseConvolution, 2));
  const Program program = lowered(c, TestCatalog(2, false));
  EXPECT_THAT(tasks(program),
              ElementsAre("0-1/conv", "0-1/relu", "0-1/pool", "0/pool:split", "0/fc", "1/pool:split", "1/fc"));
  EXPECT_EQ(program.steps[3].cost.signature, "Copy [2, 8, 4, 4] out of a stack of 2");
}

TEST(Lower, CopiesTogetherWhatAStridedBatchCannotReadOfAStackOfChannels) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.groups = {group("first", {"conv", "relu", "pool"}, Strategy::kDenseConvolution, 2),
                   group("last", {"fc"}, Strategy::kStridedBatch, 2)};
  const Program in_place = lowered(c, TestCatalog(2, true));
  EXPECT_THAT(tasks(in_place), ElementsAre("0-1/conv", "0-1/relu", "0-1/pool", "0-1/fc"));
  EXPECT_EQ(std::get<View>(in_place.steps[3].call.inputs[0]).strides[0], 8) << "beside each other as channels";
  const Program copied = lowered(c, TestCatalog(2, false));
  EXPECT_THAT(tasks(copied), ElementsAre("0-1/conv", "0-1/relu", "0-1/pool", "0/pool:stack", "1/pool:stack", "0-1/fc"));
  const View read = std::get<View>(copied.steps[5].call.inputs[0]);
  EXPECT_EQ(read.shape, (Shape{2, 2, 8, 4, 4}));
  EXPECT_EQ(read.strides[0], 2 * 8 * 4 * 4) << "one behind the other";
}

TEST(Lower, AFusedReshapeOfASharedInputIsACall) {
  ModelBuilder builder("reshaped");
  TensorId x = builder.input("x", {2, 3, 8});
  x = builder.reshape("flat", x, {2, 24});
  builder.output(builder.linear("fc", x, 10));
  const Model model = *builder.finish();
  const Program program = lowered(same_models(model, 2, Strategy::kStridedBatch));
  EXPECT_EQ(program.steps.back().task, "0-1/fc");
  EXPECT_EQ(program.outputs.size(), 2U);
}

TEST(Lower, GroupedConvolutionStacksCopiesOfItsInput) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.groups.insert(c.plan.groups.begin(), group("first", {"conv"}, Strategy::kGroupedConvolution, 2));
  const Program program = lowered(c);
  EXPECT_EQ(tasks(program)[0], "0/x:stack");
  EXPECT_EQ(program.steps[0].cost.signature, "Copy [2, 3, 8, 8] into a stack of 2");
  EXPECT_EQ(tasks(program)[2], "0-1/conv");
  EXPECT_EQ(std::get<Convolution>(program.steps[2].call.attributes).groups, 2);
  EXPECT_EQ(std::get<View>(program.steps[2].call.inputs[0]).shape, (Shape{2, 6, 8, 8}));
}

TEST(Lower, StridedBatchReadsASharedInputWithoutCopyingIt) {
  const Model model = two_layers();
  const Program program = lowered(same_models(model, 4, Strategy::kStridedBatch));
  EXPECT_THAT(tasks(program), ElementsAre("0-3/fc1", "0-3/relu", "0-3/fc2"));
  const View x = std::get<View>(program.steps[0].call.inputs[0]);
  EXPECT_EQ(x.shape, (Shape{4, 4, 16}));
  EXPECT_EQ(x.strides[0], 0);
  EXPECT_EQ(program.outputs[3].view.offset, 3 * 4 * 8);
}

TEST(Lower, MembersWriteIntoTheBatchThatALaterStridedBatchReads) {
  const Model model = two_layers();
  Case c = same_models(model, 2, Strategy::kConcurrent, 2);
  c.plan.groups.push_back(group("last", {"fc2"}, Strategy::kStridedBatch, 2));
  const Program program = lowered(c);
  EXPECT_THAT(tasks(program), ElementsAre("0/fc1", "1/fc1", "0/relu", "1/relu", "0-1/fc2"));
  EXPECT_EQ(program.steps[2].call.outputs[0].buffer, program.steps[3].call.outputs[0].buffer);
  EXPECT_THAT(program.steps[4].dependencies, ElementsAre(StepId{3}));
}

TEST(Lower, AStridedBatchKeepsEachMemberAsItLiesAlone) {
  for (const Shape& member : {Shape{2, 8, 4, 4}, Shape{5, 2, 16}}) {
    ModelBuilder builder("model");
    TensorId x = builder.input("x", member);
    if (member.size() == 4) x = builder.max_pool("pool", x, 1, 1);  // an image
    builder.output(builder.linear("fc", builder.relu("relu", x), 10));
    const Model model = *builder.finish();
    Case c = same_models(model, 2, Strategy::kSerial);
    c.plan.groups.push_back(group("last", {"fc"}, Strategy::kStridedBatch, 2));
    Shape strides = dense_strides(member, c.plan.layout);
    strides.insert(strides.begin(), element_count(member));
    const Program program = lowered(c);
    EXPECT_EQ(std::get<View>(program.steps.back().call.inputs[0]).strides, strides)
        << "not as if the members of a sequence were the samples of an image";
  }
}

TEST(Lower, FusedGroupsRunOnTheStreamTheyAskForAndOnOneCoreWhereThereAreSeveral) {
  const Model model = two_layers();
  Case c = same_models(model, 4, Strategy::kStridedBatch, 2);
  c.plan.groups[0].members = {0, 2};
  c.plan.groups.push_back({"odd", {1, 3}, {}, Strategy::kStridedBatch, 0, {1}, {}});
  const Program program = lowered(c);
  ASSERT_THAT(tasks(program), ElementsAre("0,2/fc1", "0,2/relu", "0,2/fc2", "1,3/fc1", "1,3/relu", "1,3/fc2"));
  for (const Step& step : program.steps) {
    EXPECT_EQ(to_index(step.stream), to_index(step.members[0]) % 2);
    EXPECT_EQ(step.cost.threads, 1);
    EXPECT_TRUE(step.dependencies.empty());
  }
}

TEST(Lower, AStepOnAllCoresWaitsForEveryStreamAndIsWaitedFor) {
  const Model model = two_layers();
  Case c = same_models(model, 2, Strategy::kConcurrent, 2);
  c.plan.groups.push_back(group("middle", {"relu"}, Strategy::kSerial, 2));
  c.plan.groups[1].threads = 2;
  const Program program = lowered(c);
  ASSERT_THAT(tasks(program), ElementsAre("0/fc1", "1/fc1", "0/relu", "0/fc2", "1/relu", "1/fc2"));
  EXPECT_THAT(program.steps[2].dependencies, ElementsAre(StepId{1}));  // relu on both cores: stream 1 is done
  EXPECT_THAT(program.steps[5].dependencies, ElementsAre(StepId{4}));  // fc2 on stream 1: after the last relu
}

/// Two branches over one input, then their sum.
Model diamond() {
  ModelBuilder builder("diamond");
  const TensorId x = builder.relu("top", builder.input("x", {1, 4, 8, 8}));
  const TensorId a = builder.relu("a2", builder.relu("a1", x));
  const TensorId b = builder.relu("b2", builder.relu("b1", x));
  builder.output(builder.add("sum", Binary{BinaryKind::kAdd}, {a, b}));
  auto model = builder.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

TEST(Lower, OpStreamsPutBranchesOfAMemberOnStreamsInTheOrderListed) {
  const Model model = diamond();
  Case c = same_models(model, 1, Strategy::kConcurrent, 2);
  c.plan.groups[0].ops = {"top", "b1", "a1", "b2", "a2", "sum"};
  c.plan.groups[0].op_streams = {0, 1, 0, 1, 0, 0};
  const Program program = lowered(c);
  EXPECT_THAT(tasks(program), ElementsAre("0/top", "0/b1", "0/a1", "0/b2", "0/a2", "0/sum"));
  std::vector<std::uint32_t> streams;
  for (const Step& step : program.steps) streams.push_back(static_cast<std::uint32_t>(step.stream));
  EXPECT_THAT(streams, ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(program.steps[1].dependencies, ElementsAre(StepId{0}));  // crosses streams
  EXPECT_TRUE(program.steps[2].dependencies.empty());                  // its stream orders it
  EXPECT_THAT(program.steps[5].dependencies, ElementsAre(StepId{3}));
}

TEST(Lower, OpStreamsCountFromTheMembersOwnStreamAndMembersAlternate) {
  const Model model = diamond();
  Case c = same_models(model, 2, Strategy::kConcurrent, 4);
  c.plan.groups[0].ops = {"top", "a1", "a2", "b1", "b2", "sum"};
  c.plan.groups[0].op_streams = {0, 0, 0, 1, 1, 0};
  c.plan.groups[0].streams = {0, 2};
  const Program program = lowered(c, TestCatalog(4, true));
  ASSERT_EQ(program.steps.size(), 12U);
  EXPECT_EQ(program.steps[6].task, "0/b1");
  EXPECT_EQ(program.steps[6].stream, StreamId{1});
  EXPECT_EQ(program.steps[7].task, "1/b1");
  EXPECT_EQ(program.steps[7].stream, StreamId{3});
}

TEST(Lower, DataGoesBeforeTheOrderThatOpStreamsList) {
  const Model model = diamond();
  Case c = same_models(model, 1, Strategy::kConcurrent, 2);
  c.plan.groups[0].ops = {"sum", "b2", "b1", "a2", "a1", "top"};
  c.plan.groups[0].op_streams = {0, 1, 1, 0, 0, 0};
  EXPECT_THAT(tasks(lowered(c)), ElementsAre("0/top", "0/b1", "0/b2", "0/a1", "0/a2", "0/sum"));
}

TEST(Lower, WorkspaceLimitTakesTheSmallerAlternative) {
  const Model model = small_cnn();
  Case c = same_models(model, 1, Strategy::kSerial);
  c.plan.limits.workspace = Bytes{512};
  for (const Step& step : lowered(c).steps) EXPECT_EQ(step.cost.algorithm, "small");
}

TEST(Lower, RefusesAPlanThatDoesNotFitItsMemoryLimit) {
  const Model model = small_cnn();
  Case c = same_models(model, 4, Strategy::kSerial);
  c.plan.limits.memory = Bytes{1000};
  EXPECT_THAT(refusal(c, ErrorCode::kDoesNotFit), HasSubstr("limits.memory_bytes is 1000 B"));
}

TEST(Lower, TakesResolvedAlgorithmsUntilThePlanIsEdited) {
  const Model model = small_cnn();
  Case c = same_models(model, 1, Strategy::kSerial);
  const auto choose_small = [](const CostKey&, std::span<const Alternative>) { return std::size_t{1}; };
  const auto program = lower(c.plan, c.models, TestCatalog(2, true), choose_small);
  c.plan.resolved = resolve(c.plan, *program, "test");
  EXPECT_EQ(lowered(c).steps[0].cost.algorithm, "small");
  c.plan.streams = 2;
  EXPECT_EQ(lowered(c).steps[0].cost.algorithm, "fast");
}

TEST(Lower, TakesWhatIsResolvedForEachOfEqualMembers) {
  const Model model = small_cnn();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.resolved = resolve(c.plan, lowered(c), "test");
  for (ResolvedStep& step : c.plan.resolved->steps) step.algorithm = step.task.starts_with("1/") ? "small" : "fast";
  for (const Step& step : lowered(c).steps)
    EXPECT_EQ(step.cost.algorithm, step.task.starts_with("1/") ? "small" : "fast") << step.task;
}

/// Counts what it is asked.
class CountingCatalog final : public TestCatalog {
 public:
  CountingCatalog() : TestCatalog(2, true) {}
  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    ++asked;
    return TestCatalog::alternatives(call, threads);
  }
  mutable int asked = 0;
};

TEST(Lower, AsksOnceForTheOpsOfEqualMembers) {
  const Model model = small_cnn();
  const auto asked = [&](std::size_t members, Strategy strategy) {
    Case c = same_models(model, members, strategy);
    const CountingCatalog catalog;
    EXPECT_TRUE(lower(c.plan, c.models, catalog).has_value());
    return catalog.asked;
  };
  EXPECT_GT(asked(1, Strategy::kSerial), 0);
  EXPECT_EQ(asked(8, Strategy::kSerial), asked(1, Strategy::kSerial));
  EXPECT_EQ(asked(8, Strategy::kConcurrent), asked(2, Strategy::kConcurrent));
}

TEST(Lower, ChoosesForEachStepInTheirOrder) {
  const Model model = small_cnn();
  const Case c = same_models(model, 3, Strategy::kSerial);
  std::vector<std::string> chosen;
  const auto every_other = [&](const CostKey& key, std::span<const Alternative> ways) {
    const std::size_t place = chosen.size() % 2;
    chosen.push_back(key.signature + " " + ways[place].algorithm);
    return place;
  };
  const auto program = lower(c.plan, c.models, TestCatalog(2, true), every_other);
  ASSERT_TRUE(program.has_value());
  std::vector<std::string> made;
  for (const Step& step : program->steps) made.push_back(step.cost.signature + " " + step.cost.algorithm);
  EXPECT_EQ(made, chosen);
}

TEST(Lower, NamesWhatIsWrongWithGroups) {
  const Model model = small_cnn();
  const Model wider = small_cnn("wide", 16);
  Case unknown = same_models(model, 2, Strategy::kSerial);
  unknown.plan.groups.push_back(group("x", {"conv9"}, Strategy::kSerial, 2));
  EXPECT_THAT(refusal(unknown), HasSubstr("groups[1].ops: member m0 (cnn) has no op conv9"));

  Case twice = same_models(model, 2, Strategy::kSerial);
  twice.plan.groups.push_back(group("x", {"conv"}, Strategy::kSerial, 2));
  twice.plan.groups.push_back(group("y", {"conv"}, Strategy::kSerial, 2));
  EXPECT_THAT(refusal(twice), HasSubstr("groups[2].ops: op conv of member m0 is in group x already"));

  Case none = same_models(model, 2, Strategy::kSerial);
  none.plan.groups[0].ops = {"conv"};
  EXPECT_THAT(refusal(none), HasSubstr("op relu of member m0 is in no group"));

  Case different = same_models(model, 2, Strategy::kSerial);
  different.models[1] = &wider;
  different.plan.groups.push_back(group("x", {"conv"}, Strategy::kDenseConvolution, 2));
  EXPECT_THAT(refusal(different), HasSubstr("op conv is not the same in members m0 and m1"));

  Case softmax = same_models(model, 2, Strategy::kGroupedConvolution);
  EXPECT_THAT(refusal(softmax), HasSubstr("op fc (Gemm) cannot be fused by grouped_convolution"));

  Case threads = same_models(model, 2, Strategy::kSerial);
  threads.plan.groups[0].threads = 8;
  EXPECT_THAT(refusal(threads), HasSubstr("groups[0].threads: 8 asked for, the device has 2 cores"));
}

TEST(Lower, SharesArraysByTheirNamesWhereverTheyStand) {
  const auto sum_of = [](const char* first, const char* second) {
    ModelBuilder builder("sum");
    const TensorId a = builder.input(first, {2, 3});
    builder.output(builder.add("sum", Binary{}, {a, builder.input(second, {2, 3})}));
    return *builder.finish();
  };
  const Model one = sum_of("ids", "mask");
  const Model other = sum_of("mask", "ids");
  Plan plan = uniform_plan(members(2), Strategy::kSerial, 1);
  const auto inputs_of = [&] {
    const Program program = lower(plan, std::vector<const Model*>{&one, &other}, TestCatalog(2, true)).value();
    std::vector<std::string> names;
    for (const Step& step : program.steps) {
      for (const auto& input : step.call.inputs) {
        const auto found = std::find_if(program.inputs.begin(), program.inputs.end(), [&](const ProgramInput& each) {
          return each.buffer == std::get<View>(input).buffer;
        });
        names.push_back(found->name);
      }
    }
    return names;
  };
  plan.input.sharing = InputSharing::kShared;
  EXPECT_THAT(inputs_of(), ElementsAre("ids", "mask", "ids", "mask")) << "made up, by position";
  plan.input.source = InputSource::kArrays;
  EXPECT_THAT(inputs_of(), ElementsAre("ids", "mask", "mask", "ids"));
}

TEST(Lower, NamesTheCycleThatAfterMakesWithTheData) {
  const Model model = two_layers();
  Case c = same_models(model, 2, Strategy::kSerial);
  c.plan.groups.push_back(group("early", {"fc1"}, Strategy::kSerial, 2));
  c.plan.groups[1].after = {"all"};
  EXPECT_THAT(refusal(c), HasSubstr("the order asked for is a cycle"));
}

}  // namespace
}  // namespace cohort
