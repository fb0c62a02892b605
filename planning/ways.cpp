#include "planning/ways.hpp"

#include <algorithm>
#include <map>

#include "simulator/plan/lower.hpp"

namespace cohort {

Result<std::vector<OpWays>> ways_of_model(const Model& model, const OpCatalog& catalog, Precision precision,
                                          Layout layout) {
  Plan plan = uniform_plan({{model.name, {}, 0}}, Strategy::kSerial, 1);
  plan.precision = precision;
  plan.layout = layout;
  std::map<std::string, std::vector<Alternative>> listed;  // by signature
  const auto choose = [&](const CostKey& key, std::span<const Alternative> alternatives) {
    listed.try_emplace(key.signature, alternatives.begin(), alternatives.end());
    return std::size_t{0};
  };
  const std::vector<const Model*> models{&model};
  COHORT_TRY(const Program program, lower(plan, models, catalog, choose));
  std::vector<OpWays> all;
  for (const Step& step : program.steps) {
    const std::string name = step.task.substr(step.task.find('/') + 1);
    const auto alike =
        std::find_if(all.begin(), all.end(), [&](const OpWays& ways) { return ways.signature == step.cost.signature; });
    if (alike != all.end()) {
      alike->ops.push_back(name);
    } else {
      all.push_back({step.cost.signature, {name}, listed[step.cost.signature]});
    }
  }
  return all;
}

}  // namespace cohort
