#include "calibrate/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/device_error.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort::calibrate {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CalibrationRecorder : public ::testing::Test {
 protected:
  Recorder make(const CalibrationOptions& options = {}) {
    return Recorder(
        options, [this] { return now_; },
        [this] {
          return Readings{{"SM clock MHz", clock_}};
        });
  }
  Nanoseconds now_ = 1_ms;
  double clock_ = 1980;
};

TEST_F(CalibrationRecorder, KeepsEveryRepetitionAndTheDevicesStateAroundABlock) {
  Recorder recorder = make();
  MicrobenchmarkRecord record;
  record.kernel = "empty";
  EXPECT_TRUE(recorder.block("empty kernels", [&] {
    for (const Nanoseconds time : {5_us, 6_us, 7_us}) {
      now_ += time;
      record.time = time;
      recorder.add(record);
    }
    clock_ = 1755;
  }));
  const Trace trace = recorder.take();
  std::vector<Nanoseconds> times;
  for (const Slice& slice : trace.slices) {
    if (const auto read = microbenchmark_record_of(trace, slice)) times.push_back(read->time);
  }
  EXPECT_THAT(times, ElementsAre(5_us, 6_us, 7_us));
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_EQ(trace.counters[0].value, 1980);
  EXPECT_EQ(trace.counters[1].value, 1755);
  EXPECT_EQ(trace.counters[1].time, 18_us);
  EXPECT_TRUE(parse_trace(trace_to_json(trace)));
}

TEST_F(CalibrationRecorder, MarksPairsThatAreHeldOutAndReadsThemLikeOthers) {
  Recorder recorder = make();
  MicrobenchmarkRecord record;
  record.benchmark = Microbenchmark::kPair;
  record.kernel = "copy";
  record.partner = "fma";
  recorder.block("pairs", [&] {
    recorder.add(record, false);
    recorder.add(record, true);
  });
  const Trace trace = recorder.take();
  EXPECT_EQ(trace.integer_arg(trace.slices[0], "held out"), std::nullopt);
  EXPECT_EQ(trace.integer_arg(trace.slices[1], "held out"), 1);
  EXPECT_EQ(microbenchmark_record_of(trace, trace.slices[1]), record);
}

TEST_F(CalibrationRecorder, LeavesOutBlocksWhenTheTimeIsSpentAndSaysWhich) {
  CalibrationOptions options;
  options.budget = 10_ms;
  Recorder recorder = make(options);
  int runs = 0;
  for (const char* name : {"first", "second", "third"}) {
    EXPECT_TRUE(recorder.block(name, [&] {
      ++runs;
      now_ += 6_ms;
    }));
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(recorder.take().info.dropped.at("block left out, no time left: third"), 1);
}

TEST_F(CalibrationRecorder, GoesOnAfterABlockThatFailsAndKeepsWhatItHad) {
  Recorder recorder = make();
  recorder.block("pairs", [&] {
    recorder.add({});
    throw DeviceError("cudaLaunchKernel returned cudaErrorInvalidValue (1)");
  });
  bool went_on = false;
  recorder.block("transfers", [&] { went_on = true; });
  EXPECT_TRUE(went_on);
  const Trace trace = recorder.take();
  ASSERT_EQ(trace.info.dropped.size(), 1U);
  EXPECT_THAT(trace.info.dropped.begin()->first, HasSubstr("pairs: cudaLaunchKernel"));
  EXPECT_EQ(trace.slices.size(), 3U);
}

TEST_F(CalibrationRecorder, StopsWhenCancelled) {
  CancelToken cancel;
  CalibrationOptions options;
  options.cancel = &cancel;
  Recorder recorder = make(options);
  EXPECT_FALSE(recorder.block("first", [&] { cancel.cancel(); }));
  EXPECT_FALSE(recorder.block("second", [] { FAIL(); }));
}

}  // namespace
}  // namespace cohort::calibrate
