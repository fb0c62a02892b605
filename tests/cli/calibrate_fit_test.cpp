#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

using CalibrateFit = ProgramTest;

/// Copies on 1 and on all 132 SMs: 30 GB/s an SM, 3 TB/s the device.
std::string recording(const std::string& device, std::initializer_list<double> throttle_reasons = {}) {
  Trace trace;
  trace.info.device.name = device;
  const TrackId track = trace.add_track("device", "microbenchmarks");
  for (const auto& [blocks, milliseconds] : {std::pair{1, 33.3333}, {132, 0.333333}}) {
    MicrobenchmarkRecord record;
    record.benchmark = Microbenchmark::kCopySweep;
    record.kernel = "copy";
    record.launch = {blocks, 1024, 32, Bytes{120 * 1024}, 1};
    record.work.dram = Bytes{1'000'000'000};
    record.time = Nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6) + 1200);
    add_microbenchmark_record(trace, track, Nanoseconds(0), record);
  }
  for (const double reasons : throttle_reasons)
    trace.counters.push_back({Nanoseconds(0), track, trace.strings.intern(kThrottleReasonsCounter), reasons});
  return trace_to_json(trace);
}

TEST_F(CalibrateFit, SaysWhereClocksWereHeldBack) {
  write("cool.trace.json", recording("NVIDIA H200", {0, 1, 2}));
  EXPECT_THAT(cohort({"calibrate", "--fit", "cool.trace.json", "-o", "cool.json"}).err, Not(HasSubstr("clocks")));
  write("hot.trace.json", recording("NVIDIA H200", {0, 0x20, 0x5}));
  EXPECT_THAT(cohort({"calibrate", "--fit", "hot.trace.json", "-o", "hot.json"}).err,
              HasSubstr("clocks were held back in 2 of 3 readings (NVML's reasons 0x24"));
}

TEST_F(CalibrateFit, WritesAProfileAndSaysWhatStaysAsPublished) {
  write("calibration.trace.json", recording("NVIDIA H100 80GB HBM3"));
  const Outcome outcome = cohort({"calibrate", "--fit", "calibration.trace.json", "-o", "h100.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 measurements fitted"));
  EXPECT_THAT(outcome.out, HasSubstr("launch.call_ns"));
  EXPECT_THAT(outcome.out, HasSubstr("copy on 132 SMs: 335 us measured"));
  const json profile = json::parse(read("h100.json"));
  EXPECT_NEAR(profile.at("dram_bytes_per_second").get<double>() / 3e12, 1, 0.01);
  EXPECT_NEAR(profile.at("sm_port_bytes_per_second").get<double>() / 30e9, 1, 0.01);
  EXPECT_EQ(profile.at("launch").at("call_ns"), 2500);

  const Outcome again = cohort({"calibrate", "--fit", "calibration.trace.json", "-o", "h100.json"});
  EXPECT_EQ(again.exit_code, 3) << again.err;
  const Outcome forced = cohort({"calibrate", "--fit", "calibration.trace.json", "-o", "h100.json", "-f", "--json"});
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_EQ(json::parse(forced.out).at("residuals").size(), 2U);
}

TEST_F(CalibrateFit, NamesTheRecordingThatCannotBeFitted) {
  write("other.trace.json", recording("NVIDIA GeForce RTX 3080"));
  const Outcome other = cohort({"calibrate", "--fit", "other.trace.json"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("other.trace.json: no published figures of \"NVIDIA GeForce RTX 3080\" to start "
                                   "from; known are P100, V100, T4, "));

  Trace empty;
  empty.info.device.name = "NVIDIA H200";
  write("empty.trace.json", trace_to_json(empty));
  const Outcome nothing = cohort({"calibrate", "--fit", "empty.trace.json"});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.err, HasSubstr("no microbenchmarks"));
}

TEST_F(CalibrateFit, RefusesOptionsOfMeasuring) {
  write("calibration.trace.json", recording("NVIDIA H100 80GB HBM3"));
  const Outcome outcome =
      cohort({"calibrate", "--fit", "calibration.trace.json", "--seconds", "5", "--device", "cuda:1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--device, --seconds: not with --fit, which measures nothing"));
  EXPECT_EQ(files(), std::vector<std::string>{"calibration.trace.json"});
}

}  // namespace
}  // namespace cohort
