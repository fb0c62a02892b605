#include "executor/profile/case_selection.hpp"

#include <gmock/gmock.h>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

DeviceInfo device_with_shared_cache(std::int64_t bytes) {
  DeviceInfo info = reference_device_info(2);
  info.settings[std::string(kSharedCacheSetting)] = std::to_string(bytes);
  return info;
}

TEST(UsualFootprints, LieAroundTheEndOfTheCacheThatCoresShare) {
  EXPECT_THAT(usual_footprints(device_with_shared_cache(32 << 20)),
              ElementsAre(Bytes{12 << 20}, Bytes{20 << 20}, Bytes{32 << 20}, Bytes{64 << 20}));
  EXPECT_THAT(usual_footprints(reference_device_info(2)), ElementsAre(Bytes{4 << 20}, Bytes{24 << 20}, Bytes{96 << 20}))
      << "where it is not known";
}

TEST(UsualFootprints, LieBetweenACoresCacheAndASharedOneFarLarger) {
  DeviceInfo server = device_with_shared_cache(std::int64_t{384} << 20);
  server.settings[std::string(kCoreCacheSetting)] = std::to_string(1 << 20);
  EXPECT_THAT(usual_footprints(server),
              ElementsAre(Bytes{4 << 20}, Bytes{144 << 20}, Bytes{240 << 20}, Bytes{256 << 20}, Bytes{256 << 20}));
}

/// Calls in a row and cores at once of the colder cases of an mlp's first layer, once it is known to take `time`.
std::vector<std::pair<int, int>> colder_calls(const std::vector<std::int64_t>& calls_in_footprints, Nanoseconds time,
                                              int width = 1) {
  const HostBackend device(make_reference_kernels(2), reference_device_info(2));
  const Batch batch = equal_members("mlp", 1, {{"hidden", "256"}, {"inputs", "784"}}, 1);
  const Model& model = batch.loaded[0]->model;
  const ProfiledOp op = profiled_op(model, model.ops[0]);
  ProfileOptions options;
  options.footprints.emplace();
  for (const std::int64_t calls : calls_in_footprints)
    options.footprints->push_back(call_bytes(op.single.model) * calls * width + Bytes{1});
  std::vector<TimedCase> warm;
  warm.emplace_back(OpCase{});
  warm.back().op_case.width = width;
  if (width > 1) warm.back().op_case.strategy = Strategy::kStridedBatch;
  warm.back().timing.calls.push_back(ProfileRecord{});
  warm.back().timing.calls.back().time = time;
  std::vector<std::pair<int, int>> calls;
  for (const TimedCase& timed : colder_cases(device, options, op, warm))
    calls.emplace_back(timed.op_case.copies, timed.op_case.streams);
  return calls;
}

TEST(ColderCases, ReachTheFootprintsOnOneCoreAndOnAllTogether) {
  EXPECT_THAT(colder_calls({1, 6, 40}, std::chrono::microseconds(7)),
              ElementsAre(Pair(6, 1), Pair(40, 1), Pair(1, 2), Pair(3, 2), Pair(20, 2)))
      << "one call on each core: what two members, one on each, find in the cores' own caches";
}

TEST(ColderCases, TakeEnoughCallsOnEachCoreThatTheyMeet) {
  EXPECT_THAT(colder_calls({6, 40}, std::chrono::microseconds(1)),
              ElementsAre(Pair(6, 1), Pair(40, 1), Pair(5, 2), Pair(20, 2)));
}

TEST(ColderCases, HoldNoMoreCallsThanAsked) {
  const int most = ProfileOptions().most_copies;
  EXPECT_THAT(colder_calls({1000}, Nanoseconds(1)), ElementsAre(Pair(most, 1), Pair(most / 2, 2)));
  EXPECT_THAT(colder_calls({1000}, Nanoseconds(1), 16), ElementsAre(Pair(most / 16, 1), Pair(most / 32, 2)));
}

TEST(ColderCases, LeaveOutFootprintsOfLongCallsOfManyMembers) {
  EXPECT_THAT(colder_calls({6, 40}, std::chrono::milliseconds(7), 4), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(colder_calls({6}, std::chrono::milliseconds(7)), ElementsAre(Pair(6, 1), Pair(1, 2), Pair(3, 2)));
}

}  // namespace
}  // namespace cohort::testing
