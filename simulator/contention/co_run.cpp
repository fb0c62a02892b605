#include "simulator/contention/co_run.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// A runner this much faster than the others is cut short: its mean is long settled.
constexpr int kMostLaunches = 20'000;

struct Instance {
  std::size_t runner;
  int ended = 0;
  double last_counted = 0;  ///< end of its last repetition that counts
};

}  // namespace

Result<std::vector<double>> co_run_ns(std::span<const CoRunner> runners, const GpuProfile& gpu, int repetitions) {
  GpuEngine engine(gpu);
  std::vector<Instance> instances;
  for (std::size_t r = 0; r < runners.size(); ++r) {
    for (int i = 0; i < runners[r].instances; ++i) {
      COHORT_CHECK(engine.start_kernel(runners[r].kernel, static_cast<std::uint32_t>(instances.size())));
      instances.push_back({r});
    }
  }
  std::size_t short_of = instances.size();
  int launches = 0;
  while (short_of > 0 && launches < kMostLaunches) {
    const std::optional<double> next = engine.next_event();
    if (!next) break;
    engine.advance(*next);
    for (const GpuEvent& event : engine.take_events()) {
      if (event.kind != GpuEvent::Kind::kEnded) continue;
      Instance& instance = instances[event.token];
      ++instance.ended;
      if (instance.ended <= repetitions) instance.last_counted = event.time_ns;
      if (instance.ended == repetitions) --short_of;
      COHORT_CHECK(engine.start_kernel(runners[instance.runner].kernel, event.token));
      ++launches;
    }
  }
  std::vector<double> sum(runners.size(), 0);
  for (const Instance& instance : instances) {
    const int counted = std::clamp(instance.ended, 1, repetitions);
    sum[instance.runner] += (instance.ended > 0 ? instance.last_counted : engine.now()) / counted;
  }
  for (std::size_t r = 0; r < runners.size(); ++r) sum[r] /= std::max(1, runners[r].instances);
  return sum;
}

Result<std::vector<double>> ends_ns(std::span<const Arrival> arrivals, const GpuProfile& gpu) {
  GpuEngine engine(gpu);
  std::vector<double> ends(arrivals.size(), 0);
  std::uint32_t next = 0;
  for (;;) {
    while (next < arrivals.size() && arrivals[next].at_ns <= engine.now()) {
      COHORT_CHECK(engine.start_kernel(arrivals[next].kernel, next));
      ++next;
    }
    const std::optional<double> event = engine.next_event();
    if (next == arrivals.size() && !event) return ends;
    const double arrival = next < arrivals.size() ? arrivals[next].at_ns : *event;
    engine.advance(std::min(arrival, event.value_or(arrival)));
    for (const GpuEvent& happened : engine.take_events()) {
      if (happened.kind == GpuEvent::Kind::kEnded) ends[happened.token] = happened.time_ns;
    }
  }
}

std::array<double, kThroughputs> utilisation_of(const KernelWork& work, Nanoseconds time, const GpuProfile& gpu) {
  const auto part = [&](std::int64_t amount, double per_second) {
    if (amount == 0 || per_second <= 0 || time <= Nanoseconds(0)) return 0.0;
    return std::clamp(static_cast<double>(amount) / per_second / seconds(time), 0.0, 1.0);
  };
  return {part(work.fma.value, gpu.fma.per_second),       part(work.tensor.value, gpu.tensor.per_second),
          part(work.shared.value, gpu.shared.per_second), part(work.l2.value, gpu.sm_port.per_second * gpu.sms),
          part(work.l2.value, gpu.l2.per_second),         part(work.dram.value, gpu.dram.per_second)};
}

}  // namespace cohort
