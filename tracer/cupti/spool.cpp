#include "tracer/cupti/spool.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace cohort::cupti {
namespace {

constexpr std::string_view kMagic = "CohCUPTI";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kHeaderBytes = 8 + 3 * sizeof(std::uint32_t);

enum class Chunk : std::uint32_t { kRecord = 1, kCallName, kLabel, kNode, kCount, kEnd, kOwnThread };

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

/// Appends a chunk: type, size, payload.
void put_chunk(std::string& out, Chunk type, std::string_view payload) {
  put(out, static_cast<std::uint32_t>(type));
  put(out, static_cast<std::uint32_t>(payload.size()));
  out.append(payload);
}

std::string chunk(Chunk type, std::string_view payload) {
  std::string out;
  put_chunk(out, type, payload);
  return out;
}

/// Takes values off the front; remembers whether there were too few bytes.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    T value{};
    if (const std::string_view bytes = take(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view take(std::size_t size) {
    if (rest_.size() < size) {
      whole_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view take_text() { return take(take<std::uint32_t>()); }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  std::string_view rest_;
  bool whole_ = true;
};

/// The texts a record of this kind points to, as places of its pointers. `Record` is const or not.
template <class Record>
std::vector<std::size_t> text_offsets(const Record& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return {offsetof(KernelRecord, name)};
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return {offsetof(DeviceRecord, name)};
    case CUPTI_ACTIVITY_KIND_MARKER:
      return {offsetof(MarkerRecord, name), offsetof(MarkerRecord, domain)};
    default:
      return {};
  }
}

/// A record whose texts are null-terminated copies kept in `texts`; absent where the chunk is damaged.
bool restore(Bytes payload, std::vector<std::uint64_t>& storage, std::vector<std::string>& texts) {
  const auto kind = payload.take<std::uint32_t>();
  const auto size = record_size(static_cast<CUpti_ActivityKind>(kind));
  if (!size) return false;
  const std::string_view bytes = payload.take(*size);
  if (!payload.whole()) return false;
  storage.assign((*size + 7) / 8, 0);
  std::memcpy(storage.data(), bytes.data(), bytes.size());
  const auto& record = *reinterpret_cast<const CUpti_Activity*>(storage.data());
  const std::vector<std::size_t> offsets = text_offsets(record);
  texts.assign(offsets.size(), "");
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const bool has_text = payload.take<std::uint8_t>() != 0;
    if (has_text) texts[i] = payload.take_text();
    const char* const text = has_text ? texts[i].c_str() : nullptr;
    std::memcpy(reinterpret_cast<char*>(storage.data()) + offsets[i], &text, sizeof text);
  }
  return payload.whole();
}

}  // namespace

std::string SpoolWriter::header(std::uint32_t process) {
  std::string out(kMagic);
  put(out, kFormat);
  put(out, static_cast<std::uint32_t>(CUPTI_API_VERSION));
  put(out, process);
  return out;
}

std::string SpoolWriter::buffer(std::uint8_t* bytes, std::size_t valid_bytes) {
  std::string out;
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0) {
    const CUptiResult result = next_record_(bytes, valid_bytes, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) break;
    if (result != CUPTI_SUCCESS) {
      out += count("CUPTI records that cannot be read, with what followed in their buffer", 1);
      break;
    }
    add_record(record, out);
  }
  return out;
}

void SpoolWriter::add_record(CUpti_Activity* record, std::string& out) {
  const auto size = record_size(record->kind);
  if (!size) {
    out += count(fmt::format("CUPTI records of kind {}", static_cast<std::uint32_t>(record->kind)), 1);
    return;
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    const auto& call = *reinterpret_cast<const CallRecord*>(record);
    const CUpti_CallbackDomain domain =
        record->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    const char* name = nullptr;
    if (named_.emplace(domain, call.cbid).second && call_name_(domain, call.cbid, &name) == CUPTI_SUCCESS) {
      std::string payload;
      put(payload, static_cast<std::uint32_t>(domain));
      put(payload, static_cast<std::uint32_t>(call.cbid));
      put_text(payload, name);
      put_chunk(out, Chunk::kCallName, payload);
    }
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
    auto& overhead = *reinterpret_cast<OverheadRecord*>(record);
    std::free(overhead.overheadData);  // the record owns it, says cupti_activity.h
    overhead.overheadData = nullptr;
  }
  std::string payload;
  put(payload, static_cast<std::uint32_t>(record->kind));
  const char* const bytes = reinterpret_cast<const char*>(record);
  payload.append(bytes, *size);
  for (const std::size_t offset : text_offsets(*record)) {
    const char* text = nullptr;
    std::memcpy(&text, bytes + offset, sizeof text);
    put(payload, static_cast<std::uint8_t>(text != nullptr ? 1 : 0));
    if (text != nullptr) put_text(payload, text);
  }
  put_chunk(out, Chunk::kRecord, payload);
}

std::string SpoolWriter::label(std::uint64_t external_id, const Label& label) {
  std::string payload;
  put(payload, external_id);
  put_text(payload, label.task);
  put_text(payload, label.op);
  put_text(payload, label.members);
  return chunk(Chunk::kLabel, payload);
}

std::string SpoolWriter::node(std::uint64_t node, std::uint64_t external_id) {
  std::string payload;
  put(payload, node);
  put(payload, external_id);
  return chunk(Chunk::kNode, payload);
}

std::string SpoolWriter::own_thread(std::uint32_t number, std::uint64_t since) {
  std::string payload;
  put(payload, number);
  put(payload, since);
  return chunk(Chunk::kOwnThread, payload);
}

std::string SpoolWriter::count(std::string_view reason, std::uint64_t records) {
  std::string payload;
  put(payload, records);
  put_text(payload, reason);
  return chunk(Chunk::kCount, payload);
}

std::string SpoolWriter::end() { return chunk(Chunk::kEnd, ""); }

namespace {

/// Hands one chunk on; false where it is damaged.
bool visit(Chunk type, std::string_view bytes, SpoolVisitor& visitor) {
  Bytes payload(bytes);
  switch (type) {
    case Chunk::kRecord: {
      std::vector<std::uint64_t> storage;
      std::vector<std::string> texts;
      if (!restore(payload, storage, texts)) return false;
      visitor.record(*reinterpret_cast<const CUpti_Activity*>(storage.data()));
      return true;
    }
    case Chunk::kCallName: {
      const auto domain = static_cast<CUpti_CallbackDomain>(payload.take<std::uint32_t>());
      const auto id = payload.take<std::uint32_t>();
      const std::string_view name = payload.take_text();
      if (payload.whole()) visitor.call_name(domain, id, name);
      return payload.whole();
    }
    case Chunk::kLabel: {
      const auto id = payload.take<std::uint64_t>();
      Label label;
      label.task = payload.take_text();
      label.op = payload.take_text();
      label.members = payload.take_text();
      if (payload.whole()) visitor.label(id, std::move(label));
      return payload.whole();
    }
    case Chunk::kNode: {
      const auto node = payload.take<std::uint64_t>();
      const auto id = payload.take<std::uint64_t>();
      if (payload.whole()) visitor.node(node, id);
      return payload.whole();
    }
    case Chunk::kCount: {
      const auto records = payload.take<std::uint64_t>();
      const std::string_view reason = payload.take_text();
      if (payload.whole()) visitor.count(reason, records);
      return payload.whole();
    }
    case Chunk::kOwnThread: {
      const auto number = payload.take<std::uint32_t>();
      const auto since = payload.take<std::uint64_t>();
      if (payload.whole()) visitor.own_thread(number, since);
      return payload.whole();
    }
    case Chunk::kEnd:
      return true;
  }
  return false;
}

}  // namespace

Result<void> read_spool(std::string_view spool, SpoolVisitor& visitor) {
  Bytes rest(spool);
  if (spool.size() < kHeaderBytes || rest.take(kMagic.size()) != kMagic)
    return fail(ErrorCode::kInvalidInput, "not a recording of CUPTI's");
  const auto format = rest.take<std::uint32_t>();
  const auto version = rest.take<std::uint32_t>();
  if (format != kFormat || version / 100 != CUPTI_API_VERSION / 100)
    return fail(ErrorCode::kInvalidInput, "a recording of format {} by CUPTI {}, not of format {} by CUPTI {}", format,
                version_text(version), kFormat, version_text(CUPTI_API_VERSION));
  visitor.begin(rest.take<std::uint32_t>());
  bool complete = false;
  while (!rest.empty()) {
    const auto type = static_cast<Chunk>(rest.take<std::uint32_t>());
    const std::string_view payload = rest.take_text();
    if (!rest.whole()) break;
    complete = complete || type == Chunk::kEnd;
    if (!visit(type, payload, visitor)) visitor.count("damaged parts of the recording", 1);
  }
  visitor.end(complete);
  return {};
}

}  // namespace cohort::cupti
