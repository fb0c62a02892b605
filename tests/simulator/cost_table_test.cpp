#include "simulator/costs/cost_table.hpp"

#include <gtest/gtest.h>

#include "simulator/costs/recorded_catalog.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

ProfileRecord at(ProfileRecord base, Bytes footprint, int neighbours, std::int64_t nanoseconds) {
  base.footprint = footprint;
  base.neighbours = neighbours;
  base.time = Nanoseconds(nanoseconds);
  return base;
}

CostKey serial(std::string signature) { return {std::move(signature), Strategy::kSerial, 1, 1, "only"}; }
CostKey strided(int width) { return {"gemm", Strategy::kStridedBatch, width, 1, "only"}; }

Cost cost_of(const CostTable& table, const CostKey& key, const CostContext& context = {}) {
  const Result<Cost> cost = table.cost(key, context);
  EXPECT_TRUE(cost.has_value()) << cost.error().message;
  return cost.value_or(Cost{});
}

constexpr Cost profiled(std::int64_t ns) { return {Nanoseconds(ns), CostOrigin::kProfiled}; }
constexpr Cost interpolated(std::int64_t ns) { return {Nanoseconds(ns), CostOrigin::kInterpolated}; }
constexpr Cost analytic(std::int64_t ns) { return {Nanoseconds(ns), CostOrigin::kAnalytic}; }

const ProfileRecord kConv = record("conv", Strategy::kSerial, 1, 1, 0);

TEST(CostTable, TakesTheMedianOfRepeatedRecords) {
  const CostTable odd(std::vector{at(kConv, {}, 0, 9), at(kConv, {}, 0, 1000), at(kConv, {}, 0, 11)});
  EXPECT_EQ(cost_of(odd, serial("conv")), profiled(11));
  const CostTable even(std::vector{at(kConv, {}, 0, 10), at(kConv, {}, 0, 20)});
  EXPECT_EQ(cost_of(even, serial("conv")), profiled(15));
}

TEST(CostTable, InterpolatesInTheLogarithmOfTheFootprintAndClampsBeyond) {
  const CostTable table(std::vector{at(kConv, 1_KiB, 0, 100), at(kConv, 16_KiB, 0, 200)});
  EXPECT_EQ(cost_of(table, serial("conv"), {1_KiB, 0}), profiled(100));
  EXPECT_EQ(cost_of(table, serial("conv"), {4_KiB, 0}), profiled(150));
  EXPECT_EQ(cost_of(table, serial("conv"), {8_KiB, 0}), profiled(175));
  EXPECT_EQ(cost_of(table, serial("conv"), {Bytes{1}, 0}), profiled(100));
  EXPECT_EQ(cost_of(table, serial("conv"), {1_MiB, 0}), profiled(200));
}

TEST(CostTable, KeepsToTheCachedTimeWhileACallFitsIntoTheCoresCaches) {
  ProfileRecord two_threads = at(kConv, 1_KiB, 0, 60);
  two_threads.threads = 2;
  ProfileRecord two_threads_cold = two_threads;
  two_threads_cold.footprint = 64_KiB;
  two_threads_cold.time = 160_ns;
  const CostTable table(std::vector{at(kConv, 1_KiB, 0, 100), at(kConv, 2_KiB, 0, 110), at(kConv, 64_KiB, 0, 200),
                                    at(kConv, 1_KiB, 1, 110), at(kConv, 64_KiB, 1, 310), two_threads, two_threads_cold},
                        Bytes{21846});  // three quarters of which are 16 KiB
  EXPECT_EQ(cost_of(table, serial("conv"), {Bytes{1448}, 0}).time, 105_ns) << "both neighbours are cached";
  EXPECT_EQ(cost_of(table, serial("conv"), {15_KiB, 0}), profiled(110));
  EXPECT_EQ(cost_of(table, serial("conv"), {Bytes{21152}, 0}), profiled(155)) << "half of the way, in the logarithm";
  EXPECT_EQ(cost_of(table, serial("conv"), {28_KiB, 0}), profiled(200)) << "none of it is found again";
  EXPECT_EQ(cost_of(table, serial("conv"), {31_KiB, 1}), profiled(110)) << "two caches, one a core";
  CostKey on_two = serial("conv");
  on_two.threads = 2;
  EXPECT_EQ(cost_of(table, on_two, {31_KiB, 0}), profiled(60)) << "each thread has half of the weights";
  EXPECT_EQ(cost_of(table, on_two, {1_MiB, 0}), profiled(160));
}

TEST(CostTable, ReadsTheCoresCacheFromTheProfilesDevice) {
  Trace profile = fake_profile({at(kConv, 1_KiB, 0, 100), at(kConv, 16_KiB, 0, 200)}, 2);
  profile.info.device.settings["core_cache_bytes"] = "8192";
  const Result<CostTable> table = CostTable::from(std::vector<const Trace*>{&profile});
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(cost_of(*table, serial("conv"), {6_KiB, 0}), profiled(100));
}

TEST(CostTable, TakesOffWhatEventsAroundAGpusOpsAdd) {
  const auto event = [](std::int64_t time) {
    ProfileRecord overhead = record(std::string(kEventOverheadRecord), Strategy::kSerial, 1, 1, time);
    overhead.algorithm.clear();
    return overhead;
  };
  ProfileRecord decode = event(900);
  decode.signature = kInputDecodeRecord;
  const ProfileRecord op = record("conv", Strategy::kSerial, 1, 1, 1000);
  const ProfileRecord tiny = record("relu", Strategy::kSerial, 1, 1, 410);
  ASSERT_FALSE(op.algorithm.empty());
  const Trace of_gpu = fake_profile({op, tiny, decode, event(399), event(400), event(5000)}, 1);
  const Trace of_cpu = fake_profile({op, tiny, decode}, 1);
  const auto with_events = CostTable::from(std::vector<const Trace*>{&of_gpu});
  ASSERT_TRUE(with_events.has_value()) << with_events.error().message;
  EXPECT_EQ(cost_of(*with_events, serial("conv"), {{}, 0}), profiled(600));
  EXPECT_EQ(cost_of(*with_events, serial("relu"), {{}, 0}).time, 102_ns) << "a quarter of it stays";
  EXPECT_EQ(with_events->stage(kInputDecodeRecord), 900_ns) << "not between events";
  const auto without = CostTable::from(std::vector<const Trace*>{&of_cpu});
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(cost_of(*without, serial("conv"), {{}, 0}), profiled(1000));
}

TEST(CostTable, SlowsDownWithNeighboursAsRecorded) {
  const CostTable table(std::vector{at(kConv, {}, 0, 100), at(kConv, {}, 4, 180)});
  EXPECT_EQ(cost_of(table, serial("conv"), {{}, 0}), profiled(100));
  EXPECT_EQ(cost_of(table, serial("conv"), {{}, 1}), profiled(120));
  EXPECT_EQ(cost_of(table, serial("conv"), {{}, 4}), profiled(180));
  EXPECT_EQ(cost_of(table, serial("conv"), {{}, 9}), profiled(180));
}

TEST(CostTable, CarriesTheSlowdownOfOneFootprintToOthers) {
  const CostTable table(std::vector{at(kConv, 1_KiB, 0, 100), at(kConv, 16_KiB, 0, 200), at(kConv, 1_KiB, 1, 150)});
  EXPECT_EQ(cost_of(table, serial("conv"), {16_KiB, 1}), profiled(300));
}

TEST(CostTable, PutsUnrecordedWidthsOnTheLineThroughTheNearestTwo) {
  const CostTable table(std::vector{record("gemm", Strategy::kSerial, 1, 1, 50),
                                    record("gemm", Strategy::kStridedBatch, 4, 1, 100),
                                    record("gemm", Strategy::kStridedBatch, 16, 1, 220)});
  EXPECT_EQ(cost_of(table, strided(4)), profiled(100));
  EXPECT_EQ(cost_of(table, strided(16)), profiled(220));
  EXPECT_EQ(cost_of(table, strided(10)), interpolated(160));
  EXPECT_EQ(cost_of(table, strided(64)), interpolated(700));
  EXPECT_EQ(cost_of(table, strided(2)), interpolated(80));
}

TEST(CostTable, NeverPromisesLessForMoreMembersThanRecorded) {
  const CostTable table(std::vector{record("gemm", Strategy::kStridedBatch, 4, 1, 100),
                                    record("gemm", Strategy::kStridedBatch, 16, 1, 40)});
  EXPECT_EQ(cost_of(table, strided(64)), interpolated(100));
}

TEST(CostTable, DrawsTheLineThroughTheSingleOpWhereOneWidthWasRecorded) {
  const CostTable table(
      std::vector{record("gemm", Strategy::kSerial, 1, 1, 40), record("gemm", Strategy::kStridedBatch, 4, 1, 100)});
  EXPECT_EQ(cost_of(table, strided(8)), interpolated(180));
}

TEST(CostTable, TakesNoOtherAlgorithmsWidthsForOneThatWasRecorded) {
  ProfileRecord slow = record("gemm", Strategy::kStridedBatch, 8, 1, 320);
  slow.algorithm = "slow";
  const CostTable table(std::vector{record("gemm", Strategy::kSerial, 1, 1, 40), slow,
                                    record("gemm", Strategy::kStridedBatch, 4, 1, 50),
                                    record("gemm", Strategy::kStridedBatch, 16, 1, 60)});
  CostKey key = strided(4);
  key.algorithm = "slow";
  EXPECT_EQ(cost_of(table, key), interpolated(160)) << "between the single op and eight";
}

TEST(CostTable, MultipliesTheSingleOpWhereAFusedFormWasNeverRecorded) {
  const CostTable table(std::vector{record("gemm", Strategy::kSerial, 1, 1, 40)});
  EXPECT_EQ(cost_of(table, strided(8)), analytic(320));
}

TEST(CostTable, TakesTheFastestAlgorithmWhereTheOneAskedForWasNotRecorded) {
  ProfileRecord other = kConv;
  other.algorithm = "other";
  const CostTable table(std::vector{at(kConv, {}, 0, 100), at(other, {}, 0, 70)});
  EXPECT_EQ(cost_of(table, serial("conv")), profiled(100));
  EXPECT_EQ(cost_of(table, {"conv", Strategy::kSerial, 1, 1, "third"}), interpolated(70)) << "stands in";
  EXPECT_EQ(cost_of(table, {"conv", Strategy::kSerial, 1, 1, ""}), profiled(70));
  EXPECT_EQ(cost_of(table, {"conv", Strategy::kSerial, 1, 1, ""}), profiled(70));
}

ProfileRecord launch(std::string signature, int width, std::string algorithm, std::int64_t nanoseconds) {
  ProfileRecord result = record(std::move(signature), Strategy::kGroupedGemm, width, 1, nanoseconds);
  result.algorithm = std::move(algorithm);
  return result;
}

CostKey launch_key(std::string signature, int width, std::string algorithm, std::string alone = "") {
  return {std::move(signature), Strategy::kGroupedGemm, width, 1, std::move(algorithm), std::move(alone)};
}

TEST(CostTable, CostsALaunchOfEqualOpsByThoseOfOtherWidths) {
  const CostTable table(std::vector{record("a + Relu", Strategy::kSerial, 1, 1, 50),
                                    launch("Group: 4 * a + Relu", 4, "x", 60),
                                    launch("Group: 16 * a + Relu", 16, "x", 180)});
  EXPECT_EQ(cost_of(table, launch_key("Group: 4 * a + Relu", 4, "x")), profiled(60));
  EXPECT_EQ(cost_of(table, launch_key("Group: 8 * a + Relu", 8, "x")), interpolated(100));
  EXPECT_TRUE(table.has(launch_key("Group: 8 * a + Relu", 8, "x")));
  EXPECT_FALSE(table.has(launch_key("Group: 8 * a + Relu", 8, "y")));
  EXPECT_TRUE(table.has_group("a + Relu", 1));
}

TEST(CostTable, CostsALaunchOfDifferentOpsByEachOnesPart) {
  const std::vector both{launch("Group: 4 * a", 4, "x", 60), launch("Group: 4 * b", 4, "x", 100)};
  EXPECT_EQ(cost_of(CostTable(both), launch_key("Group: 1 * a + 3 * b", 4, "x")), interpolated(90));
  std::vector whole = both;
  whole.push_back(launch("Group: 1 * a + 3 * b", 4, "x", 95));
  EXPECT_EQ(cost_of(CostTable(whole), launch_key("Group: 1 * a + 3 * b", 4, "x")), profiled(95));
}

TEST(CostTable, CostsALaunchThatWasNotRecordedByItsOpsAloneInTheSameWay) {
  std::vector records{record("a", Strategy::kSerial, 1, 1, 50), record("b", Strategy::kSerial, 1, 1, 70)};
  records.push_back(records.front());
  records.back().algorithm = "slow";
  records.back().time = Nanoseconds(90);
  const CostTable table(records);
  EXPECT_EQ(cost_of(table, launch_key("Group: 2 * a + 1 * b", 3, "x")), analytic(170));
  EXPECT_EQ(cost_of(table, launch_key("Group: 2 * a + 1 * b", 3, "x", "slow")), analytic(250));
}

TEST(CostTable, CostsAnOpMadeForPartOfAGpuAsRecordedElseAsMadeForAll) {
  const CostTable table(std::vector{record("a", Strategy::kSerial, 1, 1, 50),
                                    record("a", Strategy::kStridedBatch, 4, 1, 90),
                                    record(signature_for(66, "a"), Strategy::kSerial, 1, 1, 70)});
  EXPECT_EQ(signature_for(66, "a"), "a for 66 multiprocessors");
  EXPECT_EQ(for_all_multiprocessors("a for 66 multiprocessors"), "a");
  EXPECT_EQ(cost_of(table, serial("a")), profiled(50));
  EXPECT_EQ(cost_of(table, serial(signature_for(66, "a"))), profiled(70));
  EXPECT_EQ(cost_of(table, serial(signature_for(33, "a"))), profiled(50));
  const CostKey fused{signature_for(66, "a"), Strategy::kStridedBatch, 4, 1, "only"};
  EXPECT_EQ(cost_of(table, fused), profiled(90));
}

TEST(CostTable, CostsACopyByItsSize) {
  const CostTable table(std::vector{record("Copy [10, 10]", Strategy::kSerial, 1, 1, 100),
                                    record("Copy [30, 10]", Strategy::kSerial, 1, 1, 200)});
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10]")), profiled(100));
  EXPECT_EQ(cost_of(table, serial("Copy [5, 40]")), interpolated(150));
  EXPECT_EQ(cost_of(table, serial("Copy [600]")), interpolated(400));
  EXPECT_EQ(cost_of(table, serial("Copy [50]")), interpolated(50));
}

TEST(CostTable, CostsACopyOutOfAStackByTheStack) {
  const auto copy = [](const std::string& what, std::int64_t ns) {
    return record("Copy [" + what, Strategy::kSerial, 1, 1, ns);
  };
  const CostTable table(std::vector{copy("10, 10]", 10), copy("10, 10] out of a stack of 4", 100),
                                    copy("10, 10] out of a stack of 16", 220), copy("20, 10] out of a stack of 4", 300),
                                    copy("10, 10] into a stack of 4", 70), copy("10, 10] into a stack of 16", 50)});
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10]")), profiled(10));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] out of a stack of 16")), profiled(220));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] out of a stack of 10")), interpolated(160));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] out of a stack of 64")), interpolated(700));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] out of a stack of 2")), interpolated(100));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] into a stack of 64")), interpolated(50))
      << "never less than smaller ones";
  EXPECT_EQ(cost_of(table, serial("Copy [5, 30] out of a stack of 4")), interpolated(200)) << "by what it moves";
  EXPECT_EQ(cost_of(table, serial("Copy [5, 30] out of a stack of 16")), interpolated(260));
}

TEST(RecordedCatalog, HasPartsCopiedOutOfStacksWhereTheProfileHas) {
  const CostTable costs(std::vector{record("Copy [2, 6, 4, 4] out of a stack of 16", Strategy::kSerial, 1, 1, 10),
                                    record("Copy [2, 8, 4, 4] into a stack of 16", Strategy::kSerial, 1, 1, 10)});
  const RecordedCatalog catalog(costs, 1);
  const auto accepts = [&](std::int64_t channels, std::int64_t stacked, OpAttributes attributes) {
    OpCall call;
    call.attributes = std::move(attributes);
    call.inputs = {View{{}, 0, {2, channels, 4, 4}, {16 * stacked, 1, 4 * stacked, stacked}}};
    return catalog.accepts_strides(call);
  };
  EXPECT_FALSE(accepts(6, 24, Pool{}));
  EXPECT_TRUE(accepts(6, 6, Pool{})) << "it is dense";
  EXPECT_TRUE(accepts(8, 24, Pool{})) << "nothing was copied out";
  EXPECT_FALSE(accepts(6, 24, Gemm{})) << "a sample's elements lie apart";
  OpCall rows;
  rows.attributes = Gemm{};
  rows.inputs = {View{{}, 0, {2, 6, 4, 4}, {4 * 96, 16, 4, 1}}};
  EXPECT_TRUE(catalog.accepts_strides(rows)) << "products read rows at any distance";
  // What several members' product reads of one stack of channels, and of rows one behind the other.
  rows.strategy = Strategy::kStridedBatch;
  rows.width = 4;
  rows.inputs = {View{{}, 0, {4, 2, 6, 4, 4}, {6, 16 * 24, 1, 4 * 24, 24}}};
  EXPECT_FALSE(catalog.accepts_strides(rows));
  rows.inputs = {View{{}, 0, {4, 2, 6, 4, 4}, {192, 96, 16, 4, 1}}};
  EXPECT_TRUE(catalog.accepts_strides(rows));
}

TEST(CostTable, CostsAReshapeThatWasNotRecordedAsTheCopyOfAsMuch) {
  const CostTable table(std::vector{record("Copy [2, 50]", Strategy::kSerial, 1, 1, 100),
                                    record("Copy [2, 500]", Strategy::kSerial, 1, 1, 1000)});
  EXPECT_EQ(cost_of(table, serial("Reshape x[10, 5, 2] -> [50, 2]")).time, 100_ns);
  EXPECT_FALSE(table.alternatives(serial("Reshape x[10, 5, 2] -> [50, 2]")).empty());
  EXPECT_FALSE(CostTable(std::vector{kConv}).cost(serial("Reshape x[2] -> [2, 1]"), {}));
}

TEST(CostTable, ScalesTheOneCopyThatWasRecorded) {
  const CostTable table(std::vector{record("Copy [10, 10]", Strategy::kSerial, 1, 1, 100)});
  EXPECT_EQ(cost_of(table, serial("Copy [40, 10]")), interpolated(400));
  EXPECT_EQ(cost_of(table, serial("Copy [5, 10]")), interpolated(50));
}

TEST(CostTable, CostsACopyOfAKindThatWasNotRecordedAsAnyOther) {
  const CostTable table(std::vector{record("Copy [10, 10]", Strategy::kSerial, 1, 1, 10),
                                    record("Copy [20, 10]", Strategy::kSerial, 1, 1, 30)});
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] out of a stack of 16")), interpolated(10));
  EXPECT_EQ(cost_of(table, serial("Copy [15, 10] into a stack of 4")), interpolated(20));
  EXPECT_EQ(cost_of(table, serial("Copy [10, 10] to bfloat16")), interpolated(10));
}

TEST(CostTable, NothingIsFasterWithColderDataOrBesideOthers) {
  const CostTable table(
      std::vector{at(kConv, 1_KiB, 0, 100), at(kConv, 4_KiB, 0, 80), at(kConv, 2_KiB, 1, 70), at(kConv, 8_KiB, 1, 90)});
  EXPECT_EQ(cost_of(table, serial("conv"), {1_KiB, 0}), profiled(70)) << "the machine was slow when it was timed";
  EXPECT_EQ(cost_of(table, serial("conv"), {4_KiB, 0}), profiled(80)) << "nobody was seen to be faster at this";
  EXPECT_EQ(cost_of(table, serial("conv"), {2_KiB, 1}), profiled(70));
  EXPECT_EQ(cost_of(table, serial("conv"), {8_KiB, 1}), profiled(90));
}

TEST(CostTable, NamesTheOpThatWasNotProfiled) {
  const CostTable table(std::vector{kConv});
  const Result<Cost> cost = table.cost({"gemm [2, 8]", Strategy::kSerial, 1, 2, ""}, {});
  ASSERT_FALSE(cost.has_value());
  EXPECT_EQ(cost.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(cost.error().message,
            "no recorded time of op \"gemm [2, 8]\" on 2 threads; profile a model that has it (cohort profile) and "
            "give that trace, too");
  EXPECT_FALSE(table.cost(serial("Copy [4]"), {}).has_value());
}

TEST(CostTable, TellsAnOpThatWasNotTimedSoFromOneThatWasNotProfiled) {
  const CostTable table(std::vector{kConv});
  const Result<Cost> cost = table.cost({"conv", Strategy::kSerial, 1, 2, ""}, {});
  ASSERT_FALSE(cost.has_value());
  EXPECT_EQ(cost.error().message,
            "no recorded time of op \"conv\" on 2 threads; it was timed in other ways: profile its model again "
            "(cohort profile)");
}

TEST(CostTable, ReadsTheRecordsOfSeveralProfiles) {
  const Trace one = fake_profile({record("a", Strategy::kSerial, 1, 1, 10)}, 2);
  const Trace two = fake_profile({record("b", Strategy::kSerial, 1, 1, 20)}, 2);
  const std::vector<const Trace*> both{&one, &two};
  const Result<CostTable> table = CostTable::from(both);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(cost_of(*table, serial("a")), profiled(10));
  EXPECT_EQ(cost_of(*table, serial("b")), profiled(20));
}

TEST(CostTable, RefusesProfilesOfTwoDevicesAndTracesThatAreNone) {
  const Trace one = fake_profile({kConv}, 2);
  Trace other = fake_profile({kConv}, 2);
  other.info.device.name = "another";
  EXPECT_EQ(CostTable::from(std::vector<const Trace*>{&one, &other}).error().message,
            "profile 2 was made on \"another\", the first one on \"fake\"");
  other.info.kind = TraceKind::kMeasured;
  EXPECT_EQ(CostTable::from(std::vector<const Trace*>{&other}).error().message,
            "trace 1 is a measured trace; a profile is needed (make one with cohort profile)");
  EXPECT_EQ(CostTable::from(std::vector<const Trace*>{}).error().message, "no profile was given");
  const Trace empty = fake_profile({}, 2);
  EXPECT_EQ(CostTable::from(std::vector<const Trace*>{&empty}).error().message, "profile 1 holds no profile record");
}

TEST(CostTable, TellsTheDeviceItsProfilesWereMadeOn) {
  const Trace trace = fake_profile(
      {record("step overhead", Strategy::kSerial, 1, 1, 300), record("step overhead", Strategy::kSerial, 1, 1, 500),
       record("handoff", Strategy::kSerial, 1, 1, 6000), record("spin time", Strategy::kSerial, 1, 1, 900000)},
      2);
  const Result<DeviceProfile> device = device_profile_of(std::vector<const Trace*>{&trace});
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EXPECT_EQ(device->device, "fake");
  EXPECT_EQ(device->cores, 2);
  EXPECT_EQ(device->step_overhead, 400_ns);
  EXPECT_EQ(device->handoff_latency, 6_us);
  EXPECT_EQ(device->spin_time, 900_us);
  EXPECT_EQ(device->launch_overhead, 0_ns);
}

std::vector<ProfileRecord> round_trips(const std::vector<std::int64_t>& times) {
  std::vector<ProfileRecord> records;
  for (const std::int64_t time : times)
    records.push_back(record(std::string(kRoundTripRecord), Strategy::kSerial, 1, 1, time));
  return records;
}

TEST(CostTable, TellsHowFarApartCoresWereAndWhetherTheyWereMoved) {
  const Trace still = fake_profile(round_trips({50, 55, 52, 60, 58, 51, 53, 54, 57, 56, 400}), 2);
  const Trace moved = fake_profile(round_trips({50, 51, 52, 300, 310, 320}), 2);
  const Trace silent = fake_profile({kConv}, 2);
  const auto of = [](const std::vector<const Trace*>& profiles) { return CostTable::from(profiles)->round_trip(); };
  EXPECT_FALSE(of({&silent}).has_value());
  ASSERT_TRUE(of({&still}).has_value());
  EXPECT_EQ(of({&still})->usual, 51_ns);
  EXPECT_FALSE(of({&still})->varied()) << "for one sample of eleven";
  EXPECT_TRUE(of({&moved})->varied());
  EXPECT_TRUE(of({&still, &silent, &moved})->varied()) << "the worst profile's";
  EXPECT_EQ(device_profile_of(std::vector<const Trace*>{&still})->core_round_trip, 51_ns);
  EXPECT_EQ(device_profile_of(std::vector<const Trace*>{&silent})->core_round_trip, 0_ns);
}

OpCall call(std::string signature, Strategy strategy, int width) {
  OpCall result;
  result.signature = std::move(signature);
  result.strategy = strategy;
  result.width = width;
  return result;
}

TEST(RecordedCatalog, ListsRecordedWaysInTheLibrarysOrder) {
  ProfileRecord first = record("conv", Strategy::kSerial, 1, 1, 90);
  first.algorithm = "z";
  first.workspace = 4_KiB;
  first.packed_weights = 1_KiB;
  const ProfileRecord second = kConv;
  const CostTable table(std::vector{first, second, first});
  const RecordedCatalog catalog(table, 2);
  const auto ways = catalog.alternatives(call("conv", Strategy::kSerial, 1), 1);
  ASSERT_TRUE(ways.has_value()) << ways.error().message;
  ASSERT_EQ(ways->size(), 2U);
  EXPECT_EQ((*ways)[0].algorithm, "z");
  EXPECT_EQ((*ways)[0].workspace, 4_KiB);
  EXPECT_EQ((*ways)[0].packed_weights, 1_KiB);
  EXPECT_EQ((*ways)[1].algorithm, "only");
}

TEST(RecordedCatalog, ScalesSizesToWidthsThatWereNotRecorded) {
  ProfileRecord wide = record("gemm", Strategy::kStridedBatch, 4, 1, 90);
  wide.packed_weights = 4_KiB;
  const CostTable table(std::vector{wide});
  const auto ways = RecordedCatalog(table, 2).alternatives(call("gemm", Strategy::kStridedBatch, 16), 1);
  ASSERT_TRUE(ways.has_value());
  EXPECT_EQ(ways->front().packed_weights, 16_KiB);
}

TEST(RecordedCatalog, ListsTheWaysInWhichAllOpsOfALaunchWereRecorded) {
  const CostTable table(std::vector{launch("Group: 4 * a", 4, "x", 60), launch("Group: 4 * a", 4, "y", 70),
                                    launch("Group: 4 * b", 4, "y", 100), record("c", Strategy::kSerial, 1, 1, 9)});
  const RecordedCatalog catalog(table, 2);
  const auto names = [&](const std::string& signature, int width) {
    std::vector<std::string> found;
    const auto ways = catalog.alternatives(call(signature, Strategy::kGroupedGemm, width), 1);
    EXPECT_TRUE(ways) << ways.error().message;
    for (const Alternative& way : ways.value_or(std::vector<Alternative>{})) found.push_back(way.algorithm);
    return found;
  };
  EXPECT_EQ(names("Group: 8 * a", 8), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(names("Group: 1 * a + 3 * b", 4), std::vector<std::string>{"y"});
  EXPECT_EQ(names("Group: 4 * c", 4), std::vector<std::string>{"grouped"}) << "each op in its own recorded way";
}

TEST(RecordedCatalog, OffersFewerThreadsWhereMoreWereNotRecorded) {
  const CostTable table(std::vector{kConv});
  const auto ways = RecordedCatalog(table, 8).alternatives(call("conv", Strategy::kSerial, 1), 8);
  ASSERT_TRUE(ways.has_value());
  EXPECT_EQ(ways->front().threads, 1);
}

TEST(RecordedCatalog, NamesAnOpThatWasNotRecorded) {
  const CostTable table(std::vector{kConv});
  const auto ways = RecordedCatalog(table, 2).alternatives(call("gemm", Strategy::kSerial, 1), 1);
  ASSERT_FALSE(ways.has_value());
  EXPECT_EQ(ways.error().message,
            "the profile has no record of \"gemm\"; profile a model that has this op, or plan on the device itself");
}

}  // namespace
}  // namespace cohort
