#include "tracer/cupti/records.hpp"

namespace cohort::cupti {

std::optional<std::size_t> record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(PeerCopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(MemsetRecord);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CallRecord);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(SynchronizationRecord);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(EventRecord);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(ExternalCorrelationRecord);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(GraphRecord);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(OverheadRecord);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(MarkerRecord);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(DeviceRecord);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(ContextRecord);
    default:
      return std::nullopt;
  }
}

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<void> check_version(std::uint32_t library) {
  constexpr std::uint32_t kHeaders = CUPTI_API_VERSION;
  if (library / 100 == kHeaders / 100) return {};
  return fail(ErrorCode::kDeviceMissing,
              "CUPTI {} is installed, but this build reads the records of CUPTI {}; install CUDA {}.{} or build with "
              "the toolkit that is installed",
              version_text(library), version_text(kHeaders), kHeaders / 10000, kHeaders / 100 % 100);
}

}  // namespace cohort::cupti
