// Rates of GpuEngine: what resident blocks ask of throughput, and what each gets.

#include <algorithm>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {
namespace {

constexpr double kLeastFloor = 1e-3;  // ns; below, a block takes no time at all
constexpr std::size_t kDeviceThroughputs = kThroughputs - kSmThroughputs;

}  // namespace

void GpuEngine::set_rates() {
  add_consumers();
  if (slows_) slow_down();
  share();
  apply_rates();
}

/// How far the kernels on the device drive each other's data out of L2: not while all they touch fits, entirely from
/// twice its size on.
double GpuEngine::cold_part() const {
  double touched = 0;
  for (const Kernel& kernel : kernels_) {
    if (kernel.resident > 0) touched += static_cast<double>(kernel.demand.footprint.value);
  }
  return std::clamp(touched / static_cast<double>(gpu_.l2_size.value) - 1, 0.0, 1.0);
}

/// One consumer for each kernel in each group of SMs: its cohorts there run at the same rate.
void GpuEngine::add_consumers() {
  consumers_.clear();
  const double cold = cold_part();
  for (std::size_t g = 0; g < groups_.all().size(); ++g) {
    const SmGroup& group = groups_.all()[g];
    for (std::size_t i = 0; i < group.cohort_count; ++i) {
      const Cohort& cohort = group.cohorts[i];
      if (i > 0 && group.cohorts[i - 1].slot == cohort.slot) {
        consumers_.back().blocks += cohort.blocks;
      } else {
        consumers_.push_back({static_cast<std::uint32_t>(g), cohort.slot, cohort.blocks, 0, {}});
      }
    }
  }
  constexpr std::size_t kDram = static_cast<std::size_t>(Throughput::kDram);
  for (Consumer& consumer : consumers_) {
    const KernelDemand& kernel = kernels_[consumer.slot].demand;
    consumer.ceiling = 1 / std::max(kernel.floor_ns, kLeastFloor);
    const double on_sm = consumer.blocks * consumer.ceiling;
    const double on_device = on_sm * groups_.all()[consumer.group].count;
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      consumer.load[k] = kernel.work_ns[k] * (k < kSmThroughputs ? on_sm : on_device);
    }
    const double more = std::max(0.0, kernel.cold_dram_ns - kernel.work_ns[kDram]);
    consumer.load[kDram] += cold * more * on_device;
  }
}

/// Latency grows with what *other* kernels ask of the throughput that a kernel uses most, with the square of it.
void GpuEngine::slow_down() {
  std::vector<std::array<double, kSmThroughputs>> on_sm(groups_.all().size());
  std::array<double, kThroughputs> on_device{};
  for (const Consumer& consumer : consumers_) kernels_[consumer.slot].own_load = {};
  for (const Consumer& consumer : consumers_) {
    for (std::size_t k = 0; k < kSmThroughputs; ++k) on_sm[consumer.group][k] += consumer.load[k];
    for (std::size_t k = kSmThroughputs; k < kThroughputs; ++k) {
      on_device[k] += consumer.load[k];
      kernels_[consumer.slot].own_load[k] += consumer.load[k];
    }
  }
  for (const CopyQueue& copy : copies_) {
    if (copy.running)
      on_device[kThroughputs - 1] += copy.queue.front().demand.dram_ns / copy.queue.front().demand.time_ns;
  }
  for (Consumer& consumer : consumers_) {
    const Kernel& kernel = kernels_[consumer.slot];
    double longer = 0;
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      const double others =
          k < kSmThroughputs ? on_sm[consumer.group][k] - consumer.load[k] : on_device[k] - kernel.own_load[k];
      const double load = std::clamp(others, 0.0, 1.0);
      longer = std::max(longer, kernel.sensitivity[k] * load * load);
    }
    consumer.ceiling /= 1 + longer;
    for (double& load : consumer.load) load /= 1 + longer;
  }
}

void GpuEngine::share() {
  const std::size_t device = groups_.all().size() * kSmThroughputs;
  sharing_.clear(device + kDeviceThroughputs);
  for (const Consumer& consumer : consumers_) {
    sharing_.add_consumer();
    for (std::size_t k = 0; k < kSmThroughputs; ++k) {
      sharing_.use(consumer.group * kSmThroughputs + k, consumer.load[k]);
    }
    for (std::size_t k = kSmThroughputs; k < kThroughputs; ++k) {
      sharing_.use(device + k - kSmThroughputs, consumer.load[k]);
    }
  }
  for (const CopyQueue& copy : copies_) {
    sharing_.add_consumer();
    if (!copy.running) continue;
    const CopyDemand& demand = copy.queue.front().demand;
    sharing_.use(device + kDeviceThroughputs - 1, demand.dram_ns / demand.time_ns);
  }
  sharing_.solve();
}

void GpuEngine::apply_rates() {
  for (const std::uint32_t slot : persistent_) kernels_[slot].rate = 0;
  persistent_.clear();
  std::size_t c = 0;
  for (SmGroup& group : groups_.all()) {
    for (std::size_t i = 0; i < group.cohort_count; ++i) {
      Cohort& cohort = group.cohorts[i];
      if (i > 0 && group.cohorts[i - 1].slot != cohort.slot) ++c;
      Kernel& kernel = kernels_[cohort.slot];
      cohort.rate = consumers_[c].ceiling * sharing_.speed(c);
      if (kernel.demand.persistent) {
        if (std::find(persistent_.begin(), persistent_.end(), cohort.slot) == persistent_.end()) {
          persistent_.push_back(cohort.slot);
        }
        kernel.rate += cohort.rate * cohort.blocks * group.count;
        cohort.finish = std::numeric_limits<double>::infinity();
      } else {
        cohort.finish = now_ + cohort.left / cohort.rate;
      }
    }
    if (group.cohort_count > 0) ++c;
  }
  for (const std::uint32_t slot : persistent_) kernels_[slot].finish = now_ + kernels_[slot].left / kernels_[slot].rate;
  for (CopyQueue& copy : copies_) {
    copy.rate = sharing_.speed(c++);
    copy.finish = now_ + copy.left / copy.rate;
  }
}

}  // namespace cohort
