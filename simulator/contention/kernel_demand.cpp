#include "simulator/contention/kernel_demand.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {
namespace {

constexpr int kHalvings = 60;
constexpr double kSameTime = 1 + 1e-9;
constexpr double kLeastLatency = 1e-2;  // ns

constexpr std::size_t kDram = static_cast<std::size_t>(Throughput::kDram);

Result<void> check(const SoloRun& solo) {
  if (solo.time <= Nanoseconds(0)) {
    return fail(ErrorCode::kInvalidInput, "time is {} ns; it must be above 0", solo.time.count());
  }
  for (std::size_t k = 0; k < kThroughputs; ++k) {
    if (!(solo.utilisation[k] >= 0 && solo.utilisation[k] <= 1)) {
      return fail(ErrorCode::kInvalidInput, "utilisation of {} is {}; it must be from 0 to 1",
                  to_string(static_cast<Throughput>(k)), solo.utilisation[k]);
    }
  }
  if (!(solo.cold_dram_utilisation >= 0) || !std::isfinite(solo.cold_dram_utilisation)) {
    return fail(ErrorCode::kInvalidInput, "cold DRAM utilisation is {}; it must not be negative",
                solo.cold_dram_utilisation);
  }
  return {};
}

void scale_work(KernelDemand& kernel, double factor) {
  for (double& work : kernel.work_ns) work *= factor;
  kernel.cold_dram_ns *= factor;
}

/// Finds the largest floor with which the blocks alone take `target`, by halving: more floor never takes less time.
Result<void> fit_floor(KernelDemand& kernel, double target, const GpuProfile& gpu) {
  const double resident = static_cast<double>(gpu.sms) * kernel.blocks_per_sm;
  const double waves = kernel.persistent ? 1 : std::ceil(static_cast<double>(kernel.blocks) / resident);
  const auto time_with = [&](double floor) {
    kernel.floor_ns = floor;
    return solo_ns(kernel, gpu);
  };
  double high = target / waves;
  COHORT_TRY(double time, time_with(high));
  if (time > target * kSameTime) {
    double low = std::min(kLeastLatency, high / 2);
    COHORT_TRY(const double least, time_with(low));
    if (least > target) scale_work(kernel, target / least);
    for (int i = 0; i < kHalvings && high - low > high * 1e-12; ++i) {
      const double middle = (low + high) / 2;
      COHORT_TRY(const double tried, time_with(middle));
      (tried > target * kSameTime ? high : low) = middle;
    }
    COHORT_TRY(time, time_with(low));
  }
  kernel.floor_ns *= target / time;
  scale_work(kernel, target / time);
  return {};
}

}  // namespace

bool looks_persistent(const LaunchShape& launch, int blocks_per_sm, const GpuProfile& gpu) {
  return blocks_per_sm == 1 && launch.blocks <= gpu.sms && launch.blocks * 10 >= std::int64_t{gpu.sms} * 9;
}

Result<double> solo_ns(const KernelDemand& kernel, const GpuProfile& gpu) {
  GpuEngine engine(gpu);
  COHORT_CHECK(engine.start_kernel(kernel, 0));
  while (const std::optional<double> next = engine.next_event()) engine.advance(*next);
  return engine.now();
}

Result<KernelDemand> demand_of(const LaunchShape& launch, const SoloRun& solo, const GpuProfile& gpu) {
  COHORT_CHECK(check(solo));
  COHORT_TRY(const Occupancy held, occupancy(launch, gpu.sm));
  KernelDemand kernel;
  kernel.blocks = launch.blocks;
  kernel.block = held.block;
  kernel.blocks_per_sm = held.blocks_per_sm;
  kernel.cluster = launch.cluster;
  kernel.priority = solo.priority;
  kernel.persistent = looks_persistent(launch, held.blocks_per_sm, gpu);
  kernel.footprint = solo.footprint;
  const auto time = static_cast<double>(solo.time.count());
  const double fixed = std::min(static_cast<double>(gpu.launch.kernel_fixed.count()), time / 2);
  const double each = time / static_cast<double>(launch.blocks);
  for (std::size_t k = 0; k < kThroughputs; ++k) {
    kernel.work_ns[k] = solo.utilisation[k] * each * (k < kSmThroughputs ? gpu.sms : 1);
  }
  kernel.cold_dram_ns = std::max(kernel.work_ns[kDram], solo.cold_dram_utilisation * each);
  COHORT_CHECK(fit_floor(kernel, time - fixed, gpu));
  kernel.fixed_ns = fixed;
  return kernel;
}

}  // namespace cohort
