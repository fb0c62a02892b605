#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include <generated_nvtx_meta.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/cupti/call_log.hpp"

// A libcupti that stands in for the real one where there is no GPU: the functions that the tracer uses, and
// fake_* with which a test says what happens on the device. Records wait in a list until a flush, as in CUPTI,
// and go through the buffers that the tracer gives. What it was called with stands in $FAKE_CALL_LOG.

namespace {

using cohort::log_call;

struct Fake {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::mutex mutex;  ///< of what waits: the tracer flushes from a thread of its own
  std::vector<std::vector<char>> waiting;
  std::map<CUpti_ActivityKind, bool> enabled;
  std::vector<std::uint64_t> external_ids;
  std::size_t dropped = 0;
  bool ranges = false;  ///< NVTX's calls are told
};

Fake& fake() {
  static Fake& instance = *new Fake;  // never destroyed: the tracer's thread runs until the process has ended
  return instance;
}

template <class Record>
void add(const Record& record) {
  if (!fake().enabled[record.kind]) return;
  std::vector<char> bytes(sizeof record);
  std::memcpy(bytes.data(), &record, sizeof record);
  const std::lock_guard lock(fake().mutex);
  fake().waiting.push_back(std::move(bytes));
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  const char* other = std::getenv("FAKE_CUPTI_VERSION");
  *version = other != nullptr ? static_cast<std::uint32_t>(std::atoi(other)) : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}
int InitializeInjectionNvtx2(const void* (*)(std::uint32_t)) {
  cohort::log_call("InitializeInjectionNvtx2");
  return 1;
}
/// A clock of its own, an hour ahead of the steady clock.
CUptiResult cuptiGetTimestamp(std::uint64_t* timestamp) {
  timespec now{};
  if (::clock_gettime(CLOCK_MONOTONIC, &now) != 0) return CUPTI_ERROR_UNKNOWN;
  *timestamp =
      (static_cast<std::uint64_t>(now.tv_sec) + 3600) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* params) {
  if (std::getenv("FAKE_CUPTI_HELD") != nullptr) {
    std::strncpy(params->oldSubscriberName, "CUPTI for Another Tool", params->oldSubscriberSize - 1);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  log_call("cuptiSubscribe");
  fake().callback = callback;
  fake().user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&fake());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle /*subscriber*/) {
  log_call("cuptiUnsubscribe");
  fake().callback = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t /*enable*/, CUpti_SubscriberHandle /*subscriber*/,
                                CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(std::uint32_t enable, CUpti_SubscriberHandle /*subscriber*/,
                              CUpti_CallbackDomain domain) {
  fake().ranges = enable != 0 && domain == CUPTI_CB_DOMAIN_NVTX;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain /*domain*/, std::uint32_t /*id*/, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  *id = reinterpret_cast<std::uint64_t>(node);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType /*type*/) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  log_call("cuptiActivityRegisterCallbacks");
  fake().request = request;
  fake().complete = complete;
  return CUPTI_SUCCESS;
}
/// Of attributes with a value of one byte.
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
  if (*size != 1) return CUPTI_ERROR_INVALID_PARAMETER;
  log_call("cuptiActivitySetAttribute", attribute, *static_cast<const std::uint8_t*>(value));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT && std::getenv("FAKE_CUPTI_NO_EVENTS") != nullptr)
    return CUPTI_ERROR_INVALID_KIND;
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME && std::getenv("FAKE_CUPTI_NO_CALLS") != nullptr)
    return CUPTI_ERROR_INVALID_KIND;
  log_call("cuptiActivityEnable", kind);
  fake().enabled[kind] = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  log_call("cuptiActivityDisable", kind);
  fake().enabled[kind] = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enable) {
  log_call("cuptiActivityEnableRuntimeApi", id, enable);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t enable) {
  log_call("cuptiActivityEnableDriverApi", id, enable);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableLatencyTimestamps(std::uint8_t enable) {
  log_call("cuptiActivityEnableLatencyTimestamps", enable);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t enable) {
  log_call("cuptiActivityEnableCudaEventDeviceTimestamps", enable);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind /*kind*/, std::uint64_t id) {
  fake().external_ids.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind /*kind*/, std::uint64_t* last) {
  *last = fake().external_ids.back();
  fake().external_ids.pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  log_call("cuptiActivityFlushAll", flag);
  std::vector<std::vector<char>> records;
  {
    const std::lock_guard lock(fake().mutex);
    records.swap(fake().waiting);
  }
  if (fake().request == nullptr) return CUPTI_SUCCESS;
  for (std::size_t next = 0; next < records.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t most = 0;
    fake().request(&buffer, &size, &most);
    if (buffer == nullptr) return CUPTI_SUCCESS;
    std::size_t used = 0;
    for (; next < records.size() && used + records[next].size() <= size; ++next) {
      for (std::size_t i = 0; i < records[next].size(); ++i) {
        if (buffer[used + i] != 0) std::abort();  // the tracer promised zeroed buffers
      }
      std::memcpy(buffer + used, records[next].data(), records[next].size());
      used += records[next].size();
    }
    fake().complete(nullptr, 0, buffer, size, used);
  }
  return CUPTI_SUCCESS;
}
/// Waits for a thread that hands a buffer back, as CUPTI's may: whoever holds a lock that this needs hangs here.
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, std::uint32_t /*stream*/, std::size_t* dropped) {
  log_call("cuptiActivityGetNumDroppedRecords");
  std::thread([] {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t most = 0;
    if (fake().request != nullptr) fake().request(&buffer, &size, &most);
    if (buffer != nullptr) fake().complete(nullptr, 0, buffer, size, 0);
  }).join();
  *dropped = fake().dropped;
  return CUPTI_SUCCESS;
}
/// Records of the kinds that fake_* make.
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  auto size_of = [](const CUpti_Activity* of) {
    switch (of->kind) {
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sizeof(CUpti_ActivityAPI);
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
      default:
        return sizeof(CUpti_ActivityKernel10);
    }
  };
  auto* next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + size_of(*record);
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiFinalize() {
  log_call("cuptiFinalize");
  return CUPTI_SUCCESS;
}

/// A kernel that a launch of this thread ran, or a node of a graph launch.
void fake_kernel(std::uint64_t start, std::uint64_t end, std::uint32_t correlation, std::uint64_t node) {
  if (node == 0 && !fake().external_ids.empty()) {
    CUpti_ActivityExternalCorrelation external{};
    external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
    external.externalId = fake().external_ids.back();
    external.correlationId = correlation;
    add(external);
  }
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = "kernel";
  kernel.start = start;
  kernel.end = end;
  kernel.correlationId = correlation;
  kernel.graphNodeId = node;
  kernel.gridX = 4;
  kernel.blockX = 128;
  kernel.gridY = kernel.gridZ = kernel.blockY = kernel.blockZ = 1;
  kernel.registersPerThread = 40;
  add(kernel);
}
/// A call of the runtime's by thread 11, which the stand-in calls a launch whatever it is.
void fake_call(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.start = start;
  call.end = end;
  call.processId = 7;
  call.threadId = 11;
  call.correlationId = correlation;
  add(call);
}
/// The host waits for stream 13.
void fake_wait(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  wait.start = start;
  wait.end = end;
  wait.contextId = 1;
  wait.streamId = 13;
  wait.correlationId = correlation;
  add(wait);
}
/// The tool itself takes time.
void fake_overhead(std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 11;
  overhead.start = start;
  overhead.end = end;
  add(overhead);
}
/// A node made during a capture (original 0), or its clone made when the graph is instantiated.
void fake_graph_node(std::uint64_t node, std::uint64_t original) {
  if (fake().callback == nullptr) return;
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(node);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &graph;
  fake().callback(fake().user, CUPTI_CB_DOMAIN_RESOURCE,
                  original != 0 ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                  &resource);
}
/// nvtxRangePushA of a text, nvtxRangePop of null.
void fake_range(const char* text) {
  if (fake().callback == nullptr || !fake().ranges) return;
  const nvtxRangePushA_params pushed{text};
  CUpti_NvtxData data{};
  data.functionParams = text != nullptr ? &pushed : nullptr;
  fake().callback(fake().user, CUPTI_CB_DOMAIN_NVTX,
                  text != nullptr ? CUPTI_CBID_NVTX_nvtxRangePushA : CUPTI_CBID_NVTX_nvtxRangePop, &data);
}
void fake_dropped(std::size_t records) { fake().dropped = records; }

}  // extern "C"
