#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "planning/trace_case.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {

/// How members run, in words: "4 streams, one graph launch a step, fused where it pays".
std::string way_in_words(const WhatIf& what_if);

/// An exploration of traces of runs: what their steps would do if.
class TraceExploration final : public Exploration {
 public:
  static Result<std::unique_ptr<Exploration>> open(std::vector<NamedTrace> traces, const ExploreOptions& options,
                                                   const CancelToken& cancel);

  [[nodiscard]] ExploreSettings initial_settings() const override;
  [[nodiscard]] ExploreSettings with_models(ExploreSettings settings, std::vector<int> models) const override;
  [[nodiscard]] std::vector<SettingsProblem> problems(const ExploreSettings& settings) const override;
  [[nodiscard]] Result<Plan> plan_of(const ExploreSettings& settings) const override;
  [[nodiscard]] Result<ExploreSettings> settings_of(const Plan& plan) const override;
  Result<ExploreAnswer> predict(const ExploreSettings& settings, const CancelToken& cancel) override;
  Result<Recommendation> recommend(const ExploreSettings& settings, const RecommendOptions& options,
                                   const CancelToken& cancel, const ExploreProgress& progress) override;
  Result<Scaling> scaling(const ExploreSettings& settings, const std::vector<int>& models, const CancelToken& cancel,
                          const ExploreProgress& progress) override;

 private:
  TraceExploration(std::unique_ptr<TraceCase> traces, std::optional<GpuProfile> figures);
  void find_facts();
  void find_ops();
  [[nodiscard]] Result<WhatIf> what_if_of(const ExploreSettings& settings) const;
  [[nodiscard]] ExploreSettings settings_with(ExploreSettings settings, const WhatIf& what_if) const;
  [[nodiscard]] ExploreCandidate candidate_of(const RankedWhatIf& ranked, const ExploreSettings& settings) const;
  Result<void> scale_to(int models, const ExploreSettings& settings, const CancelToken& cancel, Scaling& scaling) const;
  Result<WhatIfPrediction> predicted(const ExploreSettings& settings, const CancelToken& cancel) const;

  std::unique_ptr<TraceCase> traces_;
  std::optional<GpuProfile> figures_;  ///< as given
  std::mutex predicting_;
};

}  // namespace cohort
