#include "simulator/colocation/colocate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cohort {
namespace {

// Fitted on ParvaGPU's measurements (1 to 5 equal processes on slices of an A100); see docs/colocation.md.
constexpr double kHostContention = 0.017;  // a further process
constexpr double kKnee = 10;

// Fitted on iGniter's measurements (pairs on a V100 under TensorRT, each with an SM share of its own); ditto.
constexpr double kApartBase = 0.055;     // a further process
constexpr double kApartDram = 0.092;     // times the part of the DRAM bandwidth that the others use
constexpr double kUsualDram = 0.15;      // where that is not known
constexpr double kApartCopy = 13.8e-12;  // seconds a byte of input
constexpr double kApartHost = 99e-6;     // seconds a step

/// Of the GPU work, for the interval of 8 of 10; of the step where the work is not known.
Within work_within(WorkOrigin origin) {
  switch (origin) {
    case WorkOrigin::kRecorded:
    case WorkOrigin::kGpuBound:
      return {0.95, 1.05};
    case WorkOrigin::kOtherShare:
      return {0.92, 1.08};
    case WorkOrigin::kOtherMinibatch:
      return {0.85, 1.2};
    case WorkOrigin::kAtMost:
      return {0.1, 1};
  }
  return {1, 1};
}
constexpr double kNoise = 0.015;  // of gains where nothing else is uncertain
constexpr double kApartNoise = 0.03;

double knee(double a, double b) { return std::pow(std::pow(a, kKnee) + std::pow(b, kKnee), 1 / kKnee); }

template <class Of>
double sum_over(std::span<const Colocated> processes, Of of) {
  return std::accumulate(processes.begin(), processes.end(), 0.0,
                         [&](double sum, const Colocated& each) { return sum + of(each.demand); });
}

/// Part of its step that a process asks of the GPU, or an end of what that is within.
double asked_by(const ProcessDemand& demand, double Within::*end) {
  const double work = seconds(demand.gpu_work) / seconds(demand.alone.step);
  if (end == nullptr) return work;
  const double factor = work_within(demand.origin).*end;
  if (demand.origin != WorkOrigin::kAtMost) return factor * work;
  return end == &Within::low ? std::min(factor, work) : factor;  // of the step: what of it is work is not known
}

double asked(std::span<const Colocated> processes, double Within::*end) {
  return sum_over(processes, [&](const ProcessDemand& each) { return asked_by(each, end); });
}

/// Whether the GPU decides how long a step takes that has it to itself.
bool is_gpu_bound(const ProcessDemand& demand) {
  constexpr double kNearly = 0.9;  // a moment passes between two steps
  return demand.origin == WorkOrigin::kGpuBound || seconds(demand.gpu_work) > kNearly * seconds(demand.alone.step);
}

Nanoseconds in_nanoseconds(double time) { return Nanoseconds(std::llround(time * 1e9)); }

Colocation together(std::span<const Colocated> processes) {
  const auto count = static_cast<double>(processes.size());
  const double host = host_slowdown(processes.size());
  const auto gain_at = [&](double Within::*end) { return count / knee(host, asked(processes, end)); };
  Colocation result;
  const double use = asked(processes, nullptr);
  const double slowdown = processes.size() == 1 ? 1 : knee(host, use);
  double longest = 0;
  double work = 0;
  for (const Colocated& each : processes) {
    result.steps.push_back(in_nanoseconds(slowdown * seconds(each.demand.alone.step)));
    result.slowdowns.push_back(slowdown);
    longest = std::max(longest, seconds(each.demand.alone.step));
    work += seconds(each.demand.gpu_work);
  }
  result.all = in_nanoseconds(processes.size() == 1 ? longest : knee(longest * host, work));
  result.gain = count / slowdown;
  result.gain_within = {result.gain, result.gain};
  if (processes.size() > 1)
    result.gain_within = {(1 - kNoise) * gain_at(&Within::high), (1 + kNoise) * gain_at(&Within::low)};
  result.gpu_decides = processes.size() == 1 ? is_gpu_bound(processes.front().demand) : use > host;
  return result;
}

Colocation apart(std::span<const Colocated> processes) {
  Colocation result;
  const auto dram_of = [](const ProcessDemand& each) { return each.alone.dram.value_or(kUsualDram); };
  const double all_dram = sum_over(processes, dram_of);
  const auto others = static_cast<double>(processes.size() - 1);
  double gain = 0;
  for (const Colocated& each : processes) {
    const double alone = seconds(each.demand.alone.step);
    const double copied = static_cast<double>(each.copied.value) * static_cast<double>(each.demand.alone.minibatch);
    const double own = alone * (1 + kApartBase * others + kApartDram * (all_dram - dram_of(each.demand))) +
                       others * (kApartHost + kApartCopy * copied);
    result.steps.push_back(in_nanoseconds(own));
    result.slowdowns.push_back(own / alone);
    result.all = std::max(result.all, result.steps.back());
    gain += alone / own;
  }
  result.gain = gain;
  result.gain_within = {(1 - kApartNoise) * gain, (1 + kApartNoise) * gain};
  return result;
}

}  // namespace

double host_slowdown(std::size_t processes) { return 1 + kHostContention * static_cast<double>(processes - 1); }

Colocation colocate(std::span<const Colocated> processes, GpuSharing sharing) {
  return sharing == GpuSharing::kTogether ? together(processes) : apart(processes);
}

}  // namespace cohort
