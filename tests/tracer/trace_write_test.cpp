#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;
using nlohmann::json;
using ::testing::HasSubstr;

Trace small_trace() {
  Trace trace;
  trace.info.kind = TraceKind::kPredicted;
  trace.info.device.id = "cpu:0";
  trace.info.device.kind = "cpu";
  trace.info.device.name = "Two cores";
  trace.info.device.cores = 2;
  trace.info.device.memory = 4_MiB;
  trace.info.device.settings = {{"isa", "avx512"}};
  trace.info.settings = {{"model", "lenet5"}};
  trace.info.plan = "{\"version\": 1}\n";
  trace.info.wall_times = {{"plan", {10_us, 12_us}, 1}};
  trace.info.dropped = {{"instant event", 2}};
  const TrackId host = trace.add_track("host", "main");
  const TrackId stream = trace.add_track("device", "stream 0");
  const std::array<Trace::NamedArg, 2> args = {{{kTaskArg, std::int64_t{3}}, {"share", 2.0}}};
  const SliceId launch = trace.add_slice(host, "launch", "runtime", 1_us, 500_ns);
  const SliceId kernel = trace.add_slice(stream, "conv \"1\"", "kernel", 2001_ns, 3_us, args);
  trace.flows.push_back({launch, kernel, trace.strings.intern("launch")});
  trace.counters.push_back({2_us, stream, trace.strings.intern("memory"), 1.5});
  return trace;
}

TEST(TraceWrite, WritesOneRecordALineWithTimesInMicroseconds) {
  EXPECT_EQ(trace_to_json(small_trace()), R"({
"schemaVersion": 1,
"displayTimeUnit": "ns",
"cohort": {"version":1,"kind":"predicted","device":{"id":"cpu:0","kind":"cpu","name":"Two cores","cores":2,"memory_bytes":4194304,"settings":{"isa":"avx512"}},"settings":{"model":"lenet5"},"plan":"{\"version\": 1}\n","wall_times":[{"what":"plan","discarded":1,"samples_ns":[10000,12000]}],"dropped":{"instant event":2}},
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "host"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}},
{"ph": "M", "name": "process_name", "pid": 2, "tid": 1, "args": {"name": "device"}},
{"ph": "M", "name": "thread_name", "pid": 2, "tid": 1, "args": {"name": "stream 0"}},
{"ph": "X", "cat": "runtime", "name": "launch", "pid": 1, "tid": 1, "ts": 1.000, "dur": 0.500},
{"ph": "X", "cat": "kernel", "name": "conv \"1\"", "pid": 2, "tid": 1, "ts": 2.001, "dur": 3.000, "args": {"task": 3, "share": 2.0}},
{"ph": "s", "id": 0, "pid": 1, "tid": 1, "ts": 1.000, "cat": "launch", "name": "launch", "args": {"slice": 0}},
{"ph": "f", "id": 0, "pid": 2, "tid": 1, "ts": 2.001, "cat": "launch", "name": "launch", "bp": "e", "args": {"slice": 1}},
{"ph": "C", "name": "memory", "pid": 2, "tid": 1, "ts": 2.000, "args": {"value": 1.5}}
]
}
)");
}

TEST(TraceWrite, HasTheKeysThatPyTorchsProfilerWrites) {
  const json file = json::parse(trace_to_json(small_trace()));
  ASSERT_TRUE(file.at("traceEvents").is_array());
  EXPECT_EQ(file.at("schemaVersion"), 1);
  for (const json& event : file.at("traceEvents")) {
    EXPECT_TRUE(event.at("name").is_string());
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_TRUE(event.at("tid").is_number_integer());
    const std::string phase = event.at("ph");
    if (phase == "M") {
      EXPECT_TRUE(event.at("args").at("name").is_string());
    }
    if (phase != "M") {
      EXPECT_TRUE(event.at("ts").is_number());
    }
    if (phase == "X") {
      EXPECT_TRUE(event.at("dur").is_number());
      EXPECT_TRUE(event.at("cat").is_string());
    }
    if (phase == "s" || phase == "f") {
      EXPECT_TRUE(event.at("cat").is_string());
      EXPECT_TRUE(event.at("id").is_number_integer());
    }
    if (phase == "f") {
      EXPECT_EQ(event.at("bp"), "e");
    }
  }
}

void expect_same_after_reading(const Trace& trace) {
  const std::string once = trace_to_json(trace);
  const auto read = parse_trace(once);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(trace_to_json(*read), once);
}

TEST(TraceWrite, GivesTheSameBytesAfterReading) { expect_same_after_reading(small_trace()); }

TEST(TraceWrite, GivesTheSameBytesForAnEmptyTrace) { expect_same_after_reading(Trace{}); }

TEST(TraceWrite, ReadsBackEveryPartOfATrace) {
  const Trace trace = small_trace();
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->info.kind, TraceKind::kPredicted);
  EXPECT_EQ(read->info.device.name, "Two cores");
  EXPECT_EQ(read->info.device.memory, 4_MiB);
  EXPECT_EQ(read->info.device.settings, trace.info.device.settings);
  EXPECT_EQ(read->info.settings, trace.info.settings);
  EXPECT_EQ(read->info.plan, trace.info.plan);
  EXPECT_EQ(read->info.dropped, trace.info.dropped);
  ASSERT_EQ(read->info.wall_times.size(), 1U);
  EXPECT_EQ(read->info.wall_times[0].samples, trace.info.wall_times[0].samples);
  EXPECT_EQ(read->info.wall_times[0].discarded, 1);
  ASSERT_EQ(read->slices.size(), 2U);
  EXPECT_EQ(read->slices[1].start, 2001_ns);
  EXPECT_EQ(read->integer_arg(read->slices[1], kTaskArg), 3);
  ASSERT_EQ(read->flows.size(), 1U);
  EXPECT_EQ(read->flows[0].from, SliceId{0});
  EXPECT_EQ(read->flows[0].to, SliceId{1});
  ASSERT_EQ(read->counters.size(), 1U);
  EXPECT_EQ(read->counters[0].value, 1.5);
}

TEST(TraceWrite, KeepsAwkwardNamesAndNumbers) {
  Trace trace;
  const TrackId unnamed = trace.add_track("", "");
  const TrackId named = trace.add_track("p\\\"\n", "t\u00fc\u4e16");
  const std::array<Trace::NamedArg, 7> args = {{
      {"", std::int64_t{-1}},
      {"least", std::numeric_limits<std::int64_t>::min()},
      {"tiny", 5e-324},
      {"huge", 1.7976931348623157e308},
      {"third", 1.0 / 3.0},
      {"whole", -4.0},
      {"text", std::string_view("\x01\x1f tab\t")},
  }};
  trace.add_slice(named, "", "", Nanoseconds(-5), 0_ns, args);
  trace.add_slice(unnamed, "<void (*)(\"x\")>", "kernel", 3_ns, 1_ns);
  expect_same_after_reading(trace);
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->integer_arg(read->slices[0], "least"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read->text_arg(read->slices[0], "text"), "\x01\x1f tab\t");
  EXPECT_EQ(std::get<double>(read->args[0][2].second), 5e-324);
  EXPECT_EQ(std::get<double>(read->args[0][5].second), -4.0);
  EXPECT_EQ(read->slices[0].start, Nanoseconds(-5));
  EXPECT_EQ(read->tracks[1].process, "p\\\"\n");
}

TEST(TraceWrite, KeepsNanosecondsOfTimesSince1970AndGivesTheirSecondAsBase) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  trace.add_slice(track, "late", "kernel", Nanoseconds(1'712'195'495'519'689'123), 1_ns);
  trace.counters.push_back({Nanoseconds(1'712'195'495'000'000'001), track, trace.strings.intern("c"), 0});
  const std::string text = trace_to_json(trace);
  EXPECT_THAT(text, HasSubstr("\"baseTimeNanoseconds\": 1712195495000000000,"));
  EXPECT_THAT(text, HasSubstr("\"ts\": 519689.123"));
  expect_same_after_reading(trace);
  const auto read = parse_trace(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->slices[0].start, trace.slices[0].start);
  EXPECT_EQ(read->counters[0].time, trace.counters[0].time);
}

TEST(TraceWrite, LeavesOutNumbersThatJsonCannotHold) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  const std::array<Trace::NamedArg, 2> args = {
      {{"nan", std::nan("")}, {"inf", std::numeric_limits<double>::infinity()}}};
  trace.add_slice(track, "a", "kernel", 0_ns, 1_ns, args);
  trace.counters.push_back({0_ns, track, trace.strings.intern("c"), std::nan("")});
  EXPECT_TRUE(json::accept(trace_to_json(trace)));
  expect_same_after_reading(trace);
}

TEST(TraceWrite, ReplacesBytesThatAreNotUtf8) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  trace.add_slice(track, "cut \xe4\xb8", "kernel", 0_ns, 1_ns);
  EXPECT_TRUE(json::accept(trace_to_json(trace)));
  expect_same_after_reading(trace);
}

TEST(TraceWrite, TellsApartSlicesThatBeginTogetherOnOneTrack) {
  Trace trace;
  const TrackId track = trace.add_track("device", "stream 0");
  const SliceId empty = trace.add_slice(track, "empty", "kernel", 5_ns, 0_ns);
  const SliceId outer = trace.add_slice(track, "outer", "kernel", 5_ns, 9_ns);
  const SliceId inner = trace.add_slice(track, "inner", "kernel", 5_ns, 4_ns);
  const StringId name = trace.strings.intern("dep");
  trace.flows = {{empty, outer, name}, {outer, inner, name}, {inner, empty, name}};
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->flows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->flows[i].from, trace.flows[i].from);
    EXPECT_EQ(read->flows[i].to, trace.flows[i].to);
  }
}

class TraceFile : public ::testing::Test {
 private:
  TemporaryFolder temporary_;

 protected:
  const std::filesystem::path& folder_ = temporary_.path();
};

TEST_F(TraceFile, IsGzippedWhereItsNameSaysSo) {
  const Trace trace = small_trace();
  ASSERT_TRUE(write_trace(folder_ / "t.json", trace, Overwrite::kNever));
  ASSERT_TRUE(write_trace(folder_ / "t.json.gz", trace, Overwrite::kNever));
  const auto plain = read_file(folder_ / "t.json");
  const auto packed = read_file(folder_ / "t.json.gz");
  ASSERT_TRUE(plain && packed);
  EXPECT_EQ(*plain, trace_to_json(trace));
  EXPECT_EQ(packed->substr(0, 2), "\x1f\x8b");
  EXPECT_LT(packed->size(), plain->size());
  const auto read = read_trace(folder_ / "t.json.gz");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(trace_to_json(*read), *plain);
}

TEST_F(TraceFile, IsReadByContentWhateverItsName) {
  ASSERT_TRUE(write_trace(folder_ / "t.gz", small_trace(), Overwrite::kNever));
  std::filesystem::rename(folder_ / "t.gz", folder_ / "t.json");
  EXPECT_TRUE(read_trace(folder_ / "t.json"));
}

TEST_F(TraceFile, IsNotOverwrittenUnasked) {
  ASSERT_TRUE(write_trace(folder_ / "t.json", Trace{}, Overwrite::kNever));
  const auto again = write_trace(folder_ / "t.json", small_trace(), Overwrite::kNever);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("exists already"));
  EXPECT_TRUE(write_trace(folder_ / "t.json", small_trace(), Overwrite::kAllow));
}

TEST_F(TraceFile, NamesTheFileInErrors) {
  const auto missing = read_trace(folder_ / "missing.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(missing.error().message, HasSubstr("missing.json"));
  ASSERT_TRUE(write_file(folder_ / "empty.json", "", Overwrite::kNever));
  const auto empty = read_trace(folder_ / "empty.json");
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("empty.json: not a trace but empty"));
}

}  // namespace
}  // namespace cohort
