#include "simulator/engine/device_profile.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

DeviceProfile example() {
  DeviceProfile profile;
  profile.device = "two cores";
  profile.cores = 2;
  profile.step_overhead = 900_ns;
  profile.launch_overhead = 2_us;
  profile.handoff_latency = 6_us;
  profile.spin_time = 1_ms;
  profile.oversubscription_penalty = 1.75;
  return profile;
}

TEST(DeviceProfile, IsWrittenAsReadableJson) {
  EXPECT_EQ(write_device_profile(example()), R"({
  "format": "cohort device profile 1",
  "device": "two cores",
  "cores": 2,
  "step_overhead_ns": 900,
  "launch_overhead_ns": 2000,
  "handoff_latency_ns": 6000,
  "spin_time_ns": 1000000,
  "oversubscription_penalty": 1.75
}
)");
}

TEST(DeviceProfile, ReadsWhatItWrote) {
  const Result<DeviceProfile> read = parse_device_profile(write_device_profile(example()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, example());
}

std::string message_with(const std::string& from, const std::string& to) {
  std::string text = write_device_profile(example());
  text.replace(text.find(from), from.size(), to);
  const Result<DeviceProfile> read = parse_device_profile(text);
  EXPECT_FALSE(read.has_value());
  return read ? "" : read.error().message;
}

TEST(DeviceProfile, NamesTheFieldThatIsWrong) {
  EXPECT_NE(message_with("\"cores\": 2", "\"cores\": 0").find("cores"), std::string::npos);
  EXPECT_NE(message_with("\"spin_time_ns\"", "\"spin_time_us\"").find("spin_time_ns"), std::string::npos);
  EXPECT_NE(message_with("1.75", "0.5").find("oversubscription_penalty is 0.5"), std::string::npos);
  EXPECT_NE(message_with("900", "-900").find("step_overhead_ns"), std::string::npos);
  EXPECT_NE(message_with("device profile 1", "device profile 7").find("cohort device profile 7"), std::string::npos);
}

}  // namespace
}  // namespace cohort
