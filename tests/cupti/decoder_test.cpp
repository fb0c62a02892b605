#include "tracer/cupti/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cupti/record_buffer.hpp"
#include "tracer/cupti/lanes.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort::cupti {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CUpti_CallbackId kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr CUpti_CallbackId kGraphLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000;

TEST(CuptiRecords, HaveTheSizesThatTheDecoderWasWrittenFor) {
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 216U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_MEMCPY), 96U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_MEMCPY2), 96U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_MEMSET), 88U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_DRIVER), 40U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 56U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_CUDA_EVENT), 56U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 24U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 56U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_OVERHEAD), 56U);
  EXPECT_EQ(record_size(CUPTI_ACTIVITY_KIND_KERNEL), std::nullopt) << "it serialises all kernels";
}

TEST(CuptiRecords, OfAnotherVersionAreRefusedWithBothVersions) {
  std::uint32_t library = 0;
  ASSERT_EQ(cuptiGetVersion(&library), CUPTI_SUCCESS);
  EXPECT_TRUE(check_version(library));
  EXPECT_TRUE(check_version(CUPTI_API_VERSION / 100 * 100));
  const auto other = check_version(CUPTI_API_VERSION + 100);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(other.error().message, HasSubstr(version_text(CUPTI_API_VERSION)));
  EXPECT_THAT(other.error().message, HasSubstr(version_text(CUPTI_API_VERSION + 100)));
}

TEST(CuptiDecoder, DrawsAKernelOnItsStreamWithItsGeometryAndAFlowFromItsCall) {
  RecordBuffer buffer;
  KernelRecord record = kernel("_Z4gemmPfi", 2000, 2500, 13, 5);
  record.clusterX = 2;
  record.clusterY = record.clusterZ = 1;
  record.queued = 1100;
  buffer.add(runtime_call(kLaunch, 1000, 1200, 5)).add(record);
  const Trace trace = decoded(buffer);
  const Slice& slice = only(trace, "gemm(float*, int)");
  EXPECT_EQ(slice.start, 2000_ns);
  EXPECT_EQ(slice.duration, 500_ns);
  EXPECT_EQ(track_of(trace, slice), "cuda:0/stream 13");
  EXPECT_EQ(trace.strings[slice.category], "kernel");
  EXPECT_EQ(trace.text_arg(slice, "grid"), "[4,2,1]");
  EXPECT_EQ(trace.text_arg(slice, "cluster"), "[2,1,1]");
  EXPECT_EQ(trace.integer_arg(slice, "blocks"), 8);
  EXPECT_EQ(trace.integer_arg(slice, "threads"), 128);
  EXPECT_EQ(trace.integer_arg(slice, "registers per thread"), 40);
  EXPECT_EQ(trace.integer_arg(slice, "static shared memory"), 1024);
  EXPECT_EQ(trace.integer_arg(slice, "shared memory"), 50176);
  EXPECT_EQ(trace.integer_arg(slice, "queued ns"), 1100);
  EXPECT_EQ(trace.integer_arg(slice, "submitted ns"), std::nullopt) << "0 is CUPTI's word for unknown";
  const Slice& call = only(trace, "cudaLaunchKernel");
  EXPECT_EQ(track_of(trace, call), "process 7/thread 11");
  EXPECT_EQ(trace.strings[call.category], "cuda_runtime");
  ASSERT_EQ(trace.flows.size(), 1U);
  EXPECT_EQ(trace.slice(trace.flows[0].from).start, call.start);
  EXPECT_EQ(trace.slice(trace.flows[0].to).start, slice.start);
  EXPECT_EQ(trace.info.settings.at("complete"), "yes");
  EXPECT_TRUE(trace.info.dropped.empty());
}

TEST(CuptiDecoder, StartsAFlowAtTheRuntimeCallAndNotAtTheDriverCallWithinIt) {
  RecordBuffer buffer;
  buffer.add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1050, 1150, 5))
      .add(runtime_call(kLaunch, 1000, 1200, 5))
      .add(kernel("k", 2000, 2500, 13, 5));
  const Trace trace = decoded(buffer);
  ASSERT_EQ(trace.flows.size(), 1U);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[0].from)), "cudaLaunchKernel");
  EXPECT_EQ(track_of(trace, only(trace, "cuLaunchKernel")), "process 7/thread 11") << "it nests";
}

TEST(CuptiDecoder, DrawsCopiesMemsetsAndGraphsLaunchedWhole) {
  RecordBuffer buffer;
  CopyRecord copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = 10;
  copy.end = 20;
  copy.correlationId = 1;
  PeerCopyRecord peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.start = 30;
  peer.end = 40;
  peer.dstDeviceId = 1;
  peer.correlationId = 2;
  MemsetRecord memset{};
  memset.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  memset.bytes = 64;
  memset.start = 50;
  memset.end = 60;
  memset.correlationId = 3;
  GraphRecord graph{};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.start = 70;
  graph.end = 90;
  graph.graphId = 4;
  graph.correlationId = 4;
  buffer.add(copy).add(peer).add(memset).add(graph);
  const Trace trace = decoded(buffer);
  const Slice& drawn = only(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(trace.integer_arg(drawn, "bytes"), 4096);
  EXPECT_EQ(trace.text_arg(drawn, "from"), "pinned");
  EXPECT_EQ(trace.strings[drawn.category], "gpu_memcpy");
  EXPECT_EQ(trace.integer_arg(only(trace, "Memcpy PtoP"), "to device"), 1);
  EXPECT_EQ(trace.strings[only(trace, "Memset").category], "gpu_memset");
  EXPECT_EQ(only(trace, "graph 4").duration, 20_ns);
}

TEST(CuptiDecoder, TellsNodesOfOneGraphLaunchApartByTheirNodeId) {
  const std::string labels = SpoolWriter::label(1, {"0/conv1", "conv1", "0"}) +
                             SpoolWriter::label(2, {"1/conv1", "conv1", "1"}) + SpoolWriter::node(71, 1) +
                             SpoolWriter::node(72, 2);
  RecordBuffer buffer;
  buffer.add(runtime_call(kGraphLaunch, 100, 200, 40)).add(runtime_call(kGraphLaunch, 300, 400, 41));
  for (const std::uint64_t launch : {40U, 41U}) {
    buffer.add(kernel("conv", launch * 10, launch * 10 + 4, 13, static_cast<std::uint32_t>(launch), 71))
        .add(kernel("conv", launch * 10 + 4, launch * 10 + 8, 13, static_cast<std::uint32_t>(launch), 72));
  }
  const Trace trace = decoded(buffer, labels);
  std::vector<std::string> tasks;
  for (const Slice& slice : trace.slices) {
    if (const auto task = trace.text_arg(slice, kTaskArg)) tasks.emplace_back(*task);
  }
  EXPECT_THAT(tasks, ElementsAre("0/conv1", "1/conv1", "0/conv1", "1/conv1"));
  ASSERT_EQ(trace.flows.size(), 4U) << "one launch call, many nodes";
  EXPECT_EQ(trace.integer_arg(trace.slice(trace.flows[0].from), "correlation"), 40);
  EXPECT_EQ(trace.integer_arg(trace.slice(trace.flows[3].from), "correlation"), 41);
  EXPECT_TRUE(trace.info.dropped.empty());
}

TEST(CuptiDecoder, DrawsARecordThatComesTwiceOnce) {
  RecordBuffer buffer;
  buffer.add(kernel("k", 10, 20, 13, 5, 71)).add(kernel("k", 10, 20, 13, 5, 71));
  const Trace trace = decoded(buffer);
  EXPECT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.info.dropped.at("GPU records that came twice"), 1);
}

TEST(CuptiDecoder, NamesOpAndMemberOfALaunchByOurExternalIdAndKeepsOthers) {
  RecordBuffer buffer;
  buffer.add(external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 9, 5))
      .add(external(CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, 1234, 5))
      .add(kernel("k", 10, 20, 13, 5))
      .add(kernel("other", 30, 40, 13, 6));
  const Trace trace = decoded(buffer, SpoolWriter::label(9, {"3/fc1", "fc1", "3"}));
  const Slice& slice = only(trace, "k");
  EXPECT_EQ(trace.text_arg(slice, kTaskArg), "3/fc1");
  EXPECT_EQ(trace.text_arg(slice, "op"), "fc1");
  EXPECT_EQ(trace.text_arg(slice, "members"), "3");
  EXPECT_EQ(trace.integer_arg(slice, "External id"), 1234);
  EXPECT_EQ(trace.text_arg(only(trace, "other"), "op"), std::nullopt);
}

TEST(CuptiDecoder, LaysKernelsOfOneStreamThatOverlapOnLanesOfTheirOwn) {
  RecordBuffer buffer;
  buffer.add(kernel("first", 100, 200, 13, 1))
      .add(kernel("early", 190, 300, 13, 2))
      .add(kernel("after", 200, 260, 13, 3));
  const Trace trace = decoded(buffer);
  EXPECT_EQ(track_of(trace, only(trace, "first")), "cuda:0/stream 13");
  EXPECT_EQ(track_of(trace, only(trace, "early")), "cuda:0/stream 13 (overlap 1)");
  EXPECT_EQ(track_of(trace, only(trace, "after")), "cuda:0/stream 13");
  EXPECT_TRUE(trace.info.dropped.empty()) << "an overlap is legal";
}

TEST(CuptiDecoder, CountsWorkWithoutUsableTimesAndNeverDrawsItAtZero) {
  RecordBuffer buffer;
  buffer.add(kernel("no start", 0, 20, 13, 1))
      .add(kernel("no end", 10, 0, 13, 2))
      .add(kernel("backwards", 30, 20, 13, 3))
      .add(runtime_call(kLaunch, 0, 0, 1))
      .add(kernel("fine", 30, 40, 13, 4));
  const Trace trace = decoded(buffer);
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.name(trace.slices[0]), "fine");
  EXPECT_EQ(trace.info.dropped.at("GPU records without usable times"), 3);
  EXPECT_EQ(trace.info.dropped.at("calls without usable times"), 1);
}

TEST(CuptiDecoder, JoinsWaitsAndEventsByTheSyncIdSinceEventIdsComeAgain) {
  RecordBuffer buffer;
  buffer.add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, 100, 110, 50))
      .add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, 200, 210, 51))
      .add(event_record(3, 1001, 13, 50))
      .add(event_record(3, 1002, 14, 51))
      .add(wait_for_event(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 300, 310, 15, 1002))
      .add(wait_for_event(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 400, 500,
                          CUPTI_SYNCHRONIZATION_INVALID_VALUE, 1001))
      .add(wait_for_event(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 600, 700, 13, 0));
  buffer.add(kernel("work of the context", 120, 130, 13, 60));
  const Trace trace = decoded(buffer);
  const Slice& wait = only(trace, "Stream Wait Event");
  EXPECT_EQ(trace.strings[wait.category], "cuda_sync");
  EXPECT_EQ(trace.integer_arg(wait, "stream"), 15);
  EXPECT_EQ(trace.integer_arg(wait, "wait_on_stream"), 14);
  EXPECT_EQ(trace.integer_arg(wait, "device"), trace.integer_arg(only(trace, "work of the context"), "device"));
  EXPECT_EQ(trace.integer_arg(wait, "wait_on_cuda_event_record_corr_id"), 51);
  const Slice& blocked = only(trace, "Event Sync");
  EXPECT_EQ(trace.integer_arg(blocked, "wait_on_stream"), 13);
  EXPECT_EQ(trace.integer_arg(blocked, "stream"), std::nullopt);
  EXPECT_EQ(trace.integer_arg(only(trace, "Stream Sync"), "wait_on_stream"), std::nullopt);
  EXPECT_THAT(track_of(trace, wait), HasSubstr("synchronization of context 1"));
  EXPECT_TRUE(trace.info.dropped.empty());
}

TEST(CuptiDecoder, CountsWaitsForEventsItNeverSaw) {
  RecordBuffer buffer;
  buffer.add(wait_for_event(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 300, 310, 15, 77));
  const Trace trace = decoded(buffer);
  EXPECT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.info.dropped.at("waits for events recorded before the trace"), 1);
}

TEST(CuptiDecoder, DrawsEventsAtTheDevicesTimeWhereThereIsOneElseAtTheirCall) {
  RecordBuffer buffer;
  EventRecord timed = event_record(3, 1001, 13, 50);
  timed.deviceTimestamp = 555;
  buffer.add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, 200, 210, 51))
      .add(timed)
      .add(event_record(4, 1002, 14, 51))
      .add(event_record(5, 1003, 14, 52));
  const Trace trace = decoded(buffer);
  std::vector<Nanoseconds> starts;
  for (const Slice& slice : trace.slices) {
    if (trace.name(slice) == "Event Record") starts.push_back(slice.start);
  }
  EXPECT_THAT(starts, ElementsAre(200_ns, 555_ns));
  EXPECT_EQ(trace.info.dropped.at("event records without a time"), 1);
}

TEST(CuptiDecoder, LeavesOutWhatTheTracersThreadsAskedAtTheEndAndNotWhatAThreadOfThatNumberDidBefore) {
  const CallRecord asked = runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, 900, 910, 50, 12);
  SynchronizationRecord waited =
      wait_for_event(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 920, 990, 13, 0);
  waited.correlationId = 51;
  RecordBuffer buffer;
  buffer.add(runtime_call(kLaunch, 100, 110, 5, 12))
      .add(kernel("k", 200, 210, 13, 5))
      .add(asked)
      .add(event_record(3, 1001, 13, 50))
      .add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, 915, 995, 51, 12))
      .add(waited);
  const Trace trace = decoded(buffer, SpoolWriter::own_thread(12, 900));
  EXPECT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(track_of(trace, only(trace, "cudaLaunchKernel")), "process 7/thread 12");
  EXPECT_EQ(trace.flows.size(), 1U);
  EXPECT_TRUE(trace.info.dropped.empty()) << "nothing of the program's is lost";
}

TEST(CuptiDecoder, ShowsOverheadOnItsOwnLaneAndFreesWhatTheRecordOwns) {
  OverheadRecord overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 11;
  overhead.start = 10;
  overhead.end = 30;
  overhead.overheadData = std::malloc(16);  // a leak checker tells where it is not freed
  RecordBuffer buffer;
  buffer.add(overhead).add(runtime_call(kLaunch, 5, 40, 1));
  const Trace trace = decoded(buffer);
  const Slice& slice = only(trace, "Command buffer full");
  EXPECT_EQ(trace.strings[slice.category], "overhead");
  EXPECT_EQ(track_of(trace, slice), "process 7/overhead in thread 11");
}

TEST(CuptiDecoder, PairsRangesByTheirIdAndNestsThem) {
  RecordBuffer buffer;
  buffer.add(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 1, 100, "step"))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 2, 110, "forward"))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 2, 150, nullptr))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 3, 160, "mark"))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 1, 200, nullptr))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 9, 210, nullptr))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 4, 220, "never ended"))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 5, 260, nullptr))
      .add(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 5, 230, "ended by another thread"));
  const Trace trace = decoded(buffer);
  EXPECT_EQ(only(trace, "step").duration, 100_ns);
  EXPECT_EQ(only(trace, "forward").duration, 40_ns);
  EXPECT_EQ(only(trace, "mark").duration, 0_ns);
  EXPECT_EQ(only(trace, "ended by another thread").duration, 30_ns);
  EXPECT_EQ(only(trace, "step").track, only(trace, "forward").track);
  EXPECT_EQ(trace.strings[only(trace, "step").category], "user_annotation");
  EXPECT_EQ(trace.info.dropped.at("ranges without begin or end"), 2);
}

TEST(CuptiDecoder, CountsRecordsOfOtherKindsLostOnesAndTheDamagedRestOfABuffer) {
  RecordBuffer buffer;
  ContextRecord damaged{};
  damaged.kind = CUPTI_ACTIVITY_KIND_INVALID;
  CUpti_ActivityMemoryPool2 pool{};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  buffer.add(kernel("k", 10, 20, 13, 5)).add(pool).add(damaged).add(kernel("behind", 30, 40, 13, 6));
  const Trace trace = decoded(buffer, SpoolWriter::count("records that CUPTI dropped", 12));
  EXPECT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.info.dropped.at("records that CUPTI dropped"), 12);
  EXPECT_EQ(trace.info.dropped.at(fmt::format("CUPTI records of kind {}", int{CUPTI_ACTIVITY_KIND_MEMORY_POOL})), 1);
  EXPECT_EQ(trace.info.dropped.at("CUPTI records that cannot be read, with what followed in their buffer"), 1);
}

TEST(CuptiDecoder, MakesAValidTraceOfEveryPrefixOfASpoolAndCallsItIncomplete) {
  RecordBuffer buffer;
  buffer.add(runtime_call(kLaunch, 1000, 1200, 5)).add(kernel("k", 2000, 2500, 13, 5));
  const std::string begun = spool_of(buffer);
  const std::string whole = begun + SpoolWriter::end();
  for (std::size_t size = SpoolWriter::header(7).size(); size < whole.size(); size += 3) {
    const auto trace = decode({std::string_view(whole).substr(0, size)});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->info.settings.at("complete"), "no");
    EXPECT_TRUE(parse_trace(trace_to_json(*trace)));
  }
  const auto trace = decode({begun});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->slices.size(), 2U) << "what was flushed is kept";
}

TEST(CuptiDecoder, RefusesWhatIsNoSpool) {
  for (const std::string_view text : {"", "{}", "CohCUPTIxxxxyyyyzzzz"}) {
    const auto trace = decode({text});
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(CuptiDecoder, CountsAProcessWhoseSpoolIsNoneAndKeepsTheOthers) {
  RecordBuffer buffer;
  buffer.add(kernel("k", 2000, 2500, 13, 5));
  const std::string good = spool_of(buffer) + SpoolWriter::end();
  for (const auto& spools : {std::vector<std::string_view>{"", good}, std::vector<std::string_view>{good, "CohC"}}) {
    const auto trace = decode(spools);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->slices.size(), 1U);
    EXPECT_EQ(trace->info.settings.at("complete"), "no");
    ASSERT_EQ(trace->info.dropped.size(), 1U);
    EXPECT_THAT(trace->info.dropped.begin()->first, HasSubstr("processes whose recording is left out"));
  }
}

TEST(CuptiDecoder, SaysWhichDeviceTheTraceIsOf) {
  DeviceRecord device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 0;
  device.name = "NVIDIA H200";
  device.numMultiprocessors = 132;
  device.globalMemorySize = 1 << 30;
  device.computeCapabilityMajor = 9;
  device.maxWarpsPerMultiprocessor = 64;
  device.numThreadsPerWarp = 32;
  DeviceRecord second = device;
  second.id = 1;
  second.name = "another";
  RecordBuffer buffer;
  buffer.add(second).add(device);
  const Trace trace = decoded(buffer);
  EXPECT_EQ(trace.info.device.id, "cuda:0");
  EXPECT_EQ(trace.info.device.name, "NVIDIA H200");
  EXPECT_EQ(trace.info.device.cores, 132);
  EXPECT_EQ(trace.info.device.settings.at("computeMajor"), "9");
  EXPECT_EQ(trace.info.device.settings.at("maxThreadsPerMultiprocessor"), "2048");
}

TEST(CuptiDecoder, KeepsTheIdsOfSeveralProcessesApart) {
  RecordBuffer first;
  first.add(runtime_call(kLaunch, 100, 110, 5)).add(kernel("a", 200, 210, 13, 5));
  RecordBuffer second;
  second.add(runtime_call(kLaunch, 120, 130, 5)).add(kernel("b", 205, 220, 13, 5));
  const std::string a = spool_of(first, 7) + SpoolWriter::end();
  const std::string b = spool_of(second, 8) + SpoolWriter::end();
  const auto trace = decode({a, b});
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->flows.size(), 2U);
  EXPECT_EQ(trace->slice(trace->flows[1].from).start, 120_ns);
  EXPECT_EQ(track_of(*trace, only(*trace, "b")), "cuda:0 of process 8/stream 13");
  EXPECT_EQ(trace->integer_arg(only(*trace, "a"), "correlation"), 5);
  EXPECT_EQ(trace->integer_arg(only(*trace, "b"), "correlation"), (std::int64_t{1} << 32) + 5);
}

TEST(CuptiLanes, TakeTheLowestThatIsFree) {
  const std::vector<Interval> intervals = {{0_ns, 10_ns}, {2_ns, 6_ns}, {6_ns, 8_ns}, {9_ns, 12_ns}, {10_ns, 11_ns}};
  EXPECT_THAT(assign_lanes(intervals, Nesting::kNone), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(assign_lanes(intervals, Nesting::kWithin), ElementsAre(0, 0, 0, 1, 0));
}

}  // namespace
}  // namespace cohort::cupti
