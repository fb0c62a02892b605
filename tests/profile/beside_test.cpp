#include "executor/profile/beside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "executor/host/host_session.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two probes that keep a list of what was asked of them.
class FakeProbes final : public ProbeKernels {
 public:
  [[nodiscard]] std::vector<std::string> names() const override { return {"copy", "fma"}; }
  Result<void> start(const std::string& name, Nanoseconds length) override {
    EXPECT_TRUE(running_.empty()) << "one at a time";
    EXPECT_GT(length, Nanoseconds(0));
    if (fails_) return fail(ErrorCode::kDeviceMissing, "probe: cudaLaunchKernel failed");
    running_ = name;
    ++started_;
    return {};
  }
  Result<MicrobenchmarkRecord> finish() override {
    MicrobenchmarkRecord record;
    record.benchmark = Microbenchmark::kReplicas;
    record.kernel = std::exchange(running_, "");
    record.launch.blocks = 8;
    record.launch.threads = 256;
    record.time = std::chrono::microseconds(50);
    return record;
  }
  void set_fails() { fails_ = true; }
  [[nodiscard]] int started() const { return started_; }

 private:
  std::string running_;
  int started_ = 0;
  bool fails_ = false;
};

BesideOptions small_options() {
  BesideOptions options;
  options.share = 1;
  options.most_ops = 2;
  options.repetitions = 2;
  options.length = std::chrono::microseconds(20);
  options.most_copies = 4;
  return options;
}

class Beside : public ::testing::Test {
 protected:
  Beside() : batch_(equal_members("mlp", 2, {{"inputs", "24"}, {"hidden", "16"}}, 1)) {}

  Batch batch_;
  FakeGpuBackend device_;
  FakeProbes probes_;
  Trace trace_;
};

/// "benchmark kernel xI | partner" -> how many records.
std::map<std::string, int> counted(const Trace& trace) {
  std::map<std::string, int> counts;
  for (const Slice& slice : trace.slices) {
    const auto record = microbenchmark_record_of(trace, slice);
    if (!record) continue;
    const std::string kernel = record->kernel.substr(0, record->kernel.find(' '));
    const std::string partner = record->partner.substr(0, record->partner.find(' '));
    ++counts[fmt::format("{} {} x{} {}", to_string(record->benchmark), kernel, record->instances, partner)];
  }
  return counts;
}

TEST_F(Beside, RecordsOpsBesideThemselvesEachOtherAndProbes) {
  const auto measured = measure_beside(device_, *batch_.loaded[0], small_options(), &probes_, CancelToken(), trace_);
  ASSERT_TRUE(measured) << measured.error().message;
  const std::string pair(to_string(Microbenchmark::kPair));
  const std::string replicas(to_string(Microbenchmark::kReplicas));
  const std::map<std::string, int> expected{
      {replicas + " Gemm x1 ", 4}, {replicas + " Gemm x2 ", 4}, {replicas + " Gemm x4 ", 4},
      {pair + " Gemm x1 Gemm", 2}, {pair + " Gemm x1 copy", 4}, {pair + " Gemm x1 fma", 4},
      {replicas + " copy x1 ", 4}, {replicas + " fma x1 ", 4},
  };
  EXPECT_EQ(counted(trace_), expected);
  EXPECT_EQ(probes_.started(), 2 * 2 * 2 * 3) << "ops, probes, alone and beside, two repetitions and one to warm up";
  EXPECT_THAT(device_.gpu().violations(), ElementsAre());
}

TEST_F(Beside, HasNoMoreAtATimeThanACpuHasCores) {
  const std::string pair(to_string(Microbenchmark::kPair));
  const std::string replicas(to_string(Microbenchmark::kReplicas));
  std::map<std::string, int> expected{{replicas + " Gemm x1 ", 4}};
  for (const int cores : {1, 2}) {
    HostBackend cpu(make_reference_kernels(cores), reference_device_info(cores));
    Trace trace;
    const auto measured = measure_beside(cpu, *batch_.loaded[0], small_options(), nullptr, CancelToken(), trace);
    ASSERT_TRUE(measured) << measured.error().message;
    std::map<std::string, int> counts = counted(trace);
    if (cores == 2) {
      expected[replicas + " Gemm x2 "] = 4;
      // Left out where an op waited for a core, so that it seems longer than all copies of the other.
      const auto of_both = counts.extract(pair + " Gemm x1 Gemm");
      EXPECT_TRUE(of_both.empty() || of_both.mapped() == 2);
    }
    EXPECT_EQ(counts, expected);
  }
}

TEST_F(Beside, LeavesOutPairsOfWhichOneIsLongerThanAllCopiesOfTheOther) {
  const Batch unequal = equal_members("mlp", 1, {{"inputs", "4000"}, {"hidden", "1000"}}, 1);
  HostBackend cpu(make_reference_kernels(2), reference_device_info(2));
  const auto measured = measure_beside(cpu, *unequal.loaded[0], small_options(), nullptr, CancelToken(), trace_);
  ASSERT_TRUE(measured) << measured.error().message;
  const std::string replicas(to_string(Microbenchmark::kReplicas));
  EXPECT_EQ(counted(trace_), (std::map<std::string, int>{{replicas + " Gemm x1 ", 4}, {replicas + " Gemm x2 ", 4}}));
}

TEST_F(Beside, TimesAreOfOneRepetitionAndCopiesHaveBuffersOfTheirOwn) {
  ASSERT_TRUE(measure_beside(device_, *batch_.loaded[0], small_options(), nullptr, CancelToken(), trace_));
  bool any = false;
  for (const Slice& slice : trace_.slices) {
    const auto record = microbenchmark_record_of(trace_, slice);
    if (!record || record->benchmark != Microbenchmark::kReplicas) continue;
    any = true;
    EXPECT_EQ(record->launches % record->instances, 0);
    EXPECT_GT(record->launches / record->instances, 1) << "20 us are several of such an op";
    EXPECT_GE(record->time, FakeGpu::kKernelTime);
    EXPECT_LT(record->time, 3 * FakeGpu::kKernelTime) << "streams of the fake do not slow each other";
  }
  EXPECT_TRUE(any);
}

TEST_F(Beside, TellsWhichCallOfAProbeFailed) {
  probes_.set_fails();
  const auto measured = measure_beside(device_, *batch_.loaded[0], small_options(), &probes_, CancelToken(), trace_);
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr("cudaLaunchKernel"));
}

}  // namespace
}  // namespace cohort::testing
