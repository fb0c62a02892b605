// Work on one thread whose instructions scripts/check-instructions counts.
//
//     build/release/bin/counted_work          names the works, a line each, and on the last line the compiler
//     build/release/bin/counted_work WORK     prepares a work and does it once in cohort_counted()

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "bench/made_up_graphs.hpp"
#include "bench/made_up_trace.hpp"
#include "models/networks/networks.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "tests/simulator/random_planning.hpp"
#include "tracer/file/trace_file.hpp"

/// What is counted is what runs in here. Returns what the work found, so that all of it is needed.
extern "C" __attribute__((noinline)) std::int64_t cohort_counted(const std::function<std::int64_t()>& work) {
  return work();
}

namespace cohort {
namespace {

template <class Value>
Value expect(Result<Value> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "counted_work: {}\n", result.error().message);
  std::exit(1);
}

std::int64_t simulate_launches() {
  const TaskGraph graph = launches(50'000);
  return cohort_counted([&] { return expect(simulate(graph, {})).makespan.count(); });
}

std::int64_t simulate_contention() {
  const ContendingKernels kernels(2'000, 4, 1);
  const TaskGraph graph = kernels.graph();
  const SimulationOptions options = kernels.options();
  return cohort_counted([&] { return expect(simulate(graph, options)).makespan.count(); });
}

std::int64_t plan_members(const RandomPlanning::Size& size) {
  RandomPlanning random(7, size);
  const PlanningCase planning_case = random.planning_case();
  const PlannerOptions options{.threads = 1};  // the others' instructions would not be counted
  return cohort_counted(
      [&] { return expect(plan_model_batch(planning_case, options)).ranked.front().prediction.step_time.count(); });
}

/// Sixteen ResNet-18, convolutions in one call each, the rest side by side on two cores.
std::int64_t lower_members() {
  constexpr std::uint32_t kMembers = 16;
  const Model model = expect(make_network("resnet18", 1, {}));
  const CostTable costs(fake_records(model, 2, [](const FakeCall& call) { return 1000 * call.width; }));
  const RecordedCatalog catalog(costs, 2, Precision::kFloat32, 0);
  Plan plan = fake_base(kMembers);
  plan.streams = 2;
  Group convolutions;
  convolutions.name = "convolutions";
  convolutions.strategy = Strategy::kGroupedConvolution;
  for (const Op& op : model.ops) {
    if (std::holds_alternative<Convolution>(op.attributes)) convolutions.ops.push_back(op.name);
  }
  Group rest;
  rest.name = "rest";
  rest.strategy = Strategy::kConcurrent;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    convolutions.members.push_back(i);
    rest.members.push_back(i);
  }
  plan.groups = {convolutions, rest};
  const std::vector<const Model*> models(kMembers, &model);
  return cohort_counted(
      [&] { return static_cast<std::int64_t>(expect(lower(plan, models, catalog, first_alternative)).steps.size()); });
}

std::int64_t load_trace() {
  const std::string text = made_up_trace(50'000);
  return cohort_counted([&] { return static_cast<std::int64_t>(expect(parse_trace(text)).slices.size()); });
}

std::int64_t find_trace_graph() {
  const Trace trace = expect(parse_trace(made_up_trace(50'000)));
  return cohort_counted([&] { return static_cast<std::int64_t>(expect(build_trace_graph(trace)).graph.edges.size()); });
}

#ifdef __clang__
constexpr std::string_view kCompilerName;  // its version says it
#else
constexpr std::string_view kCompilerName = "GCC ";
#endif

struct Work {
  std::string_view name;
  std::int64_t (*run)();
};

constexpr std::array kWorks{
    Work{"simulate 50,000 launches and kernels", simulate_launches},
    Work{"simulate 2,000 kernels that contend for a GPU", simulate_contention},
    Work{"plan 16 members of 20 ops on 2 cores", [] { return plan_members({.ops = 20, .members = 16, .cores = 2}); }},
    Work{"plan 16 members of 10 ops on a GPU",
         [] { return plan_members({.ops = 10, .members = 16, .cores = 1, .on_gpu = true}); }},
    Work{"lower 16 ResNet-18", lower_members},
    Work{"read a trace of 50,000 events", load_trace},
    Work{"find the tasks and edges of a trace of 50,000 events", find_trace_graph},
};

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const auto& work : cohort::kWorks) fmt::print("{}\n", work.name);
    fmt::print("compiler {}{}\n", cohort::kCompilerName, __VERSION__);
    return 0;
  }
  for (const auto& work : cohort::kWorks) {
    if (argc == 2 && work.name == argv[1]) {
      fmt::print("{}\n", work.run());
      return 0;
    }
  }
  fmt::print(stderr, "usage: counted_work [WORK]; without it, names them\n");
  return 2;
}
