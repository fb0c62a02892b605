// Rates of GpuEngine: what resident blocks ask of throughput, and what each gets.

#include <algorithm>
#include <cassert>
#include <limits>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {
namespace {

constexpr std::size_t kDeviceThroughputs = kThroughputs - kSmThroughputs;

}  // namespace

void GpuEngine::set_rates() {
  on_device_.clear();
  contents_.clear();
  for (std::uint32_t slot = 0; slot < kernels_.size(); ++slot) {
    if (blocks_of_[slot].count == 0) continue;
    on_device_.push_back(slot);
    contents_.push_back(&blocks_of_[slot].by_sm);
  }
  // Rates at which every SM can give what it is asked for are those with all SMs' limits, too.
  groups_.start(contents_, slows_neighbours_);
  do {
    groups_.sort_out(contents_);
    add_consumers();
    if (slows_) slow_down();
    share();
  } while (tell_loaded_apart());
  cohorts_.sort_out(groups_);
  apply_rates();
}

/// How far the kernels on the device drive each other's data out of L2: not while all they touch fits, entirely from
/// twice its size on.
double GpuEngine::cold_part() const {
  double touched = 0;
  for (const std::uint32_t slot : on_device_) touched += static_cast<double>(kernels_[slot].demand.footprint.value);
  return std::clamp(touched / static_cast<double>(gpu_.l2_size.value) - 1, 0.0, 1.0);
}

/// One consumer for each kernel in each group of SMs: its cohorts there run at the same rate.
void GpuEngine::add_consumers() {
  consumers_.clear();
  const double cold = cold_part();
  const auto groups = static_cast<std::uint32_t>(groups_.size());
  for (const std::uint32_t slot : on_device_) {
    const auto blocks_in = [&](std::uint32_t group) {
      return std::int64_t{blocks_of_[slot].by_sm[groups_.first_sm(group)]} * groups_.count(group);
    };
    std::int64_t rest = blocks_of_[slot].count;
    for (std::uint32_t group = 1; group < groups; ++group) rest -= blocks_in(group);
    if (rest > 0) add_consumer(slot, 0, rest, cold);
    for (std::uint32_t group = 1; group < groups; ++group) {
      if (blocks_in(group) > 0) add_consumer(slot, group, blocks_in(group), cold);
    }
  }
}

void GpuEngine::add_consumer(std::uint32_t slot, std::uint32_t group, std::int64_t blocks, double cold) {
  const Kernel& kernel = kernels_[slot];
  Consumer& consumer = consumers_.emplace_back(Consumer{slot, group, 1, {}});
  const auto on_device = static_cast<double>(blocks);
  if (group != 0) {
    const double on_sm = on_device / groups_.count(group);
    for (std::size_t k = 0; k < kSmThroughputs; ++k) consumer.load[k] = kernel.load[k] * on_sm;
  }
  for (std::size_t k = kSmThroughputs; k < kThroughputs; ++k) consumer.load[k] = kernel.load[k] * on_device;
  consumer.load.back() += cold * kernel.cold_load * on_device;
}

/// Latency grows with what *other* kernels ask of the throughput that a kernel uses most, with the square of it.
void GpuEngine::slow_down() {
  group_load_.assign(groups_.size(), {});
  std::array<double, kThroughputs> on_device{};
  for (const Consumer& consumer : consumers_) kernels_[consumer.slot].own_load = {};
  for (const Consumer& consumer : consumers_) {
    for (std::size_t k = 0; k < kSmThroughputs; ++k) group_load_[consumer.group][k] += consumer.load[k];
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
          k < kSmThroughputs ? group_load_[consumer.group][k] - consumer.load[k] : on_device[k] - kernel.own_load[k];
      const double load = std::clamp(others, 0.0, 1.0);
      longer = std::max(longer, kernel.sensitivity[k] * load * load);
    }
    consumer.slowdown = 1 + longer;
    for (double& load : consumer.load) load /= 1 + longer;
  }
}

void GpuEngine::share() {
  const std::size_t device = (groups_.size() - 1) * kSmThroughputs;
  sharing_.clear(device + kDeviceThroughputs);
  for (const Consumer& consumer : consumers_) {
    sharing_.add_consumer();
    for (std::size_t k = 0; k < kSmThroughputs && consumer.group != 0; ++k) {
      sharing_.use((consumer.group - 1) * kSmThroughputs + k, consumer.load[k]);
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

/// Whether SMs of group 0 are asked for more than they have at these rates; they are told apart for the next try.
bool GpuEngine::tell_loaded_apart() {
  speed_elsewhere_.assign(kernels_.size(), 0);
  double fastest = 0;
  for (std::size_t c = 0; c < consumers_.size(); ++c) {
    if (consumers_[c].group != 0) continue;
    const Consumer& consumer = consumers_[c];
    const double speed = sharing_.speed(c) / consumer.slowdown;
    speed_elsewhere_[consumer.slot] = speed;
    fastest = std::max(fastest, speed);
  }
  bool any = false;
  for (const std::uint32_t sm : groups_.find_loaded(fastest)) {
    BlockLoad load{};
    for (const std::uint32_t slot : on_device_) {
      const double blocks = blocks_of_[slot].by_sm[sm] * speed_elsewhere_[slot];
      for (std::size_t k = 0; k < kSmThroughputs; ++k) load[k] += kernels_[slot].load[k] * blocks;
    }
    if (*std::max_element(load.begin(), load.end()) <= kFullLoad) continue;
    groups_.tell_apart(sm);
    any = true;
  }
  return any;
}

void GpuEngine::apply_rates() {
  for (const std::uint32_t slot : persistent_) kernels_[slot].rate = 0;
  persistent_.clear();
  std::size_t c = 0;
  for (Cohort& cohort : cohorts_.all()) {
    const auto is_for = [&](const Consumer& consumer) {
      return consumer.slot == cohort.slot && consumer.group == cohort.group;
    };
    if (!is_for(consumers_[c])) ++c;
    assert(is_for(consumers_[c]));  // both are in order of slot and group
    Kernel& kernel = kernels_[cohort.slot];
    cohort.rate = sharing_.speed(c) / (consumers_[c].slowdown * kernel.demand.floor_ns);
    if (kernel.demand.persistent) {
      if (persistent_.empty() || persistent_.back() != cohort.slot) persistent_.push_back(cohort.slot);
      kernel.rate += cohort.rate * static_cast<double>(cohorts_.blocks(cohort).count);
      cohort.finish = std::numeric_limits<double>::infinity();
    } else {
      cohort.finish = now_ + cohort.left / cohort.rate;
    }
  }
  c = consumers_.size();
  for (const std::uint32_t slot : persistent_) kernels_[slot].finish = now_ + kernels_[slot].left / kernels_[slot].rate;
  for (CopyQueue& copy : copies_) {
    copy.rate = sharing_.speed(c++);
    copy.finish = now_ + copy.left / copy.rate;
  }
}

}  // namespace cohort
