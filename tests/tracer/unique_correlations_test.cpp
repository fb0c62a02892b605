#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tracer/file/trace_file.hpp"
#include "tracer/summary/launches.hpp"

namespace cohort {
namespace {

std::string launch(int pid, int start, int id) {
  return fmt::format(
      R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":{0},"tid":{0},"ts":{1},"dur":5,
         "args":{{"correlation":{2}}}}},)",
      pid, start, id);
}

std::string kernel(int device, int start, int id) {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","pid":{0},"tid":7,"ts":{1},"dur":5,
         "args":{{"device":{0},"stream":7,"correlation":{2}}}}},)",
                     device, start, id);
}

/// "start of the kernel: start of its launch", in microseconds.
std::string links(const std::string& events) {
  const auto trace = parse_trace("{\"traceEvents\": [" + events + "{}]}");
  if (!trace) return trace.error().message;
  std::string text;
  for (const LaunchedWork& linked : link_launches(*trace)) {
    const auto micros = [](Nanoseconds time) { return time.count() / 1000; };
    text += fmt::format("{}:{} ", micros(trace->slice(linked.work).start),
                        linked.call ? micros(trace->slice(*linked.call).start) : -1);
  }
  return text;
}

TEST(UniqueCorrelations, OfMergedProcessesFollowTheDeviceThatEachWorksOn) {
  EXPECT_EQ(links(launch(100, 0, 1) + launch(200, 2, 1) + kernel(0, 10, 1) + kernel(1, 11, 1) +  //
                  launch(100, 20, 2) + launch(200, 22, 3) + kernel(1, 30, 3) + kernel(0, 31, 2)),
            "10:0 31:20 11:2 30:22 ");
}

TEST(UniqueCorrelations, OfMergedProcessesWithoutAnyOtherSignPairInOrder) {
  EXPECT_EQ(links(launch(100, 0, 1) + launch(200, 2, 1) + kernel(0, 10, 1) + kernel(1, 11, 1)), "10:0 11:2 ");
}

TEST(UniqueCorrelations, OfOneProcessThatRepeatAreMatchedInTurn) {
  EXPECT_EQ(links(launch(1, 0, 5) + launch(1, 10, 5) + kernel(0, 20, 5) + kernel(0, 30, 5)), "20:0 30:10 ");
}

TEST(UniqueCorrelations, OfProcessesThatShareADeviceAreMatchedInOrderOfTime) {
  EXPECT_EQ(links(launch(100, 50, 5) + launch(200, 10, 5) + kernel(0, 20, 5) + kernel(0, 60, 5)), "20:10 60:50 ");
}

TEST(UniqueCorrelations, OfMoreWorkThanCallsAreMatchedWithTheLatestCallBefore) {
  EXPECT_EQ(links(launch(1, 0, 5) + kernel(0, 8, 5) + kernel(0, 14, 5) + launch(1, 2000, 5) + kernel(0, 2020, 5)),
            "8:0 14:0 2020:2000 ");
}

TEST(UniqueCorrelations, LeaveAloneWhatDoesNotRepeat) {
  const std::string events = launch(1, 0, 5) + launch(1, 1, 5) + kernel(0, 8, 5) + launch(1, 10, 6) + kernel(0, 18, 6);
  const auto trace = parse_trace("{\"traceEvents\": [" + events + "{}]}");
  ASSERT_TRUE(trace);
  for (const Slice& slice : trace->slices) EXPECT_LE(trace->integer_arg(slice, "correlation"), 6);
}

}  // namespace
}  // namespace cohort
