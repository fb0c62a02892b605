// What a call asks of a GPU, as far as its shapes tell.

#include "simulator/predict/program_gpu.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

/// A product of 4096 x 4096 x 4096.
CallWork product(Precision precision) {
  CallWork work;
  work.flops = Flops{std::int64_t{2} << 36};
  work.traffic = Bytes{std::int64_t{3} << 26};
  work.outputs = std::int64_t{1} << 24;
  work.is_product = true;
  work.precision = precision;
  return work;
}

TEST(ProgramGpu, TakesProductsToTensorCoresWhereTheseKnowThePrecision) {
  const GpuProfile a100 = *published_gpu_profile("A100");
  const Nanoseconds float32 = roofline_time(product(Precision::kFloat32), a100);
  EXPECT_NEAR(seconds(float32), 7.05e-3, 0.05e-3);  // 137 GFLOP at 19.5 TFLOPS
  EXPECT_NEAR(seconds(float32) / seconds(roofline_time(product(Precision::kTf32), a100)), 8, 0.1);
  EXPECT_NEAR(seconds(float32) / seconds(roofline_time(product(Precision::kBfloat16), a100)), 16, 0.1);
  for (const char* const older : {"V100", "T4"}) {
    const GpuProfile gpu = *published_gpu_profile(older);
    const Nanoseconds full = roofline_time(product(Precision::kFloat32), gpu);
    EXPECT_EQ(roofline_time(product(Precision::kTf32), gpu), full) << older;
    EXPECT_EQ(roofline_time(product(Precision::kBfloat16), gpu), full) << older;
    EXPECT_NEAR(seconds(full) / seconds(roofline_time(product(Precision::kFloat16), gpu)), 8, 0.1) << older;
  }
}

TEST(ProgramGpu, IssuesTwiceWhatTheLanesOfAVoltaSmCompute) {
  CallWork work = product(Precision::kFloat32);
  work.outputs = 2048;  // one block, so that arithmetic is the largest share
  const auto share_on = [&](const char* name) { return GpuDemands(*published_gpu_profile(name)).share(work, 100_ms); };
  const double pascal = 137.4e9 * 1.9 / 0.75 / 10.6e12 / 0.1;
  EXPECT_NEAR(share_on("P100"), pascal, 0.01 * pascal);
  EXPECT_NEAR(share_on("V100"), pascal * 10.6 / 15.7 / 2, 0.01 * pascal);
  EXPECT_NEAR(share_on("A100"), pascal * 10.6 / 19.5 / 2, 0.01 * pascal);
  EXPECT_NEAR(share_on("RTX 4090"), pascal * 10.6 / 82.6, 0.01 * pascal);
}

TEST(ProgramGpu, TakesTheTrafficsTimeWhereThatIsLonger) {
  const GpuProfile a100 = *published_gpu_profile("A100");
  CallWork copy;
  copy.outputs = std::int64_t{1} << 24;
  copy.flops = Flops{copy.outputs};
  copy.traffic = Bytes{8 * copy.outputs};
  EXPECT_NEAR(seconds(roofline_time(copy, a100)), 86.3e-6, 0.1e-6);  // 134 MB at 1555 GB/s
  EXPECT_EQ(rough_time(copy, a100), roofline_time(copy, a100));
}

TEST(ProgramGpu, CountsAWaveThatIsNotFullAsAWholeOne) {
  const GpuProfile a100 = *published_gpu_profile("A100");
  CallWork work = product(Precision::kFloat32);
  const auto with_blocks = [&](std::int64_t blocks) {
    work.outputs = blocks * 2048;
    work.traffic = Bytes{8 * work.outputs};
    work.flops = Flops{2 * 512 * work.outputs};
    return seconds(rough_time(work, a100));
  };
  const double full = with_blocks(108);  // a block for each SM
  EXPECT_NEAR(with_blocks(54) / full, 1, 1e-3);
  EXPECT_NEAR(with_blocks(109) / full, 2, 1e-3);
  EXPECT_NEAR(with_blocks(216) / full, 2, 1e-3);
}

TEST(ProgramGpu, TakesAnUnknownProductForOneBlockOnAnSm) {
  CallWork work = product(Precision::kFloat32);
  work.outputs = 109 * 2048;
  const LaunchShape launch = launch_shape_of(work);
  EXPECT_EQ(launch.blocks, 109);
  const Result<Occupancy> resident = occupancy(launch, published_gpu_profile("A100")->sm);
  ASSERT_TRUE(resident);
  EXPECT_EQ(resident->blocks_per_sm, 1);
}

}  // namespace
}  // namespace cohort
