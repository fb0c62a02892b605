#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program.hpp"

// What reading a trace takes, of the program as a whole, and profiling a training step. The files are made of what
// takes most memory for its bytes.

namespace cohort {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COHORT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COHORT_SANITIZED 1
#endif
#endif

// As tracer/file/trace_file.hpp and tracer/nsight/nsight.hpp state it.
constexpr std::int64_t kTimesJson = 24;
constexpr std::int64_t kTimesOwnObject = 56;
constexpr std::int64_t kTimesDatabase = 64;
constexpr std::int64_t kBeyond = std::int64_t{32} << 20;

constexpr std::size_t kFileBytes = 8'000'000;

/// The i-th of all short texts, the shortest first: as many different ones as a file has room for.
std::string short_text(std::size_t i) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&()*+-.:;<=>?";
  std::string text;
  for (++i; i > 0; i = (i - 1) / kLetters.size()) text += kLetters[(i - 1) % kLetters.size()];
  return text;
}

/// A file that is mostly a list; item(i) is its i-th element.
struct FileShape {
  const char* name;
  std::function<std::string(std::size_t)> item;
  const char* before = R"({"traceEvents":[)";
  const char* after = "]}";
};

constexpr const char* kInOneEvent = R"({"traceEvents":[{"ph":"X","ts":1,"dur":1,"args":{)";
constexpr const char* kInOneCounter = R"({"traceEvents":[{"ph":"C","ts":1,"args":{)";
constexpr const char* kEventEnds = "}}]}";

/// Makes item(i) of a text in which {0} is i and {1} the i-th short text.
std::function<std::string(std::size_t)> filled(std::string text) {
  return [text = std::move(text)](std::size_t i) { return fmt::format(fmt::runtime(text), i, short_text(i)); };
}

const std::vector<FileShape>& shapes() {
  static const std::vector<FileShape> shapes = {
      {"NothingInEvents", filled("{{}}")},
      {"Slices", filled(R"({{"ph":"X","ts":{0},"dur":1}})")},
      {"SlicesWithEmptyArguments", filled(R"({{"ph":"X","ts":1,"dur":1,"args":{{}}}})")},
      {"SlicesOfManyArguments",
       filled(R"({{"ph":"X","ts":1,"dur":1,"args":{{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}}}})")},
      {"Kernels", filled(R"({{"ph":"X","ts":{0},"dur":1,"cat":"kernel","args":{{}}}})")},
      {"KernelsOnStreamsOfTheirOwn", filled(R"({{"ph":"X","ts":1,"dur":1,"cat":"kernel","tid":{0}}})")},
      {"ArgumentsOfOneEvent", filled(R"("":1)"), kInOneEvent, kEventEnds},
      {"KeysOfOneEvent", filled(R"("{1}":1)"), kInOneEvent, kEventEnds},
      {"TextsOfOneEvent", filled(R"("":"{1}")"), kInOneEvent, kEventEnds},
      {"ListsOfOneEvent", filled(R"("":[{0}])"), kInOneEvent, kEventEnds},
      {"SeriesOfOneCounter", filled(R"("":1)"), kInOneCounter, kEventEnds},
      {"KeysOfOneCounter", filled(R"("{1}":1)"), kInOneCounter, kEventEnds},
      {"TextsThatNothingUses", filled(R"({{"name":"{1}"}})")},
      {"Categories", filled(R"({{"ph":"X","ts":1,"dur":1,"cat":"{1}"}})")},
      {"Begins", filled(R"({{"ph":"B","ts":1}})")},
      {"BeginsOnTracksOfTheirOwn", filled(R"({{"ph":"B","ts":1,"tid":{0}}})")},
      {"BeginsOnTracksWithNames", filled(R"({{"ph":"B","ts":1,"tid":"{1}"}})")},
      {"FlowsThatNothingEnds", filled(R"({{"ph":"s","ts":1,"id":1}})")},
      {"FlowsOnTracksOfTheirOwn", filled(R"({{"ph":"s","ts":1,"id":1,"tid":{0}}})")},
      {"FlowsWithNames", filled(R"({{"ph":"s","ts":1,"id":"{1}"}})")},
      {"SlicesCutShort", filled(R"({{"ph":"X","ts":{0},"dur":1}})"), R"({"traceEvents":[)", R"(,{"ph":)"},
      {"KeysCutShort", filled(R"("{1}":1)"), R"({"traceEvents":[{"ph":"X","ts":1,"dur":1},{"args":{)", ","},
      {"Devices", filled("{{}}"), R"({"traceEvents":[],"deviceProperties":[)", "]}"},
      {"FactsOfADevice", filled(R"("{1}":1)"), R"({"traceEvents":[],"deviceProperties":[{)", "}]}"},
      {"BracketsElsewhere", filled("[]"), R"({"traceEvents":[],"x":[)", "]}"},
  };
  return shapes;
}

class MemoryTest : public ProgramTest {
 protected:
  void SetUp() override {
#ifdef COHORT_SANITIZED
    GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  }

  void expect_within(const std::string& name, std::int64_t times, int exit_code = 0) {
    const Outcome outcome = cohort({"trace", "info", name});
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path(name)));
    EXPECT_LE(outcome.most_resident, times * size + kBeyond);
    RecordProperty("times",
                   fmt::format("{:.1f}", static_cast<double>(outcome.most_resident) / static_cast<double>(size)));
  }
};

class TraceMemory : public MemoryTest, public ::testing::WithParamInterface<FileShape> {};

TEST_P(TraceMemory, StaysWithinWhatIsStated) {
  {
    std::ofstream file(path("trace.json"), std::ios::binary);
    file << GetParam().before;
    std::string item;
    for (std::size_t i = 0, size = 0; size < kFileBytes; ++i, size += item.size()) {
      item = (i > 0 ? "," : "") + GetParam().item(i);
      file << item;
    }
    file << GetParam().after;
  }
  expect_within("trace.json", kTimesJson);
}

INSTANTIATE_TEST_SUITE_P(Json, TraceMemory, ::testing::ValuesIn(shapes()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(MemoryTest, OfAProfileGrowsWithTheTrainedModelAndNotWithItsNumberOfParameters) {
  // Each of 202 parameters is a view of a state of 6.6 MB; ops alone once held such a state each.
  const Outcome outcome = cohort({"profile", "mlp", "--set", "layers=100", "--set", "hidden=128", "--set", "inputs=128",
                                  "--train", "momentum", "--minibatch", "1", "--budget", "0.5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(outcome.most_resident, std::int64_t{768} << 20);
}

TEST_F(MemoryTest, OfAnObjectOfOursStaysWithinWhatIsStated) {
  std::string text = R"({"traceEvents":[],"cohort":{"version":[{})";
  while (text.size() < kFileBytes) text += ",{}";
  write("trace.json", text + "]}}");
  expect_within("trace.json", kTimesOwnObject, 3);
}

/// An export whose rows take few bytes: `columns` of a table, each row made of the `values`, in which i counts.
struct Rows {
  const char* name;
  const char* table;
  const char* columns;
  const char* values;
};

class NsightMemory : public MemoryTest, public ::testing::WithParamInterface<Rows> {};

TEST_P(NsightMemory, StaysWithinWhatIsStated) {
  const Rows& rows = GetParam();
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path("report.sqlite").c_str(), &raw), SQLITE_OK);
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(raw, sqlite3_close);
  const std::string kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  const auto execute = [&](const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
  };
  if (rows.table != kernels) execute("CREATE TABLE " + kernels + " (start, end)");
  execute(fmt::format("CREATE TABLE {} ({})", rows.table, rows.columns));
  constexpr int kOnce = 100'000;
  for (int i = 0; std::filesystem::file_size(path("report.sqlite")) < kFileBytes; i += kOnce) {
    ASSERT_LT(i, 100 * kOnce);
    execute(
        fmt::format("WITH RECURSIVE c(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM c LIMIT {}) "
                    "INSERT INTO {} SELECT {} FROM c",
                    i, kOnce, rows.table, rows.values));
  }
  database.reset();
  expect_within("report.sqlite", kTimesDatabase);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, NsightMemory,
    ::testing::Values(
        Rows{"Kernels", "CUPTI_ACTIVITY_KIND_KERNEL", "start, end, correlationId", "0, 1, 1"},
        Rows{"KernelsWithAllTheirFacts", "CUPTI_ACTIVITY_KIND_KERNEL",
             "start, end, deviceId, contextId, streamId, correlationId, graphNodeId, registersPerThread, "
             "staticSharedMemory, localMemoryPerThread, launchType, graphId, gridX, blockX, clusterX, name",
             "0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"},
        Rows{"KernelsOnStreamsOfTheirOwn", "CUPTI_ACTIVITY_KIND_KERNEL", "start, end, streamId", "0, 1, i"},
        Rows{"CallsOfThreads", "CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid", "0, 1, i"},
        Rows{"CallsOfProcesses", "CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId",
             "0, 1, i * 16777216, 1"},
        Rows{"Ranges", "NVTX_EVENTS", "start, end", "0, 1"},
        Rows{"Events", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventId, correlationId, eventSyncId", "0, 1, i"},
        Rows{"Strings", "StringIds", "id INTEGER PRIMARY KEY, value", "i, hex(i)"},
        Rows{"RowsThatAreNotRead", "OSRT_API", "start, end", "0, 1"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace cohort
