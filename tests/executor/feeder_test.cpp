#include "executor/feeder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <set>

#include "executor/host/core_binding.hpp"
#include "executor/host/host_session.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/recording/recording_backend.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/trace_sink.hpp"
#include "models/builder.hpp"
#include "models/training/differentiate.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/executor/recorded_order.hpp"
#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using ::testing::IsEmpty;

/// Global average over each 8 x 8 image of a minibatch of two.
Model averaging() {
  ModelBuilder builder("average");
  const TensorId x = builder.input("x", {2, 3, 8, 8});
  builder.output(builder.global_average_pool("pool", x));
  return *builder.finish();
}

std::vector<Member> members(std::size_t count) {
  std::vector<Member> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({fmt::format("m{}", i), {"average", {}, 2}, i});
  return list;
}

/// How a model batch is fed and launched.
struct Feeding {
  std::size_t members = 1;
  InputSharing sharing = InputSharing::kShared;
  int slots = 2;
  LaunchMode launch = LaunchMode::kGraph;
  int launch_threads = 1;
};

constexpr int kImages = 7;

struct FedModelBatch {
  FedModelBatch(Backend& backend, const Feeding& feeding, const InputOptions& options)
      : model(averaging()), weights(random_weights(model, 0)) {
    input_test::write_numbered_images(folder, kImages);
    if (options.on_bad_image == OnBadImage::kFatal) std::ofstream(folder.path() / "a" / "004.jpg") << "no JPEG";
    const std::size_t count = feeding.members;
    Plan plan = uniform_plan(members(count), Strategy::kConcurrent, 2);
    plan.input.sharing = feeding.sharing;
    plan.input.buffers = feeding.slots;
    plan.launch = feeding.launch;
    plan.launch_threads = feeding.launch_threads;
    program = *lower(plan, std::vector<const Model*>(count, &model), backend.catalog());
    runner = *Runner::create(backend, program, std::vector<const Weights*>(count, &weights));
    auto opened = Feeder::open(*runner, input_test::scan(folder.path()), options);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (opened) feeder = std::move(*opened);
  }
  TemporaryFolder folder;
  Model model;
  Weights weights;
  Program program;
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Feeder> feeder;
};

/// What the pipelines would give for the same folder and options, averaged.
std::vector<std::vector<float>> expected_averages(const ImageFolder& folder, const InputOptions& options, int count) {
  std::vector<std::vector<float>> slots(2, std::vector<float>(2 * 3 * 8 * 8));
  PipelineOptions pipeline;
  pipeline.target.height = pipeline.target.width = 8;
  pipeline.minibatch = 2;
  for (std::vector<float>& slot : slots) pipeline.slots.emplace_back(slot);
  auto pipelines = *InputPipelines::open(folder, options, {pipeline});
  std::vector<std::vector<float>> averages;
  for (int i = 0; i < count; ++i) {
    const ReadyMinibatch ready = *pipelines->next(0);
    std::vector<float>& average = averages.emplace_back();
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t c = 0; c < 3; ++c) {
        float sum = 0;
        for (std::size_t p = 0; p < 64; ++p) sum += slots[static_cast<std::size_t>(ready.slot)][(n * 64 + p) * 3 + c];
        average.push_back(sum / 64);
      }
    }
    pipelines->release(0, ready.slot);
  }
  return averages;
}

TEST(Feeder, RunsEveryMinibatchInOrderForAllMembers) {
  InputOptions options;
  options.workers = 2;
  options.seed = 3;
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    HostBackend backend(make_reference_kernels(2), reference_device_info(2));
    FedModelBatch fed(backend, {3, sharing}, options);
    const auto expected = expected_averages(input_test::scan(fed.folder.path()), options, 12);
    for (int i = 0; i < 12; ++i) {
      if (i == 5) {  // what is decoded ahead is not lost
        ASSERT_TRUE(fed.feeder->settle());
      }
      ASSERT_TRUE(fed.feeder->step());
      for (std::size_t m = 0; m < 3; ++m) {
        EXPECT_THAT(*fed.runner->session().read_output(m),
                    ::testing::Pointwise(::testing::FloatNear(1e-4F), expected[static_cast<std::size_t>(i)]))
            << "minibatch " << i << " member " << m;
      }
    }
  }
}

TEST(Feeder, TimesStepsBetweenUntimedOnes) {
  HostBackend backend(make_reference_kernels(2), reference_device_info(2));
  FedModelBatch fed(backend, {}, {});
  TraceSink sink(fed.program, {}, 100, steady_now);
  fed.runner->session().set_sink(&sink);
  std::int64_t now = 0;
  const auto time = fed.feeder->timed_steps(4, [&] { return Nanoseconds(now += 100); });
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, Nanoseconds(100));
  const Trace trace = measured_trace(sink, nullptr, backend.info());
  EXPECT_EQ(trace.slices.size(), 6 * fed.program.steps.size());  // two slots before the four
}

std::string name_of(const ::testing::TestParamInfo<Feeding>& info) {
  const Feeding& feeding = info.param;
  return fmt::format("{}_{}_slots_{}_{}_threads", feeding.sharing == InputSharing::kShared ? "shared" : "separate",
                     feeding.slots, feeding.launch == LaunchMode::kGraph ? "graph" : "single", feeding.launch_threads);
}

RecordingOptions two_cores() {
  RecordingOptions options;
  options.cores = 2;
  return options;
}

/// On devices to which input is copied.
class OverlappingFeeder : public ::testing::TestWithParam<Feeding> {};
INSTANTIATE_TEST_SUITE_P(Input, OverlappingFeeder,
                         ::testing::Values(Feeding{3, InputSharing::kShared, 1, LaunchMode::kGraph},
                                           Feeding{3, InputSharing::kShared, 2, LaunchMode::kGraph},
                                           Feeding{3, InputSharing::kShared, 3, LaunchMode::kSingle},
                                           Feeding{3, InputSharing::kSeparate, 1, LaunchMode::kSingle},
                                           Feeding{3, InputSharing::kSeparate, 2, LaunchMode::kSingle},
                                           Feeding{3, InputSharing::kSeparate, 2, LaunchMode::kSingle, 2},
                                           Feeding{3, InputSharing::kSeparate, 3, LaunchMode::kGraph}),
                         name_of);

TEST_P(OverlappingFeeder, CopiesTheNextMinibatchBeforeItWaitsForAStep) {
  RecordingBackend backend(two_cores());
  FedModelBatch fed(backend, GetParam(), {});
  const std::size_t from = backend.recording()->commands().size();
  std::vector<std::string> expected;
  const int slots = GetParam().slots;
  for (int i = 0; i < 7; ++i) {
    if (i == 4) {
      ASSERT_TRUE(fed.feeder->settle());
    }
    ASSERT_TRUE(fed.feeder->step());
    if (i == 0 || slots == 1) expected.push_back(fmt::format("u{}", i % slots));
    expected.push_back(fmt::format("l{}", i % slots));
    if (slots > 1) expected.push_back(fmt::format("u{}", (i + 1) % slots));
    expected.emplace_back("w");
  }
  EXPECT_EQ(testing::order_of(*backend.recording(), from), expected);
  EXPECT_THAT(backend.recording()->violations(), IsEmpty());
}

TEST_P(OverlappingFeeder, GivesEveryMinibatchInOrderToAllMembers) {
  InputOptions options;
  options.workers = 2;
  options.seed = 3;
  FakeGpuBackend backend;
  FedModelBatch fed(backend, GetParam(), options);
  const auto expected = expected_averages(input_test::scan(fed.folder.path()), options, 12);
  for (int i = 0; i < 12; ++i) {
    if (i == 5) {
      ASSERT_TRUE(fed.feeder->settle());
    }
    ASSERT_TRUE(fed.feeder->step());
    for (std::size_t m = 0; m < 3; ++m) {
      EXPECT_THAT(*fed.runner->session().read_output(m),
                  ::testing::Pointwise(::testing::FloatNear(1e-4F), expected[static_cast<std::size_t>(i)]))
          << "minibatch " << i << " member " << m;
    }
  }
  EXPECT_THAT(backend.gpu().violations(), IsEmpty());
}

TEST_P(OverlappingFeeder, TimesStepsAfterThoseWhoseInputWasMadeBeforehand) {
  RecordingBackend backend(two_cores());
  FedModelBatch fed(backend, GetParam(), {});
  const std::size_t before = backend.recording()->tasks().size();
  std::int64_t now = 0;
  ASSERT_EQ(fed.feeder->timed_steps(4, [&] { return Nanoseconds(now += 100); }), Nanoseconds(100));
  const std::size_t beforehand = GetParam().slots == 1 ? 1 : static_cast<std::size_t>(GetParam().slots) + 1;
  EXPECT_EQ(backend.recording()->tasks().size() - before, (beforehand + 4) * fed.program.steps.size());
}

TEST(Feeder, CopiesTheNextMinibatchAnewAfterAStepThatFailed) {
  for (const LaunchMode mode : {LaunchMode::kSingle, LaunchMode::kGraph}) {
    FakeGpuBackend backend;
    FedModelBatch fed(backend, {.launch = mode}, {});
    const auto expected = expected_averages(input_test::scan(fed.folder.path()), {}, 6);
    for (std::size_t i = 0; i < 6; ++i) {
      const bool fails = i == 2 && mode == LaunchMode::kSingle;
      if (fails) backend.gpu().fail_at(StepId{0});
      EXPECT_EQ(fed.feeder->step().has_value(), !fails);
      backend.gpu().fail_at(std::nullopt);
      if (fails) continue;
      EXPECT_THAT(*fed.runner->session().read_output(0), ::testing::Pointwise(::testing::FloatNear(1e-4F), expected[i]))
          << "minibatch " << i;
    }
    EXPECT_THAT(backend.gpu().violations(), IsEmpty());
  }
}

TEST(Feeder, TellsOfABadImageWithTheStepThatWouldReadIt) {
  InputOptions options;
  options.shuffle = false;
  options.on_bad_image = OnBadImage::kFatal;  // a/004.jpg, the first of the second minibatch
  HostBackend host(make_reference_kernels(2), reference_device_info(2));
  RecordingBackend device(two_cores());
  for (Backend* backend : {static_cast<Backend*>(&host), static_cast<Backend*>(&device)}) {
    FedModelBatch fed(*backend, {}, options);
    EXPECT_TRUE(fed.feeder->step());
    for (int again = 0; again < 2; ++again) {
      const auto failed = fed.feeder->step();
      ASSERT_FALSE(failed);
      EXPECT_THAT(failed.error().message, ::testing::HasSubstr("004.jpg"));
    }
  }
}

TEST(Feeder, NotesTheStagesOfItsInput) {
  StageSink stages(1, 1000, steady_now);
  stages.switch_on(true);
  InputOptions options;
  options.observer = &stages;
  HostBackend backend(make_reference_kernels(2), reference_device_info(2));
  FedModelBatch fed(backend, {}, options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fed.feeder->step());
  Trace trace;
  ASSERT_TRUE(stages.first());
  stages.add_to(trace, *stages.first());
  int decoded = 0;
  for (const Slice& slice : trace.slices) decoded += trace.name(slice) == "decode" ? 1 : 0;
  EXPECT_GE(decoded, 6);
}

TEST(Feeder, HandsOnWhatIsWrongWithTheInput) {
  HostBackend backend(make_reference_kernels(2), reference_device_info(2));
  CancelToken cancel;
  InputOptions options;
  options.cancel = &cancel;
  FedModelBatch fed(backend, {}, options);
  cancel.cancel();
  Result<void> done;
  for (int i = 0; i < 4 && done; ++i) done = fed.feeder->step();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInterrupted);
}

TEST(Feeder, RefusesInputThatIsNoImage) {
  ModelBuilder builder("mlp");
  const TensorId x = builder.input("x", {4, 16});
  builder.output(builder.linear("fc", x, 8));
  const Model model = *builder.finish();
  const Weights weights = random_weights(model, 0);
  HostBackend backend(make_reference_kernels(1), reference_device_info(1));
  const Program program =
      *lower(uniform_plan(members(1), Strategy::kSerial, 1), std::vector<const Model*>{&model}, backend.catalog());
  const auto runner = *Runner::create(backend, program, std::vector<const Weights*>{&weights});
  const auto feeder = Feeder::open(*runner, {}, {});
  ASSERT_FALSE(feeder);
  EXPECT_EQ(feeder.error().message,
            "input \"x\" of shape [4, 16] cannot be fed images; it would have to be [N, C, H, W]");
}

TEST(Feeder, GivesTrainingStepsTheLabelsOfTheirImages) {
  ModelBuilder builder("classifier");
  TensorId x = builder.global_average_pool("pool", builder.input("x", {2, 3, 8, 8}));
  x = builder.flatten("flatten", x);
  builder.output(builder.linear("fc", x, 2));
  Model model = *builder.finish();
  Weights weights = random_weights(model, 0);
  const TrainingModel training = differentiate({std::move(model), std::move(weights)}, {}).value();
  TemporaryFolder folder;
  input_test::write_numbered_images(folder, kImages);
  InputOptions options;
  options.seed = 3;
  std::vector<std::vector<float>> memory(2, std::vector<float>(2 * 3 * 8 * 8));
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    HostBackend backend(make_reference_kernels(2), reference_device_info(2));
    Plan plan = uniform_plan(members(2), Strategy::kConcurrent, 2);
    plan.input.sharing = sharing;
    const Program program = *lower(plan, std::vector<const Model*>(2, &training.loaded.model), backend.catalog());
    const auto runner = *Runner::create(backend, program, std::vector<const Weights*>(2, &training.loaded.weights));
    const auto feeder = Feeder::open(*runner, input_test::scan(folder.path()), options);
    ASSERT_TRUE(feeder) << feeder.error().message;
    PipelineOptions pipeline;
    pipeline.target.height = pipeline.target.width = 8;
    pipeline.minibatch = 2;
    pipeline.slots = {memory[0], memory[1]};
    const auto same = *InputPipelines::open(input_test::scan(folder.path()), options, {pipeline});
    std::set<std::int32_t> seen;
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE((*feeder)->step());
      const ReadyMinibatch expected = *same->next(0);
      for (std::size_t input = 0; input < program.inputs.size(); ++input) {
        if (program.inputs[input].shape != Shape{2}) continue;
        const std::span<float> labels = runner->session().input(input, expected.slot);
        for (std::size_t n = 0; n < 2; ++n) {
          const auto label = std::bit_cast<std::int32_t>(labels[n]);
          EXPECT_EQ(label, static_cast<std::int32_t>(expected.labels[n])) << "step " << i << ", " << n;
          seen.insert(label);
        }
      }
      same->release(0, expected.slot);
    }
    EXPECT_EQ(seen, (std::set<std::int32_t>{0, 1}));
    const auto settings = std::find_if(program.inputs.begin(), program.inputs.end(),
                                       [](const ProgramInput& input) { return input.role == TensorRole::kSetting; });
    ASSERT_NE(settings, program.inputs.end());
    const auto place = static_cast<std::size_t>(settings - program.inputs.begin());
    EXPECT_EQ(runner->session().input(place, 1)[0], 1e-3F) << "the learning rate";
  }
}

TEST(DecodeCores, AreNotThoseOfLaunchThreads) {
  const std::vector<int> usable{0, 2, 4, 6, 8};
  EXPECT_THAT(launch_cores(2, usable), ::testing::ElementsAre(0, 2, 4));
  Program program;
  EXPECT_THAT(decode_cores(program, usable), IsEmpty()) << "one thread launches, and the system finds it a core";
  program.launch_threads = 2;
  EXPECT_THAT(decode_cores(program, usable), ::testing::ElementsAre(6, 8));
  program.launch_threads = 4;
  EXPECT_THAT(decode_cores(program, usable), IsEmpty()) << "no core is left";
  program.launch_threads = 5;
  EXPECT_THAT(launch_cores(5, usable), IsEmpty()) << "there are not enough cores to bind anybody";
  EXPECT_THAT(decode_cores(program, usable), IsEmpty());
}

}  // namespace
}  // namespace cohort
