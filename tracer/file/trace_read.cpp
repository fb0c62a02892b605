#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "tracer/file/compact_json.hpp"
#include "tracer/file/content.hpp"
#include "tracer/file/cut_gzip.hpp"
#include "tracer/file/event_sink.hpp"
#include "tracer/file/info_json.hpp"
#include "tracer/file/json_repair.hpp"
#include "tracer/file/machine_facts.hpp"
#include "tracer/file/microseconds.hpp"
#include "tracer/file/spelling.hpp"
#include "tracer/file/text_encoding.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/nsight/nsight.hpp"

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

tl::unexpected<Error> message_for(error_code error) {
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

class TraceReader {
 public:
  explicit TraceReader(const TraceReadOptions& options)
      : cancel_(options.cancel), progress_(options.progress), sink_(trace_) {}
  /// True after a failure that lies in the text, not in what it says.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] bool is_ours() const { return has_info_; }
  void note(Drop repair, std::int64_t count = 1) { sink_.drop(repair, count); }

  Result<Trace> read(PaddedBytes& bytes);

 private:
  Result<void> read_text(PaddedBytes& bytes);
  Result<void> read_document(ondemand::document& document);
  Result<void> read_top_level(ondemand::object& object);
  Result<void> read_field(std::string_view key, ondemand::value value);
  Result<void> read_events(ondemand::value value);
  Result<void> read_event(ondemand::object& object);
  void note_progress(const char* place);
  void note_far_time(std::string_view token);
  error_code read_event_field(ondemand::raw_json_string key, ondemand::value& value);
  error_code read_id(ondemand::value& value, EventId64& id);
  error_code read_args(ondemand::value& value);
  error_code read_arg(StringId name, ondemand::value& value);
  error_code read_nested_arg(StringId name, ondemand::json_type type, ondemand::value& value);
  tl::unexpected<Error> broken_json(error_code error) {
    is_broken_ = true;
    has_place_ = error == simdjson::TAPE_ERROR;  // a comma, colon or bracket that is wrong
    return message_for(error);
  }

  const CancelToken* cancel_;
  ReadProgress* progress_;
  const char* text_ = nullptr;  ///< where the document begins
  std::size_t events_ = 0;
  Trace trace_;
  EventSink sink_;
  RawEvent event_;
  Nanoseconds base_{};
  MachineFacts facts_;
  std::size_t far_times_ = 0;  ///< beyond what 64 bits of nanoseconds hold
  std::string far_time_;       ///< the first of them
  bool is_broken_ = false;
  bool has_place_ = false;  ///< where it is broken is known
  bool has_events_ = false;
  bool has_info_ = false;
  std::string nested_;  ///< keeps its memory from argument to argument
  std::string keys_;    ///< of the top level, for the message when none is "traceEvents"
};

Result<Trace> TraceReader::read(PaddedBytes& bytes) {
  const std::string_view what = describe_content(bytes.view());
  if (what != "JSON") return fail(ErrorCode::kInvalidInput, "not a trace but {}", what);
  COHORT_CHECK(read_text(bytes));
  if (far_times_ > trace_.slices.size()) {
    return fail(
        ErrorCode::kInvalidInput,
        "times that lie out of range, the first is {}: nanoseconds, it seems, where the format has microseconds; "
        "divide every ts and dur by 1000",
        far_time_);
  }
  sink_.finish(base_);
  facts_.apply(trace_);
  return std::move(trace_);
}

/// What the parser noted of the text is gone when this returns.
Result<void> TraceReader::read_text(PaddedBytes& bytes) {
  ondemand::parser parser;
  ondemand::document document;
  const auto iterate = [&] {
    return parser.iterate(bytes.data(), bytes.size(), bytes.capacity() + PaddedBytes::kPadding).get(document);
  };
  sink_.expect(bytes.size());
  text_ = bytes.data();
  if (progress_ != nullptr) progress_->total.store(bytes.size(), std::memory_order_relaxed);
  auto error = iterate();
  if (error == simdjson::UTF8_ERROR) {
    sink_.drop(Drop::kInvalidText, replace_invalid_utf8(bytes));
    error = iterate();
  }
  if (error) return broken_json(error);
  if (auto read = read_document(document); !read) {
    const char* location = nullptr;
    if (has_place_ && !document.current_location().get(location) && location >= bytes.data())
      return fail(read.error().code, "{}, at {}", read.error().message,
                  describe_position(bytes.view(), static_cast<std::size_t>(location - bytes.data())));
    return tl::unexpected<Error>(std::move(read).error());
  }
  const char* behind = nullptr;
  if (!document.current_location().get(behind)) sink_.drop(Drop::kTextBehind);  // fails at the end
  return {};
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
    facts_ = {};
    sink_.keep_spelling();
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
  if (!has_info_) facts_.read(key, value);
  return {};
}

Result<void> TraceReader::read_events(ondemand::value value) {
  has_events_ = true;
  ondemand::array events;
  if (const auto error = value.get_array().get(events)) {
    if (is_fatal(error)) return broken_json(error);
    return fail(ErrorCode::kInvalidInput, "traceEvents must be a list of events");
  }
  for (auto element : events) {
    if (cancel_ != nullptr) COHORT_CHECK(cancel_->check());
    constexpr std::size_t kEventsAStep = 8192;
    if (progress_ != nullptr && events_++ % kEventsAStep == 0) {
      const char* place = nullptr;
      if (element.current_location().get(place) == simdjson::SUCCESS) note_progress(place);
    }
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

/// A time of too many digits.
void TraceReader::note_far_time(std::string_view token) {
  constexpr std::size_t kDigits = 16;
  if (token.size() < kDigits || token.find_first_not_of("-0123456789.") != std::string_view::npos) return;
  constexpr std::size_t kMostText = 40;
  if (far_times_++ == 0) far_time_ = token.substr(0, kMostText);
}

void TraceReader::note_progress(const char* place) {
  progress_->done.store(static_cast<std::uint64_t>(place - text_), std::memory_order_relaxed);
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
    if (!time) {
      note_far_time(bare_token(value.raw_json_token()));
      return simdjson::NUMBER_ERROR;
    }
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
    if (!value.get_int64().get(id.number)) return simdjson::SUCCESS;
    std::uint64_t large = 0;
    if (!value.get_uint64().get(large)) {  // 2^64-1 of HIP's streams; kept bit by bit
      id.number = static_cast<std::int64_t>(large);
      return simdjson::SUCCESS;
    }
    double real = 0;
    if (const auto no_number = value.get_double().get(real)) return no_number;
    const auto whole = whole_number(real);
    id.number = whole.value_or(0);
    return whole ? simdjson::SUCCESS : simdjson::NUMBER_ERROR;
  }
  if (error) return error;
  id = {static_cast<std::int64_t>(to_index(trace_.strings.intern(text))), true};
  return simdjson::SUCCESS;
}

error_code TraceReader::read_args(ondemand::value& value) {
  ondemand::object object;
  if (const auto error = value.get_object().get(object)) {
    ondemand::json_type type{};
    if (error != simdjson::INCORRECT_TYPE || value.type().get(type)) return error;
    sink_.drop(type == ondemand::json_type::null ? Drop::kNullArg : Drop::kUnreadableArg);
    return simdjson::SUCCESS;  // a list, text or null: no arguments
  }
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
  if (const auto error = value.type().get(type)) {
    // "inf" and "nan" of tools that print numbers as they come; not what ends a list or object.
    const std::string_view token = value.raw_json_token();
    const bool is_word = !token.empty() && std::isalpha(static_cast<unsigned char>(token.front())) != 0;
    return is_word ? simdjson::NUMBER_ERROR : error;
  }
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
      std::uint64_t large = 0;
      if (sink_.is_id(name) && !value.get_uint64().get(large)) {
        event_.args.emplace_back(name, static_cast<std::int64_t>(large));  // bit by bit, as in read_id()
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
      return read_nested_arg(name, type, value);
  }
}

error_code TraceReader::read_nested_arg(StringId name, ondemand::json_type type, ondemand::value& value) {
  std::string_view raw;
  if (type == ondemand::json_type::array) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return error;
    if (const auto error = array.raw_json().get(raw)) return error;
  } else {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return error;
    if (const auto error = object.raw_json().get(raw)) return error;
  }
  nested_.clear();
  if (!append_compact_json(nested_, raw)) {
    sink_.drop(Drop::kUnreadableArg);
  } else {
    event_.args.emplace_back(name, NestedJson{trace_.strings.intern(nested_)});
  }
  return simdjson::SUCCESS;
}

/// The slow paths, for files of others that are broken: names with quotes in them, lists with a comma too many, what is
/// whole of a file that was cut short. Absent where they are of no use.
std::optional<Trace> read_repaired(PaddedBytes& bytes, const TraceReadOptions& options) {
  const std::int64_t texts = repair_strings(bytes);
  const bool commas = blank_trailing_commas(bytes) > 0;
  const bool cut = close_cut_text(bytes);
  if (texts == 0 && !commas && !cut) return std::nullopt;
  TraceReader reader(options);
  if (cut) reader.note(Drop::kCutShort);
  reader.note(Drop::kRepairedText, texts);
  auto repaired = reader.read(bytes);
  // A profile or prediction of ours that lacks its end is worse than none, and so is an empty trace.
  const bool lacks = cut || texts > 0;
  if (!repaired || (lacks && (reader.is_ours() || repaired->slices.empty()))) return std::nullopt;
  return std::move(*repaired);
}

Result<Trace> parse_inflated(PaddedBytes& bytes, const TraceReadOptions& options) {
  if (looks_like_sqlite(bytes.view())) return parse_nsight(bytes.view());
  decode_text(bytes);
  std::optional<TraceReader> reader(std::in_place, options);
  auto trace = reader->read(bytes);
  if (trace || !reader->is_broken()) return trace;
  reader.reset();  // with what it had read
  if (auto repaired = read_repaired(bytes, options)) return std::move(*repaired);
  return trace;
}

/// What is whole of a .gz whose writer died; `damaged` says what is wrong with it.
Result<Trace> parse_part(std::string_view content, const TraceReadOptions& options, Error damaged) {
  auto part = inflated_part(content, options.most_inflated_bytes);
  if (!part) return tl::unexpected<Error>(std::move(damaged));
  auto trace = parse_inflated(*part, options);
  const bool is_of_others = trace && trace->info.kind == TraceKind::kRecorded && !trace->slices.empty();
  if (!is_of_others) return tl::unexpected<Error>(std::move(damaged));
  ++trace->info.dropped[std::string(to_string(Drop::kDamagedGzip))];
  return trace;
}

Result<Trace> parse_whole(PaddedBytes& bytes, bool has_more, const TraceReadOptions& options) {
  auto trace = parse_inflated(bytes, options);
  if (trace && has_more) ++trace->info.dropped[std::string(kTextBehindReason)];
  return trace;
}

/// Takes the content, which may be as large as what it holds.
Result<Trace> parse_file(std::string content, const TraceReadOptions& options) {
  bool has_more = false;
  auto bytes = inflated(content, options.most_inflated_bytes, options.raised_by, &has_more);
  if (!bytes) return parse_part(content, options, std::move(bytes).error());
  content = std::string();
  return parse_whole(*bytes, has_more, options);
}

bool is_nsight_report(const std::filesystem::path& path) {
  const auto extension = path.extension();
  return extension == ".nsys-rep" || extension == ".qdrep" || extension == ".qdstrm";
}

}  // namespace

Result<Trace> parse_trace(std::string_view content, const TraceReadOptions& options) {
  if (looks_like_sqlite(content)) return parse_nsight(content);
  bool has_more = false;
  auto bytes = inflated(content, options.most_inflated_bytes, options.raised_by, &has_more);
  if (!bytes) return parse_part(content, options, std::move(bytes).error());
  return parse_whole(*bytes, has_more, options);
}

Result<Trace> read_trace(const std::filesystem::path& path, const TraceReadOptions& options) {
  std::array<char, 16> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  // A database stays on disk: exports of long recordings are larger than memory.
  if (looks_like_sqlite({start.data(), start.size()})) {
    auto trace = read_nsight(path, options.cancel);
    if (!trace) return in_context(path.string(), trace.error());
    return trace;
  }
  COHORT_TRY(std::string content, read_file(path));
  auto trace = parse_file(std::move(content), options);
  if (!trace && is_nsight_report(path)) return fail(ErrorCode::kInvalidInput, "{}: {}", path.string(), kNsightReport);
  if (!trace) return in_context(path.string(), trace.error());
  return trace;
}

}  // namespace cohort
