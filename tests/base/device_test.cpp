#include "base/device.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(DeviceSettings, AreNumbersOnlyAsAWhole) {
  DeviceInfo device;
  device.settings = {
      {"l2_bytes", "52428800"}, {"max_connections", ""}, {"driver", "13.0"}, {"far", "99999999999999999999"}};
  EXPECT_EQ(number_setting(device, kLastCacheSetting), 52428800);
  EXPECT_EQ(number_setting(device, kConnectionsSetting), std::nullopt);
  EXPECT_EQ(number_setting(device, "driver"), std::nullopt);
  EXPECT_EQ(number_setting(device, "far"), std::nullopt);
  EXPECT_EQ(number_setting(device, "none"), std::nullopt);
}

TEST(DeviceSettings, TellTheHostsCoresApartFromTheDevices) {
  DeviceInfo device;
  device.cores = 4;
  EXPECT_EQ(host_cores(device), 4) << "a CPU is its own host";
  device.cores = 1;
  device.settings["host_cores"] = "16";
  EXPECT_EQ(host_cores(device), 16);
  device.settings["host_cores"] = "0";
  EXPECT_EQ(host_cores(device), 1);
}

TEST(Cores, WereMovedWhereARoundTripTakesTwiceOrHalfAsLong) {
  EXPECT_TRUE(cores_moved(Nanoseconds(50), Nanoseconds(100)));
  EXPECT_TRUE(cores_moved(Nanoseconds(100), Nanoseconds(50)));
  EXPECT_FALSE(cores_moved(Nanoseconds(50), Nanoseconds(99)));
  EXPECT_FALSE(cores_moved(Nanoseconds(0), Nanoseconds(99))) << "unknown";
  EXPECT_FALSE(cores_moved(Nanoseconds(99), Nanoseconds(0)));
}

}  // namespace
}  // namespace cohort
