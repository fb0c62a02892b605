// `cohort calibrate` with a plugin that measures nothing in the place of ours, and a driver that is only there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CalibrateCommand : public ProgramTest {
 protected:
  CalibrateCommand() {
    fs::create_symlink(FAKE_CALIBRATION, libraries_.path() / "libcuda.so.1");
    ::setenv("LD_LIBRARY_PATH", libraries_.path().c_str(), 1);
    ::setenv("COHORT_PLUGINS", fs::path(FAKE_CALIBRATION).parent_path().c_str(), 1);
  }
  ~CalibrateCommand() override {
    for (const char* name : {"LD_LIBRARY_PATH", "COHORT_PLUGINS"}) ::unsetenv(name);
  }
  CalibrateCommand(const CalibrateCommand&) = delete;
  CalibrateCommand& operator=(const CalibrateCommand&) = delete;

 private:
  const TemporaryFolder libraries_;
};

TEST_F(CalibrateCommand, SaysWhyADescriptionOfTheDeviceIsNotWritten) {
  const Outcome outcome = cohort({"calibrate", "--properties", ".", "-o", "c.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("cudnn.json is not written: libcudnn.so.9 does not load"));
  const auto recording = read_trace(path("c.json"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->info.settings.at("cudnn.json not written"), "libcudnn.so.9 does not load");
  const Outcome again = cohort({"calibrate", "--properties", ".", "-o", "c.json", "-f", "--json"});
  EXPECT_EQ(nlohmann::json::parse(again.out).at("properties_missing").at("cudnn.json"), "libcudnn.so.9 does not load");
}

}  // namespace
}  // namespace cohort
