#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

/// What a trace of another project holds, counted with another JSON reader.
struct RecordedTrace {
  const char* file;
  std::size_t slices;
  std::ptrdiff_t kernels;
  std::size_t least_flows;
  const char* device;
};

void PrintTo(const RecordedTrace& trace, std::ostream* out) { *out << trace.file; }

class RecordedTraces : public ::testing::TestWithParam<RecordedTrace> {};

TEST_P(RecordedTraces, LoadInFullAndRoundTrip) {
  const auto path =
      std::filesystem::path(COHORT_SOURCE_DIR).parent_path() / "shared" / "cases" / "traces" / GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->slices.size(), GetParam().slices);
  EXPECT_EQ(trace->info.kind, TraceKind::kRecorded);
  EXPECT_EQ(trace->info.device.name, GetParam().device);
  const auto kernels = std::count_if(trace->slices.begin(), trace->slices.end(),
                                     [&](const Slice& slice) { return trace->strings[slice.category] == "kernel"; });
  EXPECT_EQ(kernels, GetParam().kernels);
  EXPECT_GE(trace->flows.size(), GetParam().least_flows);
  const std::string once = trace_to_json(*trace);
  const auto again = parse_trace(once);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(trace_to_json(*again), once);
}

INSTANTIATE_TEST_SUITE_P(
    OfOtherProjects, RecordedTraces,
    ::testing::Values(RecordedTrace{"alexnet_a100.json.gz", 868, 79, 98, "NVIDIA A100-PG509-200"},
                      RecordedTrace{"event_sync.json.gz", 33, 4, 5, "NVIDIA A100-PG509-200"},
                      RecordedTrace{"event_sync_multi_stream.json.gz", 57, 3, 6, "NVIDIA A100-PG509-200"},
                      RecordedTrace{"ns_resolution_v100.json.gz", 45420, 4350, 6000, "Tesla V100-SXM2-32GB"},
                      RecordedTrace{"qwen_0.5b_h100.json.gz", 12080, 1465, 1190, "NVIDIA H100 80GB HBM3"}));

}  // namespace
}  // namespace cohort
