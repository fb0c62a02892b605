#pragma once

#include "simulator/costs/cost_table.hpp"
#include "simulator/plan/op_catalog.hpp"

namespace cohort {

/// What a device that is not here can do, as far as a profile of it tells. Calls are found by what
/// they compute (OpCall::signature, strategy, width), not by their memory.
class RecordedCatalog final : public OpCatalog {
 public:
  /// The table must outlive the catalog.
  RecordedCatalog(const CostTable& costs, int cores, Precision precision = Precision::kFloat32, int multiprocessors = 0)
      : costs_(&costs), cores_(cores), precision_(precision), multiprocessors_(multiprocessors) {}

  /// Errors: kInvalidInput naming the op that was not recorded, and what to profile.
  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override;
  /// Not where the profile has members' parts copied out of stacks, but for products that find each sample's elements
  /// together.
  bool accepts_strides(const OpCall& call) const override;
  /// What the profile was recorded in.
  std::vector<Precision> precisions() const override { return {precision_}; }
  int multiprocessors() const override { return multiprocessors_; }
  int cores() const override { return cores_; }

 private:
  const CostTable* costs_;
  int cores_;
  Precision precision_;
  int multiprocessors_;
};

}  // namespace cohort
