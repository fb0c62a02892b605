#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tracer/file/trace_file.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

Trace read(const std::string& content) {
  auto trace = parse_trace(content);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

Trace read_events(const std::string& events, const std::string& rest = "") {
  return read("{\"traceEvents\": [" + events + "]" + rest + "}");
}

TEST(Dialects, KeepListsAndObjectsAmongArguments) {
  const Trace trace = read_events(
      R"({"ph":"X","cat":"kernel","name":"k","tid":7,"ts":1,"dur":1,"args":{"grid":[8, 16, 5],"block": "[128, 1, 1]",
          "Input Dims":[[16, 559],[]],"odd":{"a" : [null]}}})");
  ASSERT_EQ(trace.slices.size(), 1U);
  const Slice& kernel = trace.slices[0];
  EXPECT_THAT(trace.integers_arg(kernel, "grid"), Optional(ElementsAre(8, 16, 5)));
  EXPECT_THAT(trace.integers_arg(kernel, "block"), Optional(ElementsAre(128, 1, 1)));
  EXPECT_EQ(trace.integers_arg(kernel, "Input Dims"), std::nullopt);
  EXPECT_EQ(trace.integers_arg(kernel, "none"), std::nullopt);
  EXPECT_THAT(trace.info.dropped, IsEmpty());
  const std::string written = trace_to_json(trace);
  EXPECT_THAT(written, HasSubstr(R"("grid": [8,16,5])"));
  EXPECT_THAT(written, HasSubstr(R"("Input Dims": [[16,559],[]], "odd": {"a":[null]})"));
  EXPECT_EQ(trace_to_json(read(written)), written);
}

TEST(Dialects, CountListsThatAreBroken) {
  const Trace trace = read_events(R"({"ph":"X","name":"k","ts":1,"dur":1,"args":{"grid":[1,,2],"n":3}})");
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "n"), 3);
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("unreadable argument", 1)));
}

/// One launch, as versions of PyTorch's profiler and other tools spell it.
struct Spelled {
  const char* tool;
  const char* events;
};

void PrintTo(const Spelled& spelled, std::ostream* out) { *out << spelled.tool; }

class SpelledLaunch : public ::testing::TestWithParam<Spelled> {};

TEST_P(SpelledLaunch, IsReadAsTheSameThing) {
  const Trace trace = read_events(GetParam().events);
  const SliceKinds kinds(trace.strings);
  ASSERT_EQ(trace.slices.size(), 3U);
  EXPECT_EQ(kinds(trace.slices[0]), SliceKind::kOp);
  EXPECT_EQ(kinds(trace.slices[1]), SliceKind::kRuntimeCall);
  const Slice& kernel = trace.slices[2];
  EXPECT_EQ(kinds(kernel), SliceKind::kKernel);
  EXPECT_EQ(trace.tracks[to_index(kernel.track)].tid, 7);
  EXPECT_EQ(kernel.start, 1'620'000'000'000'030_us);
  EXPECT_EQ(trace.integer_arg(kernel, "stream"), 7);
  EXPECT_EQ(trace.integer_arg(kernel, "correlation"), 12);
  EXPECT_EQ(trace.integer_arg(kernel, "External id"), 3);
  EXPECT_EQ(trace.integer_arg(trace.slices[1], "correlation"), 12);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "External id"), 3);
  ASSERT_EQ(trace.flows.size(), 1U);
  EXPECT_EQ(trace.strings[trace.flows[0].name], "ac2g");
  EXPECT_EQ(trace.slice(trace.flows[0].to).start, kernel.start);
  EXPECT_THAT(trace.info.dropped, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Tools, SpelledLaunch,
                         ::testing::Values(Spelled{"PyTorch 1.8, whole microseconds", R"(
  {"ph":"X","cat":"Operator","name":"aten::mm","pid":9,"tid":9,"ts":1620000000000000,"dur":20,"args":{"External id":3}},
  {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1620000000000005,"dur":6,
   "args":{"cbid":211,"correlation":12,"external id":3,"external ts":1620000000000000}},
  {"ph":"X","cat":"Kernel","name":"gemm","pid":0,"tid":"stream 7","ts":1620000000000030,"dur":0,
   "args":{"device":0,"context":1,"stream":7,"correlation":12,"external id":3}},
  {"ph":"s","id":12,"cat":"async_cpu_to_gpu","name":"ac2g","pid":9,"tid":9,"ts":1620000000000005},
  {"ph":"f","id":12,"cat":"async_cpu_to_gpu","name":"ac2g","pid":0,"tid":"stream 7","ts":1620000000000030,"bp":"e"})"},
                                           Spelled{"PyTorch 2, fractions", R"(
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":1620000000000000.000,"dur":20.125,"args":{"External id":3}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1620000000000005.5,"dur":6.1,
   "args":{"External id":3,"cbid":211,"correlation":12}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1620000000000030.000,"dur":1.25,
   "args":{"External id":3,"device":0,"context":1,"stream":7,"correlation":12}},
  {"ph":"s","id":12,"cat":"ac2g","name":"ac2g","pid":9,"tid":9,"ts":1620000000000005.5},
  {"ph":"f","id":12,"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":1620000000000030.000,"bp":"e"})"},
                                           Spelled{"numbers in quotes, HIP", R"(
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":"9","tid":"9","ts":"1620000000000000","dur":"20","args":{"External id":"3"}},
  {"ph":"X","cat":"hip_runtime","name":"hipLaunchKernel","pid":"9","tid":"9","ts":"1620000000000005","dur":"6",
   "args":{"External id":"3","correlation":"12"}},
  {"ph":"X","cat":"concurrent_kernel","name":"Cijk_Ailk","pid":0,"tid":7,"ts":"1620000000000030","dur":"1",
   "args":{"External id":"3","device":"0","stream":"7","Correlation ID":"12"}},
  {"ph":"s","id":"12","cat":"ac2g","name":"ac2g","pid":"9","tid":"9","ts":"1620000000000005"},
  {"ph":"f","id":"12","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":"1620000000000030","bp":"e"})"}));

TEST(Dialects, ReadNoStreamAsMinusOne) {
  const Trace trace = read_events(R"(
    {"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":4294967295,"ts":1,"dur":1,"args":{"stream":4294967295,"wait_on_stream":4294967295}},
    {"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":-1,"ts":3,"dur":1,"args":{"stream":-1}})");
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "stream"), -1);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "wait_on_stream"), -1);
}

TEST(Dialects, LeaveUsersAnnotationsOnStreamsAsWhatTheyAre) {
  const Trace trace = read_events(R"({"ph":"X","cat":"gpu_user_annotation","name":"step","tid":7,"ts":1,"dur":1})");
  EXPECT_EQ(SliceKinds(trace.strings)(trace.slices[0]), SliceKind::kDeviceAnnotation);
  EXPECT_FALSE(is_device_work(SliceKind::kDeviceAnnotation));
}

TEST(Dialects, DropDeviceWorkThatStandsInTheFileTwice) {
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"k","tid":7,"ts":10,"dur":2,"args":{"correlation":1,"stream":7}})";
  const std::string node =
      R"({"ph":"X","cat":"kernel","name":"k","tid":7,"ts":20,"dur":2,"args":{"correlation":2,"graph node id":)";
  const Trace trace = read_events(kernel + "," + node + "5}}," + kernel + "," + node + "6}}");
  EXPECT_EQ(trace.slices.size(), 3U);
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("device work that stands in the file twice", 1)));
}

TEST(Dialects, ReadValuesThatJsonHasNoWordFor) {
  const Trace trace = read_events(
      R"_({"ph":"X","name":"copy","ts":1,"dur":1,"args":{"memory bandwidth (GB/s)": inf,"x":nan,"bytes":4}},
         {"ph":"X","name":"after","ts":3,"dur":1})_");
  ASSERT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "bytes"), 4);
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("null argument", 1), Pair("unreadable argument", 1)));
}

TEST(Dialects, KeepTheFactsOfTheDeviceThatTheKernelsRanOn) {
  const Trace trace = read_events(R"({"ph":"X","cat":"kernel","name":"k","tid":7,"ts":1,"dur":1,"args":{"device":1}})",
                                  R"(,"deviceProperties":[{"id":0,"name":"small","totalGlobalMem":1,"numSms":2},
          {"id":1,"name":"NVIDIA H200","totalGlobalMem":150754820096,"computeMajor":9,"computeMinor":0,"numSms":132,
           "regsPerMultiprocessor":65536,"sharedMemPerBlockOptin":232448,"odd":[1]}],
         "cuda_runtime_version":12040,"with_stack":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg":[]},
         "username":"somebody")");
  EXPECT_EQ(trace.info.device.id, "cuda:1");
  EXPECT_EQ(trace.info.device.name, "NVIDIA H200");
  EXPECT_EQ(trace.info.device.cores, 132);
  EXPECT_EQ(trace.info.device.settings.at("sharedMemPerBlockOptin"), "232448");
  EXPECT_EQ(trace.info.device.settings.at("devices in the machine"), "2");
  EXPECT_EQ(trace.info.settings.at("cuda_runtime_version"), "12040");
  EXPECT_EQ(trace.info.settings.at("distributed backend"), "nccl");
  EXPECT_EQ(trace.info.settings.at("distributed rank"), "3");
  EXPECT_EQ(trace.info.settings.count("username"), 0U);
}

constexpr std::string_view kTwoEvents =
    R"({"schemaVersion":1,"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1},
{"ph":"X","name":"b","ts":3,"dur":1,"args":{"grid":[1,2,3]}}],"displayTimeUnit":"ms"})";

TEST(BrokenFiles, AreReadAsFarAsTheyAreWhole) {
  const std::size_t first_ends = kTwoEvents.find("},\n") + 1;
  const std::size_t second_ends = kTwoEvents.find("}}]") + 2;
  for (std::size_t size = first_ends; size < kTwoEvents.size(); ++size) {
    const Trace trace = read(std::string(kTwoEvents.substr(0, size)));
    EXPECT_EQ(trace.slices.size(), size < second_ends ? 1U : 2U) << size;
    EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("rest of the file, which is cut short", 1))) << size;
  }
}

TEST(BrokenFiles, MayHaveACommaTooMany) {
  const Trace trace = read(R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,},],})");
  EXPECT_EQ(trace.slices.size(), 1U);
  EXPECT_THAT(trace.info.dropped, IsEmpty());
}

TEST(BrokenFiles, AreRefusedWithTheLineAndByteWhereTheyBreak) {
  const auto trace =
      parse_trace("{\"traceEvents\":[\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}\n{\"ph\" \"X\"}]}");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(trace.error().message, HasSubstr("line 3"));
}

TEST(Dialects, KeepIdsOfAllUnsignedNumbers) {
  const Trace trace = read_events(
      R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":18446744073709551615,"ts":1,"dur":1,
          "args":{"stream":18446744073709551615,"correlation":9223372036854775808,"bytes":9223372036854775808}},
         {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":9223372036854775809,"ts":2,"dur":1,
          "args":{"stream":"9223372036854775809"}},
         {"ph":"X","cat":"kernel","name":"c","pid":"a name","tid":1,"ts":2,"dur":1})");
  ASSERT_EQ(trace.slices.size(), 3U);
  EXPECT_THAT(trace.info.dropped, IsEmpty());
  const auto unsigned_arg = [&](std::size_t slice, std::string_view key) {
    return static_cast<std::uint64_t>(trace.integer_arg(trace.slices[slice], key).value_or(0));
  };
  EXPECT_EQ(unsigned_arg(0, "stream"), 18'446'744'073'709'551'615U);
  EXPECT_EQ(unsigned_arg(0, "correlation"), 9'223'372'036'854'775'808U);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "bytes"), std::nullopt) << "an amount, which stays a real number";
  EXPECT_EQ(unsigned_arg(1, "stream"), 9'223'372'036'854'775'809U);
  EXPECT_EQ(trace.tracks.size(), 3U);
  EXPECT_EQ(trace.tracks[0].process, "") << "no number is taken for a name";
}

TEST(Dialects, ReadIdsThatAreWrittenAsRealNumbers) {
  const Trace trace = read_events(
      R"({"ph":"X","cat":"kernel","name":"a","pid":0.0,"tid":7.0,"ts":1,"dur":1,
          "args":{"stream":7.0,"correlation":1e2,"External id":100.5,"grid":[8.0,1.0,1.00]}},
         {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":2,"dur":1},
         {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7.5,"ts":2,"dur":1})");
  ASSERT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.tracks.size(), 1U);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "stream"), 7);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "correlation"), 100);
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "External id"), std::nullopt);
  EXPECT_THAT(trace.integers_arg(trace.slices[0], "grid"), Optional(ElementsAre(8, 1, 1)));
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("record with an unreadable field", 1)));
}

TEST(Dialects, TakeArgumentsThatAreNoObjectForNone) {
  const Trace trace = read_events(
      R"({"ph":"X","cat":"kernel","name":"a","ts":1,"args":null,"dur":1}, {"ph":"X","name":"b","ts":2,"args":[1,[2]],"dur":1},
         {"ph":"X","name":"c","ts":2,"dur":1,"args":"text"}, {"ph":"X","name":"d","ts":2,"dur":1,"args":5})");
  EXPECT_EQ(trace.slices.size(), 4U);
  EXPECT_THAT(trace.info.dropped, ElementsAre(Pair("null argument", 1), Pair("unreadable argument", 3)));
}

}  // namespace
}  // namespace cohort
