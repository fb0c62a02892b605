// The CUDA plugin as a program meets it: found, opened, and refusing with the right words where there is no GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cuda_libraries.hpp"
#include "executor/cuda_plugin.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

/// Opened past the driver's probe, so that what it says itself can be tested.
Result<const CudaPlugin*> open_without_driver() {
  ::setenv("COHORT_PLUGINS", COHORT_PLUGIN_FOLDER, 1);
  for (const std::string_view soname : kCudaPluginLibraries) COHORT_CHECK(load_cuda_library(soname));
  COHORT_TRY(const SharedLibrary library, open_plugin("cuda"));
  COHORT_TRY(CudaPluginEntry* const entry, library.function<CudaPluginEntry>(kCudaPluginEntry));
  return entry();
}

TEST(CudaPlugin, IsFoundAndOfThisBuild) {
  const auto plugin = open_without_driver();
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_NE((*plugin)->devices, nullptr);
  EXPECT_NE((*plugin)->open, nullptr);
}

TEST(CudaPlugin, SaysWhichDriverItNeedsWhereThereIsNone) {
  if (probe_cuda_driver()) GTEST_SKIP() << "here is a driver";
  const auto plugin = open_without_driver();
  ASSERT_TRUE(plugin) << plugin.error().message;
  const auto devices = (*plugin)->devices();
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(devices.error().message, HasSubstr("driver 580 or later"));
  for (const int index : {0, 7}) {
    const auto opened = (*plugin)->open(index);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kDeviceMissing);
  }
}

TEST(CudaPlugin, ListsNothingForADeviceWithoutItsDescription) {
  const auto plugin = open_without_driver();
  ASSERT_TRUE(plugin) << plugin.error().message;
  const auto catalog = (*plugin)->catalog("no-such-description.json");
  ASSERT_FALSE(catalog);
  EXPECT_THAT(catalog.error().message, HasSubstr("no-such-description.json"));
}

}  // namespace
}  // namespace cohort
