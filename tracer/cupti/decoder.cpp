#include "tracer/cupti/decoder.hpp"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>

#include "tracer/cupti/gathered.hpp"

namespace cohort::cupti {
namespace {

Nanoseconds time_of(std::uint64_t nanoseconds) { return Nanoseconds(static_cast<std::int64_t>(nanoseconds)); }

/// Both there and in order; CUPTI_TIMESTAMP_UNKNOWN is 0.
bool has_times(std::uint64_t start, std::uint64_t end) { return start != 0 && end != 0 && end >= start; }

std::string demangled(const char* name) {
  if (name == nullptr) return "kernel without a name";
  if (!std::string_view(name).starts_with("_Z")) return name;  // "b" alone would come out as bool
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string_view copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "Memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "Memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "Memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "Memcpy HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "Memcpy PtoP";
    default:
      return "Memcpy of arrays";
  }
}

std::string capitalized(std::string_view word) {
  std::string text(word);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string_view memory_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "managed";
    default:
      return "other";
  }
}

std::string_view synchronization_name(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

std::string_view overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Compilation by the driver";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "Module loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "Lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "Command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "Start of managed memory's tracing";
    default:
      return "Overhead";
  }
}

}  // namespace

struct Decoder::State {
  Trace trace;
  std::vector<Gathered> processes;
  bool complete = true;

  Gathered& now() { return processes.back(); }
  void drop(std::string_view reason, std::int64_t records = 1) { trace.info.dropped[std::string(reason)] += records; }
  StringId text(std::string_view value) { return trace.strings.intern(value); }

  void arg(Args& args, std::string_view key, std::uint64_t value) {
    args.emplace_back(text(key), static_cast<std::int64_t>(value));
  }
  void arg(Args& args, std::string_view key, std::string_view value) { args.emplace_back(text(key), text(value)); }

  /// Where and by which launch; what all device work has.
  template <class Record>
  Args place_args(const Record& record) {
    Args args;
    arg(args, "device", record.deviceId);
    arg(args, "context", record.contextId);
    arg(args, "stream", record.streamId);
    arg(args, "correlation", now().unique_correlation(record.correlationId));
    return args;
  }

  /// Device work of `record`, if it can be drawn and came once.
  template <class Record>
  void add_work(const Record& record, std::uint64_t node, std::string_view name, std::string_view category, Args args) {
    now().device_of_context[record.contextId] = record.deviceId;
    if (!has_times(record.start, record.end)) return drop(kDroppedTimes);
    if (!now().seen.emplace(record.correlationId, node, record.start).second) return drop(kDroppedTwice);
    if (node != 0) arg(args, "graph node id", node);
    Pending work;
    work.start = time_of(record.start);
    work.end = time_of(record.end);
    work.name = text(name);
    work.category = text(category);
    work.args = std::move(args);
    work.correlation = record.correlationId;
    work.node = node;
    work.is_launched = true;
    const LaneKey lane{LaneKind::kStream, record.deviceId, record.contextId, record.streamId};
    now().lanes[lane].push_back(std::move(work));
  }

  void add(const KernelRecord& record);
  void add(const CopyRecord& record);
  void add(const PeerCopyRecord& record);
  void add(const MemsetRecord& record);
  void add(const GraphRecord& record);
  void add(const CallRecord& record);
  void add(const SynchronizationRecord& record);
  void add(const OverheadRecord& record);
  void add(const MarkerRecord& record);
  void add(const ExternalCorrelationRecord& record);
  void add(const EventRecord& record) {
    now().events.emplace(record.cudaEventSyncId, record);
    now().event_records.push_back(record);
  }
  void add(const DeviceRecord& record);
  void add(const ContextRecord& record) { now().device_of_context[record.contextId] = record.deviceId; }
};

void Decoder::State::add(const KernelRecord& record) {
  Args args = place_args(record);
  arg(args, "grid", fmt::format("[{},{},{}]", record.gridX, record.gridY, record.gridZ));
  arg(args, "block", fmt::format("[{},{},{}]", record.blockX, record.blockY, record.blockZ));
  const auto product = [](std::int32_t x, std::int32_t y, std::int32_t z) {
    return static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(z);
  };
  arg(args, "blocks", product(record.gridX, record.gridY, record.gridZ));
  arg(args, "threads", product(record.blockX, record.blockY, record.blockZ));
  arg(args, "registers per thread", record.registersPerThread);
  const auto fixed = static_cast<std::uint64_t>(record.staticSharedMemory);
  const auto dynamic = static_cast<std::uint64_t>(record.dynamicSharedMemory);
  arg(args, "static shared memory", fixed);
  arg(args, "dynamic shared memory", dynamic);
  arg(args, "shared memory", fixed + dynamic);
  if (record.clusterX > 0)
    arg(args, "cluster", fmt::format("[{},{},{}]", record.clusterX, record.clusterY, record.clusterZ));
  if (record.graphNodeId != 0) arg(args, "graph id", record.graphId);
  if (record.queued != 0) arg(args, "queued ns", record.queued);
  if (record.submitted != 0) arg(args, "submitted ns", record.submitted);
  add_work(record, record.graphNodeId, demangled(record.name), "kernel", std::move(args));
}

void Decoder::State::add(const CopyRecord& record) {
  Args args = place_args(record);
  arg(args, "bytes", record.bytes);
  const std::string_view from = memory_name(record.srcKind);
  const std::string_view to = memory_name(record.dstKind);
  arg(args, "from", from);
  arg(args, "to", to);
  // As PyTorch's profiler writes it: readers find copies of pageable memory by their name.
  const std::string name = fmt::format("{} ({} -> {})", copy_name(record.copyKind), capitalized(from), capitalized(to));
  add_work(record, record.graphNodeId, name, "gpu_memcpy", std::move(args));
}

void Decoder::State::add(const PeerCopyRecord& record) {
  Args args = place_args(record);
  arg(args, "bytes", record.bytes);
  arg(args, "from device", record.srcDeviceId);
  arg(args, "to device", record.dstDeviceId);
  add_work(record, record.graphNodeId, copy_name(record.copyKind), "gpu_memcpy", std::move(args));
}

void Decoder::State::add(const MemsetRecord& record) {
  Args args = place_args(record);
  arg(args, "bytes", record.bytes);
  add_work(record, record.graphNodeId, "Memset", "gpu_memset", std::move(args));
}

void Decoder::State::add(const GraphRecord& record) {
  Args args = place_args(record);
  arg(args, "graph id", record.graphId);
  add_work(record, 0, fmt::format("graph {}", record.graphId), "gpu_graph", std::move(args));
}

void Decoder::State::add(const CallRecord& record) {
  if (!has_times(record.start, record.end)) return drop(kDroppedCallTimes);
  const bool is_runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const auto domain = is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  const auto found = now().call_names.find({domain, record.cbid});
  std::string name = found != now().call_names.end()
                         ? found->second
                         : fmt::format("{} call {}", is_runtime ? "runtime" : "driver", record.cbid);
  // "cudaLaunchKernel_v7000": the version of the function's interface is of no interest
  if (const std::size_t version = name.rfind("_v"); is_runtime && version != std::string::npos) name.resize(version);
  Pending call;
  call.start = time_of(record.start);
  call.end = time_of(record.end);
  call.name = text(name);
  call.category = text(is_runtime ? "cuda_runtime" : "cuda_driver");
  arg(call.args, "correlation", now().unique_correlation(record.correlationId));
  arg(call.args, "cbid", record.cbid);
  if (record.returnValue != 0) arg(call.args, "status", record.returnValue);
  call.correlation = record.correlationId;
  call.is_call = true;
  now().lanes[{LaneKind::kThread, record.processId, record.threadId, 0}].push_back(std::move(call));
}

void Decoder::State::add(const SynchronizationRecord& record) {
  if (!has_times(record.start, record.end)) return drop(kDroppedCallTimes);
  Pending wait;
  wait.start = time_of(record.start);
  wait.end = time_of(record.end);
  wait.name = text(synchronization_name(record.type));
  wait.category = text("cuda_sync");
  arg(wait.args, "cuda_sync_kind", synchronization_name(record.type));
  arg(wait.args, "correlation", now().unique_correlation(record.correlationId));
  arg(wait.args, "context", record.contextId);
  if (record.streamId != CUPTI_SYNCHRONIZATION_INVALID_VALUE) arg(wait.args, "stream", record.streamId);
  wait.correlation = record.correlationId;
  const LaneKey lane{LaneKind::kSynchronization, record.contextId, 0, 0};
  std::vector<Pending>& waits = now().lanes[lane];
  waits.push_back(std::move(wait));
  const bool is_for_event = record.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE ||
                            record.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  if (is_for_event) now().waits.push_back({lane, waits.size() - 1, record.cudaEventSyncId});
}

void Decoder::State::add(const OverheadRecord& record) {
  if (!has_times(record.start, record.end)) return drop(kDroppedCallTimes);
  Pending overhead;
  overhead.start = time_of(record.start);
  overhead.end = time_of(record.end);
  overhead.name = text(overhead_name(record.overheadKind));
  overhead.category = text("overhead");
  if (record.correlationId != 0) arg(overhead.args, "correlation", now().unique_correlation(record.correlationId));
  LaneKey lane{LaneKind::kOverhead, now().process, 0, 0};
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) lane.b = record.objectId.pt.threadId;
  now().lanes[lane].push_back(std::move(overhead));
}

void Decoder::State::add(const MarkerRecord& record) {
  LaneKey lane{LaneKind::kRanges, now().process, 0, 0};
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) lane.b = record.objectId.pt.threadId;
  const auto flags = static_cast<unsigned>(record.flags);
  std::optional<StringId> domain;
  if (record.domain != nullptr) domain = text(record.domain);
  OpenRange range{lane, time_of(record.timestamp), text(record.name != nullptr ? record.name : ""), domain};
  Nanoseconds end = time_of(record.timestamp);
  // Each thread has its buffers: of a range that another thread ends the end may come first.
  if ((flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0U) {
    const auto ended = now().range_ends.find(record.id);
    if (ended == now().range_ends.end()) {
      if (!now().open_ranges.emplace(record.id, range).second) drop(kDroppedRanges);
      return;
    }
    end = ended->second;
    now().range_ends.erase(ended);
  } else if ((flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0U) {
    const auto begun = now().open_ranges.find(record.id);
    if (begun == now().open_ranges.end()) {
      if (!now().range_ends.emplace(record.id, end).second) drop(kDroppedRanges);
      return;
    }
    range = begun->second;
    now().open_ranges.erase(begun);
  }
  if (range.start == Nanoseconds(0) || end < range.start) return drop(kDroppedRanges);
  Pending slice;
  slice.start = range.start;
  slice.end = end;
  slice.name = range.name;
  slice.category = text("user_annotation");
  if (range.domain) slice.args.emplace_back(text("domain"), *range.domain);
  now().lanes[range.lane].push_back(std::move(slice));
}

void Decoder::State::add(const ExternalCorrelationRecord& record) {
  const bool is_ours = record.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
  auto& ids = is_ours ? now().own_ids : now().foreign_ids;
  ids[record.correlationId] = record.externalId;  // the innermost comes last
}

/// The trace is of the first device; keys as PyTorch's profiler has them.
void Decoder::State::add(const DeviceRecord& record) {
  DeviceInfo& info = trace.info.device;
  const std::string id = fmt::format("cuda:{}", record.id);
  if (!info.id.empty() && info.id <= id) return;
  info.id = id;
  info.kind = "cuda";
  info.name = record.name != nullptr ? record.name : "";
  info.cores = static_cast<int>(record.numMultiprocessors);
  info.memory = Bytes{static_cast<std::int64_t>(record.globalMemorySize)};
  info.settings = {
      {"computeMajor", std::to_string(record.computeCapabilityMajor)},
      {"computeMinor", std::to_string(record.computeCapabilityMinor)},
      {"maxThreadsPerMultiprocessor", std::to_string(record.maxWarpsPerMultiprocessor * record.numThreadsPerWarp)},
      {"regsPerMultiprocessor", std::to_string(record.maxRegistersPerMultiprocessor)},
      {"sharedMemPerMultiprocessor", std::to_string(record.maxSharedMemoryPerMultiprocessor)},
      {"l2 bytes", std::to_string(record.l2CacheSize)},
      {"clock kHz", std::to_string(record.coreClockRate)},
  };
}

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;

void Decoder::begin(std::uint32_t process) {
  state_->processes.emplace_back();
  state_->now().process = process;
  state_->now().place = state_->processes.size() - 1;
}

void Decoder::record(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return state_->add(reinterpret_cast<const KernelRecord&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return state_->add(reinterpret_cast<const CopyRecord&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return state_->add(reinterpret_cast<const PeerCopyRecord&>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return state_->add(reinterpret_cast<const MemsetRecord&>(record));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return state_->add(reinterpret_cast<const GraphRecord&>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return state_->add(reinterpret_cast<const CallRecord&>(record));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return state_->add(reinterpret_cast<const SynchronizationRecord&>(record));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return state_->add(reinterpret_cast<const EventRecord&>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return state_->add(reinterpret_cast<const OverheadRecord&>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return state_->add(reinterpret_cast<const MarkerRecord&>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return state_->add(reinterpret_cast<const ExternalCorrelationRecord&>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return state_->add(reinterpret_cast<const DeviceRecord&>(record));
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return state_->add(reinterpret_cast<const ContextRecord&>(record));
    default:
      return state_->drop(fmt::format("CUPTI records of kind {}", static_cast<std::uint32_t>(record.kind)));
  }
}

void Decoder::call_name(CUpti_CallbackDomain domain, std::uint32_t id, std::string_view name) {
  state_->now().call_names[{domain, id}] = name;
}
void Decoder::label(std::uint64_t external_id, Label label) { state_->now().labels[external_id] = std::move(label); }
void Decoder::node(std::uint64_t node, std::uint64_t external_id) { state_->now().nodes[node] = external_id; }
void Decoder::own_thread(std::uint32_t number, std::uint64_t since) {
  state_->now().own_threads[number] = time_of(since);
}
void Decoder::count(std::string_view reason, std::uint64_t records) {
  if (records > 0) state_->drop(reason, static_cast<std::int64_t>(records));
}
void Decoder::end(bool complete) { state_->complete = state_->complete && complete; }

Trace Decoder::finish() {
  for (Gathered& process : state_->processes) lay_out(process, state_->processes.size() > 1, state_->trace);
  state_->trace.info.kind = TraceKind::kRecorded;
  state_->trace.info.settings["complete"] = state_->complete && !state_->processes.empty() ? "yes" : "no";
  state_->trace.info.settings["cupti"] = version_text(CUPTI_API_VERSION);
  Trace trace = std::move(state_->trace);
  state_ = std::make_unique<State>();
  return trace;
}

Result<Trace> decode(const std::vector<std::string_view>& spools) {
  Decoder decoder;
  std::optional<Error> bad;
  std::size_t read = 0;
  for (const std::string_view spool : spools) {
    if (const auto result = read_spool(spool, decoder)) {
      ++read;
    } else {
      decoder.count(fmt::format("processes whose recording is left out: {}", result.error().message), 1);
      decoder.end(false);
      if (!bad) bad = result.error();
    }
  }
  if (read == 0 && bad) return tl::unexpected<Error>(*std::move(bad));
  return decoder.finish();
}

}  // namespace cohort::cupti
