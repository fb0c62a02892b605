#include "tracer/cupti/api.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "base/cuda_libraries.hpp"
#include "tracer/cupti/records.hpp"
#include "tracer/cupti_plugin.hpp"

namespace cohort::cupti {

Result<SharedLibrary> find_library() {
  const std::string name(kCuptiLibrary);
  if (::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
    return SharedLibrary::open(name, SharedLibrary::Scope::kLocal);
  const char* given = std::getenv(kCuptiLibraryVariable);
  if (given != nullptr && *given != '\0') return SharedLibrary::open(given, SharedLibrary::Scope::kLocal);
  return load_cuda_library(kCuptiLibrary);
}

namespace {

/// Sets `function` to what the library has under `name`, and notes the first that is missing.
class Finder {
 public:
  explicit Finder(const SharedLibrary& library) : library_(library) {}

  template <class Function>
  Finder& find(const char* name, Function*& function) {
    const auto found = library_.function<Function>(name);
    if (found) {
      function = *found;
    } else if (result_) {
      result_ = tl::unexpected<Error>(found.error());
    }
    return *this;
  }
  [[nodiscard]] Result<void> result() const { return result_; }

 private:
  const SharedLibrary& library_;
  Result<void> result_;
};

}  // namespace

Result<void> Api::check(CUptiResult status, std::string_view call) const {
  if (status == CUPTI_SUCCESS) return {};
  const char* name = nullptr;
  if (get_result_string == nullptr || get_result_string(status, &name) != CUPTI_SUCCESS || name == nullptr)
    name = "unknown status";
  const bool no_driver = status == CUPTI_ERROR_UNKNOWN || status == CUPTI_ERROR_NOT_INITIALIZED;
  return fail(ErrorCode::kDeviceMissing, "{} returned {} ({}){}", call, name, static_cast<int>(status),
              no_driver ? ": no NVIDIA driver or GPU here, or profiling is not allowed" : "");
}

Result<Api> load_api() {
  COHORT_TRY(const SharedLibrary library, find_library());
  Api api;
  Finder finder(library);
  finder.find("cuptiGetVersion", api.get_version)
      .find("cuptiGetResultString", api.get_result_string)
      .find("cuptiGetTimestamp", api.get_timestamp)
      .find("cuptiSubscribe_v2", api.subscribe)
      .find("cuptiUnsubscribe", api.unsubscribe)
      .find("cuptiEnableCallback", api.enable_callback)
      .find("cuptiEnableDomain", api.enable_domain)
      .find("cuptiGetCallbackName", api.get_callback_name)
      .find("cuptiGetGraphNodeId", api.get_graph_node_id)
      .find("cuptiSetThreadIdType", api.set_thread_id_type)
      .find("cuptiActivityRegisterCallbacks", api.register_callbacks)
      .find("cuptiActivitySetAttribute", api.set_attribute)
      .find("cuptiActivityEnable", api.enable)
      .find("cuptiActivityDisable", api.disable)
      .find("cuptiActivityEnableRuntimeApi", api.enable_runtime_call)
      .find("cuptiActivityEnableDriverApi", api.enable_driver_call)
      .find("cuptiActivityEnableLatencyTimestamps", api.enable_latency_timestamps)
      .find("cuptiActivityEnableCudaEventDeviceTimestamps", api.enable_event_timestamps)
      .find("cuptiActivityPushExternalCorrelationId", api.push_external_id)
      .find("cuptiActivityPopExternalCorrelationId", api.pop_external_id)
      .find("cuptiActivityFlushAll", api.flush_all)
      .find("cuptiActivityGetNumDroppedRecords", api.get_dropped)
      .find("cuptiActivityGetNextRecord", api.get_next_record)
      .find("cuptiFinalize", api.finalize);
  std::uint32_t version = 0;
  if (api.get_version != nullptr) {  // first: another version may lack functions
    COHORT_CHECK(api.check(api.get_version(&version), "cuptiGetVersion"));
    COHORT_CHECK(check_version(version));
  }
  COHORT_CHECK(finder.result());
  return api;
}

}  // namespace cohort::cupti
