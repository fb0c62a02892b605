#pragma once

#include <cupti.h>

#include "base/plugin.hpp"
#include "base/result.hpp"

namespace cohort::cupti {

/// CUPTI's functions, found at run time, so that the module loads into any program.
struct Api {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiGetGraphNodeId) get_graph_node_id = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call = nullptr;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;
  decltype(&cuptiActivityEnableLatencyTimestamps) enable_latency_timestamps = nullptr;
  decltype(&cuptiActivityEnableCudaEventDeviceTimestamps) enable_event_timestamps = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;

  /// Success, or an error that names `call` and the status. Most calls return CUPTI_ERROR_UNKNOWN where
  /// there is no driver or GPU; the message says so.
  [[nodiscard]] Result<void> check(CUptiResult status, std::string_view call) const;
};

/// The libcupti that is loaded already (two in one process would not agree), else $COHORT_CUPTI_LIBRARY,
/// else one found on the machine. Errors: kDeviceMissing.
Result<SharedLibrary> find_library();

/// Of that. Errors: kDeviceMissing, also where its records are of another version.
Result<Api> load_api();

}  // namespace cohort::cupti
