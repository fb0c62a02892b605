#include "tracer/summary/profile_summary.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cohort {
namespace {

using namespace literals;

constexpr std::string_view kConvolution =
    "Convolution kernel=3x3 stride=1x1 pad=1x1+1x1 dilation=1x1 groups=1 + Relu x[1, 64, 56, 56] w[64, 64, 3, 3] w[64] "
    "-> [1, 64, 56, 56]";
constexpr std::string_view kGemm = "Gemm x[1, 512] w[1000, 512] w[1000] -> [1, 1000]";

/// A profile written by hand, a record at a time.
class Records {
 public:
  Records() {
    trace_.info.kind = TraceKind::kProfile;
    track_ = trace_.add_track("profile", "ops alone");
  }
  /// Samples of one case.
  Records& add(std::string_view name, ProfileRecord record, const std::vector<Nanoseconds>& times) {
    for (const Nanoseconds time : times) {
      record.time = time;
      add_profile_record(trace_, track_, name, end_, record);
      end_ += time;
    }
    return *this;
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
  TrackId track_{};
  Nanoseconds end_{};
};

ProfileRecord alone(std::string_view signature, int threads, std::string algorithm, Bytes workspace = {}) {
  ProfileRecord record;
  record.signature = signature;
  record.strategy = "serial";
  record.threads = threads;
  record.algorithm = std::move(algorithm);
  record.footprint = Bytes{1000};
  record.workspace = workspace;
  return record;
}

/// A convolution in three ways, one of them also colder, beside itself, among calls on several cores, flushed and
/// first; a product alone and fused; and what is no op.
Trace small_profile() {
  const ProfileRecord direct = alone(kConvolution, 1, "jit:avx2");
  ProfileRecord colder = direct;
  colder.footprint = Bytes{50'000'000};
  ProfileRecord beside = direct;
  beside.neighbours = 1;
  ProfileRecord among_teams = direct;
  among_teams.state = ProfileState::kInModel;
  among_teams.around = 2;
  ProfileRecord flushed = direct;
  flushed.state = ProfileState::kFlushed;
  ProfileRecord first = direct;
  first.state = ProfileState::kFirst;
  ProfileRecord batched = alone(kGemm, 1, "brgemm");
  batched.strategy = "strided_batch";
  batched.width = 4;
  return Records()
      .add("fc", alone(kGemm, 1, "brgemm"), {9_us, 10_us, 11_us})
      .add("fc", batched, {30_us})
      .add("conv2", first, {5_ms})
      .add("conv2", flushed, {90_us})
      .add("conv2", colder, {120_us, 120_us})
      .add("conv2", direct, {100_us, 101_us, 102_us, 103_us, 104_us, 105_us, 106_us, 107_us, 108_us, 109_us, 140_us})
      .add("conv2", beside, {110_us})
      .add("conv2", among_teams, {115_us})
      .add("conv2", alone(kConvolution, 2, "brgconv", Bytes{8192}), {61_us, 60_us, 62_us})
      .add("conv2", alone(kConvolution, 2, "jit:avx2"), {70_us})
      .add("copy", alone("Copy [1, 64]", 1, ""), {1_ms})
      .add("overhead", alone(kStepOverheadRecord, 1, ""), {1_ms})
      .add("decode", alone(kInputDecodeRecord, 1, ""), {1_ms})
      .trace();
}

TEST(ProfileSummary, ReadsAsText) {
  EXPECT_EQ(format_profile_summary(summarize_profile(small_profile()), 10),
            R"(ops, weights in the caches, nothing beside them; the time of a fused way is of all its members
     median        p10        p90  workspace  way
  conv2: Convolution kernel=3x3 pad=1x1+1x1 + Relu x[1,64,56,56] -> [1,64,56,56]
    61.0 us    60.2 us    61.8 us   8.00 KiB  brgconv, 2 threads
    70.0 us    70.0 us    70.0 us        0 B  jit:avx2, 2 threads
     105 us     101 us     109 us        0 B  jit:avx2, 1 thread
  fc: Gemm x[1,512] -> [1,1000]
    10.0 us    9.20 us    10.8 us        0 B  brgemm, 1 thread
    30.0 us    30.0 us    30.0 us        0 B  brgemm, 1 thread, strided_batch of 4
)");
}

TEST(ProfileSummary, PrintsAsManyOpsAsAskedForAndCountsTheRest) {
  const auto ops = summarize_profile(small_profile());
  const std::string one = format_profile_summary(ops, 1);
  EXPECT_NE(one.find("conv2: "), std::string::npos);
  EXPECT_EQ(one.find("fc: "), std::string::npos);
  EXPECT_NE(one.find("\n  ... and 1 more\n"), std::string::npos);
}

TEST(ProfileSummary, KeepsEveryStateApart) {
  const auto ops = summarize_profile(small_profile());
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].signature, kConvolution);
  EXPECT_EQ(ops[0].best, 61_us);
  ASSERT_EQ(ops[0].ways.size(), 8U);
  int plain = 0;
  for (const WaySummary& way : ops[0].ways) plain += way.is_plain ? 1 : 0;
  EXPECT_EQ(plain, 3);
  const WaySummary& colder = ops[0].ways[4];
  EXPECT_EQ(colder.record.footprint, Bytes{50'000'000});
  EXPECT_EQ(colder.record.time, 120_us);
  EXPECT_EQ(colder.samples, 2);
  EXPECT_EQ(ops[0].ways[6].record.state, ProfileState::kFirst);
  EXPECT_EQ(ops[0].ways[7].record.around, 2);
}

TEST(ProfileSummary, OfATraceThatIsNoProfileIsEmpty) {
  Trace trace = small_profile();
  trace.info.kind = TraceKind::kRecorded;
  EXPECT_TRUE(summarize_profile(trace).empty());
  EXPECT_EQ(format_profile_summary({}, 10), "");
}

}  // namespace
}  // namespace cohort
