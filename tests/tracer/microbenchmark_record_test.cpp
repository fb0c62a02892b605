#include "tracer/microbenchmark_record.hpp"

#include <gtest/gtest.h>

#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;

MicrobenchmarkRecord some_microbenchmark() {
  MicrobenchmarkRecord record;
  record.benchmark = Microbenchmark::kTransferBesideKernel;
  record.kernel = "copy";
  record.launch = {132, 256, 40, 48_KiB, 2};
  record.work = {Flops{1}, Flops{2}, Bytes{3}, Bytes{4}, 5_MiB};
  record.instances = 2;
  record.launches = 7;
  record.block_time = 11_us;
  record.partner = "fma";
  record.partner_instances = 1;
  record.partner_time = 9_us;
  record.direction = CopyDirection::kDeviceToHost;
  record.pinned = false;
  record.bytes = 6_MiB;
  record.host_time = 4_us;
  record.time = 123_us;
  return record;
}

TEST(MicrobenchmarkRecord, SurvivesATraceFile) {
  Trace trace;
  const TrackId track = trace.add_track("device", "microbenchmarks");
  add_microbenchmark_record(trace, track, 5_us, some_microbenchmark());
  const auto read = parse_trace(trace_to_json(trace));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->slices.size(), 1U);
  EXPECT_EQ(microbenchmark_record_of(*read, read->slices[0]), some_microbenchmark());
}

TEST(MicrobenchmarkRecord, KeepsThatATransferHasNoDirection) {
  MicrobenchmarkRecord record = some_microbenchmark();
  record.benchmark = Microbenchmark::kSpin;
  record.direction = std::nullopt;
  Trace trace;
  const SliceId id = add_microbenchmark_record(trace, trace.add_track("device", "microbenchmarks"), 0_ns, record);
  EXPECT_EQ(microbenchmark_record_of(trace, trace.slice(id)), record);
}

TEST(MicrobenchmarkRecord, IsAbsentWhereAnArgumentIsMissingOrUnknown) {
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"blocks", ""}, {"benchmark", "guess"}, {"direction", "sideways"}}) {
    Trace trace;
    const SliceId id = add_microbenchmark_record(trace, trace.add_track("d", "m"), 0_ns, some_microbenchmark());
    Args& args = trace.args[to_index(*trace.slice(id).args)];
    for (auto& [name, arg] : args) {
      if (trace.strings[name] == key) arg = trace.strings.intern(value);
    }
    EXPECT_FALSE(microbenchmark_record_of(trace, trace.slice(id))) << key;
  }
}

TEST(MicrobenchmarkRecord, NamesEveryBenchmarkOnce) {
  for (int i = 0; i <= static_cast<int>(Microbenchmark::kReplicas); ++i) {
    const auto benchmark = static_cast<Microbenchmark>(i);
    EXPECT_EQ(microbenchmark_from(to_string(benchmark)), benchmark);
  }
}

}  // namespace
}  // namespace cohort
