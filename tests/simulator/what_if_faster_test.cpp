#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/simulator/what_if_case.hpp"

// Faster kernels, copies and interconnects, and lower precision.

namespace cohort {
namespace {

using testing::HasSubstr;

TEST(WhatIf, MakesKernelsFasterByTheirNameAndByLayer) {
  WhatIf what_if;
  what_if.scale = {{"conv", 2.0}};
  EXPECT_EQ(Case(kCopyAndCompute).predict(what_if).step_time, Nanoseconds(606'000));
  what_if.scale = {{"layer3", 2.0}};
  EXPECT_EQ(Case(launch_bound(5)).predict(what_if).changes.front().second.tasks_changed, 1);
  what_if.scale = {{"attention", 2.0}};
  const Result<WhatIfPrediction> unknown = predict_what_if(Case(kCopyAndCompute).what_if_case, what_if);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(unknown.error().message, HasSubstr("attention"));
}

TEST(WhatIf, KnowsMixedPrecisionAndFasterCopies) {
  WhatIf what_if;
  what_if.mixed_precision = true;
  // conv 200 -> 200/3, gemm 199 -> 199/3, relu 90 -> 45.
  EXPECT_NEAR(seconds(Case(kCopyAndCompute).predict(what_if).step_time), 706e-6 - (399.0 * 2 / 3 + 45) * 1e-6, 1e-8);
  what_if = {};
  what_if.copy_speed = 2;
  EXPECT_EQ(Case(kCopyAndCompute).predict(what_if).step_time, Nanoseconds(606'000));
}

TEST(WhatIf, KnowsAFasterInterconnect) {
  constexpr std::string_view kTwoGpus = R"(
    main cudaLaunchKernel       0    4  c1
    main cudaMemcpyPeerAsync    5    9  c2
    main cudaLaunchKernel      10   14  c3
    main cudaDeviceSynchronize 15  420  c4
    s7   ncclDevKernel_AllReduce_Sum_f32_RING_LL 8 208 c1
    s7   Memcpy_PtoP_(Device_->_Device) 209 309 c2
    s7   relu                 310  410  c3)";
  WhatIf what_if;
  what_if.interconnect_speed = 2;
  const WhatIfPrediction prediction = Case(kTwoGpus).predict(what_if);
  EXPECT_EQ(prediction.step_time, Nanoseconds(420'000 - 100'000 - 50'000));
  EXPECT_EQ(prediction.gain.front().cause, "faster tasks");
  EXPECT_EQ(prediction.changes.front().second.tasks_changed, 2);
  const Result<WhatIfPrediction> nothing = predict_what_if(Case(kCopyAndCompute).what_if_case, what_if);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(nothing.error().message, HasSubstr("copies nothing between GPUs"));
  what_if.interconnect_speed = 0;
  EXPECT_EQ(predict_what_if(Case(kTwoGpus).what_if_case, what_if).error().code, ErrorCode::kUsage);
}

TEST(WhatIf, LeavesKernelsAloneThatComputeIn16BitsAlready) {
  constexpr std::string_view kMixed = R"(
    main cudaLaunchKernel       0    4  c1
    main cudaLaunchKernel       5    9  c2
    main cudaDeviceSynchronize 10  310  c3
    s7   ampere_bf16_s16816gemm_bf16_128x128 8 108 c1
    s7   {}                  109  309  c2)";
  WhatIf what_if;
  what_if.mixed_precision = true;
  const auto step = [&](const char* other) { return Case(fmt::format(kMixed, other)).predict(what_if).step_time; };
  EXPECT_EQ(step("relu"), Nanoseconds(210'000));
  EXPECT_EQ(step("sm80_xmma_gemm_f32f32_tf32f32_f32"), Nanoseconds(310'000 - 133'333));
  const Case done(fmt::format(kMixed, "sm80_xmma_gemm_f16f16_f16f32_f32"));
  const Result<WhatIfPrediction> nothing = predict_what_if(done.what_if_case, what_if);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(nothing.error().message, HasSubstr("compute in 16 bits already"));
}

}  // namespace
}  // namespace cohort
