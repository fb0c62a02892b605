#include "tracer/nsight/nsight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/file.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/summary/no_device_work.hpp"

namespace cohort {
namespace {

using namespace literals;
using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Optional;
using ::testing::Pair;

/// The bytes of a database file that the statements make.
std::string database(const std::string& sql) {
  sqlite3* raw = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &raw), SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> owner(raw, sqlite3_close);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(sqlite3_serialize(raw, "main", &size, 0), sqlite3_free);
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

Trace read_export(const std::string& sql) {
  auto trace = parse_trace(database(sql));
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

/// Process 1000 with thread 1001, as Nsight numbers them: (1 << 48) + (1000 << 24) + 1001.
constexpr const char* kReport = R"(
  CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'), (2,'void gemm<float>(float*)'), (3,'gemm'),
    (4,'cuLaunchKernelEx'), (5,'cudaMemcpyAsync_v3020'), (6,'forward'), (7,'cudaGraphLaunch_v10000'), (8,'main loop');
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (1000,3000,0,281491753927657,11,1,0), (4000,5000,1,281491753927657,12,4,0), (6000,9000,0,281491753927657,13,5,0),
    (9500,9900,0,281491753927657,14,7,700);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, launchType INTEGER, registersPerThread INTEGER NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
    blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
    dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (10000,12500,0,1,7,11,281491753926656,2,3,2,64, 8,16,5, 128,1,1, 1024,32768,NULL),
    (12600,12700,0,1,7,14,281491753926656,2,3,1,64, 1,1,1, 32,1,1, 0,0,21474836481),
    (12700,12800,0,1,7,14,281491753926656,2,3,1,64, 1,1,1, 32,1,1, 0,0,21474836482);
  CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
  INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES (1,'R','Regular'), (2,'C','Cooperative');
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9000,9400,0,1,13,13,281491753926656,4096,1,1,2);
  CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
  INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0,'P','Pageable'), (1,'Q','Pinned'), (2,'D','Device');
  CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,13,15,281491753926656,3), (0,1,7,30,281491753926656,3);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
    (9410,9410,0,1,7,16,281491753926656,2,3), (13000,14000,0,1,4294967295,17,281491753926656,4,4294967295);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
    textId INTEGER);
  INSERT INTO NVTX_EVENTS VALUES (500,9950,59,NULL,281491753927657,6), (600,700,60,'data',281491753927657,NULL),
    (800,NULL,34,'mark',281491753927657,NULL), (900,NULL,59,'open',281491753927657,NULL);
  CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,
    computeMajor INTEGER, computeMinor INTEGER, maxShmemPerSm INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER);
  INSERT INTO TARGET_INFO_GPU VALUES (1,5,'NVIDIA H100 80GB HBM3',85017755648,132,9,0,233472,32,64), (1,6,'other',1,2,3,4,5,32,6);
  CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
  INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5,0,1000), (6,1,1000);
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  INSERT INTO PROCESSES VALUES (281491753926656,1000,'python');
  CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
  INSERT INTO ThreadNames VALUES (8,0,281491753927657);
)";

const Slice& find(const Trace& trace, SliceKind kind, int position = 0) {
  const SliceKinds kinds(trace.strings);
  for (const Slice& slice : trace.slices) {
    if (kinds(slice) == kind && position-- == 0) return slice;
  }
  ADD_FAILURE() << "no slice of this kind";
  return trace.slices.front();
}

TEST(Nsight, ReadsKernelsWithTheirLaunchConfiguration) {
  const Trace trace = read_export(kReport);
  const Slice& kernel = find(trace, SliceKind::kKernel);
  EXPECT_EQ(trace.name(kernel), "void gemm<float>(float*)");
  EXPECT_EQ(kernel.start, 10_us);
  EXPECT_EQ(kernel.duration, 2500_ns);
  EXPECT_EQ(trace.tracks[to_index(kernel.track)].process, "GPU 0");
  EXPECT_EQ(trace.tracks[to_index(kernel.track)].thread, "stream 7");
  EXPECT_EQ(trace.integer_arg(kernel, "stream"), 7);
  EXPECT_EQ(trace.integer_arg(kernel, "correlation"), 11);
  EXPECT_EQ(trace.integer_arg(kernel, "shared memory"), 33792);
  EXPECT_EQ(trace.integer_arg(kernel, "registers per thread"), 64);
  EXPECT_EQ(trace.text_arg(kernel, "launch type"), "Cooperative");
  EXPECT_THAT(trace.integers_arg(kernel, "grid"), Optional(ElementsAre(8, 16, 5)));
  EXPECT_THAT(trace.integers_arg(kernel, "block"), Optional(ElementsAre(128, 1, 1)));
  EXPECT_EQ(trace.integer_arg(kernel, "graph node id"), std::nullopt);
}

TEST(Nsight, TellsGpusApartWhereEachProcessSeesOneOfThem) {
  const Trace trace = read_export(std::string(kReport) + R"(
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (10000,12500,0,1,7,51,281491770703872,2,3,2,64, 8,16,5, 128,1,1, 1024,32768,NULL);
  DELETE FROM TARGET_INFO_CUDA_DEVICE;
  INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5,0,1000), (6,0,1001);
  INSERT INTO PROCESSES VALUES (281491770703872,1001,'python');)");
  std::map<std::string, std::set<std::int64_t>> devices;
  const SliceKinds kinds(trace.strings);
  for (const Slice& slice : trace.slices) {
    if (kinds(slice) == SliceKind::kKernel)
      devices[trace.tracks[to_index(slice.track)].process].insert(trace.integer_arg(slice, "device").value());
  }
  EXPECT_THAT(devices, ElementsAre(Pair("GPU 5", ElementsAre(5)), Pair("GPU 6", ElementsAre(6))));
  EXPECT_EQ(trace.info.device.name, "NVIDIA H100 80GB HBM3");
}

TEST(Nsight, KnowsTheGpuOfExportsBeforeMid2021) {
  const Trace trace = read_export(std::string(kReport) + R"(
  DROP TABLE TARGET_INFO_GPU;
  DROP TABLE TARGET_INFO_CUDA_DEVICE;
  CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, name TEXT, numMultiprocessors INTEGER, numThreadsPerWarp INTEGER,
    maxWarpsPerMultiprocessor INTEGER, computeCapabilityMajor INTEGER, computeCapabilityMinor INTEGER);
  INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0,'Tesla V100-SXM2-16GB',80,32,64,7,0);)");
  EXPECT_EQ(trace.info.device.name, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(trace.info.device.cores, 80);
  EXPECT_EQ(trace.info.device.settings.at("computeMajor"), "7");
  EXPECT_EQ(trace.info.device.settings.at("maxThreadsPerMultiprocessor"), "2048");
}

TEST(Nsight, LinksCallsToWhatTheyLaunchedAlsoThroughGraphs) {
  const Trace trace = read_export(kReport);
  ASSERT_EQ(trace.flows.size(), 4U);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[0].from)), "cudaLaunchKernel");
  const Slice& node = find(trace, SliceKind::kKernel, 2);
  EXPECT_EQ(trace.integer_arg(node, "graph node id"), 21474836482);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[2].from)), "cudaGraphLaunch");
  EXPECT_EQ(trace.integer_arg(trace.slice(trace.flows[2].from), "returned"), 700);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[3].from)), "cudaMemcpyAsync");
}

TEST(Nsight, TellsCallsOfTheDriverFromThoseOfTheRuntime) {
  const Trace trace = read_export(kReport);
  const Slice& driver = find(trace, SliceKind::kDriverCall);
  EXPECT_EQ(trace.name(driver), "cuLaunchKernelEx");
  const Track& track = trace.tracks[to_index(driver.track)];
  EXPECT_EQ(track.process, "python");
  EXPECT_EQ(track.thread, "main loop");
  EXPECT_EQ(track.pid, 1000);
  EXPECT_EQ(track.tid, 1001);
}

TEST(Nsight, NamesCopiesAsPyTorchDoes) {
  const Trace trace = read_export(kReport);
  const Slice& copy = find(trace, SliceKind::kCopy);
  EXPECT_EQ(trace.name(copy), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(trace.integer_arg(copy, "bytes"), 4096);
}

TEST(Nsight, FindsTheStreamWhoseEventIsWaitedFor) {
  const Trace trace = read_export(kReport);
  const Slice& wait = find(trace, SliceKind::kSynchronization);
  EXPECT_EQ(trace.text_arg(wait, "cuda_sync_kind"), "Stream Wait Event");
  EXPECT_EQ(trace.integer_arg(wait, "stream"), 7);
  EXPECT_EQ(trace.integer_arg(wait, "wait_on_stream"), 13);  // the later record of the same event is not meant
  EXPECT_EQ(trace.integer_arg(wait, "wait_on_cuda_event_record_corr_id"), 15);
  const Slice& context = find(trace, SliceKind::kSynchronization, 1);
  EXPECT_EQ(trace.text_arg(context, "cuda_sync_kind"), "Context Sync");
  EXPECT_EQ(trace.integer_arg(context, "stream"), -1);
}

TEST(Nsight, ReadsRangesAndCountsMarks) {
  const Trace trace = read_export(kReport);
  EXPECT_EQ(trace.name(find(trace, SliceKind::kAnnotation)), "forward");
  const Slice& range = find(trace, SliceKind::kAnnotation, 1);
  EXPECT_EQ(trace.name(range), "data");
  EXPECT_EQ(trace.tracks[to_index(range.track)].thread, "main loop, ranges");
  EXPECT_THAT(trace.info.dropped,
              ElementsAre(Pair("NVTX record that is no range", 1), Pair("begin without an end", 1)));
}

TEST(Nsight, KeepsTheFactsOfTheGpuThatRanTheKernels) {
  const DeviceInfo device = read_export(kReport).info.device;
  EXPECT_EQ(device.id, "cuda:0");
  EXPECT_EQ(device.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(device.cores, 132);
  EXPECT_EQ(device.memory, Bytes{85017755648});
  EXPECT_EQ(device.settings.at("computeMajor"), "9");
  EXPECT_EQ(device.settings.at("sharedMemPerMultiprocessor"), "233472");
  EXPECT_EQ(device.settings.at("maxThreadsPerMultiprocessor"), "2048");
}

TEST(Nsight, RoundTripsThroughJson) {
  const std::string once = trace_to_json(read_export(kReport));
  const auto again = parse_trace(once);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(trace_to_json(*again), once);
}

TEST(Nsight, NeedsNoColumnBeyondTimes) {
  const Trace trace = read_export(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (START INT, END INT, shortName TEXT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5,7,'k')");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.name(trace.slices[0]), "k");
  EXPECT_EQ(trace.slices[0].duration, 2_ns);
}

TEST(Nsight, KeepsCorrelationsOfProcessesApart) {
  const Trace trace = read_export(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2,16777217,5,'a'), (1,2,33554434,5,'b');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, streamId, correlationId, globalPid, shortName);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3,4,7,5,33554432,'of b'), (3,4,7,5,16777216,'of a');)");
  ASSERT_EQ(trace.flows.size(), 2U);
  for (const Flow& flow : trace.flows)
    EXPECT_EQ("of " + std::string(trace.name(trace.slice(flow.from))), trace.name(trace.slice(flow.to)));
  EXPECT_NE(trace.slice(trace.flows[0].to).track, trace.slice(trace.flows[1].to).track);
}

TEST(Nsight, MendsDeviceWorkOfImpossibleTimes) {
  const std::string calls = kReport + R"(
      INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (2000000000,2000003000,0,281491753927657,21,1,0), (2000010000,2000013000,0,281491753927657,22,1,0);)"s;
  const std::string kernel = ",0,1,7,%,281491753926656,2,3,2,64,1,1,1,32,1,1,0,0,NULL);";
  const auto with = [&](std::string times, const std::string& id) {
    std::string row = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::move(times) + kernel;
    return row.replace(row.find('%'), 1, id);
  };
  const Trace trace = read_export(calls + with("2000004000,2000005000", "21") + with("1000000000,1000001000", "22"));
  EXPECT_THAT(
      trace.info.dropped,
      Contains(Pair(HasSubstr("before its launch, dropped (\"void gemm<float>(float*)\" at 1000000.000 us)"), 1)));
  int kernels = 0;
  const SliceKinds kinds(trace.strings);
  for (const Slice& slice : trace.slices) kernels += kinds(slice) == SliceKind::kKernel ? 1 : 0;
  EXPECT_EQ(kernels, 4);  // three of kReport
  for (const Flow& flow : trace.flows) {
    EXPECT_EQ(trace.integer_arg(trace.slice(flow.from), "correlation"),
              trace.integer_arg(trace.slice(flow.to), "correlation"));
  }
}

TEST(Nsight, CountsRecordsItCannotRead) {
  const Trace trace = read_export(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL,1,0,7), (5,4,0,7), (0,0,0,7), ('a',2,0,7),
      (9223372036854775806,9223372036854775807,0,7), (1,2,-3,7), (1,2,0,9223372036854775807), (1,2,0,7);)");
  EXPECT_EQ(trace.slices.size(), 1U);
  EXPECT_THAT(trace.info.dropped,
              ElementsAre(Pair("record whose device or stream is out of range", 2), Pair("record whose times are 0", 1),
                          Pair("record without a time", 2), Pair("slice that ends before it starts", 1),
                          Pair("time out of range", 1)));
}

TEST(Nsight, CountsRowsOfTablesItDoesNotRead) {
  const Trace trace = read_export(kReport + R"(
    CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER);
    INSERT INTO OSRT_API VALUES (1,2,281491753927657,6), (3,4,281491753927657,6), (5,6,281491753927657,6);
    CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER, numberOfPageFaults INTEGER);
    INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (10,20,4), (30,40,2);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, bytes INTEGER);
    INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (10,281491753926656,512);
    CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
    INSERT INTO GPU_METRICS VALUES (1,1,1,1), (2,1,1,1);
    CREATE TABLE CUDNN_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL);
    CREATE TABLE "a "" table" (START INTEGER);
    INSERT INTO "a "" table" VALUES (7);
    CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, text TEXT);
    INSERT INTO DIAGNOSTIC_EVENT VALUES (1,'Profiling has started.');
    CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
    INSERT INTO META_DATA_CAPTURE VALUES ('CPU', 'x');)"s);
  EXPECT_THAT(trace.info.dropped,
              ElementsAre(Pair("NVTX record that is no range", 1), Pair("begin without an end", 1),
                          Pair("row of table CUDA_GPU_MEMORY_USAGE_EVENTS", 1),
                          Pair("row of table CUDA_UM_GPU_PAGE_FAULT_EVENTS", 2), Pair("row of table GPU_METRICS", 2),
                          Pair("row of table OSRT_API", 3), Pair("row of table of another name", 1)));
}

TEST(Nsight, RefusesDatabasesOfOthersAndSaysWhatTheyHold) {
  const auto other = parse_trace(database("CREATE TABLE users (id); CREATE TABLE orders (id)"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(other.error().message, HasSubstr("no table CUPTI_ACTIVITY_KIND_KERNEL but orders, users"));
  const auto view = parse_trace(database("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end"));
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL is a view"));
}

TEST(Nsight, ReadsFilesByTheirContent) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "nsight_test.trace";
  ASSERT_TRUE(write_file(path, database(kReport), Overwrite::kAllow));
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace_to_json(*trace), trace_to_json(read_export(kReport)));
  std::filesystem::resize_file(path, 3000);
  const auto cut = read_trace(path);
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("nsight_test.trace: an SQLite database that cannot be read"));
}

TEST(Nsight, SurvivesAnySingleByteChanged) {
  const std::string whole = database(kReport);
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x55);
    const auto trace = parse_nsight(broken);  // whatever it says, it says it in order
    EXPECT_TRUE(trace || trace.error().code == ErrorCode::kInvalidInput) << at;
  }
}

/// A table of one kernel under another name.
std::string kernel_table(const std::string& name, const std::string& type = "INTEGER",
                         const std::string& times = "10,35") {
  return "CREATE TABLE " + name + " (start " + type + ", end " + type +
         ", deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
         "demangledName TEXT); INSERT INTO " +
         name + " VALUES (" + times + ",0,1,7,11,0,'gemm');";
}
constexpr const char* kRange =
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES (0,100,59,'step',1);";

TEST(NsightTables, OfAnotherVersionAreFoundByTheirStem) {
  const Trace trace = read_export(kRange + kernel_table("CUPTI_ACTIVITY_KIND_KERNEL_V2") +
                                  kernel_table("CUPTI_ACTIVITY_KIND_KERNEL_V3", "INTEGER", "100,200"));
  ASSERT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.strings[trace.slices[0].category], "kernel");
  EXPECT_EQ(trace.slices[0].start, Nanoseconds(100));
  EXPECT_EQ(trace.strings[trace.slices[1].category], "user_annotation");
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("row of table CUPTI_ACTIVITY_KIND_KERNEL_V2", 1)));
  const Trace newer = read_export(kernel_table("CUPTI_ACTIVITY_KIND_KERNEL") +
                                  kernel_table("CUPTI_ACTIVITY_KIND_KERNEL_V9", "INTEGER", "100,200"));
  EXPECT_EQ(newer.slices.at(0).start, Nanoseconds(10)) << "the name itself goes first";
}

TEST(NsightTables, MayHoldTimesAsRealNumbers) {
  const Trace trace = read_export(kernel_table("CUPTI_ACTIVITY_KIND_KERNEL", "REAL", "10.4,35.6"));
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.slices[0].start, Nanoseconds(10));
  EXPECT_EQ(trace.slices[0].duration, Nanoseconds(26));
}

TEST(NsightTables, ThatAreViewsAreRefusedByName) {
  const auto trace =
      parse_trace(database(kRange + kernel_table("k") + "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k;"));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL is a view"));
}

TEST(NsightTables, OfOtherNamesAreNamedWhereNoDeviceWorkIsLeft) {
  const Trace trace = read_export(kRange + kernel_table("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"));
  EXPECT_THAT(no_device_work(trace), Optional(HasSubstr("1 rows of table CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")));
}

}  // namespace
}  // namespace cohort
