#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tracer/cupti/decoder.hpp"
#include "tracer/cupti/spool.hpp"

namespace cohort::cupti {

/// A buffer as CUPTI fills it: records one after another, 8-byte aligned.
class RecordBuffer {
 public:
  template <class Record>
  RecordBuffer& add(const Record& record) {
    const std::size_t end = words_.size();
    words_.resize(end + (sizeof record + 7) / 8);
    std::memcpy(words_.data() + end, &record, sizeof record);
    return *this;
  }
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(words_.data()); }
  [[nodiscard]] std::size_t size() const { return words_.size() * 8; }

 private:
  std::vector<std::uint64_t> words_;
};

/// Records with what a test says nothing about set as CUPTI sets it.
KernelRecord kernel(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t stream,
                    std::uint32_t correlation, std::uint64_t node = 0);
CallRecord runtime_call(CUpti_CallbackId id, std::uint64_t start, std::uint64_t end, std::uint32_t correlation,
                        std::uint32_t thread = 11);
CallRecord driver_call(CUpti_CallbackId id, std::uint64_t start, std::uint64_t end, std::uint32_t correlation);
SynchronizationRecord wait_for_event(CUpti_ActivitySynchronizationType type, std::uint64_t start, std::uint64_t end,
                                     std::uint32_t stream, std::uint64_t sync_id);
EventRecord event_record(std::uint32_t event, std::uint64_t sync_id, std::uint32_t stream, std::uint32_t correlation);
MarkerRecord marker(CUpti_ActivityFlag flag, std::uint32_t id, std::uint64_t time, const char* name);
ExternalCorrelationRecord external(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation);

/// The real path from a buffer to a spool: header, CUPTI's own reader of buffers, names of calls.
std::string spool_of(RecordBuffer& buffer, std::uint32_t process = 7);
/// A spool with its end through the real decoder. `more` are further chunks.
Trace decoded(RecordBuffer& buffer, const std::string& more = "");

/// The slice of this name; fails the test where there is not exactly one.
const Slice& only(const Trace& trace, std::string_view name);
std::string track_of(const Trace& trace, const Slice& slice);

}  // namespace cohort::cupti
