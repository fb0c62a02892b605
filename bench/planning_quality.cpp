// How good the planner's choice is, and how long it takes to make.
//
//     build/release/bin/planning_quality [--cases N]
//
// Prints
//   regret     of N random small cases (200), on cores and on an H100: how much longer the chosen plan's predicted step
//              takes than the best of an exhaustive search over every strategy for every op and every way of running
//              the rest
//   planning   of 16 members of 100 ops each: processor time, plans simulated and screened, on devices of 2 and 16
//              cores and on an H100, ops in a chain or in towers side by side; beside a floor: the simulations of those
//              plans alone, their programs made beforehand

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/exhaustive.hpp"
#include "tests/simulator/random_planning.hpp"

namespace {

using namespace cohort;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool print_regret(std::uint64_t cases, std::string_view device,
                  std::unique_ptr<RandomPlanning> (*make)(std::uint64_t)) {
  std::vector<double> regrets;
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const auto random = make(seed);
    const auto planned = plan_model_batch(random->planning_case());
    const auto best = search_exhaustively(random->planning_case(), Objective::kThroughput);
    if (!planned || !best) {
      fmt::print(stderr, "case {}: {}\n", seed, (planned ? best.error() : planned.error()).message);
      return false;
    }
    const auto chosen = static_cast<double>(planned->ranked.front().prediction.step_time.count());
    regrets.push_back(std::max(0.0, chosen / best->least_cost - 1));
    plans += best->evaluated;
  }
  std::sort(regrets.begin(), regrets.end());
  double sum = 0;
  for (const double regret : regrets) sum += regret;
  const auto count = static_cast<double>(regrets.size());
  const auto none = std::count_if(regrets.begin(), regrets.end(), [](double regret) { return regret < 1e-9; });
  fmt::print(
      "regret     {}, {} cases, {} plans each on average: mean {:.3f}%, 90th percentile {:.3f}%, worst {:.3f}%, none "
      "in "
      "{}\n",
      device, regrets.size(), plans / regrets.size(), 100 * sum / count, 100 * regrets[regrets.size() * 9 / 10],
      100 * regrets.back(), none);
  return true;
}

/// Processor time of the simulations of what a planning ranked, without search, lowering and explanations.
Result<double> simulation_seconds(const PlanningCase& planning_case, const PlanningResult& planned) {
  PlanEvaluator evaluator(planning_case);
  double time = 0;
  for (const PlanCandidate& candidate : planned.ranked) {
    COHORT_TRY(const LoweredPlan lowered, evaluator.lowered(candidate.plan, planning_case.models));
    const double before = processor_seconds();
    COHORT_CHECK(predict(evaluator.prediction_case(candidate.plan, lowered.program)));
    time += processor_seconds() - before;
  }
  return time;
}

bool print_planning_time(std::string_view device, int cores, bool on_gpu, int towers = 1) {
  constexpr std::size_t kOps = 100;
  constexpr std::size_t kMembers = 16;
  constexpr int kRuns = 5;
  RandomPlanning random(7, {.ops = kOps, .members = kMembers, .cores = cores, .on_gpu = on_gpu, .towers = towers});
  std::vector<double> times;
  double floor = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double before = processor_seconds();
    const auto planned = plan_model_batch(random.planning_case());
    times.push_back(processor_seconds() - before);
    if (!planned) {
      fmt::print(stderr, "{}\n", planned.error().message);
      return false;
    }
    if (run > 0) continue;
    const PlanningCase planning_case = random.planning_case();
    const Result<double> simulations = simulation_seconds(planning_case, *planned);
    if (!simulations) {
      fmt::print(stderr, "{}\n", simulations.error().message);
      return false;
    }
    floor = *simulations;
    const std::string shape = towers > 1 ? fmt::format(" in {} towers", towers) : "";
    fmt::print("planning   {} members of {} ops{} on {}: {} simulated, {} screened out, best {:.2f}x\n", kMembers, kOps,
               shape, device, planned->ranked.size(), planned->screened.size(), planned->ranked.front().speedup);
  }
  std::sort(times.begin(), times.end());
  fmt::print(
      "           {:.3f} s of processor time, median of {} ({:.3f} to {:.3f}); {:.3f} s to simulate them alone\n",
      times[kRuns / 2], kRuns, times.front(), times.back(), floor);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t kCases = 200;
  std::uint64_t cases = kCases;
  if (argc == 3 && std::string_view(argv[1]) == "--cases") cases = std::strtoull(argv[2], nullptr, 10);
  if (cases == 0) {
    fmt::print(stderr, "usage: planning_quality [--cases N]\n");
    return 2;
  }
  constexpr int kTowers = 4;
  bool printed =
      print_regret(cases, "cores", RandomPlanning::small) && print_regret(cases, "H100", RandomPlanning::small_on_gpu);
  for (const int towers : {1, kTowers}) {
    printed = printed && print_planning_time("2 cores", 2, false, towers) &&
              print_planning_time("16 cores", 16, false, towers) && print_planning_time("an H100", 1, true, towers);
  }
  return printed ? 0 : 1;
}
