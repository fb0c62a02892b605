#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kForeignTrace = R"({"schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "Some GPU", "totalGlobalMem": 1073741824, "numSms": 4}],
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "gpu"}},
  {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7"}},
  {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 100, "dur": 30, "args": {"grid": [1, 2, 3]}},
  {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 140, "dur": 60},
  {"ph": "i", "name": "mark", "pid": 0, "tid": 7, "ts": 150}
]})";

using TraceCommands = ProgramTest;

TEST_F(TraceCommands, InfoTellsWhatATraceHolds) {
  write("t.json", kForeignTrace);
  const Outcome outcome = cohort({"trace", "info", "t.json"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out, R"(kind      recorded
device    Some GPU (cuda:0)
span      100 us
records   2 slices, 0 flows, 0 counters
kernels   2 of 2 names, 90.0 us in all; 0 copies and 0 memsets, 0 ns
busy      90.0 us of the 100 us from the first device work to the last (90.0%)
overlap   0 ns with work on two or more streams (0.0% of the busy time)
streams
    90.0 us busy        2 kernels       0 copies  gpu / stream 7
most time in
    60.0 us  66.7%       1 x  b
    30.0 us  33.3%       1 x  a
prediction from this trace: confidence low
  lowers confidence  2 of 2 kernels without grid and block sizes: how many fit beside each other is unknown
  lowers confidence  no calls of the CUDA or HIP runtime: launch costs and what the host adds are unknown: only the device's side can be predicted
  lowers confidence  no steps: neither ProfilerStep#N nor a repetition: choose a window with --window; set-up would be predicted along with the work
  note               neither operators nor annotations: what-ifs can name kernels, not layers
not kept
          1  instant event
)");
}

TEST_F(TraceCommands, TakeThePartThatIsAskedFor) {
  write("t.json", kForeignTrace);
  const Outcome info = cohort({"trace", "info", "t.json", "--window", "0us..35us", "--json"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  EXPECT_EQ(json::parse(info.out)["gpu"]["kernels"], 1);
  ASSERT_EQ(cohort({"trace", "convert", "t.json", "part.json", "--window", "35us..100us"}).exit_code, 0);
  const json part = json::parse(cohort({"trace", "info", "part.json", "--json"}).out);
  EXPECT_EQ(part["gpu"]["kernel_time_ns"], 60'000);
  EXPECT_EQ(part["settings"]["part"], "window");
  const Outcome none = cohort({"trace", "info", "t.json", "--annotation", "train"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, StartsWith("cohort: t.json: "));
}

TEST_F(TraceCommands, InfoListsTracksWhereAskedTo) {
  write("t.json", kForeignTrace);
  EXPECT_THAT(cohort({"trace", "info", "t.json", "--tracks"}).out,
              HasSubstr("     slices       busy   share  name\n          2    90.0 us   90.0%  gpu / stream 7\n"));
}

TEST_F(TraceCommands, InfoListsTheWaysOfAProfilesOps) {
  ASSERT_EQ(
      cohort({"profile", "mlp", "--set", "inputs=8", "--set", "hidden=8", "--device", "reference", "-q"}).exit_code, 0);
  const std::string text = cohort({"trace", "info", "mlp.trace.json.gz", "--rows", "1"}).out;
  EXPECT_THAT(text, HasSubstr("\nops, weights in the caches, nothing beside them; "));
  EXPECT_THAT(text, HasSubstr(": Gemm"));
  EXPECT_THAT(text, Not(HasSubstr("two or more at once")));  // no sample was taken beside those of another track
  EXPECT_THAT(text, HasSubstr("\n  ... and 1 more\nwall times"));
  const json ops = json::parse(cohort({"trace", "info", "mlp.trace.json.gz", "--json"}).out).at("ops");
  ASSERT_EQ(ops.size(), 2U);  // two of the three layers are alike
  EXPECT_GE(ops[0]["best_ns"], ops[1]["best_ns"]);
  for (const json& op : ops) {
    EXPECT_THAT(op["name"].get<std::string>(), StartsWith("fc"));
    ASSERT_FALSE(op["ways"].empty());
    for (const json& way : op["ways"]) {
      EXPECT_LE(way["p10_ns"], way["median_ns"]);
      EXPECT_LE(way["median_ns"], way["p90_ns"]);
      EXPECT_GE(way["samples"], 1);
    }
  }
  write("t.json", kForeignTrace);
  EXPECT_FALSE(json::parse(cohort({"trace", "info", "t.json", "--json"}).out).contains("ops"));
}

TEST_F(TraceCommands, InfoRefusesWhatUnpacksToMoreThanIsAllowed) {
  write("t.json", kForeignTrace);
  ASSERT_EQ(cohort({"trace", "convert", "t.json", "t.json.gz"}).exit_code, 0);
  const Outcome outcome = cohort({"trace", "info", "t.json.gz", "--most-inflated", "100B"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("t.json.gz: holds more than 100 bytes; --most-inflated allows more\n"));
  EXPECT_EQ(cohort({"trace", "info", "t.json.gz", "--most-inflated", "1MB"}).exit_code, 0);
}

TEST_F(TraceCommands, EveryCommandThatReadsTracesRefusesTheSame) {
  write("t.json", kForeignTrace);
  ASSERT_EQ(cohort({"trace", "convert", "t.json", "t.json.gz"}).exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {{"simulate", "t.json.gz"},
                                                          {"plan", "t.json.gz"},
                                                          {"compare", "t.json.gz", "t.json.gz"},
                                                          {"calibrate", "--fit", "t.json.gz"},
                                                          {"trace", "convert", "t.json.gz", "again.json"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--most-inflated", "100B"});
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, 3) << words.front();
    EXPECT_THAT(outcome.err, HasSubstr("holds more than 100 bytes; --most-inflated allows more\n")) << words.front();
  }
}

TEST_F(TraceCommands, InfoGivesTheSameInJson) {
  write("t.json", kForeignTrace);
  const json info = json::parse(cohort({"trace", "info", "t.json", "--json"}).out);
  EXPECT_EQ(info.at("kind"), "recorded");
  EXPECT_EQ(info.at("span_ns"), 100000);
  EXPECT_EQ(info.at("active_ns"), 90000);
  EXPECT_EQ(info.at("tracks").at(0).at("busy_ns"), 90000);
  EXPECT_EQ(info.at("tracks").at(0).at("is_device"), true);
  EXPECT_EQ(info.at("gpu").at("kernels"), 2);
  EXPECT_EQ(info.at("gpu").at("busy_ns"), 90000);
  EXPECT_EQ(info.at("gpu").at("confidence"), "low");
  EXPECT_EQ(info.at("gpu").at("shortcomings").at(0).at("severity"), "lowers confidence");
  EXPECT_EQ(info.at("dropped"), json({{"instant event", 1}}));
}

TEST_F(TraceCommands, InfoNamesAFileAndWhatItIsInstead) {
  write("empty.json", "");
  write("picture.json", "\x89PNG\r\n");
  write("plan.json", R"({"version": 1, "members": []})");
  write("cut.json", kForeignTrace.substr(0, 90));
  write("cut.json.gz", "\x1f\x8b\x08");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"missing.json", "cannot read missing.json: No such file or directory"},
      {".", "cannot read .: Is a directory"},
      {"empty.json", "empty.json: not a trace but empty"},
      {"picture.json", "picture.json: not a trace but a PNG image"},
      {"plan.json", "plan.json: a plan, not a trace"},
      {"cut.json", "cut.json: JSON that is cut short"},
      {"cut.json.gz", "cut.json.gz: gzip data that is damaged or cut short"},
  };
  for (const auto& [file, message] : cases) {
    const Outcome outcome = cohort({"trace", "info", file});
    EXPECT_EQ(outcome.exit_code, 3) << file;
    EXPECT_EQ(outcome.err, "cohort: " + message + "\n");
    EXPECT_THAT(outcome.out, IsEmpty()) << file;
  }
}

TEST_F(TraceCommands, ConvertWritesAFileThatReadsBackTheSame) {
  write("t.json", kForeignTrace);
  const Outcome first = cohort({"trace", "convert", "t.json", "a.json.gz"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.err, "wrote a.json.gz: 2 slices on 1 tracks; 1 records or arguments not kept\n");
  EXPECT_THAT(first.out, IsEmpty());
  ASSERT_EQ(cohort({"trace", "convert", "a.json.gz", "b.json", "-q"}).exit_code, 0);
  ASSERT_EQ(cohort({"trace", "convert", "b.json", "c.json.gz", "-q"}).exit_code, 0);
  EXPECT_TRUE(read("a.json.gz") == read("c.json.gz"));
  const auto trace = read_trace(path("b.json"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->slices.size(), 2U);
  EXPECT_EQ(trace->info.device.name, "Some GPU");
}

TEST_F(TraceCommands, ConvertDoesNotOverwriteUnasked) {
  write("t.json", kForeignTrace);
  const Outcome refused = cohort({"trace", "convert", "t.json", "t.json"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(read("t.json"), kForeignTrace);
  EXPECT_EQ(cohort({"trace", "convert", "t.json", "t.json", "-f"}).exit_code, 0);
  EXPECT_NE(read("t.json"), kForeignTrace);
  EXPECT_THAT(files(), ElementsAre("t.json"));
}

TEST_F(TraceCommands, ConvertLeavesNothingBehindWhenItFails) {
  write("broken.json", "{\"traceEvents\": [");
  EXPECT_EQ(cohort({"trace", "convert", "broken.json", "out.json"}).exit_code, 3);
  write("t.json", kForeignTrace);
  const Outcome folder = cohort({"trace", "convert", "t.json", "none/out.json"});
  EXPECT_EQ(folder.exit_code, 3);
  EXPECT_THAT(folder.err, StartsWith("cohort: cannot write none/out.json"));
  EXPECT_THAT(files(), ElementsAre("broken.json", "t.json"));
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Outcome full = cohort({"trace", "convert", "t.json", "/dev/full"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_EQ(full.err, "cohort: cannot write /dev/full: No space left on device\n");
}

}  // namespace
}  // namespace cohort
