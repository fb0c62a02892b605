#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "planning/named_trace.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/steps/steps.hpp"
#include "view/explore/explore_answer.hpp"
#include "view/explore/explore_facts.hpp"
#include "view/explore/explore_settings.hpp"

namespace cohort {

struct ExploreOptions {
  std::filesystem::path gpu_profile;  ///< figures of the GPU; the published ones where empty
  std::vector<StepOptions> steps;     ///< of traces of runs: which step of each; empty: as usual
  TraceReadOptions read;
};

/// Progress of long work, called on the calling thread; `of` is 0 if the total is unknown.
using ExploreProgress = std::function<void(std::size_t done, std::size_t of, std::string_view what)>;

/// What the planner looks for; its limits, input and members are those of the settings.
struct RecommendOptions {
  Objective objective = Objective::kThroughput;
  std::optional<Nanoseconds> latency_limit = std::nullopt;
  bool less_memory = true;        ///< also look for what takes more time and less memory
  bool choose_minibatch = false;  ///< of profiles at several: also look for the best of these
  std::optional<int> choose_models =
      {};  ///< of profiles: instead of the settings' numbers the best of 1, 2, 4 ... this
};

/// Profiles of models, or traces of runs, and what running many of them together would do: changed by settings,
/// predicted, searched, and followed over numbers of models. Has no threads of its own; every function may be called
/// from any thread. predict() waits for another predict(), for nothing else.
class Exploration {
 public:
  /// Profiles, or traces of runs. Traces of plans that were measured may stand beside profiles: they are points of
  /// scaling().
  /// Errors: kInvalidInput naming the file; kUsage where files do not go together; kInterrupted.
  static Result<std::unique_ptr<Exploration>> open(const std::vector<std::filesystem::path>& files,
                                                   const ExploreOptions& options, const CancelToken& cancel,
                                                   const ExploreProgress& progress = {});
  /// The same of traces that have been read.
  static Result<std::unique_ptr<Exploration>> open(std::vector<NamedTrace> traces, const ExploreOptions& options,
                                                   const CancelToken& cancel, const ExploreProgress& progress = {});
  virtual ~Exploration() = default;
  Exploration(const Exploration&) = delete;
  Exploration& operator=(const Exploration&) = delete;

  [[nodiscard]] const ExploreFacts& facts() const { return facts_; }

  /// One of each model, one after another.
  [[nodiscard]] virtual ExploreSettings initial_settings() const = 0;
  /// Initial settings: about four models side by side on their own streams, as far as there are any; otherwise one
  /// after another.
  [[nodiscard]] virtual ExploreSettings first_settings() const;
  /// The same settings for other numbers of models, one for all or one by model; groups and streams of members that are
  /// there before and after stay.
  [[nodiscard]] virtual ExploreSettings with_models(ExploreSettings settings, std::vector<int> models) const = 0;
  /// Why the settings cannot be predicted, as far as that is quickly known; empty if they can.
  [[nodiscard]] virtual std::vector<SettingsProblem> problems(const ExploreSettings& settings) const = 0;

  /// The plan of the settings, and the settings that make a plan: plan_of() of them is the plan again. Baselines and
  /// algorithms of a plan stay until something is changed. Of profiles alone.
  /// Errors: kUsage, naming the field, or of a trace of runs; kInvalidInput for a plan of other models.
  [[nodiscard]] virtual Result<Plan> plan_of(const ExploreSettings& settings) const = 0;
  [[nodiscard]] virtual Result<ExploreSettings> settings_of(const Plan& plan) const = 0;

  /// Errors: kUsage naming the field; kDoesNotFit for a limit; kInvalidInput and kNegativeAnswer for what cannot be
  /// predicted; kInterrupted soon after `cancel` is cancelled.
  virtual Result<ExploreAnswer> predict(const ExploreSettings& settings, const CancelToken& cancel) = 0;

  /// Looks for the best way to run the models of the settings, within their limits; how they run is searched.
  /// Errors: those of plan_model_batch() and rank_what_ifs(). What was found before it was cancelled is a result.
  virtual Result<Recommendation> recommend(const ExploreSettings& settings, const RecommendOptions& options,
                                           const CancelToken& cancel, const ExploreProgress& progress = {}) = 0;

  /// Follows each way to run the models of the settings over numbers of each of them, ascending. A point that cannot be
  /// is named among `missing`. What was found before it was cancelled is a result.
  virtual Result<Scaling> scaling(const ExploreSettings& settings, const std::vector<int>& models,
                                  const CancelToken& cancel, const ExploreProgress& progress = {}) = 0;

 protected:
  Exploration() = default;
  ExploreFacts facts_;
};

}  // namespace cohort
