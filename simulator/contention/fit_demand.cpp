#include "simulator/contention/fit_demand.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr int kRepetitions = 3;
constexpr double kFirstStep = 0.32;
constexpr double kLastStep = 0.01;
constexpr int kMostRounds = 12;          // at one step
constexpr double kPriceOfDemand = 1e-5;  // so that what no observation tells is 0

using Utilisation = std::array<double, kThroughputs>;

class DemandSearch {
 public:
  DemandSearch(const LaunchShape& launch, Nanoseconds solo, std::span<const CoRunObservation> observations,
               const GpuProfile& gpu)
      : launch_(launch), solo_(solo), observations_(observations), gpu_(gpu) {}

  Result<DemandFit> from(const Utilisation& start) const {
    Utilisation best = start;
    COHORT_TRY(double least, cost(best));
    double step = kFirstStep;
    while (step >= kLastStep) {
      bool moved = true;
      for (int round = 0; moved && round < kMostRounds; ++round) {
        moved = false;
        for (std::size_t k = 0; k < kThroughputs; ++k) {
          for (const double change : {step, -step}) {
            Utilisation tried = best;
            tried[k] = std::clamp(tried[k] + change, 0.0, 1.0);
            if (tried[k] == best[k]) continue;
            COHORT_TRY(const double price, cost(tried));
            if (price >= least) continue;
            least = price;
            best = tried;
            moved = true;
          }
        }
      }
      step /= 2;
    }
    DemandFit fit;
    fit.utilisation = best;
    COHORT_TRY(fit.kernel, kernel_with(best));
    COHORT_TRY(const double error, squared_error(fit.kernel));
    fit.residual = std::sqrt(error);
    return fit;
  }

  [[nodiscard]] Result<double> cost(const Utilisation& utilisation) const {
    COHORT_TRY(const KernelDemand kernel, kernel_with(utilisation));
    COHORT_TRY(const double error, squared_error(kernel));
    double sum = 0;
    for (const double part : utilisation) sum += part;
    return error + kPriceOfDemand * sum;
  }

 private:
  [[nodiscard]] Result<KernelDemand> kernel_with(const Utilisation& utilisation) const {
    SoloRun run;
    run.time = solo_;
    run.utilisation = utilisation;
    return demand_of(launch_, run, gpu_);
  }

  /// Mean over all observed times.
  [[nodiscard]] Result<double> squared_error(const KernelDemand& kernel) const {
    double sum = 0;
    int count = 0;
    for (const CoRunObservation& observation : observations_) {
      std::vector<CoRunner> runners = {{kernel, observation.instances}};
      if (observation.probe) runners.push_back(*observation.probe);
      COHORT_TRY(const std::vector<double> times, co_run_ns(runners, gpu_, kRepetitions));
      const double error = std::log(times[0] / observation.time_ns);
      sum += error * error;
      ++count;
      if (!observation.probe || observation.probe_time_ns <= 0) continue;
      const double probe_error = std::log(times[1] / observation.probe_time_ns);
      sum += probe_error * probe_error;
      ++count;
    }
    return count == 0 ? 0 : sum / count;
  }

  const LaunchShape& launch_;
  Nanoseconds solo_;
  std::span<const CoRunObservation> observations_;
  const GpuProfile& gpu_;
};

}  // namespace

Result<DemandFit> fit_demand(const LaunchShape& launch, Nanoseconds solo,
                             std::span<const CoRunObservation> observations, const GpuProfile& gpu) {
  const DemandSearch search(launch, solo, observations, gpu);
  std::vector<std::pair<double, Utilisation>> starts;
  for (std::size_t k = 0; k <= kThroughputs; ++k) {
    Utilisation start{};
    if (k < kThroughputs) start[k] = 0.5;
    COHORT_TRY(const double cost, search.cost(start));
    starts.emplace_back(cost, start);
  }
  std::stable_sort(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  COHORT_TRY(const DemandFit best, search.from(starts[0].second));
  COHORT_TRY(const DemandFit other, search.from(starts[1].second));
  return other.residual < best.residual ? other : best;
}

}  // namespace cohort
