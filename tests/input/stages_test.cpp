#include "executor/input/stages.hpp"

#include <gmock/gmock.h>

#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using input_test::scan;
using input_test::write_numbered_images;
using testing::Each;
using testing::HasSubstr;

/// A clock that goes on by 1, 2, 3, ... at each look.
StageSampling counting(int images, int warmup) {
  StageSampling sampling;
  sampling.images = images;
  sampling.warmup = warmup;
  sampling.clock = [now = Nanoseconds(0), step = Nanoseconds(0)]() mutable { return now += ++step; };
  return sampling;
}

ImageTarget small_target() {
  ImageTarget target;
  target.height = target.width = 8;
  return target;
}

TEST(InputStages, AreTimedOneByOneForEachImage) {
  const TemporaryFolder folder;
  write_numbered_images(folder, 6);
  const auto samples = measure_input_stages(scan(folder.path()), small_target(), counting(4, 1));
  ASSERT_TRUE(samples) << samples.error().message;
  // Six looks at the clock an image; the warm-up takes the first six.
  const auto at = [](int look) { return Nanoseconds(look); };
  EXPECT_EQ(samples->read, (std::vector<Nanoseconds>{at(8), at(14), at(20), at(26)}));
  EXPECT_EQ(samples->decode, (std::vector<Nanoseconds>{at(10), at(16), at(22), at(28)}));
  EXPECT_EQ(samples->transform, (std::vector<Nanoseconds>{at(12), at(18), at(24), at(30)}));
  EXPECT_EQ(samples->bad_images, 0);
}

TEST(InputStages, LeaveOutBadImages) {
  const TemporaryFolder folder;
  write_numbered_images(folder, 6);
  folder.write("b/x.jpg", "text");
  folder.write("b/y.jpg", "");
  StageSampling sampling;
  const auto samples = measure_input_stages(scan(folder.path()), small_target(), sampling);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->bad_images, 2);
  EXPECT_EQ(samples->read.size(), 6U);
  EXPECT_EQ(samples->decode.size(), 6U);
  EXPECT_EQ(samples->transform.size(), 6U);
  EXPECT_THAT(samples->decode, Each(testing::Gt(Nanoseconds(0))));
}

TEST(InputStages, SayWhyThereIsNothingToMeasure) {
  const TemporaryFolder folder;
  folder.write("a/x.jpg", "text");
  const auto bad = measure_input_stages(scan(folder.path()), small_target(), {});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("x.jpg: broken JPEG"));
  EXPECT_FALSE(measure_input_stages(scan(folder.path()), small_target(), counting(0, 0)));
  EXPECT_FALSE(measure_input_stages({}, small_target(), {}));
}

TEST(InputStages, StopWhenCancelled) {
  const TemporaryFolder folder;
  write_numbered_images(folder, 3);
  CancelToken cancel;
  cancel.cancel();
  StageSampling sampling;
  sampling.cancel = &cancel;
  const auto samples = measure_input_stages(scan(folder.path()), small_target(), sampling);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace cohort
