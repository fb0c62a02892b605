#include "planning/needed_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/builder.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/plan/precision.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMembers = 5;

/// What five members' products in one call need of a profile that has products of four and sixteen, on one core.
std::vector<WantedCase> needed(Precision precision, const std::vector<int>& widths) {
  const Model model = fake_mlp(8);
  std::vector<ProfileRecord> records;
  const auto record_of = [&](const Op& op, Strategy strategy, int width) {
    const std::string signature = signature_in(precision, signature_of(model, op));
    records.push_back(record(signature, strategy, width, 1, 100 + width));
  };
  for (const Op& op : model.ops) {
    record_of(op, Strategy::kSerial, 1);
    for (const Strategy form : {Strategy::kStridedBatch, Strategy::kDenseConvolution}) {
      for (const int width : widths) record_of(op, form, width);
    }
  }
  records.push_back(record("Copy [10]", Strategy::kSerial, 1, 1, 10));
  records.push_back(record("Copy [1000]", Strategy::kSerial, 1, 1, 1000));
  const CostTable costs(records);
  const RecordedCatalog catalog(costs, 1, precision, 0);
  Plan plan = fake_base(kMembers);
  plan.precision = precision;
  Group all;
  all.name = "all";
  for (std::uint32_t i = 0; i < kMembers; ++i) all.members.push_back(i);
  all.strategy = Strategy::kStridedBatch;
  plan.groups = {all};
  const std::vector<const Model*> models(kMembers, &model);
  PlanningCase planning_case;
  planning_case.base = &plan;
  planning_case.models = models;
  planning_case.costs = &costs;
  planning_case.catalog = &catalog;
  const auto wanted = needed_calls(planning_case, plan);
  EXPECT_TRUE(wanted) << wanted.error().message;
  for (const WantedCase& each : wanted.value_or(std::vector<WantedCase>())) {
    const auto is_it = [&](const Op& op) { return signature_of(model, op) == each.signature; };
    EXPECT_TRUE(std::any_of(model.ops.begin(), model.ops.end(), is_it)) << each.signature << " is no op of the model";
  }
  return wanted.value_or(std::vector<WantedCase>());
}

TEST(NeededCalls, AreThoseBetweenRecordedWidths) {
  const std::vector<WantedCase> wanted = needed(Precision::kFloat32, {4, 16});
  ASSERT_EQ(wanted.size(), 2U) << "the products";
  for (const WantedCase& each : wanted) {
    EXPECT_EQ(each.op_case.strategy, Strategy::kStridedBatch);
    EXPECT_EQ(each.op_case.width, 5);
    EXPECT_EQ(each.op_case.threads, 1);
  }
  EXPECT_TRUE(needed(Precision::kFloat32, {4, 5, 16}).empty());
}

TEST(NeededCalls, AreNamedAsTheModelNamesThemWhateverThePrecision) {
  EXPECT_EQ(needed(Precision::kTf32, {4, 16}), needed(Precision::kFloat32, {4, 16}));
}

}  // namespace
}  // namespace cohort
