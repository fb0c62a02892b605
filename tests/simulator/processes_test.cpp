// What-ifs of members in processes of their own.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/colocation/colocate.hpp"
#include "simulator/report/ranking_json.hpp"
#include "simulator/what_if/rank_what_ifs.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;
using testing::Not;

WhatIf in_processes(int count, Processes processes) {
  WhatIf what_if = models(count);
  what_if.processes = processes;
  return what_if;
}

std::string refusal(const Case& of, const WhatIf& what_if, ErrorCode code) {
  const Result<WhatIfPrediction> prediction = predict_what_if(of.what_if_case, what_if);
  if (prediction) return "accepted";
  EXPECT_EQ(prediction.error().code, code);
  return prediction.error().message;
}

std::string doubts_of(const WhatIfPrediction& prediction) {
  std::string all;
  for (const Doubt& doubt : prediction.doubts) all += doubt.why + "; ";
  return all;
}

TEST(MembersInProcesses, LaunchBesideEachOtherAndWaitForNoLock) {
  const Case launches = filling(Case(launch_bound(50)), 0.05F);
  WhatIf threads = models(4);
  threads.launch_threads = 4;
  const WhatIfPrediction one = launches.predict(threads);
  const WhatIfPrediction each = launches.predict(in_processes(4, Processes::kMps));
  EXPECT_GE(one.step_time, Nanoseconds(1'000'000)) << "50 launches of 5 us by each of 4 threads hold one lock";
  const auto alone = seconds(each.single);
  EXPECT_GT(seconds(each.step_time), 1.04 * alone);
  EXPECT_LT(seconds(each.step_time), 1.002 * host_slowdown(4) * alone);
  EXPECT_THAT(doubts_of(each), HasSubstr("hosts of 4 processes are taken to be 5.1% slower"));
  EXPECT_THAT(doubts_of(each), HasSubstr("each of 4 processes has a CUDA context"));
  EXPECT_THAT(doubts_of(one), Not(HasSubstr("CUDA context")));
  expect_sound(each);
}

TEST(MembersInProcesses, ShareTheGpuUnderMpsAsStreamsDo) {
  const Case full = filling(Case(kCopyAndCompute), 1);
  const WhatIfPrediction streams = full.predict(models(4));
  const WhatIfPrediction processes = full.predict(in_processes(4, Processes::kMps));
  EXPECT_NEAR(seconds(processes.step_time), seconds(streams.step_time), 0.01 * seconds(streams.step_time));
  EXPECT_GE(processes.step_time, Nanoseconds(4 * 489'000)) << "kernels that fill the device take their turns";
  const Case room = filling(Case(kCopyAndCompute), 0.25F);
  EXPECT_GT(room.predict(in_processes(4, Processes::kMps)).speedup, 1.8);
  expect_sound(processes);
}

TEST(MembersInProcesses, TakeTurnsOnTheGpuWithoutMps) {
  const Case room = filling(Case(kCopyAndCompute), 0.25F);
  const WhatIfPrediction sliced = room.predict(in_processes(4, Processes::kTimeSlicing));
  EXPECT_GE(sliced.step_time, Nanoseconds(4 * 489'000)) << "kernels that would leave room for others take turns, too";
  EXPECT_GE(sliced.lower_bound, Nanoseconds(4 * 489'000)) << "all kernels, one at a time";
  EXPECT_GT(sliced.speedup, 1) << "copies of one process overlap kernels of another";
  EXPECT_THAT(doubts_of(sliced), HasSubstr("steps take at least as long as predicted"));
  EXPECT_EQ(sliced.confidence(), Confidence::kLow);
  expect_sound(sliced);
}

TEST(MembersInProcesses, MayBeOfSeveralTraces) {
  const Case two =
      filling(Case(std::vector<Trace>{gpu_trace_from(launch_bound(50)), gpu_trace_from(launch_bound(20))}), 0.05F);
  const WhatIfPrediction one_program = two.predict({});
  WhatIf what_if;
  what_if.processes = Processes::kMps;
  const WhatIfPrediction each = two.predict(what_if);
  EXPECT_NEAR(one_program.speedup, 1, 0.05) << "one thread launches for both";
  EXPECT_GT(each.speedup, 1.3) << "700 us of two hosts in 500 us";
  expect_sound(each);
}

TEST(MembersInProcesses, RefuseWhatTheyCannotShare) {
  const Case recorded{kCopyAndCompute};
  const auto refused = [&](const std::function<void(WhatIf&)>& change) {
    WhatIf what_if = in_processes(2, Processes::kMps);
    change(what_if);
    return refusal(recorded, what_if, ErrorCode::kUsage);
  };
  EXPECT_THAT(refused([](WhatIf& what_if) { what_if.streams = 2; }), HasSubstr("--processes mps and --streams"));
  EXPECT_THAT(refused([](WhatIf& what_if) { what_if.launch_threads = 2; }), HasSubstr("--launch-threads"));
  EXPECT_THAT(refused([](WhatIf& what_if) { what_if.shared_input = true; }), HasSubstr("--input shared"));
  EXPECT_THAT(refused([](WhatIf& what_if) { what_if.fuse = FuseChoice::kAuto; }), HasSubstr("--fuse"));
  EXPECT_EQ(refused([](WhatIf& what_if) { what_if.graphs = true; }), "accepted");
  EXPECT_EQ(refused([](WhatIf& what_if) { what_if.models = {48}; }), "accepted");
  EXPECT_THAT(refused([](WhatIf& what_if) { what_if.models = {49}; }), HasSubstr("at most 48 clients"));
  EXPECT_THAT(refusal(Case(std::vector<Trace>{cpu_trace()}), in_processes(2, Processes::kMps), ErrorCode::kUsage),
              HasSubstr("--processes mps: trace 1 was recorded on cpu, which is not a GPU"));
  const Case streams(R"(
    main cudaLaunchKernel       0    4  c1
    main cudaLaunchKernel       5    9  c2
    main cudaDeviceSynchronize 10  120  c3
    s7   a                     10  100  c1
    s8   b                     15  100  c2)");
  EXPECT_THAT(refusal(streams, in_processes(2, Processes::kTimeSlicing), ErrorCode::kNegativeAnswer),
              HasSubstr("has kernels on 2 streams"));
  EXPECT_EQ(refusal(streams, in_processes(2, Processes::kMps), ErrorCode::kUsage), "accepted");
}

TEST(MembersInProcesses, AreRankedWhereNothingIsShared) {
  const Case launches = filling(Case(launch_bound(10)), 0.05F);
  const auto processes_in = [&](const WhatIf& base, const RankOptions& options = {}) {
    const Result<WhatIfRanking> ranking = rank_what_ifs(launches.what_if_case, base, options);
    EXPECT_TRUE(ranking) << ranking.error().message;
    std::vector<std::string> names;
    if (!ranking) return names;
    for (const RankedWhatIf& each : ranking->ranked) {
      if (each.what_if.processes != Processes::kOne) names.push_back(each.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_THAT(processes_in(models(4)), testing::ElementsAre("--processes mps", "--processes mps --graphs"));
  EXPECT_THAT(processes_in(models(1)), testing::IsEmpty());
  RankOptions without;
  without.processes = false;
  EXPECT_THAT(processes_in(models(4), without), testing::IsEmpty());
  WhatIf given = models(4);
  given.streams = 2;
  EXPECT_THAT(processes_in(given), testing::IsEmpty());
  RankOptions one_thread;
  one_thread.launch_threads = false;
  EXPECT_THAT(processes_in(models(4), one_thread), testing::IsEmpty()) << "the number of launch threads is given";
  EXPECT_THAT(processes_in(models(49)), testing::IsEmpty()) << "an MPS server has at most 48 clients";
}

TEST(MembersInProcesses, AreToldInJson) {
  const Case launches = filling(Case(launch_bound(10)), 0.05F);
  const Result<WhatIfRanking> ranking = rank_what_ifs(launches.what_if_case, models(4));
  ASSERT_TRUE(ranking) << ranking.error().message;
  const nlohmann::ordered_json json = to_json(*ranking);
  std::size_t of_mps = 0;
  for (const auto& way : json["ranked"]) {
    const bool named = way["name"].get<std::string>().find("--processes mps") != std::string::npos;
    EXPECT_EQ(way["processes"], named ? "mps" : "one");
    if (named) ++of_mps;
  }
  EXPECT_EQ(of_mps, 2U);
}

TEST(MembersInProcesses, DoNotTakeThePlaceOfStreamsAmongManyMembers) {
  // Large enough that ways are ranked with 16 members; launches bind, so processes come first.
  const Case launches = filling(Case(launch_bound(1'600)), 0.01F);
  const Result<WhatIfRanking> ranking = rank_what_ifs(launches.what_if_case, models(40));
  ASSERT_TRUE(ranking) << ranking.error().message;
  std::size_t of_one_process = 0;
  for (const RankedWhatIf& each : ranking->ranked) {
    if (each.what_if.processes == Processes::kOne) ++of_one_process;
  }
  EXPECT_GE(of_one_process, 3U);
  EXPECT_LT(of_one_process, ranking->ranked.size()) << "processes are there as well";
}

}  // namespace
}  // namespace cohort
