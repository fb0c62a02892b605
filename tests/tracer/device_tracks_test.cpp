#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tracer/file/trace_file.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/summary/no_device_work.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Trace device_trace(const std::string& events) {
  auto trace = parse_trace("{\"traceEvents\": [" + events + "]}");
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

std::string device_track(int pid, int tid, const std::string& process, const std::string& thread) {
  const std::string ids = R"("pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid);
  return R"({"ph":"M","name":"process_name",)" + ids + R"(,"args":{"name":")" + process + R"("}},)" +
         R"({"ph":"M","name":"thread_name",)" + ids + R"(,"args":{"name":")" + thread + R"("}},)";
}

std::vector<SliceKind> slice_kinds_of(const Trace& trace) {
  const SliceKinds kind_of(trace.strings);
  std::vector<SliceKind> kinds;
  for (const Slice& slice : trace.slices) kinds.push_back(kind_of(slice));
  return kinds;
}

TEST(DeviceTracks, OfJaxAreStreams) {
  const Trace trace =
      device_trace(device_track(1, 13, "/device:GPU:2", "Stream #13(Compute)") +
                   device_track(1, 14, "/device:GPU:2", "Stream #14(MemcpyH2D)") +
                   device_track(1, 9, "/device:GPU:2", "XLA Ops") + device_track(701, 5, "/host:CPU", "python") +
                   R"({"ph":"X","pid":701,"tid":5,"ts":0,"dur":6,"name":"cuLaunchKernel",
          "args":{"correlation_id":"1"}},
        {"ph":"X","pid":1,"tid":13,"ts":8,"dur":25,"name":"fusion","args":{"correlation_id":"1",
          "kernel_details":"regs:16 static_shared:4 dynamic_shared:8 grid:8,1,1 block:128,1,1 occ_pct:100"}},
        {"ph":"X","pid":1,"tid":14,"ts":8,"dur":2,"name":"MemcpyH2D"},
        {"ph":"X","pid":1,"tid":9,"ts":8,"dur":25,"name":"fusion.1"},
        {"ph":"X","pid":701,"tid":5,"ts":0,"dur":60,"name":"PjitFunction"}, {})");
  EXPECT_THAT(slice_kinds_of(trace), ElementsAre(SliceKind::kDriverCall, SliceKind::kKernel, SliceKind::kCopy,
                                                 SliceKind::kOther, SliceKind::kOther));
  const Slice& kernel = trace.slices[1];
  EXPECT_EQ(trace.integer_arg(kernel, "device"), 2);
  EXPECT_EQ(trace.integer_arg(kernel, "stream"), 13);
  EXPECT_EQ(trace.integer_arg(kernel, "correlation"), 1);
  EXPECT_EQ(trace.integer_arg(kernel, "registers per thread"), 16);
  EXPECT_EQ(trace.integer_arg(kernel, "shared memory"), 12);
  EXPECT_THAT(trace.integers_arg(kernel, "grid"), Optional(ElementsAre(8, 1, 1)));
  EXPECT_THAT(trace.integers_arg(kernel, "block"), Optional(ElementsAre(128, 1, 1)));
  EXPECT_EQ(no_device_work(trace), std::nullopt);
}

TEST(DeviceTracks, OfTensorFlowAscendAndOldPyTorchAreStreams) {
  const Trace trace = device_trace(device_track(1, 3, "/job:localhost/replica:0/task:0/device:GPU:0", "stream 3") +
                                   device_track(2, 4, "Ascend Hardware", "Stream 4") +
                                   R"({"ph":"X","pid":1,"tid":3,"ts":0,"dur":6,"name":"MatMul"},
        {"ph":"X","pid":2,"tid":4,"ts":8,"dur":25,"name":"aclnnMatmul"},
        {"ph":"X","pid":2,"tid":4,"ts":40,"dur":25,"name":"EVENT_WAIT"},
        {"ph":"X","pid":"CUDA functions","tid":1,"ts":8,"dur":2,"name":"void gemm<float>","args":{}},
        {"ph":"X","pid":"CPU functions","tid":1,"ts":8,"dur":25,"name":"mm","args":{}})");
  EXPECT_THAT(slice_kinds_of(trace), ElementsAre(SliceKind::kKernel, SliceKind::kKernel, SliceKind::kSynchronization,
                                                 SliceKind::kKernel, SliceKind::kOther));
  EXPECT_EQ(trace.integer_arg(trace.slices[3], "device"), 1);
}

TEST(DeviceTracks, DoNotMakeWorkOfWhatHasAnotherCategory) {
  const Trace trace = device_trace(device_track(1, 13, "/device:GPU:0", "Stream #13") +
                                   R"({"ph":"X","pid":1,"tid":13,"ts":0,"dur":6,"name":"step",
          "cat":"gpu_user_annotation"}, {"ph":"X","pid":1,"tid":13,"ts":0,"dur":6,"name":"x","cat":"cpu_op"})");
  EXPECT_THAT(slice_kinds_of(trace), ElementsAre(SliceKind::kDeviceAnnotation, SliceKind::kOp));
}

TEST(NoDeviceWork, IsSaidWithItsReasonAndTheWayOut) {
  EXPECT_THAT(no_device_work(device_trace(R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1},
      {"ph":"X","cat":"gpu_user_annotation","name":"step","ts":1,"dur":1})")),
              Optional(testing::AllOf(HasSubstr("no device work in this trace: 1 calls put"),
                                      HasSubstr("ProfilerActivity.CUDA"), HasSubstr("nsys profile"))));
  EXPECT_THAT(no_device_work(device_trace(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":1})")),
              Optional(HasSubstr("1 slices are of the host alone")));
  EXPECT_THAT(no_device_work(device_trace(R"({"ph":"X","cat":"gfx","name":"draw","ts":1,"dur":1})")),
              Optional(HasSubstr("a category is \"gfx\"")));
  EXPECT_THAT(no_device_work(device_trace(R"({"ph":"X","name":"draw","ts":1,"dur":1})")),
              Optional(HasSubstr("they have no category")));
  EXPECT_THAT(no_device_work(device_trace("")), Optional(HasSubstr("no slices at all")));
}

TEST(NoDeviceWork, IsNotSaidOfTasksOfOurOwnRuns) {
  EXPECT_EQ(no_device_work(device_trace(R"({"ph":"X","cat":"task","name":"a","ts":1,"dur":1,"args":{"task":0}})")),
            std::nullopt);
}

}  // namespace
}  // namespace cohort
