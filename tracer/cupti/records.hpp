#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.hpp"

// The one place that says which of CUPTI's record types this build reads. Only sources of this folder
// and their tests include it.

namespace cohort::cupti {

#if CUPTI_API_VERSION < 130000
#error "The tracer reads the records of CUDA 13; use a newer toolkit"
#elif CUPTI_API_VERSION >= 130100
using KernelRecord = CUpti_ActivityKernel11;
#else
using KernelRecord = CUpti_ActivityKernel10;
#endif
using CopyRecord = CUpti_ActivityMemcpy6;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using MemsetRecord = CUpti_ActivityMemset4;
using CallRecord = CUpti_ActivityAPI;
using SynchronizationRecord = CUpti_ActivitySynchronization2;
using EventRecord = CUpti_ActivityCudaEvent2;
using ExternalCorrelationRecord = CUpti_ActivityExternalCorrelation;
using GraphRecord = CUpti_ActivityGraphTrace2;
using OverheadRecord = CUpti_ActivityOverhead3;
using MarkerRecord = CUpti_ActivityMarker2;
using DeviceRecord = CUpti_ActivityDevice5;
using ContextRecord = CUpti_ActivityContext3;

/// Bytes of a record of `kind`; absent for kinds that are not read.
std::optional<std::size_t> record_size(CUpti_ActivityKind kind);

/// Whether records that a library of version `library` (cuptiGetVersion) writes are those of the headers:
/// its first two numbers (13.0) must agree.
/// Errors: kDeviceMissing naming both versions.
Result<void> check_version(std::uint32_t library);

/// "13.0.1" of 130001.
std::string version_text(std::uint32_t version);

}  // namespace cohort::cupti
