#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/require.hpp"
#include "models/builder.hpp"
#include "simulator/contention/fit_profile.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"

// Whatever the bytes: where they are a profile, members of ours are planned with what it holds, and where they
// are microbenchmarks, a GPU is fitted to them; a plan, a fit or a message comes out.

namespace {

using cohort::require;

/// fc1 -> fc2: what the profiles of the corpus were made of.
cohort::Model small_model() {
  cohort::ModelBuilder builder("mlp");
  const cohort::TensorId x = builder.input("x", {1, 8});
  builder.output(builder.linear("fc2", builder.linear("fc1", x, 4), 2));
  return *builder.finish();
}

void plan_with(const cohort::Trace& profile) {
  const std::vector<const cohort::Trace*> profiles = {&profile};
  const auto costs = cohort::CostTable::from(profiles);
  if (!costs) {
    require(!costs.error().message.empty(), "an error says something");
    return;
  }
  const auto device = cohort::device_profile_of(profiles);
  if (!device) return;
  const cohort::Model model = small_model();
  const std::vector<const cohort::Model*> models(4, &model);
  cohort::Plan base;
  for (std::uint64_t i = 0; i < models.size(); ++i)
    base.members.push_back({"m" + std::to_string(i), {"mlp", {}, 1}, i});
  const cohort::RecordedCatalog catalog(*costs, device->cores);
  cohort::PlannerOptions options;
  options.least_simulated = 2;
  options.most_simulated = 4;
  options.most_explained = 2;
  const auto planned = cohort::plan_model_batch({&base, models, &*costs, *device, &catalog}, options);
  if (!planned) {
    require(!planned.error().message.empty(), "an error of the planner says something");
    return;
  }
  require(!planned->ranked.empty(), "a planner that succeeds has a plan");
  require(!cohort::print(*planned).empty(), "plans can be printed");
  for (const cohort::PlanCandidate& candidate : planned->ranked)
    require(cohort::parse_plan(cohort::write_plan(candidate.plan)).has_value(), "a plan made can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cohort::TraceReadOptions options;
  options.most_inflated_bytes = std::size_t{64} << 20;  // a fuzzer must not run out of memory
  const auto trace = cohort::parse_trace({reinterpret_cast<const char*>(data), size}, options);
  if (!trace) return 0;
  plan_with(*trace);
  static const cohort::GpuProfile start = *cohort::published_gpu_profile("NVIDIA H100 80GB HBM3");
  if (const auto fit = cohort::fit_gpu_profile(*trace, start); !fit)
    require(!fit.error().message.empty(), "an error of the fit says something");
  return 0;
}
