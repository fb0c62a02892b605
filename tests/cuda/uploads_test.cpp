// How the CUDA session copies input to the device: what waits for it, and what may go on beside it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/recording/fake_gpu.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::IsEmpty;

/// Two lenet5 on two streams, fused first layer, as one graph; input is uploaded on a third stream.
class CudaUploads : public ::testing::Test {
 protected:
  CudaUploads() : batch_(equal_members("lenet5", 1, {}, 2)), plan_(plan_by_name("dense", batch_)) {}

  Result<std::unique_ptr<BatchRun>> open() { return BatchRun::open(device_, plan_, batch_.models(), {}); }

  Batch batch_;
  Plan plan_;
  FakeGpuBackend device_;
};

TEST_F(CudaUploads, WaitsOnceForAnUploadHoweverManyStreamsReadIt) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_TRUE((*run)->step());
  device_.gpu().clear_log();
  (*run)->runner().upload(0);
  ASSERT_TRUE((*run)->step());
  std::vector<std::string> before = device_.gpu().log();
  before.erase(std::find(before.begin(), before.end(), "graph on 0"), before.end());
  EXPECT_THAT(before, ::testing::ElementsAre("upload 0 into 0 on 2", "record on 2", "wait on 0"));
}

TEST_F(CudaUploads, UploadsAnotherSlotBesideAGraphAndWaitsForBoth) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  Runner& runner = (*run)->runner();
  runner.upload(0);
  ASSERT_TRUE(runner.step(0));
  device_.gpu().forbid_setup(true);
  device_.gpu().clear_log();
  for (const int slot : {0, 1}) {
    runner.launch(slot);
    runner.upload(1 - slot);
    ASSERT_TRUE(runner.wait());
  }
  device_.gpu().forbid_setup(false);
  const std::vector<std::string>& log = device_.gpu().log();
  std::vector<std::string> given;
  for (const std::string& line : log) {
    if (line.starts_with("graph") || line.starts_with("upload") || line.starts_with("synchronize"))
      given.push_back(line);
  }
  EXPECT_THAT(given, ::testing::ElementsAre("graph on 0", "upload 0 into 1 on 2", "synchronize 0", "synchronize 2",
                                            "graph on 0", "upload 0 into 0 on 2", "synchronize 0", "synchronize 2"));
  const auto second = std::find(log.begin() + 1, log.end(), "graph on 0");
  ASSERT_NE(second, log.end());
  EXPECT_EQ(*(second - 1), "synchronize 2") << "the copy has been waited for: no event is needed";
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

TEST_F(CudaUploads, SeesTheHostWriteMemoryThatAnUploadMayStillRead) {
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  Runner& runner = (*run)->runner();
  ASSERT_TRUE(runner.step(0));
  runner.launch(0);
  runner.upload(1);
  runner.session().input(0, 1)[0] += 1;
  ASSERT_TRUE(runner.wait());
  EXPECT_THAT(device_.gpu().violations(),
              ::testing::ElementsAre("host memory is written while upload 0 into 1 may still read it"));
}

TEST_F(CudaUploads, WaitsForWhatWasGivenBeforeACallFailed) {
  plan_.launch = LaunchMode::kSingle;
  auto run = open();
  ASSERT_TRUE(run) << run.error().message;
  Runner& runner = (*run)->runner();
  ASSERT_TRUE(runner.step(0));
  device_.gpu().fail_at(StepId{1});
  device_.gpu().clear_log();
  runner.upload(1);
  ASSERT_FALSE(runner.step(0));
  const std::vector<std::string>& log = device_.gpu().log();
  ASSERT_GE(log.size(), 2U);
  EXPECT_EQ(log[log.size() - 2], "synchronize 0");
  EXPECT_EQ(log.back(), "synchronize 2");
  device_.gpu().fail_at(std::nullopt);
  runner.upload(0);  // of which nothing may be reading any more
  ASSERT_TRUE(runner.step(0));
  EXPECT_THAT(device_.gpu().violations(), IsEmpty());
}

}  // namespace
}  // namespace cohort::testing
