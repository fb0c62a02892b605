#include "executor/runner.hpp"

#include <gmock/gmock.h>

#include <map>

#include "executor/host/host_session.hpp"
#include "executor/input_values.hpp"
#include "executor/recording/recording_backend.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "models/builder.hpp"
#include "models/networks/networks.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/executor/recorded_order.hpp"

namespace cohort {
namespace {

using ::testing::FloatNear;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr std::uint64_t kInputSeed = 5;

/// Convolutions with a branch, pooling and two matrix products; `channels` sets its width.
Model branched_cnn(std::int64_t channels) {
  ModelBuilder builder("branched");
  TensorId x = builder.input("x", {2, 3, 9, 9});
  x = builder.convolution("conv1", x, {.channels = channels, .kernel = 3, .pad = 1});
  x = builder.relu("relu1", x);
  const TensorId side = builder.convolution("conv2", x, {.channels = channels, .kernel = 3, .pad = 1});
  x = builder.add("add", Binary{}, {x, side});
  x = builder.max_pool("pool", x, 3, 2);
  x = builder.linear("fc1", x, 12);
  x = builder.relu("relu2", x);
  builder.output(builder.linear("fc2", x, 5));
  auto model = builder.finish();
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return *model;
}

Group group(std::string name, std::vector<std::string> ops, Strategy strategy, std::size_t members) {
  Group made{std::move(name), {}, std::move(ops), strategy, 0, {}, {}};
  for (std::uint32_t i = 0; i < members; ++i) made.members.push_back(i);
  return made;
}

std::vector<Member> members(std::size_t count) {
  std::vector<Member> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({fmt::format("m{}", i), {"branched", {}, 2}, i});
  return list;
}

/// A model batch, its members simplified, with weights of their own.
struct ModelBatch {
  void add(const Model& model, std::uint64_t seed) {
    loaded.push_back(std::make_unique<LoadedModel>(simplify({model, random_weights(model, seed)})));
    models.push_back(&loaded.back()->model);
    weights.push_back(&loaded.back()->weights);
  }
  std::vector<std::unique_ptr<LoadedModel>> loaded;
  std::vector<const Model*> models;
  std::vector<const Weights*> weights;
};

struct Ran {
  std::vector<std::vector<float>> outputs;
  std::vector<MemberId> members;  ///< by output
};

/// One step on generated input; `pipeline` is the place of a lone member's input, if it is not its own.
Ran run(Backend& backend, const Plan& plan, const ModelBatch& batch, std::optional<std::uint32_t> pipeline = {}) {
  const auto program = lower(plan, batch.models, backend.catalog());
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  if (!program) return {};
  const auto runner = Runner::create(backend, *program, batch.weights);
  EXPECT_TRUE(runner) << (runner ? "" : runner.error().message);
  if (!runner) return {};
  const auto filled = fill_inputs(**runner, [&](const ProgramInput& input, InputPlace place) {
    if (pipeline) place.pipeline = *pipeline;
    return Result<std::vector<float>>(generated_values(input.shape, kInputSeed, place));
  });
  EXPECT_TRUE(filled);
  Ran ran;
  for (int slot = 0; slot < program->input_buffers; ++slot) EXPECT_TRUE((*runner)->step(slot));
  for (std::size_t i = 0; i < program->outputs.size(); ++i) {
    ran.outputs.push_back(*(*runner)->session().read_output(i));
    ran.members.push_back(program->outputs[i].member);
  }
  return ran;
}

/// Each member on its own, one after another.
Ran run_alone(Backend& backend, const ModelBatch& batch, InputSharing sharing) {
  Ran all;
  for (std::uint32_t m = 0; m < batch.models.size(); ++m) {
    ModelBatch one;
    one.models = {batch.models[m]};
    one.weights = {batch.weights[m]};
    const Ran ran =
        run(backend, uniform_plan(members(1), Strategy::kSerial, 1), one, sharing == InputSharing::kSeparate ? m : 0);
    all.outputs.insert(all.outputs.end(), ran.outputs.begin(), ran.outputs.end());
    all.members.push_back(MemberId{m});
  }
  return all;
}

std::map<std::string, Plan> plans(std::size_t count, InputSharing sharing) {
  std::map<std::string, Plan> all;
  all["serial"] = uniform_plan(members(count), Strategy::kSerial, 1);
  for (const int streams : {2, 3}) {
    all[fmt::format("concurrent on {}", streams)] = uniform_plan(members(count), Strategy::kConcurrent, streams);
  }
  Plan mixed = uniform_plan(members(count), Strategy::kConcurrent, 2);
  if (sharing == InputSharing::kShared) {
    mixed.groups.insert(mixed.groups.begin(), group("first", {"conv1"}, Strategy::kDenseConvolution, count));
  }
  mixed.groups.push_back(group("second", {"conv2"}, Strategy::kGroupedConvolution, count));
  mixed.groups.push_back(group("last", {"fc2"}, Strategy::kStridedBatch, count));
  all["every fusion"] = mixed;
  Plan alternating = uniform_plan(members(count), Strategy::kConcurrent, 3);
  alternating.groups.push_back(group("middle", {"conv2"}, Strategy::kSerial, count));
  all["serial in the middle"] = alternating;
  for (auto& [name, plan] : all) plan.input.sharing = sharing;
  return all;
}

class RunnerSharing : public ::testing::TestWithParam<InputSharing> {};
INSTANTIATE_TEST_SUITE_P(Input, RunnerSharing, ::testing::Values(InputSharing::kShared, InputSharing::kSeparate),
                         [](const auto& sharing) {
                           return sharing.param == InputSharing::kShared ? "Shared" : "Separate";
                         });

TEST_P(RunnerSharing, MembersComputeWhatTheyComputeAloneWhateverThePlan) {
  const Model model = branched_cnn(6);
  ModelBatch batch;
  for (std::uint64_t seed = 0; seed < 5; ++seed) batch.add(model, seed);
  HostBackend backend(make_reference_kernels(3), reference_device_info(3));
  const Ran alone = run_alone(backend, batch, GetParam());
  for (auto& [name, plan] : plans(5, GetParam())) {
    for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
        plan.launch = mode;
        plan.layout = layout;
        const Ran together = run(backend, plan, batch);
        ASSERT_EQ(together.members, alone.members) << name;
        for (std::size_t i = 0; i < alone.outputs.size(); ++i) {
          ASSERT_THAT(together.outputs[i], Pointwise(FloatNear(1e-4F), alone.outputs[i])) << name << " output " << i;
        }
      }
    }
  }
}

TEST_P(RunnerSharing, MembersOfDifferentWidthComputeWhatTheyComputeAlone) {
  ModelBatch batch;
  for (const std::int64_t channels : {4, 6, 3}) batch.add(branched_cnn(channels), 1);
  HostBackend backend(make_reference_kernels(3), reference_device_info(3));
  const Ran alone = run_alone(backend, batch, GetParam());
  for (const int streams : {1, 3}) {
    Plan plan = uniform_plan(members(3), streams == 1 ? Strategy::kSerial : Strategy::kConcurrent, streams);
    plan.input.sharing = GetParam();
    const Ran together = run(backend, plan, batch);
    ASSERT_EQ(together.members, alone.members);
    for (std::size_t i = 0; i < alone.outputs.size(); ++i) {
      ASSERT_THAT(together.outputs[i], Pointwise(FloatNear(1e-4F), alone.outputs[i])) << "output " << i;
    }
  }
}

TEST_P(RunnerSharing, EveryPlanOrdersAllItsMemoryOnADeviceOfStreams) {
  const Model model = branched_cnn(6);
  ModelBatch batch;
  for (std::uint64_t seed = 0; seed < 5; ++seed) batch.add(model, seed);
  for (const auto& [strides, workspace] : {std::pair{true, false}, {true, true}, {false, true}}) {
    RecordingOptions options;
    options.cores = 4;
    options.accepts_strides = strides;
    if (workspace) options.alternatives = {{"with_workspace", 1, Bytes{1 << 16}, {}}};
    for (auto& [name, plan] : plans(5, GetParam())) {
      for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
        plan.launch = mode;
        RecordingBackend backend(options);
        run(backend, plan, batch);
        ASSERT_NE(backend.recording(), nullptr);
        EXPECT_THAT(backend.recording()->violations(), IsEmpty()) << name;
      }
    }
  }
}

TEST(Runner, EveryNetworkOrdersAllItsMemoryOnFourStreams) {
  for (const Network& network : networks()) {
    NetworkArguments arguments;
    for (const NetworkArgument& argument : network.arguments) {
      arguments[std::string(argument.name)] = std::string(argument.default_value);
    }
    const auto model = make_network(network.name, 2, arguments);
    ASSERT_TRUE(model) << model.error().message;
    if (parameter_count(*model) > 20'000'000) continue;  // nothing that the smaller ones have not
    const LoadedModel loaded = simplify({*model, random_weights(*model, 0)});
    const std::vector<const Model*> models(8, &loaded.model);
    const std::vector<const Weights*> weights(8, nullptr);
    Plan plan = uniform_plan(members(8), Strategy::kConcurrent, 4);
    plan.launch = LaunchMode::kGraph;
    RecordingOptions options;
    options.cores = 4;
    options.alternatives = {{"with_workspace", 1, Bytes{1 << 16}, {}}};
    RecordingBackend backend(options);
    const auto program = lower(plan, models, backend.catalog());
    ASSERT_TRUE(program) << network.name << ": " << program.error().message;
    const auto runner = Runner::create(backend, *program, weights);
    ASSERT_TRUE(runner) << network.name << ": " << runner.error().message;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*runner)->step(i % 2));
    EXPECT_THAT(backend.recording()->violations(), IsEmpty()) << network.name;
    EXPECT_EQ(backend.recording()->tasks().size(), 4 * program->steps.size());
  }
}

TEST(Runner, TimesItsStepsOnEachSlotInTurn) {
  const Model model = branched_cnn(4);
  ModelBatch batch;
  batch.add(model, 0);
  RecordingBackend backend;
  const auto program = lower(uniform_plan(members(1), Strategy::kSerial, 1), batch.models, backend.catalog());
  ASSERT_TRUE(program);
  const auto runner = Runner::create(backend, *program, batch.weights);
  ASSERT_TRUE(runner);
  std::int64_t now = 0;
  const auto time = (*runner)->timed_steps(3, [&] { return Nanoseconds(now += 500); });
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, Nanoseconds(500));
  std::vector<int> slots;
  for (const RecordedCommand& command : backend.recording()->commands()) {
    if (command.step == StepId{0}) slots.push_back(command.slot);
  }
  EXPECT_THAT(slots, ::testing::ElementsAre(0, 0, 1, 0));  // warm-up first
}

/// Cancels in the third step it is told of.
class CancellingSink final : public TaskSink {
 public:
  void begin(StepId step, StreamId /*stream*/) noexcept override {
    if (step == StepId{0} && ++steps == 3) cancel.cancel();
  }
  void end(StepId /*step*/, StreamId /*stream*/) noexcept override {}

  CancelToken cancel;
  int steps = 0;
};

TEST(Runner, EndsBetweenTimedStepsOnceItIsCancelled) {
  ModelBatch batch;
  batch.add(branched_cnn(4), 0);
  RecordingBackend backend;
  const auto program = lower(uniform_plan(members(1), Strategy::kSerial, 1), batch.models, backend.catalog());
  ASSERT_TRUE(program);
  const auto runner = Runner::create(backend, *program, batch.weights);
  ASSERT_TRUE(runner);
  CancellingSink sink;
  (*runner)->session().set_sink(&sink);
  const auto time = (*runner)->timed_steps(1'000'000, steady_now, &sink.cancel);
  (*runner)->session().set_sink(nullptr);
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(sink.steps, 3);
}

TEST(Runner, LaunchesAStepAndUploadsAnotherSlotBeforeItWaits) {
  ModelBatch batch;
  batch.add(branched_cnn(4), 0);
  Plan plan = uniform_plan(members(1), Strategy::kSerial, 1);
  for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
    plan.launch = mode;
    RecordingBackend backend;
    const auto program = lower(plan, batch.models, backend.catalog());
    ASSERT_TRUE(program);
    const auto runner = Runner::create(backend, *program, batch.weights);
    ASSERT_TRUE(runner);
    const std::size_t from = backend.recording()->commands().size();
    (*runner)->upload(0);
    (*runner)->launch(0);
    (*runner)->upload(1);
    ASSERT_TRUE((*runner)->wait());
    (*runner)->launch(1);
    ASSERT_TRUE((*runner)->wait());
    EXPECT_THAT(testing::order_of(*backend.recording(), from),
                ::testing::ElementsAre("u0", "l0", "u1", "w", "l1", "w"));
    EXPECT_THAT(backend.recording()->violations(), IsEmpty());
  }
}

TEST(Runner, TellsTheTaskThatFailedWhenItIsWaitedFor) {
  ModelBatch batch;
  batch.add(branched_cnn(4), 0);
  RecordingBackend backend;
  const auto program = lower(uniform_plan(members(1), Strategy::kSerial, 1), batch.models, backend.catalog());
  ASSERT_TRUE(program);
  const auto runner = Runner::create(backend, *program, batch.weights);
  ASSERT_TRUE(runner);
  backend.recording()->fail_at(StepId{1});
  (*runner)->launch(0);
  (*runner)->upload(1);
  const auto failed = (*runner)->wait();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, program->steps[1].task + ": injected failure");
  backend.recording()->fail_at(std::nullopt);
  (*runner)->launch(1);
  EXPECT_TRUE((*runner)->wait()) << "a failure is told once";
}

TEST(InputValues, AreThoseOfTheMemberWhetherItRunsAloneOrWithOthers) {
  Program program;
  program.inputs = {{{}, {4}, {MemberId{0}}, "a"}, {{}, {4}, {MemberId{0}}, "b"}, {{}, {4}, {MemberId{2}}, "c"}};
  EXPECT_EQ(place_of(program, 0), (InputPlace{0, 0}));
  EXPECT_EQ(place_of(program, 1), (InputPlace{0, 1}));
  EXPECT_EQ(place_of(program, 2), (InputPlace{2, 0}));
  const auto first = generated_values({4}, 1, {0, 0});
  EXPECT_EQ(first, generated_values({4}, 1, {0, 0}));
  EXPECT_NE(first, generated_values({4}, 2, {0, 0}));
  EXPECT_NE(first, generated_values({4}, 1, {1, 0}));
  EXPECT_NE(first, generated_values({4}, 1, {0, 1}));
}

TEST(InputValues, RefusesAnArrayOfAnotherSize) {
  ModelBatch batch;
  batch.add(branched_cnn(4), 0);
  RecordingBackend backend;
  const auto program = lower(uniform_plan(members(1), Strategy::kSerial, 1), batch.models, backend.catalog());
  ASSERT_TRUE(program);
  const auto runner = Runner::create(backend, *program, batch.weights);
  ASSERT_TRUE(runner);
  const std::vector<float> values(7);
  const auto written = write_input(**runner, 0, 0, values);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "input \"x\" of shape [2, 3, 9, 9] needs 486 values and got 7");
}

}  // namespace
}  // namespace cohort
