#include "tracer/profile_record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;

ProfileRecord some_record() {
  ProfileRecord record;
  record.signature = "Convolution [1,3,227,227] \"relu\"";
  record.strategy = "dense_convolution";
  record.width = 4;
  record.threads = 2;
  record.algorithm = "direct";
  record.footprint = 3_MiB;
  record.neighbours = 1;
  record.workspace = Bytes{0};
  record.packed_weights = 17_KiB;
  record.time = 123456_ns;
  return record;
}

TEST(ProfileRecord, IsReadBackFromItsSlice) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  const SliceId id = add_profile_record(trace, track, "conv1", 5_us, some_record());
  EXPECT_EQ(trace.name(trace.slice(id)), "conv1");
  EXPECT_EQ(trace.slice(id).start, 5_us);
  EXPECT_EQ(profile_record_of(trace, trace.slice(id)), some_record());
}

TEST(ProfileRecord, KeepsTheThreadsAroundIt) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  ProfileRecord record = some_record();
  record.threads = 1;
  record.around = 2;
  add_profile_record(trace, track, "conv1", 5_us, record);
  EXPECT_EQ(profile_record_of(trace, trace.slices.back()), record);
  for (const ArgValue broken : {ArgValue(std::int64_t{-1}), ArgValue(2.5), ArgValue(trace.strings.intern("2"))}) {
    trace.args.back().back().second = broken;
    EXPECT_FALSE(profile_record_of(trace, trace.slices.back()));
  }
  trace.args.back().back().second = std::int64_t{0};
  EXPECT_EQ(profile_record_of(trace, trace.slices.back())->around, 0);
}

TEST(ProfileRecord, SurvivesATraceFile) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  add_profile_record(trace, track, "conv1", 5_us, some_record());
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->slices.size(), 1U);
  EXPECT_EQ(profile_record_of(*read, read->slices[0]), some_record());
}

TEST(ProfileRecord, KeepsTheStateOfTheDevice) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  for (const ProfileState state : {ProfileState::kWarm, ProfileState::kFlushed, ProfileState::kFirst}) {
    ProfileRecord record = some_record();
    record.state = state;
    add_profile_record(trace, track, "conv1", 5_us, record);
    EXPECT_EQ(profile_record_of(trace, trace.slices.back()), record);
  }
  trace.args.back().back().second = trace.strings.intern("half asleep");
  EXPECT_FALSE(profile_record_of(trace, trace.slices.back()));
}

TEST(ProfileRecord, IsAbsentWhereAnArgumentIsMissingOrOfAnotherType) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  const std::array<Trace::NamedArg, 2> few = {
      {{"signature", std::string_view("Gemm")}, {"strategy", std::string_view("serial")}}};
  const SliceId incomplete = trace.add_slice(track, "a", kProfileCategory, 0_ns, 1_ns, few);
  EXPECT_FALSE(profile_record_of(trace, trace.slice(incomplete)));

  const SliceId id = add_profile_record(trace, track, "b", 0_ns, some_record());
  Args& args = trace.args[to_index(*trace.slice(id).args)];
  for (auto& [name, value] : args) {
    if (trace.strings[name] == "width") value = 4.0;
  }
  EXPECT_FALSE(profile_record_of(trace, trace.slice(id)));
}

TEST(ProfileRecord, IsAbsentWhereNoDeviceCouldHaveMadeIt) {
  const auto reads = [](const std::function<void(ProfileRecord&)>& change) {
    ProfileRecord record = some_record();
    change(record);
    Trace trace;
    const SliceId id = add_profile_record(trace, trace.add_track("device", "ops"), "conv1", 0_ns, record);
    return profile_record_of(trace, trace.slice(id)).has_value();
  };
  EXPECT_TRUE(reads([](ProfileRecord& record) { record.width = 65536; }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.width = 0; }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.width = 65537; }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.threads = 0; }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.neighbours = std::numeric_limits<int>::max(); }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.workspace = Bytes{std::int64_t{1} << 62}; }));
  EXPECT_FALSE(reads([](ProfileRecord& record) { record.time = std::chrono::hours(25); }));
}

TEST(ProfileRecord, IsAbsentInOtherCategories) {
  Trace trace;
  const TrackId track = trace.add_track("device", "ops");
  const SliceId id = add_profile_record(trace, track, "conv1", 0_ns, some_record());
  Slice other = trace.slice(id);
  other.category = trace.strings.intern("kernel");
  EXPECT_FALSE(profile_record_of(trace, other));
}

}  // namespace
}  // namespace cohort
