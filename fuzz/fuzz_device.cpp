#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/require.hpp"
#include "simulator/contention/co_run.hpp"

// Whatever the bytes: a GPU's profile or a message. What was read writes and reads back the same, and kernels run side
// by side on it end.

namespace {

using cohort::require;

void run_kernels(const cohort::GpuProfile& gpu) {
  const auto kernel = [&](std::int64_t blocks, double dram) {
    cohort::SoloRun solo;
    solo.time = cohort::Nanoseconds(10'000);
    solo.utilisation[static_cast<std::size_t>(cohort::Throughput::kDram)] = dram;
    solo.utilisation[static_cast<std::size_t>(cohort::Throughput::kIssue)] = 1 - dram;
    solo.footprint = cohort::Bytes{1 << 20};
    return cohort::demand_of({blocks, 128, 32, cohort::Bytes{1024}, 1}, solo, gpu);
  };
  const auto small = kernel(7, 0.25);
  const auto large = kernel(3000, 0.75);
  if (!small || !large) return;  // no room for a block
  const std::array<cohort::CoRunner, 2> runners = {cohort::CoRunner{*small, 2}, cohort::CoRunner{*large, 1}};
  const auto times = cohort::co_run_ns(runners, gpu, 3);
  if (!times) return;
  for (const double time : *times) require(time > 0, "kernels take time");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto gpu = cohort::parse_gpu_profile(text)) {
    const auto again = cohort::parse_gpu_profile(cohort::write_gpu_profile(*gpu));
    require(again.has_value() && *again == *gpu, "a GPU profile reads back the same");
    run_kernels(*gpu);
  } else {
    require(!gpu.error().message.empty(), "an error says something");
  }
  return 0;
}
