#include "simulator/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "models/builder.hpp"
#include "simulator/recorded_catalog.hpp"
#include "simulator/variants.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::StartsWith;

/// Prices of a made-up device: how an op's single-thread time changes.
struct Prices {
  double all_cores = 0.6;  ///< on both cores
  double beside = 1.1;     ///< beside a neighbour
  double strided = 1.0;    ///< per member of a fused call, against one thread
  double grouped = 1.5;
  double dense = 1.0;
};

FakeTimes times_of(const Prices& prices) {
  return [prices](const FakeCall& call) -> std::optional<std::int64_t> {
    double time = call.op.starts_with("conv") ? 1'000'000 : 100'000;
    if (call.threads > 1) time *= prices.all_cores;
    if (call.neighbours > 0) time *= prices.beside;
    const bool convolution = call.op.starts_with("conv");
    switch (call.strategy) {
      case Strategy::kDenseConvolution:
        if (call.op != "conv1") return std::nullopt;
        time *= prices.dense;
        break;
      case Strategy::kGroupedConvolution:
        if (!convolution) return std::nullopt;
        time *= prices.grouped;
        break;
      case Strategy::kStridedBatch:
        if (convolution) return std::nullopt;
        time *= prices.strided;
        break;
      default:
        break;
    }
    return static_cast<std::int64_t>(time * call.width);
  };
}

/// Members on a made-up device of two cores.
class Bench {
 public:
  Bench(std::vector<Model> models, std::size_t members, const FakeTimes& times) : models_(std::move(models)) {
    base = fake_base(members);
    std::vector<ProfileRecord> records;
    for (const Model& model : models_) {
      for (ProfileRecord& each : fake_records(model, 2, times)) records.push_back(std::move(each));
    }
    set_records(records);
    for (std::size_t i = 0; i < members; ++i) by_member_.push_back(&models_[i % models_.size()]);
    device.device = "fake";
    device.cores = 2;
  }

  void set_records(const std::vector<ProfileRecord>& records) {
    records_ = records;
    costs_.emplace(records_);
    catalog_ = std::make_unique<RecordedCatalog>(*costs_, 2);
  }
  [[nodiscard]] const std::vector<ProfileRecord>& records() const { return records_; }
  [[nodiscard]] PlanningCase planning_case() const { return {&base, by_member_, &*costs_, device, catalog_.get()}; }
  [[nodiscard]] PlanningResult plan(const PlannerOptions& options = {}) const {
    Result<PlanningResult> result = plan_model_batch(planning_case(), options);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }
  [[nodiscard]] const Model& model(std::size_t i) const { return models_[i]; }

  Plan base;
  DeviceProfile device;

 private:
  std::vector<Model> models_;
  std::vector<ProfileRecord> records_;
  std::optional<CostTable> costs_;
  std::unique_ptr<RecordedCatalog> catalog_;
  std::vector<const Model*> by_member_;
};

Bench cnn_bench(const Prices& prices, std::size_t members = 4) { return {{fake_cnn(2)}, members, times_of(prices)}; }

std::string best_name(const Bench& bench) {
  const PlanningResult result = bench.plan();
  return result.ranked.empty() ? "" : result.ranked.front().name;
}

const PlanCandidate* find(const PlanningResult& result, std::string_view name) {
  for (const PlanCandidate& candidate : result.ranked) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

TEST(Planner, FollowsRecordedCostsWhicheverWayTheyPoint) {
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0})), "concurrent x2");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.45, .beside = 1.0})), "serial");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .strided = 0.1})),
            "concurrent x2 + strided batch (fc1, fc2)");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .dense = 0.2})),
            "concurrent x2 + dense convolution (conv1)");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .strided = 0.1, .dense = 0.2})),
            "concurrent x2 + dense convolution (conv1) + strided batch (fc1, fc2)");
  EXPECT_THAT(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .grouped = 0.1})),
              HasSubstr("grouped convolution (conv1, conv2)"));
}

TEST(Planner, FlipsTheChoiceWhenTwoRecordedTimesAreExchanged) {
  Bench bench = cnn_bench({.beside = 1.0, .strided = 0.2});
  EXPECT_EQ(best_name(bench), "concurrent x2 + strided batch (fc1, fc2)");
  std::vector<ProfileRecord> records = bench.records();
  for (ProfileRecord& each : records) {
    if (each.strategy == "strided_batch") each.time *= 25;
  }
  bench.set_records(records);
  EXPECT_EQ(best_name(bench), "concurrent x2");
}

TEST(Planner, RanksTheFastestFirst) {
  const PlanningResult result = cnn_bench({}).plan();
  ASSERT_GT(result.ranked.size(), 5U);
  for (std::size_t i = 1; i < result.ranked.size(); ++i) {
    EXPECT_LE(result.ranked[i - 1].prediction.step_time, result.ranked[i].prediction.step_time);
  }
}

TEST(Planner, ListsAProgramOnceHoweverItIsComeBy) {
  // One core is never faster here, so "serial" and "serial on all cores" choose alike.
  const PlanningResult result = cnn_bench({.all_cores = 0.5}).plan();
  std::set<std::vector<std::pair<std::string, int>>> seen;
  for (const PlanCandidate& candidate : result.ranked) {
    if (candidate.plan.streams > 1) continue;
    std::vector<std::pair<std::string, int>> steps;
    for (const ResolvedStep& step : candidate.plan.resolved->steps) steps.emplace_back(step.task, step.threads);
    EXPECT_TRUE(seen.insert(steps).second) << candidate.name << " is there twice";
  }
}

TEST(Planner, MeasuresAgainstTheBestSingleModelPlan) {
  // All cores are slower than one here, so the baseline uses one.
  const PlanningResult slow_threads = cnn_bench({.all_cores = 1.3, .beside = 1.0}).plan();
  EXPECT_EQ(slow_threads.baseline.step_time, Nanoseconds(4 * 2'200'000));
  EXPECT_DOUBLE_EQ(slow_threads.ranked.front().speedup, 2.0);
  const PlanningResult fast_threads = cnn_bench({.all_cores = 0.5, .beside = 1.0}).plan();
  EXPECT_EQ(fast_threads.baseline.step_time, Nanoseconds(4 * 1'100'000));
  ASSERT_EQ(fast_threads.baseline.baselines.size(), 1U);
  EXPECT_EQ(fast_threads.baseline.baselines[0].members, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  for (const ResolvedStep& step : fast_threads.baseline.baselines[0].steps) EXPECT_EQ(step.threads, 2);
}

TEST(Planner, AttributionAddsUpToTheWholeGain) {
  Bench bench = cnn_bench({.strided = 0.4, .dense = 0.5});
  bench.device.step_overhead = 3_us;
  bench.device.handoff_latency = 5_us;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  ASSERT_FALSE(result.ranked.empty());
  for (const PlanCandidate& candidate : result.ranked) {
    const auto& saved = candidate.attribution.saved;
    EXPECT_EQ(std::accumulate(saved.begin(), saved.end(), Nanoseconds(0)),
              result.baseline.step_time - candidate.prediction.step_time)
        << candidate.name;
  }
}

TEST(Planner, AttributesEachKindOfGainToItsCause) {
  const auto attribution = [](const Prices& prices, std::string_view name) {
    const PlanningResult result = cnn_bench(prices).plan({.most_explained = 1000});
    const PlanCandidate* candidate = find(result, name);
    EXPECT_NE(candidate, nullptr) << name;
    return candidate == nullptr ? Attribution{} : candidate->attribution;
  };
  const Attribution overlap = attribution({.all_cores = 1.0, .beside = 1.0}, "concurrent x2");
  EXPECT_EQ(overlap.of(GainCause::kOverlap), Nanoseconds(4'400'000));
  EXPECT_EQ(overlap.of(GainCause::kFusion), 0_ns);
  const Attribution fusion = attribution({.all_cores = 1.0, .dense = 0.25}, "serial + dense convolution (conv1)");
  EXPECT_EQ(fusion.of(GainCause::kFusion), Nanoseconds(3'000'000));
  EXPECT_EQ(fusion.of(GainCause::kOverlap), 0_ns);
}

TEST(Planner, CountsFewerLaunchesAsLaunchRemoval) {
  Bench bench({fake_mlp(6)}, 4, times_of({.all_cores = 1.0, .strided = 1.0}));
  bench.device.step_overhead = 50_us;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  const PlanCandidate* fused = find(result, "strided batch (fc1, fc2)");
  ASSERT_NE(fused, nullptr) << print(result);
  EXPECT_EQ(fused->attribution.of(GainCause::kLaunchRemoval), 50_us * (4 * 2 - 2));
}

TEST(Planner, AttributesOnePipelineInsteadOfManyToSharing) {
  Bench bench = cnn_bench({.all_cores = 1.0, .beside = 1.0});
  std::vector<ProfileRecord> records = bench.records();
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, 4'000'000));
  bench.set_records(records);
  bench.base.input.source = InputSource::kFolder;
  const PlanningResult result = bench.plan({.most_explained = 1000});
  const PlanCandidate* serial = find(result, "serial");
  const PlanCandidate* separate = find(result, "serial, separate input");
  ASSERT_TRUE(serial != nullptr && separate != nullptr) << print(result);
  EXPECT_GT(serial->attribution.of(GainCause::kSharing), 20_ms);
  EXPECT_EQ(separate->attribution.of(GainCause::kSharing), 0_ns);
  EXPECT_GT(serial->speedup, separate->speedup);
}

TEST(Planner, KeepsSeparateInputWhereTheUserAsksForIt) {
  Bench bench = cnn_bench({.dense = 0.1});
  bench.base.input.sharing = InputSharing::kSeparate;
  const PlanningResult result = bench.plan();
  for (const PlanCandidate& candidate : result.ranked) {
    EXPECT_EQ(candidate.plan.input.sharing, InputSharing::kSeparate);
    EXPECT_THAT(candidate.name, testing::Not(HasSubstr("dense")));
  }
  ASSERT_FALSE(result.refused.empty());
  EXPECT_EQ(result.refused[0].name, "dense convolution");
  EXPECT_EQ(result.refused[0].reason, "no equal members with a convolution that reads a shared input");
}

TEST(Planner, WritesPlansThatLowerToWhatWasPredicted) {
  const Bench bench = cnn_bench({.strided = 0.3, .dense = 0.4});
  const PlanningResult result = bench.plan();
  for (const PlanCandidate& candidate : result.ranked) {
    const Result<Plan> read = parse_plan(write_plan(candidate.plan));
    ASSERT_TRUE(read.has_value()) << candidate.name << ": " << read.error().message;
    const auto again = predict_plan(bench.planning_case(), *read, {});
    ASSERT_TRUE(again.has_value()) << candidate.name << ": " << again.error().message;
    EXPECT_EQ(again->run.prediction.step_time, candidate.prediction.step_time) << candidate.name;
    EXPECT_EQ(again->baseline, result.baseline.step_time) << candidate.name;
    EXPECT_EQ(again->run.trace.info.wall("baseline")->samples.front(), result.baseline.step_time);
  }
}

TEST(Planner, BalancesMembersThatDifferOverTheStreams) {
  // One large member and three small ones: the large one has a stream of its own.
  const auto times = [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    return call.op == "wide" ? 3'000'000 : 1'000'000;
  };
  ModelBuilder small("small");
  small.output(small.linear("narrow", small.input("x", {2, 8}), 4));
  ModelBuilder large("large");
  large.output(large.linear("wide", large.input("x", {2, 8}), 64));
  const Model one = small.finish().value();
  Bench bench({large.finish().value(), one, one, one}, 4, times);
  const PlanningResult result = bench.plan();
  ASSERT_EQ(result.ranked.front().name, "concurrent x2") << print(result);
  EXPECT_EQ(result.ranked.front().plan.groups.front().streams, (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(result.ranked.front().prediction.step_time, Nanoseconds(3'000'000));
  EXPECT_EQ(result.baseline.baselines.size(), 2U);
}

TEST(Planner, FusesMembersOfOneStructureOnly) {
  Bench bench({fake_mlp(6), fake_mlp(7)}, 8, times_of({.beside = 2.0, .strided = 0.1}));
  const PlanningResult result = bench.plan();
  EXPECT_EQ(result.ranked.front().name, "strided batch (fc1, fc2) + strided batch (fc1, fc2)") << print(result);
  ASSERT_EQ(result.ranked.front().plan.groups.size(), 2U);
  EXPECT_EQ(result.ranked.front().plan.groups[0].members, (std::vector<std::uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(result.ranked.front().plan.groups[1].members, (std::vector<std::uint32_t>{1, 3, 5, 7}));
}

/// Two ways for every op: "only" without workspace, "fast" in half the time with 1 MiB of it.
std::vector<ProfileRecord> with_fast_way(const std::vector<ProfileRecord>& records) {
  std::vector<ProfileRecord> more = records;
  for (const ProfileRecord& each : records) {
    if (each.signature.starts_with("Copy")) continue;
    ProfileRecord fast = each;
    fast.algorithm = "fast";
    fast.workspace = 1_MiB;
    fast.time /= 2;
    more.push_back(fast);
  }
  return more;
}

TEST(Planner, TakesTheFastestWayThatTheWorkspaceLimitAllows) {
  Bench bench = cnn_bench({});
  bench.set_records(with_fast_way(bench.records()));
  const auto algorithms = [&](std::optional<Bytes> limit) {
    bench.base.limits.workspace = limit;
    const PlanningResult result = bench.plan();
    std::set<std::string> used;
    for (const ResolvedStep& step : result.ranked.front().plan.resolved->steps) used.insert(step.algorithm);
    return used;
  };
  EXPECT_EQ(algorithms(std::nullopt), std::set<std::string>{"fast"});
  EXPECT_EQ(algorithms(2_MiB), std::set<std::string>{"fast"});
  EXPECT_EQ(algorithms(64_KiB), std::set<std::string>{"only"});
}

TEST(Planner, SaysWhatDoesNotFit) {
  Bench bench = cnn_bench({});
  bench.base.limits.memory = Bytes{100};
  const Result<PlanningResult> result = plan_model_batch(bench.planning_case());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(result.error().message, StartsWith("no plan is possible: the plan needs "));
}

TEST(Planner, NamesAnOpThatWasNotProfiled) {
  Bench bench = cnn_bench({});
  std::vector<ProfileRecord> records;
  for (const ProfileRecord& each : bench.records()) {
    if (each.signature != signature_of(bench.model(0), bench.model(0).ops[1])) records.push_back(each);
  }
  bench.set_records(records);
  const Result<PlanningResult> result = plan_model_batch(bench.planning_case());
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, StartsWith("baseline: 0/conv2: the profile has no record of "));
}

TEST(Planner, RefusesNoMembersAndTooFewModels) {
  Bench bench = cnn_bench({});
  bench.base.members.pop_back();
  EXPECT_EQ(plan_model_batch(bench.planning_case()).error().message, "4 models were given for 3 members");
  bench.base.members.clear();
  EXPECT_EQ(plan_model_batch(bench.planning_case()).error().message,
            "members is empty: a plan runs at least one model");
}

TEST(Planner, PlansASingleMember) {
  const PlanningResult result = cnn_bench({}, 1).plan();
  EXPECT_THAT(result.ranked.front().name, StartsWith("serial"));
  EXPECT_DOUBLE_EQ(result.ranked.front().speedup, 1.0);
}

TEST(Planner, StopsWhenItIsCancelled) {
  CancelToken cancel;
  cancel.cancel();
  const Bench bench = cnn_bench({});
  PlannerOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(plan_model_batch(bench.planning_case(), options).error().code, ErrorCode::kInterrupted);
}

TEST(Planner, SaysTheSameEveryTime) {
  EXPECT_EQ(print(cnn_bench({.strided = 0.5}).plan(), 100), print(cnn_bench({.strided = 0.5}).plan(), 100));
}

TEST(Planner, JudgesByASumOfOpsWhatItDoesNotSimulate) {
  const PlanningResult result = cnn_bench({.beside = 1.0, .strided = 0.1, .dense = 0.2}).plan({.most_simulated = 3});
  EXPECT_EQ(result.ranked.front().name, "concurrent x2 + dense convolution (conv1) + strided batch (fc1, fc2)");
  EXPECT_TRUE(std::any_of(result.refused.begin(), result.refused.end(),
                          [](const RefusedCandidate& each) { return each.reason.starts_with("not simulated"); }));
}

TEST(Planner, PlansSixteenMembersOfTwentyOps) {
  ModelBuilder builder("deep");
  TensorId x = builder.input("x", {2, 8});
  for (int i = 0; i < 20; ++i) x = builder.linear("fc" + std::to_string(i), x, 8 + i % 3);
  builder.output(x);
  Bench bench({builder.finish().value()}, 16, times_of({.beside = 1.0, .strided = 0.3}));
  EXPECT_EQ(best_name(bench), "concurrent x2 + strided batch (fc0 ... fc19)");
}

TEST(Planner, ExplainsEveryCandidateInOneLine) {
  const PlanningResult result = cnn_bench({.all_cores = 1.0, .beside = 1.0}).plan();
  EXPECT_EQ(result.ranked.front().name, "concurrent x2");
  EXPECT_THAT(result.ranked.front().explanation, StartsWith("overlap saves 4.40 ms; cores busy 100%; "));
  for (std::size_t i = 1; i < result.ranked.size(); ++i) {
    EXPECT_THAT(result.ranked[i].explanation, HasSubstr(" slower than 1; "));
  }
}

}  // namespace
}  // namespace cohort
