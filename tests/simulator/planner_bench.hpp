#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {

/// Prices of a made-up device: how an op's single-thread time changes.
struct Prices {
  double all_cores = 0.6;  ///< on both cores
  double beside = 1.1;     ///< beside a neighbour
  double strided = 1.0;    ///< per member of a fused call, against one thread
  double grouped = 1.5;
  double dense = 1.0;
};

FakeTimes times_of(const Prices& prices);

/// Members, of the models in turn, on a made-up device.
class PlannerBench {
 public:
  PlannerBench(std::vector<Model> models, std::size_t members, const FakeTimes& times, int cores = 2);

  /// Of ops in the precision of `base`.
  void set_records(const std::vector<ProfileRecord>& records);
  [[nodiscard]] const std::vector<ProfileRecord>& records() const { return records_; }
  [[nodiscard]] PlanningCase planning_case() const { return {&base, by_member_, &*costs_, device, catalog_.get()}; }
  [[nodiscard]] PlanningResult plan(const PlannerOptions& options = {}) const;
  [[nodiscard]] const Model& model(std::size_t i) const { return models_[i]; }

  Plan base;  ///< of members with a minibatch of 2
  DeviceProfile device;

 private:
  std::vector<Model> models_;
  std::vector<ProfileRecord> records_;
  std::unique_ptr<CostTable> costs_;
  std::unique_ptr<RecordedCatalog> catalog_;
  std::vector<const Model*> by_member_;
};

/// Members of fake_cnn() with a minibatch of 2.
PlannerBench cnn_bench(const Prices& prices, std::size_t members = 4);

/// Null where no candidate has the name.
const PlanCandidate* find(const PlanningResult& result, std::string_view name);

}  // namespace cohort
