#include "tracer/call_kind.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(CallKind, KnowsLaunchesOfEveryApiAndVersion) {
  for (const char* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060",
        "cudaLaunchKernel_ptsz_v7000", "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz",
        "cudaLaunchCooperativeKernel", "cuLaunchCooperativeKernel", "hipLaunchKernel", "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel", "hipExtLaunchKernel"}) {
    EXPECT_EQ(call_kind_from(name), CallKind::kLaunch) << name;
  }
  for (const char* name : {"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_v10000"})
    EXPECT_EQ(call_kind_from(name), CallKind::kGraphLaunch) << name;
}

TEST(CallKind, KnowsCopiesAndMemsets) {
  for (const char* name : {"cudaMemcpyAsync", "cudaMemcpy2DAsync_v3020", "cuMemcpyHtoDAsync_v2", "hipMemcpyWithStream",
                           "hipMemcpyAsync", "cudaMemcpyPeerAsync"})
    EXPECT_EQ(call_kind_from(name), CallKind::kCopy) << name;
  for (const char* name : {"cudaMemsetAsync", "cuMemsetD32Async", "hipMemsetAsync"})
    EXPECT_EQ(call_kind_from(name), CallKind::kMemset) << name;
}

TEST(CallKind, KnowsWaits) {
  EXPECT_EQ(call_kind_from("cudaStreamSynchronize"), CallKind::kStreamSynchronize);
  EXPECT_EQ(call_kind_from("cuEventSynchronize"), CallKind::kEventSynchronize);
  EXPECT_EQ(call_kind_from("hipDeviceSynchronize"), CallKind::kDeviceSynchronize);
  EXPECT_EQ(call_kind_from("cuCtxSynchronize_v2"), CallKind::kDeviceSynchronize);
  EXPECT_EQ(call_kind_from("cudaEventRecordWithFlags"), CallKind::kEventRecord);
  EXPECT_EQ(call_kind_from("cudaStreamWaitEvent"), CallKind::kStreamWait);
  for (const char* name : {"cudaFree", "cuMemFree_v2", "hipFree"}) EXPECT_EQ(call_kind_from(name), CallKind::kFree);
}

TEST(CallKind, LeavesTheRestAlone) {
  for (const char* name :
       {"", "cuda", "cudaMalloc", "cudaFreeHost", "cudaFreeAsync", "cudaLaunchHostFunc", "cudaGraphInstantiate",
        "cudaStreamIsCapturing", "LaunchKernel", "customLaunchKernel", "_v3020"})
    EXPECT_EQ(call_kind_from(name), CallKind::kOther) << name;
}

}  // namespace
}  // namespace cohort
