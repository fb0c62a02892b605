#include "tracer/summary/fallbacks.hpp"

#include <gmock/gmock.h>

#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ProfileRecord record(std::string algorithm, int threads, Nanoseconds time, ProfileState state) {
  ProfileRecord record;
  record.signature = "an op";
  record.strategy = "serial";
  record.threads = threads;
  record.algorithm = std::move(algorithm);
  record.time = time;
  record.state = state;
  return record;
}

class FallbacksOfProfile : public ::testing::Test {
 protected:
  FallbacksOfProfile() {
    trace_.info.kind = TraceKind::kProfile;
    track_ = trace_.add_track("profile", "ops");
  }
  void add(std::string_view op, std::string algorithm, int threads, std::int64_t time,
           ProfileState state = ProfileState::kInModel) {
    add_profile_record(trace_, track_, op, Nanoseconds(0),
                       record(std::move(algorithm), threads, Nanoseconds(time), state));
  }

  Trace trace_;
  TrackId track_{};
};

TEST_F(FallbacksOfProfile, AreOpsWhoseFastestWayIsPlainLoops) {
  add("rnn", "reference", 1, 7000);
  add("rnn", "reference", 1, 6000);
  add("rnn", "reference", 1, 90000);
  add("conv", "ref:any", 1, 3000);
  add("conv", "brgconv:avx2", 1, 2000);
  add("head", "ref:any", 1, 2000);
  add("head", "ref:any", 2, 1000);
  add("pool", "jit:avx2", 2, 1000);
  const Fallbacks found = find_fallbacks(trace_);
  ASSERT_THAT(found.ops, SizeIs(2));
  EXPECT_EQ(found.ops[0].name, "rnn");
  EXPECT_EQ(found.ops[0].time, Nanoseconds(7000));
  EXPECT_EQ(found.ops[1].name, "head");
  EXPECT_EQ(found.ops[1].time, Nanoseconds(1000));
  EXPECT_EQ(found.all, Nanoseconds(11000));
  EXPECT_EQ(format_fallbacks(found), "72.7% of the ops' time is spent on plain loops: rnn (7.00 us), head (1.00 us)");
  EXPECT_EQ(format_fallbacks(found, 1), "72.7% of the ops' time is spent on plain loops: rnn (7.00 us) and 1 more");
}

TEST_F(FallbacksOfProfile, GoByTimesAloneWhereNothingWasTimedInTheModel) {
  add("rnn", "reference", 1, 7000, ProfileState::kWarm);
  add("rnn", "reference", 1, 9000, ProfileState::kFlushed);
  EXPECT_EQ(find_fallbacks(trace_).all, Nanoseconds(7000));
  add("rnn", "reference", 1, 8000);
  EXPECT_EQ(find_fallbacks(trace_).all, Nanoseconds(8000));
}

TEST_F(FallbacksOfProfile, AreNoneOnADeviceThatHasPlainLoopsOnly) {
  add("rnn", "reference", 1, 7000);
  trace_.info.device.id = "reference:0";
  EXPECT_THAT(find_fallbacks(trace_).ops, IsEmpty());
}

TEST(Fallbacks, OfAPlanAddUpOverItsMembers) {
  Trace trace;
  trace.info.kind = TraceKind::kPredicted;
  const TrackId track = trace.add_track("plan", "stream 0");
  const auto add = [&](std::string_view op, std::string_view algorithm, std::int64_t time) {
    const Trace::NamedArg arg{"algorithm", algorithm};
    trace.add_slice(track, op, "task", Nanoseconds(0), Nanoseconds(time), {&arg, 1});
  };
  add("pow", "reference", 30);
  add("pow", "reference", 50);
  add("fc", "matmul/brg:avx2", 20);
  const Fallbacks found = find_fallbacks(trace);
  ASSERT_THAT(found.ops, SizeIs(1));
  EXPECT_EQ(found.ops[0].time, Nanoseconds(80));
  EXPECT_DOUBLE_EQ(found.part(), 0.8);
  for (const std::int64_t step : {1, 2}) {
    const Trace::NamedArg args[] = {{"algorithm", std::string_view("reference")}, {kIterationArg, step}};
    trace.add_slice(track, "pow", "task", Nanoseconds(0), Nanoseconds(80), args);
  }
  EXPECT_EQ(find_fallbacks(trace).ops[0].time, Nanoseconds(80)) << "of a step, the first one being number 0";
  trace.info.kind = TraceKind::kRecorded;
  EXPECT_THAT(find_fallbacks(trace).ops, IsEmpty());
  EXPECT_EQ(format_fallbacks({}), "");
}

TEST(PlainLoops, AreTold) {
  for (const char* const name : {"reference", "ref:any", "matmul/ref:any", "gemm:ref"})
    EXPECT_TRUE(is_plain_loops(name));
  for (const char* const name : {"", "loops", "jit:avx2", "prefer", "brgconv:avx512_core"})
    EXPECT_FALSE(is_plain_loops(name)) << name;
}

}  // namespace
}  // namespace cohort
