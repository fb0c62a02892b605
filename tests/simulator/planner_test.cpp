#include "simulator/planner/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "models/builder.hpp"
#include "simulator/planner/variants.hpp"
#include "simulator/recorded_catalog.hpp"
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

TEST(Planner, HandsWorkspaceOutOverTheWholeBatch) {
  // Four members in turn share one workspace of 1 MiB: equal shares of the limit would leave 512 KiB for each.
  Bench bench = cnn_bench({.all_cores = 0.45, .beside = 1.0});
  bench.set_records(with_fast_way(bench.records()));
  const auto memory_of = [&] {
    const PlanningResult free = bench.plan();
    return free.ranked.front().prediction.memory;
  };
  const MemoryUse all = memory_of();
  bench.base.limits.memory = all.total() - Bytes{1};
  const PlanningResult limited = bench.plan();
  const auto is_limited = [](const PlanCandidate& each) { return each.limited && each.equal_shares; };
  const auto found = std::find_if(limited.ranked.begin(), limited.ranked.end(), is_limited);
  ASSERT_NE(found, limited.ranked.end()) << print(limited);
  EXPECT_LE(found->prediction.step_time, *found->equal_shares);
  EXPECT_THAT(found->explanation, HasSubstr(", limited: "));
  EXPECT_THAT(explain(limited, 100), HasSubstr("     limited  workspace over the whole model batch "));
  for (const PlanCandidate& each : limited.ranked) EXPECT_LE(each.prediction.memory.total(), *bench.base.limits.memory);
}

TEST(Planner, GivesWorkspaceToTheStreamThatHoldsUpTheOthers) {
  // Side by side: 300 us + 100 us, and 100 us + 100 us. With 1 MiB of workspace an op takes a tenth of it.
  Bench bench({fake_mlp(6), fake_mlp(7)}, 2, times_of({.all_cores = 1.0, .beside = 1.0}));
  std::vector<ProfileRecord> records;
  const std::string slow = signature_of(bench.model(0), bench.model(0).ops[0]);
  for (ProfileRecord each : bench.records()) {
    if (each.signature == slow) each.time *= 3;
    records.push_back(each);
    if (each.signature.starts_with("Copy") || each.strategy != "serial" || each.threads > 1) continue;
    each.algorithm = "fast";
    each.workspace = 1_MiB;
    each.time /= 10;
    records.push_back(each);
  }
  bench.set_records(records);
  bench.base.limits.workspace = 1_MiB + 64_KiB;  // room for one stream's
  const PlanningResult result = bench.plan({.most_explained = 100});
  const PlanCandidate* beside = find(result, "concurrent x2");
  ASSERT_NE(beside, nullptr) << print(result);
  EXPECT_TRUE(beside->limited);
  EXPECT_LE(beside->prediction.memory.workspace, *bench.base.limits.workspace);
  EXPECT_EQ(beside->prediction.step_time, Nanoseconds(200'000));
  ASSERT_TRUE(beside->equal_shares.has_value());
  EXPECT_EQ(*beside->equal_shares, Nanoseconds(400'000)) << "half of the limit is room for none";
}

TEST(Planner, ShowsTimeAgainstMemory) {
  Bench bench = cnn_bench({});
  bench.set_records(with_fast_way(bench.records()));
  const PlanningResult result = bench.plan({.pareto = true});
  ASSERT_GE(result.pareto.size(), 2U) << print_pareto(result);
  EXPECT_EQ(result.pareto.front().step_time, result.ranked.front().prediction.step_time);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    EXPECT_GT(result.pareto[i].step_time, result.pareto[i - 1].step_time);
    EXPECT_LT(result.pareto[i].memory.total(), result.pareto[i - 1].memory.total());
  }
  for (const PlanCandidate& each : result.ranked) {
    const auto beats = [&](const ParetoPoint& point) {
      return point.step_time <= each.prediction.step_time && point.memory.total() <= each.prediction.memory.total();
    };
    EXPECT_TRUE(std::any_of(result.pareto.begin(), result.pareto.end(), beats)) << each.name;
  }
  const ParetoPoint& smallest = result.pareto.back();
  const auto again = predict_plan(bench.planning_case(), smallest.plan, {});
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->run.prediction.step_time, smallest.step_time);
  EXPECT_EQ(again->run.prediction.memory.total(), smallest.memory.total());
  EXPECT_TRUE(bench.plan().pareto.empty());
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

TEST(Planner, ScreensWhatItDoesNotSimulateByABound) {
  const Bench bench = cnn_bench({.beside = 1.0, .strided = 0.1, .dense = 0.2});
  const PlanningResult few = bench.plan({.most_simulated = 3});
  EXPECT_EQ(few.ranked.front().name, "concurrent x2 + dense convolution (conv1) + strided batch (fc1, fc2)");
  EXPECT_GT(few.screened.size(), 5U);
  EXPECT_THAT(print(few), HasSubstr("not simulated: "));
  const PlanningResult all = bench.plan();
  EXPECT_LT(few.ranked.size(), all.ranked.size());
  EXPECT_TRUE(all.screened.empty());
  std::map<std::string, Nanoseconds> times;
  for (const PlanCandidate& each : all.ranked) times[each.name] = each.prediction.step_time;
  for (const ScreenedCandidate& each : few.screened) {
    EXPECT_GT(each.bound, 0_ns) << each.name;
    if (const auto found = times.find(each.name); found != times.end()) {
      EXPECT_LE(each.bound, found->second) << each.name;
      EXPECT_EQ(each.cannot_win, each.bound >= few.ranked.front().prediction.step_time) << each.name;
    }
  }
}

TEST(Planner, LeavesOutWhatABoundRulesOutOnceEnoughIsSimulated) {
  const Bench bench = cnn_bench({.beside = 1.0, .strided = 0.1, .dense = 0.2});
  const PlanningResult result = bench.plan({.least_simulated = 1});
  EXPECT_EQ(result.ranked.front().name, bench.plan().ranked.front().name);
  EXPECT_FALSE(result.screened.empty());
  for (const ScreenedCandidate& each : result.screened) EXPECT_TRUE(each.cannot_win) << each.name;
}

/// A model of one op that takes 3 ms on a core, or 1 ms where `wide` is false; both halve on two cores.
Bench unequal_pair() {
  const auto times = [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    return (call.op == "wide" ? 3'000'000 : 1'000'000) / call.threads;
  };
  ModelBuilder small("small");
  small.output(small.linear("narrow", small.input("x", {2, 8}), 4));
  ModelBuilder large("large");
  large.output(large.linear("wide", large.input("x", {2, 8}), 64));
  return {{large.finish().value(), small.finish().value()}, 2, times};
}

TEST(Planner, BalancesTheGainOfEachMemberWhereAsked) {
  // In turn on both cores: 1.5 ms, then 0.5 ms; the small one waits for the large one and gains 2 x 0.5 / 2.0 = 0.5x.
  // Side by side: 3 ms and 1 ms, 1x for both.
  const Bench bench = unequal_pair();
  const PlanningResult fastest = bench.plan();
  EXPECT_EQ(fastest.ranked.front().name, "serial");
  EXPECT_EQ(fastest.ranked.front().prediction.p99_latency, Nanoseconds(2'000'000));
  EXPECT_EQ(fastest.ranked.front().prediction.member_latency,
            (std::vector{Nanoseconds(1'500'000), Nanoseconds(2'000'000)}));
  EXPECT_DOUBLE_EQ(fastest.ranked.front().least_gain, 0.5);
  const PlanningResult balanced = bench.plan({.objective = Objective::kBalancedGain});
  EXPECT_EQ(balanced.ranked.front().name, "concurrent x2");
  EXPECT_DOUBLE_EQ(balanced.ranked.front().least_gain, 1.0);
  EXPECT_THAT(balanced.ranked.front().explanation, StartsWith("least gain of a member 1.00x; "));
}

TEST(Planner, RefusesPlansOverTheLatencyLimit) {
  const Bench bench = unequal_pair();
  const PlanningResult result =
      bench.plan({.objective = Objective::kBalancedGain, .latency_limit = Nanoseconds(2'500'000)});
  EXPECT_EQ(result.ranked.front().name, "serial");
  const auto refused = [](const RefusedCandidate& each) {
    return each.name == "concurrent x2" && each.reason == "its p99 latency is 3.00 ms, the limit is 2.50 ms";
  };
  EXPECT_TRUE(std::any_of(result.refused.begin(), result.refused.end(), refused)) << print(result);
  PlannerOptions impossible;
  impossible.latency_limit = 1_ms;
  const auto none = plan_model_batch(bench.planning_case(), impossible);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(none.error().message, StartsWith("no plan is possible: its p99 latency is "));
}

TEST(Planner, RanksByWhicheverObjectiveIsAsked) {
  Bench bench = cnn_bench({.strided = 0.6});
  std::vector<ProfileRecord> records = bench.records();
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, 900'000));
  bench.set_records(records);
  bench.base.input.source = InputSource::kFolder;
  bench.device.step_overhead = 20_us;
  for (std::size_t i = 0; i < kObjectives; ++i) {
    const auto objective = static_cast<Objective>(i);
    const PlanningResult result = bench.plan({.objective = objective});
    const auto cost = [&](const PlanCandidate& each) {
      return objective_cost(objective, each.prediction, result.baseline.alone);
    };
    for (std::size_t k = 1; k < result.ranked.size(); ++k) {
      EXPECT_LE(cost(result.ranked[k - 1]), cost(result.ranked[k])) << to_string(objective);
    }
    EXPECT_EQ(objective_from(to_string(objective)).value(), objective);
  }
  EXPECT_FALSE(objective_from("speed").has_value());
}

TEST(Planner, KeepsTheBestSoFarWhenItIsCancelledMidway) {
  CancelToken cancel;
  PlannerOptions options;
  options.cancel = &cancel;
  std::size_t seen = 0;
  options.progress = [&](std::size_t done, std::size_t of) {
    EXPECT_LE(done, of);
    seen = done;
    if (done == 3) cancel.cancel();
  };
  const Bench bench = cnn_bench({});
  const PlanningResult result = bench.plan(options);
  EXPECT_EQ(seen, 3U);
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(print(result), HasSubstr("interrupted: the best of what was looked at by then"));
  ASSERT_GE(result.ranked.size(), 1U);
  EXPECT_LE(result.ranked.size(), 3U);
  EXPECT_TRUE(result.ranked.front().plan.resolved.has_value());
  EXPECT_TRUE(predict_plan(bench.planning_case(), result.ranked.front().plan, {}).has_value());
}

TEST(Planner, ExplainsWhatACandidateLostToTheBest) {
  const PlanningResult result = cnn_bench({.strided = 0.3, .dense = 0.4}).plan({.most_explained = 5});
  ASSERT_GT(result.ranked.size(), 5U);
  const PlanCandidate& best = result.ranked.front();
  for (std::size_t i = 1; i < 5; ++i) {
    const PlanCandidate& each = result.ranked[i];
    ASSERT_TRUE(each.explained);
    Nanoseconds sum{};
    Nanoseconds last = Nanoseconds::max();
    for (const LostGain& lost : lost_to(best, each)) {
      sum += lost.less;
      EXPECT_LE(std::chrono::abs(lost.less), last);
      last = std::chrono::abs(lost.less);
    }
    EXPECT_EQ(sum, each.prediction.step_time - best.prediction.step_time) << each.name;
  }
  EXPECT_FALSE(result.ranked[5].explained);
  const std::string text = explain(result, 3);
  EXPECT_THAT(text,
              StartsWith(fmt::format("ranked by throughput; {} simulated, 0 screened out", result.ranked.size())));
  EXPECT_THAT(text, HasSubstr("  1  " + best.name + "\n"));
  EXPECT_THAT(text, HasSubstr("     behind 1 +"));
  EXPECT_THAT(text, HasSubstr(" more\n"));
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
