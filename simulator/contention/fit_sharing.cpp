#include "simulator/contention/fit_sharing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "simulator/contention/co_run.hpp"

namespace cohort {
namespace {

constexpr double kMostSlowdown = 3;
/// Of a throughput, by both sides of a pair together: beyond that each gets its share, however much latency grows.
constexpr double kTellingPart = 0.95;

std::optional<KernelDemand> spin_kernel(const MicrobenchmarkRecord& record, const GpuProfile& gpu) {
  const Result<Occupancy> held = occupancy(record.launch, gpu.sm);
  if (!held) return std::nullopt;
  KernelDemand kernel;
  kernel.blocks = record.launch.blocks;
  kernel.block = held->block;
  kernel.blocks_per_sm = held->blocks_per_sm;
  kernel.cluster = record.launch.cluster;
  kernel.floor_ns = ns(record.block_time);
  kernel.fixed_ns = ns(gpu.launch.kernel_fixed);
  return kernel;
}

/// Time of a spin benchmark: its kernels begin together, in the order of their launches, those of a partner first.
std::optional<double> spin_ns(std::span<const MicrobenchmarkRecord> spins, const MicrobenchmarkRecord& record,
                              const GpuProfile& gpu) {
  if (record.instances < 1) return std::nullopt;  // of a damaged recording
  std::vector<Arrival> arrivals;
  const auto launch = [&](const KernelDemand& kernel, int instances) {
    for (int i = 0; i < instances; ++i) arrivals.push_back({kernel, 0});
  };
  if (!record.partner.empty()) {
    const auto shape = std::find_if(spins.begin(), spins.end(), [&](const MicrobenchmarkRecord& other) {
      return other.kernel == record.partner && other.partner.empty();
    });
    const auto partner = shape == spins.end() ? std::nullopt : spin_kernel(*shape, gpu);
    if (!partner) return std::nullopt;
    launch(*partner, record.partner_instances);
  }
  const auto kernel = spin_kernel(record, gpu);
  if (!kernel) return std::nullopt;
  launch(*kernel, record.instances);
  const auto ends = ends_ns(arrivals, gpu);
  if (!ends) return std::nullopt;
  return *std::max_element(ends->end() - record.instances, ends->end());
}

double spin_error(std::span<const MicrobenchmarkRecord> spins, const GpuProfile& gpu) {
  double sum = 0;
  for (const MicrobenchmarkRecord& record : spins) {
    if ((record.instances < 2 && record.partner.empty()) || record.time <= Nanoseconds(0)) continue;
    const auto predicted = spin_ns(spins, record, gpu);
    const double error = predicted ? std::log(*predicted / ns(record.time)) : 0;
    sum += error * error;
  }
  return sum;
}

struct SideAlone {
  KernelDemand kernel;
  std::array<double, kThroughputs> utilisation{};
};

/// A side of a pair, from the last time before `end` that it ran alone; `launch` absent: in any shape.
std::optional<SideAlone> alone(std::span<const Measurement> all, std::size_t end, const std::string& kernel,
                               const LaunchShape* launch, const GpuProfile& gpu) {
  for (std::size_t i = end; i-- > 0;) {
    const MicrobenchmarkRecord& record = all[i].record;
    if (record.benchmark != Microbenchmark::kReplicas || record.instances != 1 || record.kernel != kernel) continue;
    if (launch != nullptr && !(record.launch == *launch)) continue;
    SoloRun solo;
    solo.time = record.time;
    solo.utilisation = utilisation_of(record.work, record.time, gpu);
    const Result<KernelDemand> demand = demand_of(record.launch, solo, gpu);
    if (!demand) return std::nullopt;
    return SideAlone{*demand, solo.utilisation};
  }
  return std::nullopt;
}

/// The throughput that both use most, as long as they do not use it up.
std::optional<std::size_t> telling_throughput(const SideAlone& a, int instances_of_a, const SideAlone& b,
                                              int instances_of_b) {
  const auto most = std::max_element(a.utilisation.begin(), a.utilisation.end()) - a.utilisation.begin();
  if (std::max_element(b.utilisation.begin(), b.utilisation.end()) - b.utilisation.begin() != most) return std::nullopt;
  const auto k = static_cast<std::size_t>(most);
  const double part = a.utilisation[k] * instances_of_a + b.utilisation[k] * instances_of_b;
  return part < kTellingPart ? std::optional(k) : std::nullopt;
}

struct Pair {
  std::string what;
  std::vector<CoRunner> runners;
  std::optional<std::size_t> throughput;  ///< that both use most, but not up; absent where no slowdown shows
  std::array<double, 2> time_ns{};        ///< of the kernel and of its partner
  bool held_out = false;
};

std::vector<Pair> pairs_of(std::span<const Measurement> all, const GpuProfile& gpu) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const MicrobenchmarkRecord& record = all[i].record;
    if (record.benchmark != Microbenchmark::kPair) continue;
    if (record.time <= Nanoseconds(0) || record.partner_time <= Nanoseconds(0)) continue;
    if (record.instances < 1 || record.partner_instances < 1) continue;  // of a damaged recording
    const auto kernel = alone(all, i, record.kernel, &record.launch, gpu);
    const auto partner = alone(all, i, record.partner, nullptr, gpu);
    if (!kernel || !partner) continue;
    pairs.push_back({fmt::format("{} beside {}", record.kernel, record.partner),
                     {{kernel->kernel, record.instances}, {partner->kernel, record.partner_instances}},
                     telling_throughput(*kernel, record.instances, *partner, record.partner_instances),
                     {ns(record.time), ns(record.partner_time)},
                     all[i].held_out});
  }
  return pairs;
}

/// Each side's span when both are started once, together.
std::optional<std::array<double, 2>> pair_ns(const Pair& pair, const GpuProfile& gpu) {
  std::vector<Arrival> arrivals;
  for (const CoRunner& runner : pair.runners) {
    for (int i = 0; i < runner.instances; ++i) arrivals.push_back({runner.kernel, 0});
  }
  const auto ends = ends_ns(arrivals, gpu);
  if (!ends) return std::nullopt;
  const auto partner = ends->begin() + pair.runners[0].instances;
  return std::array{*std::max_element(ends->begin(), partner), *std::max_element(partner, ends->end())};
}

double pair_error(const std::vector<Pair>& pairs, std::size_t throughput, const GpuProfile& gpu) {
  double sum = 0;
  for (const Pair& pair : pairs) {
    if (pair.held_out || pair.throughput != throughput) continue;
    const auto predicted = pair_ns(pair, gpu);
    for (std::size_t side = 0; predicted && side < 2; ++side) {
      const double error = std::log((*predicted)[side] / pair.time_ns[side]);
      sum += error * error;
    }
  }
  return sum;
}

/// The coefficient with the least error: a coarse grid, then ever finer ones around its best.
double best_slowdown(const std::vector<Pair>& pairs, std::size_t throughput, GpuProfile gpu) {
  double best = 0;
  double least = std::numeric_limits<double>::infinity();
  double low = 0;
  double high = kMostSlowdown;
  constexpr int kPoints = 12;
  for (int level = 0; level < 4; ++level) {
    const double step = (high - low) / kPoints;
    for (int i = 0; i <= kPoints; ++i) {
      gpu.slowdown[throughput] = low + i * step;
      const double error = pair_error(pairs, throughput, gpu);
      if (error >= least - 1e-15) continue;
      least = error;
      best = gpu.slowdown[throughput];
    }
    low = std::max(0.0, best - step);
    high = best + step;
  }
  return best;
}

}  // namespace

void fit_dispatch(std::span<const MicrobenchmarkRecord> spins, GpuFit& fit) {
  const auto any = [&](auto&& condition) { return std::any_of(spins.begin(), spins.end(), condition); };
  const bool ordered = any([](const MicrobenchmarkRecord& record) { return !record.partner.empty(); });
  const bool crowded = any([](const MicrobenchmarkRecord& record) { return record.instances > 128; });
  if (!ordered) fit.kept.emplace_back("head_of_line");
  if (!crowded) fit.kept.emplace_back("resident_grids");
  double least = std::numeric_limits<double>::infinity();
  const GpuProfile start = fit.profile;
  for (const int grids : {start.resident_grids, 128, 64, 32, 16, 256}) {
    for (const bool head_of_line : {start.head_of_line, !start.head_of_line}) {
      if ((!crowded && grids != start.resident_grids) || (!ordered && head_of_line != start.head_of_line)) continue;
      GpuProfile tried = start;
      tried.resident_grids = grids;
      tried.head_of_line = head_of_line;
      const double error = spin_error(spins, tried);
      if (error >= least * (1 - 1e-9)) continue;
      least = error;
      fit.profile = tried;
    }
  }
  for (const MicrobenchmarkRecord& record : spins) {
    const auto predicted = spin_ns(spins, record, fit.profile);
    if (!predicted) continue;
    const std::string beside = record.partner.empty() ? "" : fmt::format(" behind {}", record.partner);
    fit.residuals.push_back(
        {fmt::format("{}, {} blocks on {} streams{}", record.kernel, record.launch.blocks, record.instances, beside),
         record.time, Nanoseconds(std::llround(*predicted)), false});
  }
}

void fit_slowdown(std::span<const Measurement> all, GpuFit& fit) {
  const std::vector<Pair> pairs = pairs_of(all, fit.profile);
  for (std::size_t k = 0; k < kThroughputs; ++k) {
    const bool told = std::any_of(pairs.begin(), pairs.end(),
                                  [&](const Pair& pair) { return !pair.held_out && pair.throughput == k; });
    if (told) {
      fit.profile.slowdown[k] = best_slowdown(pairs, k, fit.profile);
    } else {
      fit.kept.push_back(fmt::format("slowdown.{}", to_string(static_cast<Throughput>(k))));
    }
  }
  for (const Pair& pair : pairs) {
    const auto predicted = pair_ns(pair, fit.profile);
    for (std::size_t side = 0; predicted && side < 2; ++side) {
      fit.residuals.push_back({fmt::format("{}, {}", pair.what, side == 0 ? "itself" : "its partner"),
                               Nanoseconds(std::llround(pair.time_ns[side])),
                               Nanoseconds(std::llround((*predicted)[side])), pair.held_out});
    }
  }
}

}  // namespace cohort
