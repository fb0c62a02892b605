#include "view/report/forecast.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "planning/choose_members.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {
namespace {

/// Settings without what is made anew for every plan.
ExploreSettings way_of(ExploreSettings settings) {
  settings.baselines.clear();
  settings.resolved.reset();
  return settings;
}

/// One exploration, asked for all that a forecast has.
class Forecaster {
 public:
  explicit Forecaster(const ForecastOptions& options) : options_(options) {}

  Result<void> open(std::vector<NamedTrace> files) {
    COHORT_TRY(exploration_, Exploration::open(std::move(files), {}, cancel(), progress()));
    return {};
  }

  Result<Forecast> of_plan(const Plan& plan) {
    COHORT_TRY(const ExploreSettings settings, exploration_->settings_of(plan));
    Forecast made;
    COHORT_TRY(made.answer, exploration_->predict(settings, cancel()));
    COHORT_TRY(made.search, exploration_->recommend(settings, {}, cancel(), progress()));
    const auto same =
        std::find_if(made.search.candidates.begin(), made.search.candidates.end(),
                     [&](const ExploreCandidate& candidate) { return way_of(candidate.settings) == way_of(settings); });
    if (same != made.search.candidates.end())
      made.chosen = static_cast<std::size_t>(same - made.search.candidates.begin());
    COHORT_CHECK(follow(settings, made));
    return made;
  }

  Result<Forecast> of_models(int models) {
    const ExploreSettings asked = exploration_->with_models(exploration_->initial_settings(), {models});
    Forecast made;
    COHORT_TRY(made.search, exploration_->recommend(asked, {}, cancel(), progress()));
    if (made.search.candidates.empty()) return fail(ErrorCode::kNegativeAnswer, "no way to run them was found");
    made.chosen = 0;
    const ExploreSettings& best = made.search.candidates.front().settings;
    COHORT_TRY(made.answer, exploration_->predict(best, cancel()));
    COHORT_CHECK(follow(best, made));
    return made;
  }

 private:
  /// Numbers of models to which the settings' way leads: what cannot be followed is left out. Errors: kInterrupted.
  Result<void> follow(const ExploreSettings& settings, Forecast& made) {
    constexpr int kLeast = 4;
    const int most = *std::max_element(settings.models.begin(), settings.models.end());
    auto scaling = exploration_->scaling(settings, numbers_up_to(std::max(most, kLeast)), cancel(), progress());
    if (scaling) made.scaling = std::move(*scaling);
    return cancel().check();
  }

  [[nodiscard]] const CancelToken& cancel() const { return options_.cancel != nullptr ? *options_.cancel : never_; }

  [[nodiscard]] ExploreProgress progress() const {
    if (!options_.progress) return {};
    return [this](std::size_t, std::size_t, std::string_view what) { options_.progress(what); };
  }

  const ForecastOptions& options_;
  CancelToken never_;
  std::unique_ptr<Exploration> exploration_;
};

}  // namespace

Result<Forecast> forecast(std::vector<NamedTrace> files, const Plan& plan, const ForecastOptions& options) {
  Forecaster forecaster(options);
  COHORT_CHECK(forecaster.open(std::move(files)));
  return forecaster.of_plan(plan);
}

Result<Forecast> recommend(std::vector<NamedTrace> files, int models, const ForecastOptions& options) {
  Forecaster forecaster(options);
  COHORT_CHECK(forecaster.open(std::move(files)));
  return forecaster.of_models(models);
}

}  // namespace cohort
