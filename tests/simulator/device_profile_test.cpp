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

TEST(DeviceProfile, NamesTheFieldThatIsOutOfRange) {
  EXPECT_TRUE(validate(example()));
  const auto message = [](auto change) {
    DeviceProfile profile = example();
    change(profile);
    const Result<void> valid = validate(profile);
    return valid ? "" : valid.error().message;
  };
  EXPECT_EQ(message([](DeviceProfile& p) { p.cores = 0; }), "cores is 0; it must be from 1 to 4096");
  EXPECT_EQ(message([](DeviceProfile& p) { p.step_overhead = -900_ns; }),
            "step overhead is -900 ns; it must not be negative");
  EXPECT_EQ(message([](DeviceProfile& p) { p.oversubscription_penalty = 0.5; }),
            "oversubscription penalty is 0.5; it must be at least 1");
}

}  // namespace
}  // namespace cohort
