#include "executor/profile/case_selection.hpp"

#include <gmock/gmock.h>

#include "executor/host/host_session.hpp"
#include "executor/recording/recording_backend.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using namespace literals;
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

/// The colder cases of an mlp's op on two cores, once it is known to take `time` for `width` members.
class ColderCases : public ::testing::Test {
 protected:
  std::vector<TimedCase> cases(std::size_t op_index, const std::vector<std::int64_t>& calls_in_footprints,
                               Nanoseconds time, int width = 1) const {
    DeviceInfo info = reference_device_info(2);
    info.settings[std::string(kCoreCacheSetting)] = std::to_string(core_cache);
    const HostBackend device(make_reference_kernels(2), info);
    const Batch batch = equal_members("mlp", 1, {{"hidden", "256"}, {"inputs", "784"}}, 1);
    const Model& model = batch.loaded[0]->model;
    const ProfiledOp op = profiled_op(model, model.ops[op_index], Layout::kNhwc);
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
    return colder_cases(device, options, op, warm);
  }

  /// Calls in a row and cores at once, of the first op.
  [[nodiscard]] std::vector<std::pair<int, int>> calls(const std::vector<std::int64_t>& calls_in_footprints,
                                                       Nanoseconds time, int width = 1) const {
    std::vector<std::pair<int, int>> calls;
    for (const TimedCase& timed : cases(0, calls_in_footprints, time, width))
      calls.emplace_back(timed.op_case.copies, timed.op_case.streams);
    return calls;
  }

  std::int64_t core_cache = 1 << 20;
};

TEST_F(ColderCases, ReachTheFootprintsOnOneCoreAndOnAllTogether) {
  EXPECT_THAT(calls({1, 6, 40}, std::chrono::microseconds(7)),
              ElementsAre(Pair(6, 1), Pair(40, 1), Pair(1, 2), Pair(3, 2), Pair(20, 2)))
      << "one call on each core: what two members, one on each, find in the cores' own caches";
}

TEST_F(ColderCases, TakeEnoughCallsOnEachCoreThatTheyMeet) {
  EXPECT_THAT(calls({6, 40}, std::chrono::microseconds(1)),
              ElementsAre(Pair(6, 1), Pair(40, 1), Pair(5, 2), Pair(20, 2)));
}

TEST_F(ColderCases, HoldNoMoreCallsThanAsked) {
  const int most = ProfileOptions().most_copies;
  EXPECT_THAT(calls({1000}, Nanoseconds(1)), ElementsAre(Pair(most, 1), Pair(most / 2, 2)));
  EXPECT_THAT(calls({1000}, Nanoseconds(1), 16), ElementsAre(Pair(most / 16, 1), Pair(most / 32, 2)));
}

TEST_F(ColderCases, LeaveOutFootprintsOfLongCallsOfManyMembers) {
  EXPECT_THAT(calls({6, 40}, std::chrono::milliseconds(7), 4), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(calls({6}, std::chrono::milliseconds(7)), ElementsAre(Pair(6, 1), Pair(1, 2), Pair(3, 2)));
}

TEST_F(ColderCases, ReadWhatWasJustWrittenWhereACoreStillCachesIt) {
  const auto all_share_input = [&](std::size_t op_index) {
    const std::vector<TimedCase> all = cases(op_index, {6}, std::chrono::microseconds(7));
    EXPECT_EQ(all.size(), 3U);
    return std::all_of(all.begin(), all.end(), [](const TimedCase& timed) { return timed.op_case.shared_input; });
  };
  constexpr std::size_t kFirst = 0, kSecond = 1;  // products of the model's input, and of 256 values
  EXPECT_TRUE(all_share_input(kSecond));
  EXPECT_FALSE(all_share_input(kFirst)) << "the model's input was written by nobody";
  core_cache = 1 << 10;
  EXPECT_FALSE(all_share_input(kSecond)) << "1 KiB of values fill the cache";
}

/// Widths at which a product is timed once four members are known to take so long, and one `alone`.
std::vector<int> wider_than_four(Nanoseconds of_four, Nanoseconds alone) {
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const Model& model = batch.loaded[0]->model;
  const ProfiledOp op = profiled_op(model, model.ops[1], Layout::kNhwc);
  std::vector<TimedCase> timed;
  timed.emplace_back(OpCase{});
  timed.back().op_case.strategy = Strategy::kStridedBatch;
  timed.back().op_case.width = 4;
  timed.back().timing.calls.push_back(ProfileRecord{});
  timed.back().timing.calls.back().time = of_four;
  std::vector<int> widths;
  for (const TimedCase& wider : fused_cases({}, op, {{{"", 1}, alone}}, timed)) widths.push_back(wider.op_case.width);
  return widths;
}

TEST(FusedCases, AreTimedWiderWhereThatPromisesAGain) {
  EXPECT_THAT(wider_than_four(30_us, 10_us), ElementsAre(16));
  EXPECT_THAT(wider_than_four(50_us, 10_us), ::testing::IsEmpty());
}

TEST(FusedCases, OfShortCallsAreTimedWiderStillAsMuchOfThoseIsOverhead) {
  EXPECT_THAT(wider_than_four(19_us, 3_us), ElementsAre(16, 64));
}

/// A convolution's cases that copy members' parts out of a stack, on one core that reads no strided tensors.
TEST(SplitCases, CopyEachMembersPartOutOfTheStack) {
  RecordingOptions device;
  device.accepts_strides = false;
  const RecordingBackend backend(device);
  const Batch batch = equal_members("lenet5", 1, {}, 1);
  const Model& model = batch.loaded[0]->model;
  ProfileOptions options;
  options.fused_widths = {2, 3};
  options.footprints.emplace(1, Bytes{1 << 20});
  ProfiledOp op = profiled_op(model, model.ops[0], Layout::kNhwc);
  EXPECT_TRUE(has_stacked_channels(op));
  const auto splits = [&] {
    auto cases = warm_cases(backend, options, op);
    EXPECT_TRUE(cases) << cases.error().message;
    std::erase_if(*cases, [](const TimedCase& timed) { return !timed.op_case.splits; });
    return std::move(*cases);
  };
  EXPECT_TRUE(splits().empty()) << "another op writes stacks of that shape";
  op.times_split = true;
  std::vector<TimedCase> warm = splits();
  ASSERT_EQ(warm.size(), 2U);
  const std::vector<std::string> stacks = {"Copy [1, 6, 28, 28] out of a stack of 2",
                                           "Copy [1, 6, 28, 28] out of a stack of 3"};
  for (std::size_t i = 0; i < warm.size(); ++i) {
    EXPECT_TRUE(warm[i].copies_only);
    const auto program = case_program(backend, op.single.model, warm[i].op_case);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(std::count_if(program->steps.begin(), program->steps.end(),
                            [&](const Step& step) { return step.cost.signature == stacks[i]; }),
              static_cast<std::ptrdiff_t>(i) + 2);
    warm[i].timing.calls.push_back(ProfileRecord{});
  }
  const std::vector<TimedCase> colder = colder_cases(backend, options, op, warm);
  EXPECT_EQ(colder.size(), 2U);
  for (const TimedCase& timed : colder)
    EXPECT_TRUE(timed.op_case.splits && timed.copies_only && timed.op_case.copies > 1);
}

}  // namespace
}  // namespace cohort::testing
