#include <fmt/format.h>

#include <algorithm>

#include "tracer/nsight/nsight_reader.hpp"

namespace cohort {
namespace {

/// Positions of the columns that all device tables share.
enum WorkColumn : std::size_t { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kProcess, kNode, kMore };

/// Of CUPTI's enumeration CUpti_ActivityMemcpyKind, for exports without Nsight's table of names.
std::string_view copy_kind(std::int64_t kind) {
  constexpr std::array<std::string_view, 11> kKinds = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind > 0 && kind < static_cast<std::int64_t>(kKinds.size()) ? kKinds[static_cast<std::size_t>(kind)] : "";
}

/// Of CUpti_ActivitySynchronizationType, as PyTorch's profiler names them.
std::string_view synchronization_kind(std::int64_t kind) {
  constexpr std::array<std::string_view, 5> kKinds = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                                      "Context Sync"};
  return kKinds[kind > 0 && kind < static_cast<std::int64_t>(kKinds.size()) ? static_cast<std::size_t>(kind) : 0];
}

/// "Host-to-Device" and "Unified Host-to-Device" of Nsight's names to "HtoD", as long as they have that form.
std::string short_copy_kind(std::string_view label) {
  const std::size_t to = label.find("-to-");
  if (to == std::string_view::npos || to == 0 || to + 4 >= label.size()) return std::string(label);
  const std::size_t space = label.rfind(' ', to);
  return fmt::format("{}to{}", label[space == std::string_view::npos ? 0 : space + 1], label[to + 4]);
}

std::string triple(const SqliteRow& row, std::size_t first) {
  return fmt::format("[{},{},{}]", row.integer(first).value_or(1), row.integer(first + 1).value_or(1),
                     row.integer(first + 2).value_or(1));
}

}  // namespace

std::vector<std::string_view> NsightReader::work_columns(const std::vector<std::string_view>& more) {
  std::vector<std::string_view> columns = {"start",    "end",           "deviceId",  "contextId",
                                           "streamId", "correlationId", "globalPid", "graphNodeId"};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

std::optional<NsightReader::Work> NsightReader::work_of(const SqliteRow& row) {
  const auto when = times(row, kStart, kEnd);
  if (!when) return std::nullopt;
  Work work;
  std::tie(work.start, work.duration) = *when;
  work.device = row.integer(kDevice).value_or(0);
  work.context = row.integer(kContext).value_or(0);
  constexpr std::int64_t kNoStream = 4'294'967'295;
  work.stream = row.integer(kStream).value_or(0);
  if (work.stream == kNoStream) work.stream = -1;
  constexpr std::int64_t kMostDevice = 65'535;
  if (work.stream < -1 || work.stream > kNoStream || work.device < 0 || work.device > kMostDevice) {
    drop("record whose device or stream is out of range");
    return std::nullopt;
  }
  work.process = row.integer(kProcess).value_or(0);
  if (numbered_by_gpu_) {
    const auto gpu = gpu_of_device_.find({pid_of(work.process), work.device});
    if (gpu != gpu_of_device_.end()) work.device = gpu->second;
  }
  if (const auto correlation = row.integer(kCorrelation))
    work.correlation = unique_correlation(work.process, *correlation);
  const auto node = row.integer(kNode);
  if (node && *node != 0) work.node = node;
  return work;
}

Args NsightReader::work_args(const Work& work) {
  Args args;
  add(args, "device", work.device);
  add(args, "context", work.context);
  add(args, "stream", work.stream);
  add_if(args, "correlation", work.correlation);
  add_if(args, "graph node id", work.node);
  return args;
}

void NsightReader::add_work(const Work& work, StringId name, std::string_view category, const Args& args) {
  const SliceId slice = add_slice(device_track(work), name, category, work.start, work.duration, args);
  if (work.correlation) launched_.emplace_back(*work.correlation, slice);
}

Result<void> NsightReader::read_kernels() {
  COHORT_TRY(const Labels launch_types, labels("ENUM_CUDA_KERNEL_LAUNCH_TYPE"));
  enum : std::size_t {
    kDemangled = kMore,
    kShort,
    kMangled,
    kName,
    kRegisters,
    kStatic,
    kDynamic,
    kLocal,
    kLaunchType,
    kGraph,
    kGrid,
    kBlock = kGrid + 3,
    kCluster = kBlock + 3
  };
  const auto columns =
      work_columns({"demangledName", "shortName", "mangledName", "name", "registersPerThread", "staticSharedMemory",
                    "dynamicSharedMemory", "localMemoryPerThread", "launchType", "graphId", "gridX", "gridY", "gridZ",
                    "blockX", "blockY", "blockZ", "clusterX", "clusterY", "clusterZ"});
  return database_.each_row(table("CUPTI_ACTIVITY_KIND_KERNEL"), columns, [&](const SqliteRow& row) {
    const auto work = work_of(row);
    if (!work) return;
    std::optional<StringId> name;
    for (const std::size_t column :
         {std::size_t{kDemangled}, std::size_t{kShort}, std::size_t{kMangled}, std::size_t{kName}}) {
      if (!name) name = string_of(row, column);
    }
    Args args = work_args(*work);
    add_if(args, "registers per thread", row.integer(kRegisters));
    if (row.integer(kStatic) || row.integer(kDynamic)) {
      // Unsigned, so that damaged values cannot overflow; real ones are small.
      const auto sum = static_cast<std::uint64_t>(row.integer(kStatic).value_or(0)) +
                       static_cast<std::uint64_t>(row.integer(kDynamic).value_or(0));
      add(args, "shared memory", static_cast<std::int64_t>(sum));
    }
    add_if(args, "local memory per thread", row.integer(kLocal));
    add_if(args, "graph id", row.integer(kGraph));
    for (const auto& [key, first] : {std::pair{"grid", std::size_t{kGrid}}, {"block", kBlock}, {"cluster", kCluster}}) {
      if (row.integer(first).value_or(0) > 0)
        args.emplace_back(trace_.strings.intern(key), NestedJson{trace_.strings.intern(triple(row, first))});
    }
    if (const auto type = row.integer(kLaunchType)) {
      const auto label = launch_types.find(*type);
      if (label == launch_types.end()) {
        add(args, "launch type", *type);
      } else {
        args.emplace_back(trace_.strings.intern("launch type"), trace_.strings.intern(label->second));
      }
    }
    ++kernels_of_device_[work->device];
    add_work(*work, name.value_or(trace_.strings.intern("(unnamed kernel)")), "kernel", args);
  });
}

Result<void> NsightReader::read_copies() {
  COHORT_TRY(const Labels kinds, labels("ENUM_CUDA_MEMCPY_OPER"));
  COHORT_TRY(const Labels memories, labels("ENUM_CUDA_MEM_KIND"));
  enum : std::size_t { kBytes = kMore, kKind, kFrom, kTo };
  const auto columns = work_columns({"bytes", "copyKind", "srcKind", "dstKind"});
  return database_.each_row(table("CUPTI_ACTIVITY_KIND_MEMCPY"), columns, [&](const SqliteRow& row) {
    const auto work = work_of(row);
    if (!work) return;
    const std::int64_t kind = row.integer(kKind).value_or(0);
    const auto label = kinds.find(kind);
    std::string name =
        fmt::format("Memcpy {}", label != kinds.end() ? short_copy_kind(label->second) : std::string(copy_kind(kind)));
    const auto from = memories.find(row.integer(kFrom).value_or(-1));
    const auto to = memories.find(row.integer(kTo).value_or(-1));
    if (from != memories.end() && to != memories.end()) name += fmt::format(" ({} -> {})", from->second, to->second);
    Args args = work_args(*work);
    add_if(args, "bytes", row.integer(kBytes));
    add_work(*work, trace_.strings.intern(name), "gpu_memcpy", args);
  });
}

Result<void> NsightReader::read_memsets() {
  const auto columns = work_columns({"bytes", "value"});
  return database_.each_row(table("CUPTI_ACTIVITY_KIND_MEMSET"), columns, [&](const SqliteRow& row) {
    const auto work = work_of(row);
    if (!work) return;
    Args args = work_args(*work);
    add_if(args, "bytes", row.integer(kMore));
    add_if(args, "value", row.integer(kMore + 1));
    add_work(*work, trace_.strings.intern("Memset"), "gpu_memset", args);
  });
}

Result<void> NsightReader::read_graphs() {
  const auto columns = work_columns({"graphId", "graphExecId"});
  return database_.each_row(table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"), columns, [&](const SqliteRow& row) {
    const auto work = work_of(row);
    if (!work) return;
    Args args = work_args(*work);
    add_if(args, "graph id", row.integer(kMore));
    add_if(args, "graph exec id", row.integer(kMore + 1));
    add_work(*work, trace_.strings.intern(fmt::format("graph {}", row.integer(kMore).value_or(0))), "gpu_graph", args);
  });
}

/// Events have one time, if any: what matters is which stream recorded them, and when in its order.
Result<void> NsightReader::read_events() {
  enum : std::size_t { kEvent, kRecordStream, kRecordCorrelation, kRecordProcess, kSyncId };
  COHORT_CHECK(database_.each_row(table("CUPTI_ACTIVITY_KIND_CUDA_EVENT"),
                                  {"eventId", "streamId", "correlationId", "globalPid", "eventSyncId"},
                                  [&](const SqliteRow& row) {
                                    const auto event = row.integer(kEvent);
                                    const auto correlation = row.integer(kRecordCorrelation);
                                    if (!event || !correlation) return drop("event record without an id");
                                    const std::int64_t process = row.integer(kRecordProcess).value_or(0);
                                    auto sync_id = row.integer(kSyncId);
                                    if (sync_id && *sync_id == 0) sync_id.reset();
                                    recorded_.push_back({process, *event, unique_correlation(process, *correlation),
                                                         row.integer(kRecordStream).value_or(0), sync_id});
                                  }));
  std::stable_sort(recorded_.begin(), recorded_.end(), [](const Recorded& a, const Recorded& b) {
    return std::tie(a.process, a.event, a.correlation) < std::tie(b.process, b.event, b.correlation);
  });
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    if (recorded_[i].sync_id) recorded_by_sync_id_[{recorded_[i].process, *recorded_[i].sync_id}] = i;
  }
  return {};
}

const NsightReader::Recorded* NsightReader::recorded_before(const Work& wait, std::optional<std::int64_t> event,
                                                            std::optional<std::int64_t> sync_id) const {
  if (sync_id) {
    const auto found = recorded_by_sync_id_.find({wait.process, *sync_id});
    if (found != recorded_by_sync_id_.end()) return &recorded_[found->second];
  }
  if (!event || !wait.correlation) return nullptr;
  const auto after = std::lower_bound(
      recorded_.begin(), recorded_.end(), std::tuple(wait.process, *event, *wait.correlation),
      [](const Recorded& it, const auto& wanted) { return std::tuple(it.process, it.event, it.correlation) < wanted; });
  if (after == recorded_.begin()) return nullptr;
  const Recorded& before = *(after - 1);
  return before.process == wait.process && before.event == *event ? &before : nullptr;
}

Result<void> NsightReader::read_synchronizations() {
  enum : std::size_t { kType = kMore, kEvent, kSyncId };
  const auto columns = work_columns({"syncType", "eventId", "eventSyncId"});
  return database_.each_row(table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"), columns, [&](const SqliteRow& row) {
    const auto work = work_of(row);
    if (!work) return;
    const std::int64_t type = row.integer(kType).value_or(0);
    const std::string_view kind = synchronization_kind(type);
    Args args = work_args(*work);
    args.emplace_back(trace_.strings.intern("cuda_sync_kind"), trace_.strings.intern(kind));
    constexpr std::int64_t kWithEvent = 2;  // event synchronisation and stream wait
    if (type > 0 && type <= kWithEvent) {
      auto sync_id = row.integer(kSyncId);
      if (sync_id && *sync_id == 0) sync_id.reset();
      add_if(args, "wait_on_cuda_event_id", row.integer(kEvent));
      if (const Recorded* recorded = recorded_before(*work, row.integer(kEvent), sync_id)) {
        add(args, "wait_on_stream", recorded->stream);
        add(args, "wait_on_cuda_event_record_corr_id", recorded->correlation);
      }
    }
    add_slice(device_track(*work), trace_.strings.intern(kind), "cuda_sync", work->start, work->duration, args);
  });
}

/// Each process numbers the devices that it sees from 0. Where one number stands for several GPUs, GPUs' own are taken.
Result<void> NsightReader::read_device_numbers() {
  constexpr std::int64_t kMostGpu = 65'535;
  std::map<std::int64_t, std::int64_t> gpus;
  return database_.each_row("TARGET_INFO_CUDA_DEVICE", {"cudaId", "gpuId", "pid"}, [&](const SqliteRow& row) {
    const auto device = row.integer(0);
    const auto gpu = row.integer(1);
    if (!device || !gpu || *gpu < 0 || *gpu > kMostGpu) return;
    gpu_of_device_.emplace(std::pair(row.integer(2).value_or(0), *device), *gpu);
    numbered_by_gpu_ = numbered_by_gpu_ || gpus.emplace(*device, *gpu).first->second != *gpu;
  });
}

namespace {

/// How a table of GPUs names what it holds.
struct GpuTable {
  struct Fact {
    std::string_view column;
    std::string_view name;  ///< as PyTorch's profiler has it, where it has it
  };
  std::string_view name, id, memory, cores;
  std::vector<Fact> facts;
};

std::vector<GpuTable> gpu_tables() {
  return {{"TARGET_INFO_GPU",
           "id",
           "totalMemory",
           "smCount",
           {{"computeMajor", "computeMajor"},
            {"computeMinor", "computeMinor"},
            {"maxThreadsPerBlock", "maxThreadsPerBlock"},
            {"maxRegistersPerBlock", "regsPerBlock"},
            {"maxRegistersPerSm", "regsPerMultiprocessor"},
            {"threadsPerWarp", "warpSize"},
            {"maxShmemPerBlock", "sharedMemPerBlock"},
            {"maxShmemPerSm", "sharedMemPerMultiprocessor"},
            {"maxShmemPerBlockOptin", "sharedMemPerBlockOptin"},
            {"maxBlocksPerSm", "maxBlocksPerMultiprocessor"},
            {"maxWarpsPerSm", "maxWarpsPerMultiprocessor"},
            {"l2CacheSize", "l2CacheSize"},
            {"memoryBandwidth", "memoryBandwidth"},
            {"clockRate", "clockRate"},
            {"asyncEngines", "asyncEngines"}}},
          // Until early in 2021, with the names of CUPTI's records.
          {"TARGET_INFO_CUDA_GPU",
           "deviceId",
           "globalMemorySize",
           "numMultiprocessors",
           {{"computeCapabilityMajor", "computeMajor"},
            {"computeCapabilityMinor", "computeMinor"},
            {"maxThreadsPerBlock", "maxThreadsPerBlock"},
            {"maxRegistersPerBlock", "regsPerBlock"},
            {"maxRegistersPerMultiprocessor", "regsPerMultiprocessor"},
            {"numThreadsPerWarp", "warpSize"},
            {"maxSharedMemoryPerBlock", "sharedMemPerBlock"},
            {"maxSharedMemoryPerMultiprocessor", "sharedMemPerMultiprocessor"},
            {"maxBlocksPerMultiprocessor", "maxBlocksPerMultiprocessor"},
            {"maxWarpsPerMultiprocessor", "maxWarpsPerMultiprocessor"},
            {"l2CacheSize", "l2CacheSize"}}}};
}

DeviceInfo gpu_in(const SqliteRow& row, const GpuTable& table) {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = std::string(row.text(1).value_or(""));
  info.memory = {std::max(std::int64_t{0}, row.integer(2).value_or(0))};  // a damaged one is unknown
  constexpr std::int64_t kMostCores = 1'000'000;
  info.cores = static_cast<int>(std::clamp(row.integer(3).value_or(1), std::int64_t{1}, kMostCores));
  for (std::size_t i = 0; i < table.facts.size(); ++i) {
    if (const auto value = row.integer(4 + i)) info.settings[std::string(table.facts[i].name)] = std::to_string(*value);
  }
  const auto warps = info.settings.find("maxWarpsPerMultiprocessor");
  if (warps != info.settings.end() && info.settings["warpSize"] == "32" && warps->second.size() < 6)
    info.settings["maxThreadsPerMultiprocessor"] = std::to_string(32 * std::stoi(warps->second));
  return info;
}

}  // namespace

/// The one that ran most kernels, else the first.
Result<void> NsightReader::read_gpus() {
  const auto most = std::max_element(kernels_of_device_.begin(), kernels_of_device_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::int64_t device = most == kernels_of_device_.end() ? 0 : most->first;
  const auto mapped = std::find_if(gpu_of_device_.begin(), gpu_of_device_.end(),
                                   [&](const auto& each) { return each.first.second == device; });
  const std::int64_t wanted = numbered_by_gpu_ || mapped == gpu_of_device_.end() ? device : mapped->second;
  std::int64_t gpus = 0;
  for (const GpuTable& table : gpu_tables()) {
    if (gpus > 0) break;
    std::vector<std::string_view> columns = {table.id, "name", table.memory, table.cores};
    for (const GpuTable::Fact& fact : table.facts) columns.push_back(fact.column);
    COHORT_CHECK(database_.each_row(table.name, columns, [&](const SqliteRow& row) {
      const bool is_wanted = row.integer(0).value_or(0) == wanted;
      if (++gpus > 1 && !is_wanted) return;
      trace_.info.device = gpu_in(row, table);
      trace_.info.device.id = fmt::format("cuda:{}", device);
    }));
  }
  if (gpus > 1) trace_.info.device.settings["devices in the machine"] = std::to_string(gpus);
  return {};
}

}  // namespace cohort
