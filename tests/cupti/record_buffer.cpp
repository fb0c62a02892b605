#include "tests/cupti/record_buffer.hpp"

#include <gtest/gtest.h>

namespace cohort::cupti {

KernelRecord kernel(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t stream,
                    std::uint32_t correlation, std::uint64_t node) {
  KernelRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = end;
  record.contextId = 1;
  record.streamId = stream;
  record.correlationId = correlation;
  record.graphNodeId = node;
  record.gridX = 4;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 49152;
  return record;
}

CallRecord runtime_call(CUpti_CallbackId id, std::uint64_t start, std::uint64_t end, std::uint32_t correlation,
                        std::uint32_t thread) {
  CallRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = id;
  record.start = start;
  record.end = end;
  record.processId = 7;
  record.threadId = thread;
  record.correlationId = correlation;
  return record;
}

CallRecord driver_call(CUpti_CallbackId id, std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  CallRecord record = runtime_call(id, start, end, correlation);
  record.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  return record;
}

SynchronizationRecord wait_for_event(CUpti_ActivitySynchronizationType type, std::uint64_t start, std::uint64_t end,
                                     std::uint32_t stream, std::uint64_t sync_id) {
  SynchronizationRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.start = start;
  record.end = end;
  record.contextId = 1;
  record.streamId = stream;
  record.correlationId = 900;
  record.cudaEventSyncId = sync_id;
  return record;
}

EventRecord event_record(std::uint32_t event, std::uint64_t sync_id, std::uint32_t stream, std::uint32_t correlation) {
  EventRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.eventId = event;
  record.cudaEventSyncId = sync_id;
  record.contextId = 1;
  record.streamId = stream;
  record.correlationId = correlation;
  return record;
}

MarkerRecord marker(CUpti_ActivityFlag flag, std::uint32_t id, std::uint64_t time, const char* name) {
  MarkerRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flag;
  record.id = id;
  record.timestamp = time;
  record.name = name;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = 7;
  record.objectId.pt.threadId = 11;
  return record;
}

ExternalCorrelationRecord external(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation) {
  ExternalCorrelationRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation;
  return record;
}

std::string spool_of(RecordBuffer& buffer, std::uint32_t process) {
  SpoolWriter writer(cuptiActivityGetNextRecord, cuptiGetCallbackName);
  return SpoolWriter::header(process) + writer.buffer(buffer.data(), buffer.size());
}

Trace decoded(RecordBuffer& buffer, const std::string& more) {
  const std::string spool = spool_of(buffer) + more + SpoolWriter::end();
  auto trace = decode({spool});
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

const Slice& only(const Trace& trace, std::string_view name) {
  static const Slice kNone{};
  const Slice* found = nullptr;
  for (const Slice& slice : trace.slices) {
    if (trace.name(slice) != name) continue;
    EXPECT_EQ(found, nullptr) << "two slices " << name;
    found = &slice;
  }
  EXPECT_NE(found, nullptr) << "no slice " << name;
  return found != nullptr ? *found : kNone;
}

std::string track_of(const Trace& trace, const Slice& slice) {
  const Track& track = trace.tracks[to_index(slice.track)];
  return track.process + "/" + track.thread;
}

}  // namespace cohort::cupti
