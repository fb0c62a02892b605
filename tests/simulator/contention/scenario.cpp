#include "tests/simulator/contention/scenario.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.hpp"

namespace cohort {
namespace {

constexpr double kSameMoment = 1e-3;

GpuProfile random_gpu(Random& random) {
  GpuProfile gpu = *published_gpu_profile(random.below(2) == 0 ? "NVIDIA H100 80GB HBM3" : "Tesla V100-SXM2-32GB");
  gpu.sms = random.below(3) == 0 ? 132 : 8;
  gpu.head_of_line = random.below(4) != 0;
  gpu.copy_engines = 1 + static_cast<int>(random.below(2));
  if (random.below(3) == 0) gpu.resident_grids = 1 + static_cast<int>(random.below(4));
  if (random.below(2) == 0) {
    for (double& slowdown : gpu.slowdown) slowdown = random.uniform();
  }
  return gpu;
}

KernelDemand random_kernel(Random& random, const GpuProfile& gpu, std::int64_t most_blocks) {
  for (;;) {
    LaunchShape launch;
    launch.threads = 32 * (1 + static_cast<int>(random.below(16)));
    launch.registers = 16 + static_cast<int>(random.below(112));
    if (random.below(2) == 0) {
      launch.shared_memory = Bytes{
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(gpu.sm.shared_memory_of_block.value)))};
    }
    launch.blocks = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_blocks)));
    const Result<Occupancy> held = occupancy(launch, gpu.sm);
    if (!held) continue;
    KernelDemand kernel;
    kernel.block = held->block;
    kernel.blocks_per_sm = held->blocks_per_sm;
    if (random.below(8) == 0) kernel.cluster = 1 << random.below(3);
    kernel.blocks = std::max<std::int64_t>(1, launch.blocks / kernel.cluster) * kernel.cluster;
    kernel.priority = random.below(4) == 0 ? 1 : 0;
    kernel.persistent = kernel.blocks <= gpu.sms && random.below(4) == 0;
    kernel.fixed_ns = random.below(2) == 0 ? 0 : random.uniform(0, 3000);
    kernel.floor_ns = random.below(4) == 0 ? 1000.0 * static_cast<double>(1 + random.below(20))
                                           : static_cast<double>(random.uniform(1000, 50000));
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      if (random.below(2) == 0) continue;
      const double share = static_cast<double>(random.uniform(0, 1.5F)) * kernel.floor_ns / kernel.blocks_per_sm;
      kernel.work_ns[k] = k < kSmThroughputs ? share : share / gpu.sms;
    }
    if (random.below(3) == 0) {
      kernel.cold_dram_ns = kernel.work_ns[kThroughputs - 1] * 2;
      kernel.footprint = Bytes{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(gpu.l2_size.value)))};
    }
    return kernel;
  }
}

CopyDemand random_copy(Random& random) {
  CopyDemand copy;
  copy.direction = static_cast<CopyDirection>(random.below(3));
  copy.time_ns = static_cast<double>(random.uniform(1000, 100000));
  copy.dram_ns = copy.time_ns * static_cast<double>(random.uniform(0, 0.6F));
  return copy;
}

}  // namespace

Scenario random_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  scenario.gpu = random_gpu(random);
  const std::uint64_t streams = 1 + random.below(8);
  scenario.streams.resize(streams);
  const std::uint64_t kernels = 1 + random.below(8);
  constexpr std::int64_t kMostBlocks = 5000;
  for (std::uint64_t i = 0; i < kernels; ++i) {
    const std::int64_t most = random.below(2) == 0 ? kMostBlocks / static_cast<std::int64_t>(kernels) : 200;
    ScenarioItem item{fmt::format("k{}", i), random_kernel(random, scenario.gpu, most), 0};
    if (random.below(3) == 0) item.not_before = static_cast<double>(random.uniform(0, 100000));
    scenario.streams[random.below(streams)].push_back(item);
    if (random.below(6) == 0) {
      scenario.streams[random.below(streams)].push_back({fmt::format("c{}", i), random_copy(random), 0});
    }
  }
  return scenario;
}

Scenario crowded_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  scenario.gpu = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  scenario.gpu.head_of_line = random.below(2) == 0;
  scenario.streams.resize(8);
  for (int i = 0; i < 40; ++i) {
    KernelDemand kernel;
    kernel.blocks = 20 + static_cast<std::int64_t>(random.below(300));
    kernel.block = {128 + 32 * static_cast<int>(random.below(12)), 16384, Bytes{0}};
    kernel.blocks_per_sm = 4;
    kernel.floor_ns = static_cast<double>(random.uniform(5000, 20000));
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      const double share = static_cast<double>(random.uniform(0, 0.6F)) * kernel.floor_ns / kernel.blocks_per_sm;
      kernel.work_ns[k] = k < kSmThroughputs ? share : share / scenario.gpu.sms;
    }
    scenario.streams[static_cast<std::size_t>(i) % 8].push_back({fmt::format("k{}", i), kernel, 0});
  }
  return scenario;
}

double makespan_of(const ScenarioTimes& times) {
  double latest = 0;
  for (const auto& stream : times) {
    for (const ItemTimes& item : stream) latest = std::max(latest, item.end);
  }
  return latest;
}

std::string timeline_of(const Scenario& scenario, const ScenarioTimes& times) {
  std::string text;
  for (std::size_t s = 0; s < times.size(); ++s) {
    for (std::size_t i = 0; i < times[s].size(); ++i) {
      text += fmt::format("{} {:.0f}-{:.0f}\n", scenario.streams[s][i].name, times[s][i].start, times[s][i].end);
    }
  }
  return text;
}

ScenarioTimes run_engine(const Scenario& scenario) {
  struct Place {
    std::size_t stream;
    std::size_t item;
  };
  GpuEngine engine(scenario.gpu);
  std::vector<Place> places;
  std::vector<std::size_t> next(scenario.streams.size(), 0);
  std::vector<char> busy(scenario.streams.size(), 0);
  ScenarioTimes times(scenario.streams.size());
  for (std::size_t s = 0; s < times.size(); ++s) times[s].resize(scenario.streams[s].size());
  for (;;) {
    double arrival = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < scenario.streams.size(); ++s) {
      if (busy[s] || next[s] == scenario.streams[s].size()) continue;
      const ScenarioItem& item = scenario.streams[s][next[s]];
      if (item.not_before > engine.now() + kSameMoment) {
        arrival = std::min(arrival, item.not_before);
        continue;
      }
      const auto token = static_cast<std::uint32_t>(places.size());
      places.push_back({s, next[s]});
      busy[s] = 1;
      if (const auto* kernel = std::get_if<KernelDemand>(&item.work)) {
        const Result<void> started = engine.start_kernel(*kernel, token);
        EXPECT_TRUE(started) << started.error().message;
        if (!started) return times;
      } else {
        engine.start_copy(std::get<CopyDemand>(item.work), token);
      }
    }
    const std::optional<double> event = engine.next_event();
    const double to = std::min(arrival, event.value_or(arrival));
    if (to != std::numeric_limits<double>::infinity()) engine.advance(to);
    for (const GpuEvent& happened : engine.take_events()) {
      const Place place = places[happened.token];
      ItemTimes& item = times[place.stream][place.item];
      if (happened.kind == GpuEvent::Kind::kStarted) {
        item.start = happened.time_ns;
      } else {
        item.end = happened.time_ns;
        busy[place.stream] = 0;
        ++next[place.stream];
      }
    }
    if (to == std::numeric_limits<double>::infinity()) return times;
  }
}

}  // namespace cohort
