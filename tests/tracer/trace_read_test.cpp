#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tracer/file/content.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Trace read_events(const std::string& events, const std::string& rest = "") {
  auto trace = parse_trace("{\"traceEvents\": [" + events + "]" + rest + "}");
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

std::string error_of(std::string_view content) {
  const auto trace = parse_trace(content);
  if (trace) return "(no error)";
  EXPECT_EQ(trace.error().code, ErrorCode::kInvalidInput);
  return trace.error().message;
}

TEST(TraceRead, ReadsOtherToolsTracesAsRecorded) {
  const Trace trace = read_events(
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":2.5,"args":{"stream":7,"rate":1.5,"ok":true,"to":"x"}})");
  EXPECT_EQ(trace.info.kind, TraceKind::kRecorded);
  ASSERT_EQ(trace.slices.size(), 1U);
  const Slice& slice = trace.slices[0];
  EXPECT_EQ(slice.start, 10_us);
  EXPECT_EQ(slice.duration, 2500_ns);
  EXPECT_EQ(trace.strings[slice.category], "kernel");
  EXPECT_EQ(trace.integer_arg(slice, "stream"), 7);
  EXPECT_EQ(trace.text_arg(slice, "to"), "x");
  EXPECT_THAT(trace.info.dropped, IsEmpty());
}

TEST(TraceRead, TakesABareListOfEvents) {
  const auto trace = parse_trace(R"([{"ph":"X","name":"a","ts":1,"dur":1}])");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->slices.size(), 1U);
}

TEST(TraceRead, AddsTheBaseTimeWhereverItStandsInTheFile) {
  const Trace trace = read_events(R"({"ph":"X","name":"a","ts":1428625731896.179,"dur":1})",
                                  R"(,"baseTimeNanoseconds": 1751410836000000000)");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.slices[0].start, Nanoseconds(1'751'410'836'000'000'000 + 1'428'625'731'896'179));
}

TEST(TraceRead, TakesProcessesAndThreadsThatAreNamesOrNumbers) {
  const Trace trace = read_events(R"(
    {"ph":"X","name":"a","pid":"Spans","tid":"Profiler","ts":1,"dur":1},
    {"ph":"X","name":"b","pid":5,"tid":-1,"ts":1,"dur":1},
    {"ph":"X","name":"c","pid":"Spans","tid":"Profiler","ts":3,"dur":1},
    {"ph":"X","name":"d","pid":"5","tid":-1,"ts":1,"dur":1})");
  ASSERT_EQ(trace.tracks.size(), 3U);
  EXPECT_EQ(trace.tracks[0].process, "Spans");
  EXPECT_EQ(trace.tracks[0].thread, "Profiler");
  EXPECT_EQ(trace.tracks[1].pid, 5);
  EXPECT_EQ(trace.tracks[1].tid, -1);
  EXPECT_NE(trace.tracks[2].pid, 5);
  EXPECT_EQ(trace.slices[0].track, trace.slices[2].track);
}

TEST(TraceRead, GivesNamesNumbersThatNothingElseHas) {
  const Trace trace = read_events(R"({"ph":"X","ts":1,"dur":1,"pid":1000001,"tid":"b"},
    {"ph":"X","ts":1,"dur":1,"pid":"a","tid":1000000},{"ph":"X","ts":1,"dur":1,"pid":"a","tid":"b"})");
  ASSERT_EQ(trace.tracks.size(), 3U);
  EXPECT_EQ(trace.tracks[0].tid, 1000002);
  EXPECT_EQ(trace.tracks[1].pid, 1000003);
  EXPECT_EQ(trace.tracks[1].tid, 1000000);
  EXPECT_EQ(trace.tracks[2].pid, 1000003);
  EXPECT_EQ(trace.tracks[2].tid, 1000002);
}

TEST(TraceRead, NamesTracksFromMetadataBeforeOrAfterTheirEvents) {
  const Trace trace = read_events(R"(
    {"ph":"X","name":"a","pid":0,"tid":7,"ts":1,"dur":1},
    {"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}},
    {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
    {"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7"}},
    {"ph":"M","name":"thread_sort_index","pid":0,"tid":7,"args":{"sort_index":7}})");
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_EQ(trace.tracks[0].process, "python (GPU 0)");
  EXPECT_EQ(trace.tracks[0].thread, "stream 7");
  EXPECT_THAT(trace.info.dropped, IsEmpty());
}

TEST(TraceRead, MatchesBeginsWithEndsOfTheirThread) {
  const Trace trace = read_events(R"(
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":1,"args":{"a":1}},
    {"ph":"B","name":"other","pid":1,"tid":2,"ts":2},
    {"ph":"B","name":"inner","pid":1,"tid":1,"ts":3},
    {"ph":"E","pid":1,"tid":1,"ts":4},
    {"ph":"E","pid":1,"tid":1,"ts":9,"args":{"b":2}},
    {"ph":"E","pid":1,"tid":1,"ts":10},
    {"ph":"X","name":"last","pid":1,"tid":1,"ts":20,"dur":1})");
  ASSERT_EQ(trace.slices.size(), 3U);
  EXPECT_EQ(trace.name(trace.slices[0]), "outer");
  EXPECT_EQ(trace.slices[0].duration, 8_us);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "a"), 1);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "b"), 2);
  EXPECT_EQ(trace.name(trace.slices[1]), "inner");
  EXPECT_EQ(trace.slices[1].duration, 1_us);
  EXPECT_EQ(trace.name(trace.slices[2]), "last");
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("begin without an end", 1), Pair("end without a begin", 1)));
}

TEST(TraceRead, BindsFlowsToTheSlicesTheyLieIn) {
  const Trace trace = read_events(R"(
    {"ph":"f","id":5,"pid":0,"tid":7,"ts":30,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"X","name":"op","pid":1,"tid":1,"ts":0,"dur":20},
    {"ph":"X","name":"before","pid":1,"tid":1,"ts":1,"dur":2},
    {"ph":"X","name":"kernel","pid":0,"tid":7,"ts":30,"dur":5},
    {"ph":"X","name":"second","pid":0,"tid":7,"ts":40,"dur":5},
    {"ph":"s","id":5,"pid":1,"tid":1,"ts":4,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","id":5,"pid":0,"tid":7,"ts":41,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"s","id":5,"pid":1,"tid":1,"ts":2,"cat":"fwdbwd","name":"fwdbwd"},
    {"ph":"f","id":6,"pid":0,"tid":7,"ts":41,"cat":"ac2g","name":"ac2g"},
    {"ph":"s","id":"0x7","pid":1,"tid":1,"ts":4,"cat":"c","name":"n"},
    {"ph":"f","id":"0x7","pid":0,"tid":7,"ts":99,"cat":"c","name":"n"})");
  ASSERT_EQ(trace.flows.size(), 2U);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[0].from)), "op");
  EXPECT_EQ(trace.name(trace.slice(trace.flows[0].to)), "kernel");
  EXPECT_EQ(trace.name(trace.slice(trace.flows[1].to)), "second");
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("flow end without a start", 1), Pair("flow outside any slice", 1),
                                              Pair("flow start without an end", 1)));
}

TEST(TraceRead, PairsAFlowEndWithTheLatestStartBeforeIt) {
  const Trace trace = read_events(R"(
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":2},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":10,"dur":2},
    {"ph":"X","name":"k","pid":2,"tid":1,"ts":5,"dur":1},
    {"ph":"s","id":1,"pid":1,"tid":1,"ts":10},
    {"ph":"s","id":1,"pid":1,"tid":1,"ts":0},
    {"ph":"f","id":1,"pid":2,"tid":1,"ts":5})");
  ASSERT_EQ(trace.flows.size(), 1U);
  EXPECT_EQ(trace.name(trace.slice(trace.flows[0].from)), "a");
}

TEST(TraceRead, MakesACounterOfEachSeries) {
  const Trace trace = read_events(R"({"ph":"C","name":"memory","pid":1,"ts":3,"args":{"used":10,"free":2.5,"x":"?"}})");
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_EQ(trace.strings[trace.counters[0].name], "memory.used");
  EXPECT_EQ(trace.counters[0].value, 10);
  EXPECT_EQ(trace.strings[trace.counters[1].name], "memory.free");
  EXPECT_EQ(trace.counters[1].value, 2.5);
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("unreadable argument", 1)));
}

TEST(TraceRead, CountsEveryRecordItDoesNotKeep) {
  const Trace trace = read_events(R"(
    5, "text", [1], null,
    {"ph":"X","name":"no duration","ts":1},
    {"ph":"X","name":"no time","dur":1},
    {"ph":"X","name":"backwards","ts":1,"dur":-1},
    {"ph":"X","name":"late","ts":9e15,"dur":1},
    {"ph":"X","name":"time is text","ts":"soon","dur":1},
    {"ph":"X","name":7,"ts":1,"dur":1},
    {"ph":"X","name":["a list"],"ts":1,"dur":1},
    {"ph":"i","name":"instant","ts":1},
    {"ph":"b","name":"async","ts":1},
    {"ph":"unknown","ts":1},
    {"name":"no phase"},
    {},
    {"ph":"X","name":"kept","ts":1,"dur":1,"args":{"nested":{"a":[1]},"list":[1,2],"none":null,"much":1e999,"n":1}})");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.name(trace.slices[0]), "kept");
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "n"), 1);
  EXPECT_THAT(trace.info.dropped,
              ElementsAre(Pair("instant event", 1), Pair("null argument", 1), Pair("phase ?", 1), Pair("phase b", 1),
                          Pair("record that is not an object", 4), Pair("record with an unreadable field", 3),
                          Pair("record without a phase", 2), Pair("record without a time", 1),
                          Pair("slice that ends before it starts", 1), Pair("slice without a duration", 1),
                          Pair("time out of range", 1), Pair("unreadable argument", 1)));
}

TEST(TraceRead, KeepsTheAllocatorsTotalsOfADeviceAsACounter) {
  const Trace trace = read_events(R"(
    {"ph":"i","name":"[memory]","ts":2,"args":{"Total Allocated":4096,"Device Type":1,"Device Id":3,"Bytes":512}},
    {"ph":"i","name":"[memory]","ts":3,"args":{"Total Allocated":64,"Device Type":0}},
    {"ph":"i","name":"[memory]","args":{"Total Allocated":64,"Device Type":1}},
    {"ph":"X","name":"a","ts":1,"dur":1})");
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_EQ(trace.counters[0].time, 2000_ns);
  EXPECT_EQ(trace.counters[0].value, 4096);
  EXPECT_EQ(trace.strings[trace.counters[0].name], "allocated bytes, GPU 3");
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("instant event", 2)));
}

TEST(TraceRead, TakesTimesInQuotes) {
  const Trace trace = read_events(R"({"ph":"X","name":"a","ts":"12.5","dur":"1"})");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.slices[0].start, 12500_ns);
}

TEST(TraceRead, ReplacesBytesThatAreNotUtf8AndCountsThem) {
  const Trace trace = read_events("{\"ph\":\"X\",\"name\":\"cut \xe4\xb8\",\"ts\":1,\"dur\":1}");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.name(trace.slices[0]), "cut ??");
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("byte that is not UTF-8", 2)));
}

TEST(TraceRead, TakesTheDeviceFromPyTorchsDeviceProperties) {
  const Trace trace = read_events(
      "", R"(,"deviceProperties":[{"id":0,"name":"NVIDIA A100","totalGlobalMem":42297524224,"numSms":108},{"id":1}])");
  EXPECT_EQ(trace.info.device.id, "cuda:0");
  EXPECT_EQ(trace.info.device.name, "NVIDIA A100");
  EXPECT_EQ(trace.info.device.memory, Bytes{42297524224});
  EXPECT_EQ(trace.info.device.cores, 108);
}

TEST(TraceRead, SaysWhatAFileIsThatIsNoTrace) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of(" \n"), HasSubstr("blank"));
  EXPECT_THAT(error_of("\x89PNG\r\n\x1a\n"), HasSubstr("a PNG image"));
  EXPECT_THAT(error_of("\xff\xd8\xff\xe0"), HasSubstr("a JPEG image"));
  EXPECT_THAT(error_of("SQLite format 3\0"s), HasSubstr("an SQLite database"));
  EXPECT_THAT(error_of("PK\x03\x04..."), HasSubstr("a zip archive"));
  EXPECT_THAT(error_of("hello there"), HasSubstr("text that is not JSON"));
  EXPECT_THAT(error_of("\x08\x03\x12\x07pytorch"), HasSubstr("an ONNX model"));
  EXPECT_THAT(error_of("\x01\x02\x03\x04"), HasSubstr("binary data"));
  EXPECT_THAT(error_of(R"({"version":1,"members":[]})"), HasSubstr("a plan, not a trace"));
  EXPECT_THAT(error_of(R"({"a":1,"b":{"traceEvents":[]}})"), HasSubstr(R"(it has no "traceEvents" but "a", "b")"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no fields"));
  EXPECT_THAT(error_of(R"({"traceEvents": {}})"), HasSubstr("traceEvents must be a list"));
  EXPECT_THAT(error_of(R"({"traceEvents": [], "baseTimeNanoseconds": "x"})"), HasSubstr("baseTimeNanoseconds"));
}

TEST(TraceRead, RefusesFilesOfOursThatAreCutShortWherever) {
  Trace trace;
  trace.add_slice(trace.add_track("device", "stream 0"), "conv", "kernel", 1_us, 2_us);
  std::string whole = trace_to_json(trace);
  whole.pop_back();  // the line's end
  ASSERT_TRUE(parse_trace(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_trace(whole.substr(0, size))) << size;
}

TEST(TraceRead, EndsOnceItIsCancelled) {
  const std::string text = R"({"traceEvents": [{"ph":"X","name":"a","ts":1,"dur":1}]})";
  CancelToken cancel;
  TraceReadOptions options;
  options.cancel = &cancel;
  EXPECT_TRUE(parse_trace(text, options));
  cancel.cancel();
  const auto ended = parse_trace(text, options);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
}

TEST(TraceRead, RefusesBrokenJson) {
  EXPECT_FALSE(parse_trace(R"({"traceEvents":[{"ph":"X" "name":"a"}]})"));
  EXPECT_FALSE(parse_trace(R"({"traceEvents":[{"ph":"X"},,{}]})"));
}

TEST(TraceRead, SurvivesAnySingleByteChanged) {
  const std::string whole =
      R"({"cohort":{"version":1,"kind":"profile","device":{"id":"","kind":"","name":"","cores":1,"memory_bytes":0,"settings":{}},"settings":{},"plan":"","wall_times":[],"dropped":{}},"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1,"args":{"x":"y"}},{"ph":"s","id":1,"ts":2,"pid":1,"tid":1},{"ph":"f","id":1,"ts":2,"pid":1,"tid":1}]})";
  ASSERT_TRUE(parse_trace(whole));
  int unreadable = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '"', '}', '[', '9', '-', '\\', '\xff'}) {
      std::string changed = whole;
      changed[at] = byte;
      const auto trace = parse_trace(changed);
      if (trace) {
        EXPECT_TRUE(parse_trace(trace_to_json(*trace))) << changed;
      } else {
        ++unreadable;
      }
    }
  }
  EXPECT_GT(unreadable, 0);
}

TEST(TraceRead, RefusesDamagedGzip) {
  const std::string packed = gzipped(R"({"traceEvents": []})");
  ASSERT_TRUE(parse_trace(packed));
  for (std::size_t size = 2; size < packed.size(); ++size)
    EXPECT_THAT(error_of(packed.substr(0, size)), HasSubstr("gzip data that is damaged or cut short")) << size;
  std::string flipped = packed;
  flipped[packed.size() / 2] = static_cast<char>(flipped[packed.size() / 2] ^ 0x10);
  EXPECT_FALSE(parse_trace(flipped));
}

TEST(TraceRead, JoinsGzipMembers) {
  const auto trace =
      parse_trace(gzipped(R"({"traceEvents": [{"ph":"X","name":)") + gzipped(R"("a","ts":1,"dur":1}]})"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->slices.size(), 1U);
}

TEST(TraceRead, RefusesGzipThatInflatesBeyondTheLimit) {
  TraceReadOptions options;
  options.most_inflated_bytes = 1 << 16;
  const std::string bomb = gzipped("{\"traceEvents\": []" + std::string(1 << 20, ' ') + "}");
  const auto refused = parse_trace(bomb, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, EndsWith("more than 65536 bytes"));
  options.raised_by = "--larger";
  EXPECT_THAT(parse_trace(bomb, options).error().message, EndsWith("more than 65536 bytes; --larger allows more"));
  options.most_inflated_bytes = 1 << 21;
  EXPECT_TRUE(parse_trace(bomb, options));
}

TEST(TraceRead, NamesTheFieldOfABrokenInfoObject) {
  const auto with = [](const std::string& info) { return error_of("{\"cohort\": " + info + ", \"traceEvents\": []}"); };
  EXPECT_THAT(with("5"), HasSubstr("cohort must be an object"));
  EXPECT_THAT(with("{}"), HasSubstr("cohort.version is missing"));
  EXPECT_THAT(with(R"({"version": 2})"), HasSubstr("written by a newer Cohort"));
  EXPECT_THAT(with(R"({"version": 1, "kind": "guess"})"), HasSubstr("cohort.kind must be recorded, profile"));
  EXPECT_THAT(with(R"({"version": 1, "kind": "profile", "device": []})"), HasSubstr("cohort.device"));
}

}  // namespace
}  // namespace cohort
