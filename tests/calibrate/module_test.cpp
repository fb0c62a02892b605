#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cuda_libraries.hpp"
#include "calibrate/calibration_plugin.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

TEST(CalibrationModule, OpensWithoutADriverAndSaysWhatIsMissing) {
  if (probe_cuda_driver()) GTEST_SKIP() << "there is a driver here";
  const auto library = open_plugin("calibration");
  ASSERT_TRUE(library) << library.error().message;
  const auto entry = library->function<CalibrationPluginEntry>(kCalibrationPluginEntry);
  ASSERT_TRUE(entry) << entry.error().message;
  const CalibrationPlugin* plugin = (*entry)();
  const auto trace = plugin->calibrate({});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(trace.error().message, HasSubstr("libcuda.so.1"));
  EXPECT_FALSE(plugin->properties(0));
}

}  // namespace
}  // namespace cohort
