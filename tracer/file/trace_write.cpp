#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tracer/file/content.hpp"
#include "tracer/file/info_json.hpp"
#include "tracer/file/microseconds.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

void append_text(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void append_integer(std::string& out, std::int64_t value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

/// Always with a point or an exponent, so that it is read back as floating point.
void append_number(std::string& out, double value) {
  const std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

/// JSON has no word for infinity and NaN.
bool writable(const ArgValue& value) {
  const double* number = std::get_if<double>(&value);
  return number == nullptr || std::isfinite(*number);
}

class TraceWriter {
 public:
  explicit TraceWriter(const Trace& trace) : trace_(trace), base_(base_time(trace)) {}

  std::string write() {
    out_.reserve(trace_.slices.size() * 160 + 4096);
    out_ += "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ns\",\n";
    if (base_ != Nanoseconds{})
      fmt::format_to(std::back_inserter(out_), "\"baseTimeNanoseconds\": {},\n", base_.count());
    out_ += "\"cohort\": ";
    out_ += trace_info_to_json(trace_.info);
    out_ += ",\n\"traceEvents\": [";
    write_tracks();
    for (const Slice& slice : trace_.slices) write_slice(slice);
    for (std::size_t i = 0; i < trace_.flows.size(); ++i) write_flow(i);
    for (const Counter& counter : trace_.counters) write_counter(counter);
    out_ += "\n]\n}\n";
    return std::move(out_);
  }

 private:
  /// Readers that hold microseconds in a double lose nanoseconds on times since 1970, so late traces
  /// are written relative to the second they begin in, as PyTorch's are.
  static Nanoseconds base_time(const Trace& trace) {
    constexpr Nanoseconds kExactInDouble(1'000'000'000'000'000);
    Nanoseconds first = Nanoseconds::max();
    for (const Slice& slice : trace.slices) first = std::min(first, slice.start);
    for (const Counter& counter : trace.counters) first = std::min(first, counter.time);
    if (first == Nanoseconds::max() || first < kExactInDouble) return {};
    return std::chrono::floor<std::chrono::seconds>(first);
  }

  void begin_record(std::string_view phase) {
    if (!first_record_) out_ += ',';
    first_record_ = false;
    out_ += "\n{\"ph\": \"";
    out_ += phase;
    out_ += '"';
  }
  void key(std::string_view name) {
    out_ += ", \"";
    out_ += name;
    out_ += "\": ";
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    append_text(out_, value);
  }
  void place(const Track& track) {
    key("pid");
    append_integer(out_, track.pid);
    key("tid");
    append_integer(out_, track.tid);
  }
  void time(std::string_view name, Nanoseconds value) {
    key(name);
    append_microseconds(out_, value);
  }

  void write_name(std::string_view what, const Track& track, std::string_view value) {
    begin_record("M");
    text("name", what);
    place(track);
    out_ += ", \"args\": {\"name\": ";
    append_text(out_, value);
    out_ += "}}";
  }

  void write_tracks() {
    std::set<std::int64_t> processes;
    std::set<std::pair<std::int64_t, std::int64_t>> threads;
    for (const Track& track : trace_.tracks) {
      if (processes.insert(track.pid).second && !track.process.empty())
        write_name("process_name", track, track.process);
      if (threads.insert({track.pid, track.tid}).second) write_name("thread_name", track, track.thread);
    }
  }

  void write_args(const Args& args) {
    key("args");
    out_ += '{';
    bool first = true;
    for (const auto& [name, value] : args) {
      if (!writable(value)) continue;
      if (!first) out_ += ", ";
      first = false;
      append_text(out_, trace_.strings[name]);
      out_ += ": ";
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        append_integer(out_, *integer);
      } else if (const auto* number = std::get_if<double>(&value)) {
        append_number(out_, *number);
      } else if (const auto* truth = std::get_if<bool>(&value)) {
        out_ += *truth ? "true" : "false";
      } else if (const auto* nested = std::get_if<NestedJson>(&value)) {
        out_ += trace_.strings[nested->text];
      } else {
        append_text(out_, trace_.strings[std::get<StringId>(value)]);
      }
    }
    out_ += '}';
  }

  void write_slice(const Slice& slice) {
    begin_record("X");
    text("cat", trace_.strings[slice.category]);
    text("name", trace_.strings[slice.name]);
    place(trace_.tracks[to_index(slice.track)]);
    time("ts", slice.start - base_);
    time("dur", slice.duration);
    if (slice.args) write_args(trace_.args[to_index(*slice.args)]);
    out_ += '}';
  }

  /// The slice's position says which is meant where two begin at the same time on one track.
  void write_flow_end(std::string_view phase, std::size_t id, SliceId end) {
    const Slice& slice = trace_.slice(end);
    begin_record(phase);
    key("id");
    append_integer(out_, static_cast<std::int64_t>(id));
    place(trace_.tracks[to_index(slice.track)]);
    time("ts", slice.start - base_);
    const std::string_view name = trace_.strings[trace_.flows[id].name];
    text("cat", name);
    text("name", name);
    if (phase == "f") out_ += ", \"bp\": \"e\"";
    fmt::format_to(std::back_inserter(out_), ", \"args\": {{\"slice\": {}}}}}", to_index(end));
  }
  void write_flow(std::size_t i) {
    write_flow_end("s", i, trace_.flows[i].from);
    write_flow_end("f", i, trace_.flows[i].to);
  }

  void write_counter(const Counter& counter) {
    if (!std::isfinite(counter.value)) return;
    begin_record("C");
    text("name", trace_.strings[counter.name]);
    place(trace_.tracks[to_index(counter.track)]);
    time("ts", counter.time - base_);
    out_ += ", \"args\": {\"value\": ";
    append_number(out_, counter.value);
    out_ += "}}";
  }

  const Trace& trace_;
  Nanoseconds base_;
  std::string out_;
  bool first_record_ = true;
};

}  // namespace

std::string trace_to_json(const Trace& trace) { return TraceWriter(trace).write(); }

std::string trace_bytes(const std::filesystem::path& path, const Trace& trace) {
  std::string json = trace_to_json(trace);
  return path.extension() == ".gz" ? gzipped(json) : json;
}

Result<void> write_trace(const std::filesystem::path& path, const Trace& trace, Overwrite overwrite) {
  COHORT_CHECK(check_writable(path, overwrite));
  return write_file(path, trace_bytes(path, trace), overwrite);
}

}  // namespace cohort
