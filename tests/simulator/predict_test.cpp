#include "simulator/predict/predict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/costs/step_cost.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/planner/evaluate.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

using namespace literals;

/// Two layers of 100 and 50 ns on one thread, 60 and 30 on both cores, a fifth more beside a neighbour.
std::optional<std::int64_t> mlp_times(const FakeCall& call) {
  std::int64_t time = call.op == "fc1" ? 100 : 50;
  if (call.threads == 2) time = time * 6 / 10;
  if (call.neighbours == 1) time = time * 12 / 10;
  if (call.strategy != Strategy::kSerial) return std::nullopt;
  return time;
}

/// As mlp_times, but so many times as long beside a neighbour.
FakeTimes beside(double fc1, std::optional<double> fc2 = std::nullopt) {
  return [fc1, fc2](FakeCall call) -> std::optional<std::int64_t> {
    const bool has_neighbour = std::exchange(call.neighbours, 0) == 1;
    const std::optional<std::int64_t> alone = mlp_times(call);
    if (!alone || !has_neighbour) return alone;
    const double times = call.op == "fc1" ? fc1 : fc2.value_or(fc1);
    return std::llround(static_cast<double>(*alone) * times);
  };
}

/// A plan of members of one model, lowered on a made-up device of two cores.
struct Fixture {
  explicit Fixture(Plan the_plan, std::vector<ProfileRecord> more = {}, const FakeTimes& times = mlp_times)
      : plan(std::move(the_plan)) {
    std::vector<ProfileRecord> records = fake_records(model, 2, times);
    records.insert(records.end(), more.begin(), more.end());
    costs.emplace(records);
    const RecordedCatalog catalog(*costs, 2);
    const std::vector<const Model*> models(plan.members.size(), &model);
    Result<Program> lowered = lower(plan, models, catalog);
    EXPECT_TRUE(lowered.has_value()) << lowered.error().message;
    if (lowered) program = std::move(*lowered);
    device.cores = 2;
  }

  [[nodiscard]] PredictionCase prediction_case() const { return {&plan, &program, &*costs, device, true}; }
  [[nodiscard]] Prediction predicted() const {
    const Result<Prediction> prediction = predict(prediction_case());
    EXPECT_TRUE(prediction.has_value()) << prediction.error().message;
    return prediction.value_or(Prediction{});
  }

  Model model = fake_mlp(6);
  Plan plan;
  std::optional<CostTable> costs;
  Program program;
  DeviceProfile device;
};

Plan two_members(Strategy strategy, int threads = 0) {
  Plan plan = fake_base(2);
  const Plan uniform = uniform_plan(plan.members, strategy, strategy == Strategy::kConcurrent ? 2 : 1);
  plan.groups = uniform.groups;
  plan.groups[0].threads = threads;
  plan.streams = uniform.streams;
  return plan;
}

Plan fed_from_folder(Plan plan, InputSharing sharing, int workers) {
  plan.input.source = InputSource::kFolder;
  plan.input.sharing = sharing;
  plan.input.decode_workers = workers;
  return plan;
}

std::vector<ProfileRecord> decoding(std::int64_t nanoseconds) {
  return {record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, nanoseconds)};
}

TEST(Predict, AddsUpSerialStepsAndTheirOverheads) {
  Fixture fixture(two_members(Strategy::kSerial, 1));
  EXPECT_EQ(fixture.predicted().step_time, 300_ns);
  fixture.device.step_overhead = 7_ns;
  EXPECT_EQ(fixture.predicted().step_time, 328_ns);
  PredictionCase bare = fixture.prediction_case();
  bare.with_overheads = false;
  EXPECT_EQ(predict(bare)->step_time, 300_ns);
}

TEST(Predict, UsesTheCostOfTheThreadsAStepRunsOn) {
  EXPECT_EQ(Fixture(two_members(Strategy::kSerial, 2)).predicted().step_time, 180_ns);
}

TEST(Predict, RunsStreamsSideBySideAtTheCostOfNeighbours) {
  Fixture fixture(two_members(Strategy::kConcurrent));
  EXPECT_EQ(fixture.predicted().step_time, 180_ns);
  // The other stream is woken and waited for in every step.
  fixture.device.handoff_latency = 5_ns;
  // It so is 5 ns behind, in which the first one has the memory to itself, as it has in its own last 5 ns.
  EXPECT_EQ(fixture.predicted().step_time, 189_ns);
  // In turn: both members' 100 and 50 ns, one hand-off to begin with and one at the end.
  EXPECT_EQ(fixture.predicted().upper_bound, 310_ns);
}

TEST(Predict, ChargesSingleLaunchesToTheHost) {
  Plan plan = two_members(Strategy::kSerial, 1);
  plan.launch = LaunchMode::kSingle;
  Fixture fixture(plan);
  fixture.device.launch_overhead = 10_ns;
  EXPECT_EQ(fixture.predicted().step_time, 340_ns);
}

TEST(Predict, DecodesForInputsThatTakeImagesAlone) {
  Fixture fixture(fed_from_folder(two_members(Strategy::kSerial, 1), InputSharing::kShared, 1), decoding(400));
  ASSERT_EQ(fixture.program.inputs.size(), 1U);
  ProgramInput labels = fixture.program.inputs[0];
  labels.shape = {2};
  labels.element = ElementType::kInt32;
  ProgramInput settings = fixture.program.inputs[0];
  settings.shape = {2, kSettingCount};
  settings.role = TensorRole::kSetting;
  fixture.program.inputs.insert(fixture.program.inputs.end(), {labels, settings});
  EXPECT_EQ(fixture.predicted().step_time, 800_ns) << "2 x 400 ns, as without labels and settings";
}

TEST(Predict, OverlapsDecodingWithComputingUpToTheSlowerOfTheTwo) {
  // Minibatches of 2: 2 x 40 ns of decoding hide behind 300 ns of computing on the other core ...
  EXPECT_EQ(Fixture(fed_from_folder(two_members(Strategy::kSerial, 1), InputSharing::kShared, 1), decoding(40))
                .predicted()
                .step_time,
            300_ns);
  // ... 2 x 400 ns do not.
  const Prediction slow =
      Fixture(fed_from_folder(two_members(Strategy::kSerial, 1), InputSharing::kShared, 1), decoding(400)).predicted();
  EXPECT_EQ(slow.step_time, 800_ns);
  EXPECT_EQ(slow.binding.resource, "decode worker 0");
  EXPECT_EQ(slow.lower_bound, 800_ns);
}

TEST(Predict, DecodesOncePerMemberWhereInputIsSeparate) {
  const Plan plan = two_members(Strategy::kSerial, 1);
  const auto step_time = [&](InputSharing sharing, int workers) {
    return Fixture(fed_from_folder(plan, sharing, workers), decoding(400)).predicted().step_time;
  };
  EXPECT_EQ(step_time(InputSharing::kShared, 1), 800_ns);
  EXPECT_EQ(step_time(InputSharing::kSeparate, 1), 1600_ns);
}

TEST(Predict, CannotDecodeOnMoreCoresThanThereAre) {
  // 4 x 400 ns of decoding and 300 ns of computing on two cores.
  const Prediction prediction =
      Fixture(fed_from_folder(two_members(Strategy::kSerial, 1), InputSharing::kSeparate, 2), decoding(400))
          .predicted();
  EXPECT_EQ(prediction.lower_bound, 950_ns);
  EXPECT_GE(prediction.step_time, prediction.lower_bound);
  EXPECT_LE(prediction.step_time, 1100_ns);
}

TEST(Predict, SaysWhatToProfileWhereDecodingWasNot) {
  const Fixture fixture(fed_from_folder(two_members(Strategy::kSerial), InputSharing::kShared, 1));
  const Result<Prediction> prediction = predict(fixture.prediction_case());
  ASSERT_FALSE(prediction.has_value());
  EXPECT_EQ(prediction.error().message,
            "the plan decodes images, but no profile holds \"input decode\"; profile with the image folder (cohort "
            "profile --data FOLDER)");
}

TEST(Predict, NamesTheStepWhoseOpWasNotProfiled) {
  Fixture fixture(two_members(Strategy::kSerial, 1));
  fixture.costs.emplace(std::vector<ProfileRecord>{});
  const Result<Prediction> prediction = predict(fixture.prediction_case());
  ASSERT_FALSE(prediction.has_value());
  EXPECT_TRUE(prediction.error().message.starts_with("0/fc1: no recorded time of op ")) << prediction.error().message;
}

TEST(Predict, CountsWhereItsCostsComeFrom) {
  Plan plan = two_members(Strategy::kSerial, 1);
  plan.groups[0].name = "first";
  plan.groups[0].ops = {"fc1"};
  plan.groups.push_back({"second", {0, 1}, {"fc2"}, Strategy::kStridedBatch, 1, {}, {}});
  const Prediction prediction = Fixture(plan).predicted();
  EXPECT_GE(prediction.steps(CostOrigin::kProfiled), 2U);
  EXPECT_EQ(prediction.steps(CostOrigin::kAnalytic), 1U);
}

TEST(Predict, ReportsThroughputBoundsAndWhatBinds) {
  const Prediction prediction = Fixture(two_members(Strategy::kSerial, 1)).predicted();
  EXPECT_DOUBLE_EQ(prediction.samples_per_second, 4 / 300e-9);
  EXPECT_EQ(prediction.lower_bound, 300_ns);
  EXPECT_EQ(prediction.upper_bound, 300_ns);
  EXPECT_EQ(prediction.binding.resource, "stream 0");
  const Prediction slowed = Fixture(two_members(Strategy::kConcurrent)).predicted();
  EXPECT_EQ(slowed.binding, (Binding{"memory bandwidth", 1}));
  EXPECT_EQ(slowed.lower_bound, 180_ns);  // each of the four ops asks for 0.6 of it
  EXPECT_EQ(Fixture(two_members(Strategy::kConcurrent), {}, beside(1)).predicted().binding.resource, "cores");
}

TEST(Predict, SlowsWhatSharesTheMemoryAndNothingElse) {
  // Member 1 begins when fc1 of member 0 has ended.
  Plan plan = two_members(Strategy::kConcurrent);
  plan.groups[0] = {"first", {0}, {"fc1"}, Strategy::kConcurrent, 1, {0}, {}};
  plan.groups.push_back({"rest", {0}, {"fc2"}, Strategy::kConcurrent, 1, {0}, {}});
  plan.groups.push_back({"second", {1}, {"fc1", "fc2"}, Strategy::kConcurrent, 1, {1}, {"first"}});
  // fc2 lives off its cache: fc1 of member 1 beside it takes 100 ns as alone.
  EXPECT_EQ(Fixture(plan, {}, beside(1.6, 1)).predicted().step_time, 250_ns);
  // They ask for 0.8 and 0.65: fc2 of member 0 takes 72.5 ns, after which fc1 has half of its 100 ns left.
  EXPECT_EQ(Fixture(plan, {}, beside(1.6, 1.3)).predicted().step_time, 272_ns);
  // What repeated recordings differ by is no use of memory.
  EXPECT_EQ(Fixture(plan, {}, beside(1.6, 1.04)).predicted().step_time, 252_ns);
}

TEST(Predict, TakesTheTimeBesideOthersWhereSharingCannotExplainIt) {
  const Prediction prediction = Fixture(two_members(Strategy::kConcurrent), {}, beside(2.5)).predicted();
  EXPECT_EQ(prediction.step_time, 374_ns);  // 250 + 125, but for the half of a nanosecond
  EXPECT_LE(prediction.step_time, prediction.upper_bound);
}

TEST(Predict, DrawsTheTimelineWithTheArgumentsOfAMeasuredTrace) {
  const Fixture fixture(two_members(Strategy::kConcurrent));
  DeviceInfo device;
  device.id = "cpu:0";
  const Result<PredictedRun> run = predict_run(fixture.prediction_case(), device);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  const Trace& trace = run->trace;
  EXPECT_EQ(trace.info.kind, TraceKind::kPredicted);
  ASSERT_NE(trace.info.wall("plan"), nullptr);
  EXPECT_EQ(trace.info.wall("plan")->samples, std::vector{180_ns});
  EXPECT_EQ(parse_plan(trace.info.plan).value(), fixture.plan);
  std::string first;
  for (const Slice& slice : trace.slices) {
    if (trace.integer_arg(slice, kIterationArg) != 0) continue;
    first += fmt::format("{} {}: {} {} {} {} {}-{}\n", trace.tracks[to_index(slice.track)].process,
                         trace.tracks[to_index(slice.track)].thread, trace.text_arg(slice, kTaskArg).value(),
                         trace.text_arg(slice, "group").value(), trace.text_arg(slice, "members").value(),
                         trace.integer_arg(slice, "threads").value(), slice.start.count(), slice.end().count());
  }
  EXPECT_EQ(first,
            "cpu:0 stream 0: 0/fc1 all 0 1 0-120\n"
            "cpu:0 stream 1: 1/fc1 all 1 1 0-120\n"
            "cpu:0 stream 0: 0/fc2 all 0 1 120-180\n"
            "cpu:0 stream 1: 1/fc2 all 1 1 120-180\n");
}

TEST(Predict, ComparesAPlanWithItsBaseline) {
  const Fixture concurrent(two_members(Strategy::kConcurrent));
  const Fixture serial(two_members(Strategy::kSerial, 1));
  const Result<Prediction> plan = predict(concurrent.prediction_case());
  const Result<Prediction> baseline = predict(serial.prediction_case());
  ASSERT_TRUE(plan && baseline);
  EXPECT_DOUBLE_EQ(speedup(*baseline, *plan), 300.0 / 180.0);
}

TEST(StepCost, CountsTheStreamsThatMayRunAtTheSameTime) {
  // fc1 of both members side by side, then fc2 of member 0 after everything else.
  Plan plan = two_members(Strategy::kConcurrent);
  plan.groups[0].name = "first";
  plan.groups[0].ops = {"fc1"};
  plan.groups.push_back({"second", {1}, {"fc2"}, Strategy::kConcurrent, 1, {1}, {}});
  plan.groups.push_back({"third", {0}, {"fc2"}, Strategy::kConcurrent, 1, {0}, {"second"}});
  const Fixture fixture(plan);
  std::map<std::string, int> by_task;
  const std::vector<int> neighbours = neighbours_of(fixture.program, 1);
  for (std::size_t i = 0; i < neighbours.size(); ++i) by_task[fixture.program.steps[i].task] = neighbours[i];
  EXPECT_EQ(by_task, (std::map<std::string, int>{{"0/fc1", 1}, {"0/fc2", 0}, {"1/fc1", 1}, {"1/fc2", 1}}));
}

TEST(StepCost, IsNoLowerForAnOpOnOneCoreAmongOthersOnSeveralWhereStreamsRunBeside) {
  const Model model = fake_mlp(6);
  std::vector<ProfileRecord> in_model;
  for (const auto& [neighbours, around, time] : {std::tuple(0, 0, 100), {1, 0, 120}, {0, 2, 250}}) {
    in_model.push_back(record(signature_of(model, model.ops.front()), Strategy::kSerial, 1, 1, time));
    in_model.back().state = ProfileState::kInModel;
    in_model.back().neighbours = neighbours;
    in_model.back().around = around;
  }
  Fixture fixture(two_members(Strategy::kConcurrent), in_model);
  const auto first = [&] { return step_costs(fixture.program, *fixture.costs, 2).value().front(); };
  EXPECT_EQ(first().alone.time, 100_ns);
  EXPECT_EQ(first().beside, 120_ns);
  fixture.program.steps.back().cost.threads = 2;  // as where branches of a member run beside ops on all cores
  EXPECT_EQ(first().alone.time, 250_ns);
  EXPECT_EQ(first().beside, 250_ns);
}

TEST(Predict, EveryStepOfATimelineIsAsTheOneBefore) {
  const auto check = [](const PlanningCase& planning_case, std::string_view name) {
    const auto planned = plan_model_batch(planning_case, {.most_explained = 0});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    PlanEvaluator evaluator(planning_case);
    for (const PlanCandidate& candidate : planned->ranked) {
      SCOPED_TRACE(fmt::format("{}: {}", name, candidate.name));
      const auto lowered = evaluator.lowered(candidate.plan, planning_case.models);
      ASSERT_TRUE(lowered.has_value());
      const auto run = predict_run(evaluator.prediction_case(candidate.plan, lowered->program), {});
      ASSERT_TRUE(run.has_value());
      EXPECT_EQ(run->prediction.step_time, candidate.prediction.step_time);
      EXPECT_EQ(run->facts.steps, 3);
      Nanoseconds all{};
      for (const PathPart& part : run->facts.parts) all += part.time;
      EXPECT_NEAR(seconds(all), seconds(candidate.prediction.step_time * run->facts.steps), 3e-9);
    }
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    check(RandomPlanning::small(seed)->planning_case(), fmt::format("seed {}", seed));
    check(RandomPlanning::small_on_gpu(seed)->planning_case(), fmt::format("seed {} on a GPU", seed));
  }
}

}  // namespace
}  // namespace cohort
