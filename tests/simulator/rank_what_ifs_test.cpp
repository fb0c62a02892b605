#include "simulator/what_if/rank_what_ifs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/simulator/gpu_trace_text.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

/// Kernels of 2 us each behind launches of 5 us with 5 us of the framework's work between them: the GPU idles.
std::string launch_bound(int kernels) {
  std::string text = "main #step 0 100000\n";
  for (int i = 0; i < kernels; ++i) {
    text += fmt::format("main cudaLaunchKernel {} {} c{}\n", 10 * i, 10 * i + 5, i + 1);
    text += fmt::format("s7 small {} {} c{}\n", 10 * i + 7, 10 * i + 9, i + 1);
  }
  return text + fmt::format("main cudaDeviceSynchronize {} {} c999\n", 10 * kernels, 10 * kernels + 6);
}

class RankWhatIfs : public testing::Test {
 protected:
  explicit RankWhatIfs(Trace trace = gpu_trace_from(launch_bound(10))) : trace_(std::move(trace)) {
    TraceGraphOptions options;
    options.in_flight = false;
    Result<TraceGraph> graph = build_trace_graph(trace_, options);
    EXPECT_TRUE(graph.has_value()) << graph.error().message;
    case_.traces.push_back(&trace_);
    case_.graphs.push_back(std::move(*graph));
  }

  [[nodiscard]] WhatIfRanking rank(const WhatIf& base, const RankOptions& options = {}) const {
    Result<WhatIfRanking> ranking = rank_what_ifs(case_, base, options);
    EXPECT_TRUE(ranking.has_value()) << ranking.error().message;
    return ranking ? std::move(*ranking) : WhatIfRanking{};
  }
  static WhatIf members(int count) {
    WhatIf base;
    base.models = {count};
    return base;
  }

  Trace trace_;
  WhatIfCase case_;
};

TEST_F(RankWhatIfs, ClaimsNoGainOfAStepWhoseReplayIsFarOff) {
  case_.replay_errors = {0.04};
  EXPECT_TRUE(rank_what_ifs(case_, members(4)).has_value());
  case_.replay_errors = {-0.51};
  const Result<WhatIfRanking> ranking = rank_what_ifs(case_, members(4));
  ASSERT_FALSE(ranking.has_value());
  EXPECT_EQ(ranking.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(ranking.error().message, testing::HasSubstr("trace 1: a replay of the step as it was is -51% off"));
  const Result<WhatIfPrediction> prediction = predict_what_if(case_, members(4));
  ASSERT_TRUE(prediction.has_value());
  const auto is_told = [](const Doubt& doubt) {
    return doubt.grave && doubt.why.find("-51% off") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(prediction->doubts.begin(), prediction->doubts.end(), is_told));
}

TEST_F(RankWhatIfs, TriesEveryNumberOfStreamsBothWaysAndRefinesTheBest) {
  const WhatIfRanking ranking = rank(members(6));
  std::set<std::pair<int, bool>> tried;
  std::set<std::string> names;
  for (const RankedWhatIf& each : ranking.ranked) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name << " stands there twice";
    EXPECT_EQ(each.what_if.models, std::vector<int>{6});
    EXPECT_EQ(each.prediction.baseline, ranking.ranked[0].prediction.baseline);
    if (each.what_if.processes == Processes::kOne && each.what_if.fuse == FuseChoice::kNone &&
        each.what_if.launch_threads == 1)
      tried.insert({each.what_if.streams.value_or(0), each.what_if.graphs});
  }
  EXPECT_THAT(tried,
              testing::UnorderedElementsAre(testing::Pair(1, false), testing::Pair(2, false), testing::Pair(4, false),
                                            testing::Pair(6, false), testing::Pair(1, true), testing::Pair(2, true),
                                            testing::Pair(4, true), testing::Pair(6, true)));
  EXPECT_GT(ranking.ranked.size(), tried.size());
  EXPECT_TRUE(std::is_sorted(ranking.ranked.begin(), ranking.ranked.end(), [](const auto& a, const auto& b) {
    return a.prediction.step_time < b.prediction.step_time;
  }));
}

TEST_F(RankWhatIfs, FindsGraphsWhereLaunchesBind) {
  const WhatIfRanking ranking = rank(members(4));
  EXPECT_TRUE(ranking.ranked.front().what_if.graphs) << ranking.ranked.front().name;
  EXPECT_THAT(ranking.ranked.front().name, HasSubstr("--graphs"));
  EXPECT_GT(ranking.ranked.front().prediction.speedup, 1);
}

TEST_F(RankWhatIfs, PredictsEachWayAsItDoesByItself) {
  const WhatIfRanking ranking = rank(members(4));
  for (std::size_t i = 0; i < ranking.ranked.size(); ++i) {
    const RankedWhatIf& each = ranking.ranked[i];
    const auto alone = predict_what_if(case_, each.what_if);
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    EXPECT_EQ(alone->step_time, each.prediction.step_time) << each.name;
    EXPECT_EQ(each.prediction.trace.slices.empty(), i > 0) << "only the best's timeline is kept";
  }
}

TEST_F(RankWhatIfs, KeepsToWhatIsGiven) {
  WhatIf base = members(4);
  base.streams = 2;
  base.launch_threads = 2;
  RankOptions options;
  options.streams = options.launch_threads = false;
  for (const RankedWhatIf& each : rank(base, options).ranked) {
    EXPECT_EQ(each.what_if.streams, 2);
    EXPECT_EQ(each.what_if.launch_threads, 2);
  }
}

TEST_F(RankWhatIfs, AsksOneMemberOnlyHowItIsLaunched) {
  const WhatIfRanking ranking = rank(members(1));
  ASSERT_EQ(ranking.ranked.size(), 2U);
  EXPECT_NE(ranking.ranked[0].what_if.graphs, ranking.ranked[1].what_if.graphs);
}

/// A run of our own on a CPU: nothing is launched.
Trace run_on_a_cpu() {
  Trace trace = gpu_trace_from("main #step 0 1000\nmain @conv 0 400\nmain @gemm 400 900\n");
  trace.info.kind = TraceKind::kMeasured;
  return trace;
}

class RankOnACpu : public RankWhatIfs {
 protected:
  RankOnACpu() : RankWhatIfs(run_on_a_cpu()) {}
};

TEST_F(RankOnACpu, LeavesOutWhatIsOfAGpu) {
  for (const RankedWhatIf& each : rank(members(4)).ranked) {
    EXPECT_FALSE(each.what_if.graphs) << each.name;
    EXPECT_EQ(each.what_if.launch_threads, 1) << each.name;
    EXPECT_EQ(each.what_if.fuse, FuseChoice::kNone) << each.name;
  }
}

TEST_F(RankWhatIfs, RefusesALimitThatNobodyCanCheck) {
  RankOptions options;
  options.memory_limit = Bytes{1 << 30};
  const auto ranking = rank_what_ifs(case_, members(2), options);
  ASSERT_FALSE(ranking.has_value());
  EXPECT_EQ(ranking.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(ranking.error().message, HasSubstr("the trace records no allocations"));
}

/// Once so many ways have been predicted.
RankOptions cancelled_after(std::size_t ways, CancelToken& cancel) {
  RankOptions options;
  options.cancel = &cancel;
  options.progress = [ways, &cancel](std::size_t done) {
    if (done == ways) cancel.cancel();
  };
  return options;
}

class RankManyMembers : public RankWhatIfs {
 protected:
  RankManyMembers() : RankWhatIfs(gpu_trace_from(launch_bound(500))) {}
};

TEST_F(RankManyMembers, FindsTheBestWaysOfSixteen) {
  const WhatIfRanking few = rank(members(16));
  const WhatIfRanking many = rank(members(48));
  EXPECT_FALSE(many.interrupted);
  EXPECT_LT(many.ranked.size(), few.ranked.size());
  EXPECT_EQ(many.ranked.front().what_if.graphs, few.ranked.front().what_if.graphs);
  EXPECT_EQ(many.ranked.front().what_if.fuse, few.ranked.front().what_if.fuse);
  EXPECT_EQ(many.ranked.front().what_if.streams == 48, few.ranked.front().what_if.streams == 16);
  for (const RankedWhatIf& each : many.ranked) {
    EXPECT_EQ(each.what_if.models, std::vector<int>{48});
    const auto alone = predict_what_if(case_, each.what_if);
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    EXPECT_EQ(alone->step_time, each.prediction.step_time) << each.name;
  }
}

TEST_F(RankManyMembers, KeepTheBestSoFarOnceCancelled) {
  CancelToken cancel;
  const RankOptions options = cancelled_after(2, cancel);
  const WhatIfRanking ranking = rank(members(48), options);
  EXPECT_TRUE(ranking.interrupted);
  ASSERT_EQ(ranking.ranked.size(), 1U);
  EXPECT_EQ(ranking.ranked.front().what_if.models, std::vector<int>{48});
}

TEST_F(RankWhatIfs, KeepsTheBestSoFarOnceCancelled) {
  CancelToken cancel;
  const RankOptions options = cancelled_after(3, cancel);
  const WhatIfRanking ranking = rank(members(4), options);
  EXPECT_TRUE(ranking.interrupted);
  EXPECT_GE(ranking.ranked.size(), 3U);  // and those that were predicted at the same time
  EXPECT_EQ(ranking.refused.size(), 0U);
  const auto none = rank_what_ifs(case_, members(4), options);
  ASSERT_FALSE(none.has_value()) << "it is cancelled from the start";
  EXPECT_EQ(none.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace cohort
