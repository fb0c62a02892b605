#include "tests/simulator/planner_bench.hpp"

#include <gtest/gtest.h>

namespace cohort {

FakeTimes times_of(const Prices& prices) {
  return [prices](const FakeCall& call) -> std::optional<std::int64_t> {
    double time = call.op.starts_with("conv") ? 1'000'000 : 100'000;
    if (call.threads > 1) time *= prices.all_cores;
    if (call.neighbours > 0) time *= prices.beside;
    const bool convolution = call.op.starts_with("conv");
    switch (call.strategy) {
      case Strategy::kDenseConvolution:
        if (call.op != "conv1") return std::nullopt;
        time *= prices.dense;
        break;
      case Strategy::kGroupedConvolution:
        if (!convolution) return std::nullopt;
        time *= prices.grouped;
        break;
      case Strategy::kStridedBatch:
        if (convolution) return std::nullopt;
        time *= prices.strided;
        break;
      default:
        break;
    }
    return static_cast<std::int64_t>(time * call.width);
  };
}

PlannerBench::PlannerBench(std::vector<Model> models, std::size_t members, const FakeTimes& times, int cores)
    : models_(std::move(models)) {
  base = fake_base(members);
  device.device = "fake";
  device.cores = cores;
  std::vector<ProfileRecord> records;
  for (const Model& model : models_) {
    for (ProfileRecord& each : fake_records(model, cores, times)) records.push_back(std::move(each));
  }
  set_records(records);
  for (std::size_t i = 0; i < members; ++i) by_member_.push_back(&models_[i % models_.size()]);
}

void PlannerBench::set_records(const std::vector<ProfileRecord>& records) {
  records_ = records;
  costs_ = std::make_unique<CostTable>(records_);
  catalog_ = std::make_unique<RecordedCatalog>(*costs_, device.cores, base.precision);
}

PlanningResult PlannerBench::plan(const PlannerOptions& options) const {
  Result<PlanningResult> result = plan_model_batch(planning_case(), options);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result ? *std::move(result) : PlanningResult{};
}

PlannerBench cnn_bench(const Prices& prices, std::size_t members) { return {{fake_cnn(2)}, members, times_of(prices)}; }

const PlanCandidate* find(const PlanningResult& result, std::string_view name) {
  for (const PlanCandidate& candidate : result.ranked) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

}  // namespace cohort
