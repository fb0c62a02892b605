#include "tracer/cupti/collector.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tracer/cupti/api.hpp"
#include "tracer/cupti/range.hpp"

namespace cohort::cupti {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

struct Kind {
  CUpti_ActivityKind kind;
  bool is_needed;  ///< without it there is no recording; others are left out, and counted, where CUPTI refuses
};
constexpr std::array<Kind, 13> kKinds = {{
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true},
    {CUPTI_ACTIVITY_KIND_MEMSET, true},
    {CUPTI_ACTIVITY_KIND_RUNTIME, true},
    {CUPTI_ACTIVITY_KIND_DRIVER, true},
    {CUPTI_ACTIVITY_KIND_DEVICE, false},
    {CUPTI_ACTIVITY_KIND_CONTEXT, false},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, false},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, false},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, false},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, false},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, false},
    {CUPTI_ACTIVITY_KIND_MARKER, false},
}};

/// Calls that are many, short, and say nothing.
constexpr std::array kNoisyRuntimeCalls = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020};
constexpr std::array kNoisyDriverCalls = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice,
    CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2};

constexpr std::array kGraphCallbacks = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

/// External ids from here on are ours for ranges of NVTX's; those below are the session's.
constexpr std::uint64_t kUnnamedRange = std::uint64_t{1} << 32;

class CuptiCollector;
// CUPTI's callbacks for buffers carry no user data: the one collector of the process, while it runs.
std::atomic<CuptiCollector*> running{nullptr};
// What this thread's launches are for; CUPTI keeps the same stack, but does not tell it to callbacks.
thread_local std::vector<std::uint64_t> current_ids;

/// Buffers, zeroed before they are given (CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) and used again.
class BufferPool {
 public:
  std::uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      storage_.push_back(std::make_unique<std::uint64_t[]>(kBufferBytes / sizeof(std::uint64_t)));  // zeroed
      return reinterpret_cast<std::uint8_t*>(storage_.back().get());
    }
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(std::uint8_t* buffer) {
    std::memset(buffer, 0, kBufferBytes);
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::uint64_t[]>> storage_;
  std::vector<std::uint8_t*> free_;
};

/// CUPTI may keep a buffer when a recording has ended: they live as long as the process.
BufferPool& buffer_pool() {
  static BufferPool& pool = *new BufferPool;
  return pool;
}

class CuptiCollector final : public Collector {
 public:
  CuptiCollector(const Api& api, ChunkSink sink)
      : api_(api), sink_(std::move(sink)), writer_(api.get_next_record, api.get_callback_name) {}
  ~CuptiCollector() override {
    disable();  // after a start that failed
    CuptiCollector* self = this;
    running.compare_exchange_strong(self, nullptr);
    unsubscribe();
  }
  CuptiCollector(const CuptiCollector&) = delete;
  CuptiCollector& operator=(const CuptiCollector&) = delete;

  Result<void> enable(const CuptiOptions& options);

  void label(std::uint64_t id, const Label& label) override { give(SpoolWriter::label(id, label)); }
  void push(std::uint64_t id) noexcept override {
    current_ids.push_back(id);
    api_.push_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, id);
  }
  void pop() noexcept override {
    if (current_ids.empty()) return;
    current_ids.pop_back();
    std::uint64_t last = 0;
    api_.pop_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &last);
  }
  [[nodiscard]] std::optional<Nanoseconds> now() const noexcept override {
    std::uint64_t time = 0;
    if (api_.get_timestamp(&time) != CUPTI_SUCCESS || time == 0) return std::nullopt;
    return Nanoseconds(static_cast<std::int64_t>(time));
  }
  void flush() noexcept override { api_.flush_all(0); }  // holds no lock of ours: CUPTI calls back from it
  Result<void> stop(bool detach) override;
  void leave() noexcept override;

  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                        std::size_t valid);
  static void CUPTIAPI called_back(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

 private:
  Result<void> subscribe();
  void unsubscribe() {
    if (subscriber_ != nullptr) api_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  Result<void> enable(CUpti_ActivityKind kind, std::string_view name) {
    COHORT_CHECK(api_.check(api_.enable(kind), fmt::format("cuptiActivityEnable({})", name)));
    enabled_.push_back(kind);
    return {};
  }
  /// What this recording has switched on: others of this process are not to pay for it.
  void disable() noexcept {
    for (const CUpti_ActivityKind kind : enabled_) api_.disable(kind);
    enabled_.clear();
    if (std::exchange(latency_timestamps_, false)) api_.enable_latency_timestamps(0);
    if (std::exchange(event_timestamps_, false)) api_.enable_event_timestamps(0);
  }
  void enable_ranges();
  Result<void> enable_kinds(const CuptiOptions& options);
  void give(std::string_view chunks) {
    const std::lock_guard lock(sink_mutex_);
    sink_(chunks);
  }
  void count_dropped();
  void graph_node(CUpti_CallbackId id, const CUpti_GraphData& data);
  void range(CUpti_CallbackId call, const CUpti_NvtxData& data);
  std::uint64_t id_of_range(const std::string& text);

  Api api_;
  ChunkSink sink_;
  std::mutex sink_mutex_;
  SpoolWriter writer_;  ///< under sink_mutex_
  std::mutex nodes_mutex_;
  std::map<std::uint64_t, std::uint64_t> nodes_;    ///< graph node -> external id; under nodes_mutex_
  std::map<std::string, std::uint64_t> range_ids_;  ///< by text of NVTX's ranges; likewise
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<CUpti_ActivityKind> enabled_;
  bool latency_timestamps_ = false;
  bool event_timestamps_ = false;
};

void CuptiCollector::buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  CuptiCollector* const self = running.load();
  *buffer = nullptr;  // CUPTI then drops records, and counts them
  *size = 0;
  *most_records = 0;  // as many as fit
  if (self == nullptr) return;
  try {
    *buffer = buffer_pool().take();
    *size = kBufferBytes;
  } catch (const std::bad_alloc&) {
    return;
  }
}

void CuptiCollector::buffer_completed(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                                      std::size_t /*size*/, std::size_t valid) {
  CuptiCollector* const self = running.load();
  if (self == nullptr || buffer == nullptr) return;
  try {
    {
      const std::lock_guard lock(self->sink_mutex_);
      self->sink_(self->writer_.buffer(buffer, valid));
    }
    buffer_pool().give_back(buffer);
  } catch (const std::exception&) {
    return;  // an exception must not enter CUPTI; the spool then lacks this buffer
  }
}

void CuptiCollector::called_back(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  // None runs in a forked child, whose copy of our locks may be held for good.
  if (data == nullptr || running.load() != self) return;
  auto& collector = *static_cast<CuptiCollector*>(self);
  try {
    if (domain == CUPTI_CB_DOMAIN_NVTX) collector.range(id, *static_cast<const CUpti_NvtxData*>(data));
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
    const void* const graph = static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor;
    if (graph != nullptr) collector.graph_node(id, *static_cast<const CUpti_GraphData*>(graph));
  } catch (const std::exception&) {
    return;  // must not enter CUPTI
  }
}

/// What is launched or captured inside a range of NVTX's is for the innermost one.
void CuptiCollector::range(CUpti_CallbackId call, const CUpti_NvtxData& data) {
  switch (range_call(call)) {
    case RangeCall::kPush: {
      const std::string text = range_text(call, data.functionParams);
      if (text.empty()) return push(current_ids.empty() ? kUnnamedRange : current_ids.back());
      return push(id_of_range(text));
    }
    case RangeCall::kPop:
      return pop();
    case RangeCall::kOther:
      return;
  }
}

std::uint64_t CuptiCollector::id_of_range(const std::string& text) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(nodes_mutex_);
    const auto [known, is_new] = range_ids_.try_emplace(text, kUnnamedRange + 1 + range_ids_.size());
    id = known->second;
    if (!is_new) return id;
  }
  label(id, label_of_range(text));
  return id;
}

/// A node made while a label is pushed is for that label; clones (instantiation clones a graph) likewise.
void CuptiCollector::graph_node(CUpti_CallbackId id, const CUpti_GraphData& data) {
  std::uint64_t node = 0;
  if (api_.get_graph_node_id(data.node, &node) != CUPTI_SUCCESS) return;
  std::uint64_t external_id = 0;
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    std::uint64_t original = 0;
    if (api_.get_graph_node_id(data.originalNode, &original) != CUPTI_SUCCESS) return;
    const std::lock_guard lock(nodes_mutex_);
    const auto known = nodes_.find(original);
    if (known == nodes_.end()) return;
    external_id = known->second;
    nodes_[node] = external_id;
  } else {
    if (current_ids.empty()) return;
    external_id = current_ids.back();
    const std::lock_guard lock(nodes_mutex_);
    // Instantiation tells of clones in this way, too, whatever is pushed by then.
    if (!nodes_.try_emplace(node, external_id).second) return;
  }
  give(SpoolWriter::node(node, external_id));
}

Result<void> CuptiCollector::subscribe() {
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1> other{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "Cohort";
  params.oldSubscriberName = other.data();
  params.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
  const CUptiResult status = api_.subscribe(&subscriber_, &CuptiCollector::called_back, this, &params);
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return fail(ErrorCode::kDeviceMissing, "another tool traces this process already: {}; only one can at a time",
                other[0] != '\0' ? other.data() : "it gives no name");
  return api_.check(status, "cuptiSubscribe_v2");
}

Result<void> CuptiCollector::enable_kinds(const CuptiOptions& options) {
  for (const auto& [kind, is_needed] : kKinds) {
    if (kind == CUPTI_ACTIVITY_KIND_MARKER && !options.ranges) continue;
    auto enabled = enable(kind, std::to_string(kind));
    if (!enabled && is_needed) return enabled;
    if (!enabled) give(SpoolWriter::count(fmt::format("kinds of record: {}", enabled.error().message), 1));
  }
  // Beside it no node of a graph is recorded.
  if (options.whole_graphs) COHORT_CHECK(enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "GRAPH_TRACE"));
  // Where that fails they are recorded, which does no harm.
  for (const auto call : kNoisyRuntimeCalls) api_.enable_runtime_call(call, 0);
  for (const auto call : kNoisyDriverCalls) api_.enable_driver_call(call, 0);
  return {};
}

/// Without NVTX's callbacks kernels miss their ranges, and nothing else.
void CuptiCollector::enable_ranges() {
  const auto ranges = api_.check(api_.enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_NVTX), "cuptiEnableDomain");
  if (!ranges) give(SpoolWriter::count(fmt::format("ranges: {}", ranges.error().message), 1));
}

Result<void> CuptiCollector::enable(const CuptiOptions& options) {
  COHORT_CHECK(subscribe());
  for (const auto id : kGraphCallbacks)
    COHORT_CHECK(api_.check(api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id), "cuptiEnableCallback"));
  if (options.ranges) enable_ranges();
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  COHORT_CHECK(api_.check(api_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed),
                          "cuptiActivitySetAttribute"));
  COHORT_CHECK(api_.check(api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType"));
  static const int in_children = ::pthread_atfork(nullptr, nullptr, [] { running.store(nullptr); });
  static_cast<void>(in_children);
  CuptiCollector* none = nullptr;
  if (!running.compare_exchange_strong(none, this))
    return fail(ErrorCode::kDeviceMissing, "a recording runs in this process already");
  if (options.latency_timestamps) {
    COHORT_CHECK(api_.check(api_.enable_latency_timestamps(1), "cuptiActivityEnableLatencyTimestamps"));
    latency_timestamps_ = true;
  }
  if (options.event_times) {
    COHORT_CHECK(api_.check(api_.enable_event_timestamps(1), "cuptiActivityEnableCudaEventDeviceTimestamps"));
    event_timestamps_ = true;
  }
  COHORT_CHECK(api_.check(api_.register_callbacks(&CuptiCollector::buffer_requested, &CuptiCollector::buffer_completed),
                          "cuptiActivityRegisterCallbacks"));
  return enable_kinds(options);
}

void CuptiCollector::count_dropped() {
  std::size_t dropped = 0;
  if (api_.get_dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
    give(SpoolWriter::count("records that CUPTI dropped", dropped));
}

Result<void> CuptiCollector::stop(bool detach) {
  const CUptiResult flushed = api_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  count_dropped();
  disable();
  unsubscribe();
  if (detach) api_.finalize();
  COHORT_CHECK(api_.check(flushed, "cuptiActivityFlushAll"));
  give(SpoolWriter::end());
  return {};
}

void CuptiCollector::leave() noexcept {
  flush();
  try {
    count_dropped();
  } catch (const std::exception&) {
    return;  // no memory: the recording lacks a number
  }
}

}  // namespace

Result<std::unique_ptr<Collector>> Collector::start(const CuptiOptions& options, ChunkSink sink) {
  COHORT_TRY(const Api api, load_api());
  auto collector = std::make_unique<CuptiCollector>(api, std::move(sink));
  COHORT_CHECK(collector->enable(options));
  return collector;
}

}  // namespace cohort::cupti
