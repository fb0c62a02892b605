#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "tracer/content.hpp"
#include "tracer/event_sink.hpp"
#include "tracer/info_json.hpp"
#include "tracer/microseconds.hpp"
#include "tracer/trace_file.hpp"

namespace cohort {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

static_assert(PaddedBytes::kPadding >= simdjson::SIMDJSON_PADDING);

/// True where the text itself is broken, so that nothing after it can be read.
bool is_fatal(error_code error) {
  return error != simdjson::INCORRECT_TYPE && error != simdjson::NUMBER_ERROR && error != simdjson::STRING_ERROR &&
         error != simdjson::NUMBER_OUT_OF_RANGE && error != simdjson::T_ATOM_ERROR && error != simdjson::F_ATOM_ERROR &&
         error != simdjson::N_ATOM_ERROR;
}

tl::unexpected<Error> broken_json(error_code error) {
  switch (error) {
    case simdjson::UNCLOSED_STRING:
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return fail(ErrorCode::kInvalidInput, "JSON that is cut short");
    case simdjson::CAPACITY:
      return fail(ErrorCode::kInvalidInput, "JSON of more than 4 GiB, which is not supported");
    case simdjson::MEMALLOC:
      return fail(ErrorCode::kInvalidInput, "JSON too large for this machine's memory");
    default:
      return fail(ErrorCode::kInvalidInput, "broken JSON ({})", simdjson::error_message(error));
  }
}

/// Text of a number, or of a number in quotes.
std::string_view bare_token(std::string_view token) {
  while (!token.empty() && std::string_view(" \t\r\n").find(token.back()) != std::string_view::npos)
    token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  return token;
}

class TraceReader {
 public:
  TraceReader() : sink_(trace_) {}

  Result<Trace> read(PaddedBytes& bytes);

 private:
  Result<void> read_document(ondemand::document& document);
  Result<void> read_top_level(ondemand::object& object);
  Result<void> read_field(std::string_view key, ondemand::value value);
  Result<void> read_events(ondemand::value value);
  Result<void> read_event(ondemand::object& object);
  error_code read_event_field(ondemand::raw_json_string key, ondemand::value& value);
  error_code read_id(ondemand::value& value, EventId64& id);
  error_code read_args(ondemand::value& value);
  error_code read_arg(StringId name, ondemand::value& value);
  void read_device(ondemand::value value);

  Trace trace_;
  EventSink sink_;
  RawEvent event_;
  Nanoseconds base_{};
  bool has_events_ = false;
  bool has_info_ = false;
  std::string keys_;  ///< of the top level, for the message when none is "traceEvents"
};

/// Some tools cut kernel names within a character. Stage one of simdjson refuses the whole file then.
std::int64_t replace_invalid_utf8(char* data, std::size_t size) {
  std::int64_t replaced = 0;
  const auto continues = [&](std::size_t i) {
    return i < size && (static_cast<unsigned char>(data[i]) & 0xC0U) == 0x80U;
  };
  for (std::size_t i = 0; i < size;) {
    const auto byte = static_cast<unsigned char>(data[i]);
    const std::size_t length = byte < 0x80                   ? 1
                               : byte >= 0xF0 && byte < 0xF5 ? 4
                               : byte >= 0xE0 && byte < 0xF0 ? 3
                               : byte >= 0xC2 && byte < 0xE0 ? 2
                                                             : 0;
    bool valid = length > 0;
    for (std::size_t k = 1; k < length && valid; ++k) valid = continues(i + k);
    valid = valid && (length == 1 || simdjson::validate_utf8(data + i, length));
    if (!valid) {
      data[i] = '?';
      ++replaced;
    }
    i += valid ? length : 1;
  }
  return replaced;
}

Result<Trace> TraceReader::read(PaddedBytes& bytes) {
  const std::string_view text = bytes.view();
  const std::string_view what = describe_content(text);
  if (what != "JSON") return fail(ErrorCode::kInvalidInput, "not a trace but {}", what);
  ondemand::parser parser;
  ondemand::document document;
  auto error = parser.iterate(text.data(), text.size(), bytes.capacity() + PaddedBytes::kPadding).get(document);
  if (error == simdjson::UTF8_ERROR) {
    sink_.drop(Drop::kInvalidText, replace_invalid_utf8(bytes.data(), bytes.size()));
    error = parser.iterate(text.data(), text.size(), bytes.capacity() + PaddedBytes::kPadding).get(document);
  }
  if (error) return broken_json(error);
  COHORT_CHECK(read_document(document));
  sink_.finish(base_);
  return std::move(trace_);
}

Result<void> TraceReader::read_document(ondemand::document& document) {
  ondemand::json_type type{};
  if (const auto error = document.type().get(type)) return broken_json(error);
  if (type == ondemand::json_type::array) {  // the older form: a bare list of events
    ondemand::value value;
    if (const auto error = document.get_value().get(value)) return broken_json(error);
    return read_events(value);
  }
  ondemand::object object;
  if (const auto error = document.get_object().get(object)) return broken_json(error);
  COHORT_CHECK(read_top_level(object));
  if (has_events_) return {};
  if (keys_.find("\"members\"") != std::string::npos) return fail(ErrorCode::kInvalidInput, "a plan, not a trace");
  return fail(ErrorCode::kInvalidInput, "JSON that is no trace: it has no \"traceEvents\" but {}",
              keys_.empty() ? "no fields" : keys_);
}

Result<void> TraceReader::read_top_level(ondemand::object& object) {
  for (auto item : object) {
    ondemand::field field;
    if (const auto error = std::move(item).get(field)) return broken_json(error);
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return broken_json(error);
    constexpr std::size_t kMostKeys = 120;
    if (keys_.size() < kMostKeys) keys_ += fmt::format("{}\"{}\"", keys_.empty() ? "" : ", ", key.substr(0, 40));
    COHORT_CHECK(read_field(key, field.value()));
  }
  return {};
}

Result<void> TraceReader::read_field(std::string_view key, ondemand::value value) {
  if (key == "traceEvents") return read_events(value);
  if (key == "cohort") {
    ondemand::object object;
    std::string_view text;
    auto error = value.get_object().get(object);
    if (!error) error = object.raw_json().get(text);
    if (error == simdjson::INCORRECT_TYPE) return fail(ErrorCode::kInvalidInput, "cohort must be an object");
    if (error) return broken_json(error);
    COHORT_TRY(trace_.info, trace_info_from_json(text));
    has_info_ = true;
    return {};
  }
  if (key == "baseTimeNanoseconds") {
    std::int64_t base = 0;
    const auto error = value.get_int64().get(base);
    if (error || base < 0 || base > std::numeric_limits<std::int64_t>::max() / 2)
      return fail(ErrorCode::kInvalidInput, "baseTimeNanoseconds must be a whole number of nanoseconds since 1970");
    base_ = Nanoseconds(base);
    return {};
  }
  if (key == "deviceProperties" && !has_info_) read_device(value);
  return {};
}

/// PyTorch's list of the machine's GPUs. What cannot be read of it is left at its default.
void TraceReader::read_device(ondemand::value value) {
  ondemand::array devices;
  if (value.get_array().get(devices)) return;
  for (auto element : devices) {
    ondemand::object device;
    if (element.get_object().get(device)) return;
    DeviceInfo& info = trace_.info.device;
    std::int64_t id = 0;
    std::int64_t cores = 0;
    std::string_view name;
    if (!device["id"].get_int64().get(id)) info.id = fmt::format("cuda:{}", id);
    if (!device["name"].get_string().get(name)) info.name = name;
    if (device["totalGlobalMem"].get_int64().get(info.memory.value)) info.memory = {};
    if (!device["numSms"].get_int64().get(cores) && cores > 0 && cores < std::numeric_limits<int>::max())
      info.cores = static_cast<int>(cores);
    info.kind = "cuda";
    return;  // the first stands for all: they are alike wherever a trace lists several
  }
}

Result<void> TraceReader::read_events(ondemand::value value) {
  has_events_ = true;
  ondemand::array events;
  if (const auto error = value.get_array().get(events)) {
    if (is_fatal(error)) return broken_json(error);
    return fail(ErrorCode::kInvalidInput, "traceEvents must be a list of events");
  }
  for (auto element : events) {
    ondemand::object object;
    if (const auto error = element.get_object().get(object)) {
      if (is_fatal(error)) return broken_json(error);
      sink_.drop(Drop::kNotAnObject);
      continue;
    }
    COHORT_CHECK(read_event(object));
  }
  return {};
}

Result<void> TraceReader::read_event(ondemand::object& object) {
  Args args = std::move(event_.args);  // keeps its memory from event to event
  args.clear();
  event_ = {};
  event_.args = std::move(args);
  for (auto item : object) {
    ondemand::field field;
    if (const auto error = std::move(item).get(field)) return broken_json(error);
    const auto error = read_event_field(field.key(), field.value());
    if (!error) continue;
    if (is_fatal(error)) return broken_json(error);
    event_.unreadable = true;
  }
  sink_.add(event_);
  return {};
}

error_code TraceReader::read_event_field(ondemand::raw_json_string key, ondemand::value& value) {
  std::string_view text;
  if (key == "ph") {
    if (const auto error = value.get_string().get(text)) return error;
    event_.phase = text.size() == 1 ? text.front() : '?';
  } else if (key == "name") {
    if (const auto error = value.get_string().get(text)) return error;
    event_.name = trace_.strings.intern(text);
  } else if (key == "cat") {
    if (const auto error = value.get_string().get(text)) return error;
    event_.category = trace_.strings.intern(text);
  } else if (key == "ts" || key == "dur") {
    const auto time = microseconds_from(bare_token(value.raw_json_token()));
    if (!time) return simdjson::NUMBER_ERROR;
    (key == "ts" ? event_.time : event_.duration) = time;
  } else if (key == "pid") {
    return read_id(value, event_.pid);
  } else if (key == "tid") {
    return read_id(value, event_.tid);
  } else if (key == "id") {
    event_.id = bare_token(value.raw_json_token());
  } else if (key == "args") {
    return read_args(value);
  }
  return simdjson::SUCCESS;
}

error_code TraceReader::read_id(ondemand::value& value, EventId64& id) {
  std::string_view text;
  const auto error = value.get_string().get(text);
  if (error == simdjson::INCORRECT_TYPE) {
    id.is_name = false;
    return value.get_int64().get(id.number);
  }
  if (error) return error;
  id = {static_cast<std::int64_t>(to_index(trace_.strings.intern(text))), true};
  return simdjson::SUCCESS;
}

error_code TraceReader::read_args(ondemand::value& value) {
  ondemand::object object;
  if (const auto error = value.get_object().get(object)) return error;
  event_.has_args = true;
  for (auto item : object) {
    ondemand::field field;
    if (const auto error = std::move(item).get(field)) return error;
    std::string_view name;
    auto error = field.unescaped_key().get(name);
    if (!error) error = read_arg(trace_.strings.intern(name), field.value());
    if (!error) continue;
    if (is_fatal(error)) return error;
    sink_.drop(Drop::kUnreadableArg);
  }
  return simdjson::SUCCESS;
}

error_code TraceReader::read_arg(StringId name, ondemand::value& value) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  switch (type) {
    case ondemand::json_type::string: {
      std::string_view text;
      if (const auto error = value.get_string().get(text)) return error;
      event_.args.emplace_back(name, trace_.strings.intern(text));
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::number: {
      const std::string_view token = value.raw_json_token();
      std::int64_t integer = 0;
      if (token.find_first_of(".eE") == std::string_view::npos && !value.get_int64().get(integer)) {
        event_.args.emplace_back(name, integer);
        return simdjson::SUCCESS;
      }
      double number = 0;
      if (const auto error = value.get_double().get(number)) return error;
      event_.args.emplace_back(name, number);
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::boolean: {
      bool truth = false;
      if (const auto error = value.get_bool().get(truth)) return error;
      event_.args.emplace_back(name, truth);
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::null:
      sink_.drop(Drop::kNullArg);
      return simdjson::SUCCESS;
    default:
      sink_.drop(Drop::kNestedArg);
      return simdjson::SUCCESS;
  }
}

}  // namespace

Result<Trace> parse_trace(std::string_view content, const TraceReadOptions& options) {
  COHORT_TRY(auto bytes, inflated(content, options.most_inflated_bytes));
  return TraceReader().read(bytes);
}

Result<Trace> read_trace(const std::filesystem::path& path, const TraceReadOptions& options) {
  COHORT_TRY(const std::string content, read_file(path));
  auto trace = parse_trace(content, options);
  if (!trace) return in_context(path.string(), trace.error());
  return trace;
}

}  // namespace cohort
