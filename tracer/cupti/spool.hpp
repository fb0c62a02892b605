#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "tracer/cupti/records.hpp"

// A spool is what the traced process writes: CUPTI's records as they are, with the texts they point to,
// in chunks that are written whole. The process that reads it needs no CUPTI; a process that dies leaves
// a spool that can be read up to its last whole chunk, without the end.

namespace cohort::cupti {

/// What a launch was for. Ids are chosen by who launches; see Session in cupti_plugin.hpp.
struct Label {
  std::string task;
  std::string op;
  std::string members;
};

/// Reads the next record of a buffer: cuptiActivityGetNextRecord.
using NextRecord = CUptiResult (*)(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record);
/// Names a function of the driver or runtime API: cuptiGetCallbackName.
using CallName = CUptiResult (*)(CUpti_CallbackDomain domain, std::uint32_t id, const char** name);

/// Turns CUPTI's buffers into chunks. Not thread-safe.
class SpoolWriter {
 public:
  SpoolWriter(NextRecord next_record, CallName call_name) : next_record_(next_record), call_name_(call_name) {}

  /// What a spool begins with.
  [[nodiscard]] static std::string header(std::uint32_t process);
  /// The chunks of one buffer that CUPTI has completed. Records of other kinds are counted, a damaged
  /// rest of the buffer likewise. Frees what overhead records own.
  [[nodiscard]] std::string buffer(std::uint8_t* bytes, std::size_t valid_bytes);
  [[nodiscard]] static std::string label(std::uint64_t external_id, const Label& label);
  /// Kernels of graph node `node` are launches with `external_id`.
  [[nodiscard]] static std::string node(std::uint64_t node, std::uint64_t external_id);
  /// What thread `number` asks of the driver from `since` on, a time of CUPTI's, is the tracer's own doing.
  [[nodiscard]] static std::string own_thread(std::uint32_t number, std::uint64_t since);
  /// Records that were lost, by reason.
  [[nodiscard]] static std::string count(std::string_view reason, std::uint64_t records);
  /// That the recording came to its end.
  [[nodiscard]] static std::string end();

 private:
  void add_record(CUpti_Activity* record, std::string& out);

  NextRecord next_record_;
  CallName call_name_;
  std::set<std::pair<CUpti_CallbackDomain, std::uint32_t>> named_;
};

/// Is told what a spool holds, in its order. Texts and records are valid during the call.
class SpoolVisitor {
 public:
  SpoolVisitor() = default;
  SpoolVisitor(const SpoolVisitor&) = delete;
  SpoolVisitor& operator=(const SpoolVisitor&) = delete;
  virtual ~SpoolVisitor() = default;

  virtual void begin(std::uint32_t process) = 0;
  /// Pointers in the record are valid again; they may be null.
  virtual void record(const CUpti_Activity& record) = 0;
  virtual void call_name(CUpti_CallbackDomain domain, std::uint32_t id, std::string_view name) = 0;
  virtual void label(std::uint64_t external_id, Label label) = 0;
  virtual void node(std::uint64_t node, std::uint64_t external_id) = 0;
  virtual void own_thread(std::uint32_t number, std::uint64_t since) = 0;
  virtual void count(std::string_view reason, std::uint64_t records) = 0;
  /// Called last: whether the spool came to its end.
  virtual void end(bool complete) = 0;
};

/// Errors: kInvalidInput where `spool` is none, or of another format or CUPTI.
Result<void> read_spool(std::string_view spool, SpoolVisitor& visitor);

}  // namespace cohort::cupti
