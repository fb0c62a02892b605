// Ways to run models, followed over numbers of them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/statistics.hpp"
#include "models/model.hpp"
#include "planning/plan_files.hpp"
#include "simulator/plan/fuse.hpp"
#include "simulator/plan/member_classes.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/uncertainty.hpp"
#include "view/explore/check_settings.hpp"
#include "view/explore/fusing_strategies.hpp"
#include "view/explore/plan_settings.hpp"
#include "view/explore/profile_exploration.hpp"
#include "view/explore/trace_exploration.hpp"

namespace cohort {
namespace {

constexpr std::string_view kChosen = "the planner's choice";
constexpr int kUsualGpuStreams = 8;

/// Whether an op is what a fusing strategy is for; others only go along with such ones.
bool is_core(const Op& op, Strategy strategy) {
  const bool of_convolutions = strategy == Strategy::kDenseConvolution || strategy == Strategy::kGroupedConvolution;
  if (of_convolutions) return std::holds_alternative<Convolution>(op.attributes);
  return std::holds_alternative<Gemm>(op.attributes) || is_recurrent(op);
}

std::string words(Strategy strategy) {
  std::string text(to_string(strategy));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

double ratio(Nanoseconds a, Nanoseconds b) { return b > Nanoseconds(0) ? seconds(a) / seconds(b) : 1; }

ScaledWay& way_named(Scaling& scaling, std::string_view name) {
  const auto found =
      std::find_if(scaling.ways.begin(), scaling.ways.end(), [&](const ScaledWay& way) { return way.name == name; });
  if (found != scaling.ways.end()) return *found;
  return scaling.ways.emplace_back(ScaledWay{std::string(name), false, {}, {}});
}

void add_missing(int models, const Error& error, std::string_view way, Scaling& scaling) {
  way_named(scaling, way)
      .missing.push_back(fmt::format("{} model{}: {}", models, models == 1 ? "" : "s", error.message));
}

bool is_interrupted(const Error& error) { return error.code == ErrorCode::kInterrupted; }

ScaledPoint point_of(int models, std::size_t members, Nanoseconds baseline, const Prediction& prediction) {
  ScaledPoint point;
  point.models = models;
  point.members = members;
  point.step = prediction.step_time;
  point.baseline = baseline;
  point.speedup = ratio(baseline, point.step);
  point.least = ratio(baseline, prediction.upper_bound);
  point.most = ratio(baseline, prediction.lower_bound);
  point.per_second = prediction.samples_per_second;
  point.memory = prediction.memory.total();
  return point;
}

ScaledPoint point_of(int models, const WhatIfPrediction& prediction) {
  ScaledPoint point;
  point.models = models;
  point.members = prediction.members;
  point.step = prediction.step_time;
  point.baseline = prediction.baseline;
  point.speedup = prediction.speedup;
  point.least = ratio(prediction.baseline, prediction.upper_bound);
  point.most = ratio(prediction.baseline, prediction.lower_bound);
  point.per_second = prediction.steps_per_second;
  point.memory = prediction.memory.total();
  return point;
}

/// Calls `add` for each number of models until it is interrupted.
template <class Add>
Result<Scaling> followed_over(const std::vector<int>& models, const ExploreFacts& facts,
                              const ExploreProgress& progress, Add add) {
  for (const int count : models) {
    if (const auto found = check_counts({count}, facts); !found.empty())
      return fail(ErrorCode::kUsage, "{}: {}", found.front().field, found.front().why);
  }
  Scaling scaling;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (progress) progress(i, models.size(), fmt::format("{} models", models[i]));
    const Result<void> added = add(models[i], scaling);
    if (added) continue;
    if (!is_interrupted(added.error())) return tl::unexpected<Error>(added.error());
    if (scaling.ways.empty()) return tl::unexpected<Error>(added.error());
    scaling.interrupted = true;
    break;
  }
  return scaling;
}

}  // namespace

struct ProfileExploration::Followed {
  std::string name;
  ExploreSettings settings;
};

std::vector<ExploreGroup> ProfileExploration::fused_groups(const std::vector<const Model*>& models,
                                                           Strategy strategy) const {
  std::vector<ExploreGroup> groups;
  for (const MemberClass& members : member_classes(models)) {
    if (members.members.size() < 2) continue;
    bool open = false;
    for (const Op& op : members.model->ops) {
      const std::vector<Strategy> fitting = strategies_for(*members.model, op, facts_.on_gpu);
      const bool fits = std::find(fitting.begin(), fitting.end(), strategy) != fitting.end();
      if (fits && !open && is_core(op, strategy)) {
        open = true;
        groups.push_back({.name = fmt::format("{}-{}", members.members.front(), op.name), .strategy = strategy});
        if (members.members.size() < models.size()) groups.back().members = members.members;
      }
      open = open && fits;
      if (open) groups.back().ops.push_back(op.name);
    }
  }
  return groups;
}

/// The ways to run the members of the settings that are worth a curve.
std::vector<ProfileExploration::Followed> ProfileExploration::followed(const ExploreSettings& settings,
                                                                       const std::vector<const Model*>& models) const {
  ExploreSettings plain = settings;
  plain.groups = {all_ops(Strategy::kSerial)};
  plain.member_streams.clear();
  plain.streams = plain.launch_threads = 1;
  std::vector<Followed> ways{{words(Strategy::kSerial), plain}};
  const int members = static_cast<int>(models.size());
  const int usual = facts_.on_gpu ? kUsualGpuStreams : facts_.most_streams;
  ExploreSettings concurrent = plain;
  concurrent.groups = {all_ops(Strategy::kConcurrent)};
  concurrent.streams = std::clamp(settings.streams > 1 ? settings.streams : usual, 1, members);
  ways.push_back({words(Strategy::kConcurrent), concurrent});
  for (const Strategy strategy :
       {Strategy::kDenseConvolution, Strategy::kGroupedConvolution, Strategy::kStridedBatch}) {
    std::vector<ExploreGroup> groups = fused_groups(models, strategy);
    if (groups.empty()) continue;
    ExploreSettings fused = plain;
    fused.groups = std::move(groups);
    fused.groups.push_back(all_ops(Strategy::kSerial));
    ways.push_back({words(strategy), std::move(fused)});
  }
  const bool is_plain = std::all_of(settings.groups.begin(), settings.groups.end(), [](const ExploreGroup& group) {
    return group.ops.empty() && group.members.empty() && group.streams.empty() && group.threads == 0;
  });
  if (!is_plain || !settings.member_streams.empty()) ways.push_back({"as set", settings});
  return ways;
}

Result<void> ProfileExploration::scale_to(int models, const ExploreSettings& settings, const CancelToken& cancel,
                                          Scaling& scaling) {
  const ExploreSettings scaled = with_models(settings, {models});
  COHORT_TRY(Plan base, searched_base(scaled));
  if (!facts_.on_gpu || !settings.graphs) base.launch = settings.graphs ? LaunchMode::kGraph : LaunchMode::kSingle;
  COHORT_TRY(const auto members, case_of(std::move(base)));
  const PlanningCase& planning_case = members->planning_case;
  const std::vector<const Model*>& structures = members->models;
  COHORT_TRY(const BaselinePrediction baseline, predict_baseline(planning_case, &cancel));
  PlanEvaluator evaluator(planning_case, &cancel);
  const auto add = [&](std::string_view way, const Plan& plan, const Prediction& prediction,
                       const ExploreSettings& as) -> ScaledPoint& {
    ScaledPoint point = point_of(models, structures.size(), baseline.step_time, prediction);
    point.interval = speedup_interval(planning_case, plan, prediction, point.speedup);
    point.settings = as;
    return way_named(scaling, way).points.emplace_back(std::move(point));
  };
  for (const Followed& way : followed(scaled, structures)) {
    const auto plan = plan_of(way.settings);
    if (!plan) {
      add_missing(models, plan.error(), way.name, scaling);
      continue;
    }
    const auto evaluation = evaluator.evaluate(*plan, structures);
    if (!evaluation && is_interrupted(evaluation.error())) return tl::unexpected<Error>(evaluation.error());
    if (evaluation) {
      add(way.name, *plan, evaluation->prediction, way.settings);
    } else {
      add_missing(models, evaluation.error(), way.name, scaling);
    }
  }
  PlannerOptions planner;
  planner.most_explained = 0;
  planner.cancel = &cancel;
  const auto chosen = plan_model_batch(planning_case, planner);
  COHORT_CHECK(cancel.check());
  if (!chosen) {
    add_missing(models, chosen.error(), kChosen, scaling);
    return {};
  }
  const PlanCandidate& best = chosen->ranked.front();
  auto as = settings_of(best.plan);
  add(kChosen, best.plan, best.prediction, as ? *as : scaled).name = best.name;
  return {};
}

/// Of traces of plans whose members are the models here, at the settings' minibatch, the same number of each.
void ProfileExploration::add_measured(const ExploreSettings& settings, Scaling& scaling) const {
  ScaledWay measured{"measured", true, {}, {}};
  const std::vector<ModelSource>& sources = sources_at(settings.minibatch);
  for (const NamedTrace& each : measured_) {
    const TraceInfo& info = each.trace->info;
    const std::string file = each.file.filename().string();
    const auto plan = recorded_plan(each.file, info);
    const WallTimes* const step = info.wall("plan");
    const WallTimes* const baseline = info.wall("baseline");
    if (!plan || step == nullptr || baseline == nullptr || step->samples.empty() || baseline->samples.empty()) {
      measured.missing.push_back(file + ": it has no wall times of its plan and its baseline");
      continue;
    }
    const std::size_t models = plan->members.size() / sources.size();
    const bool is_ours = std::all_of(sources.begin(), sources.end(), [&](const ModelSource& source) {
      return std::count_if(plan->members.begin(), plan->members.end(), [&](const Member& member) {
               return member.source == source;
             }) == static_cast<std::ptrdiff_t>(models);
    });
    if (!is_ours || models * sources.size() != plan->members.size()) {
      measured.missing.push_back(file + ": its members are others, or not equally many of each model");
      continue;
    }
    ScaledPoint point;
    point.models = static_cast<int>(models);
    point.members = plan->members.size();
    point.step = median(step->samples);
    point.baseline = median(baseline->samples);
    point.speedup = ratio(point.baseline, point.step);
    point.least = ratio(point.baseline, quantile(step->samples, 0.75));
    point.most = ratio(point.baseline, quantile(step->samples, 0.25));
    std::int64_t samples = 0;
    for (const Member& member : plan->members) samples += member.source.minibatch;
    point.per_second = static_cast<double>(samples) / seconds(point.step);
    point.name = file;
    measured.points.push_back(std::move(point));
  }
  std::stable_sort(measured.points.begin(), measured.points.end(),
                   [](const ScaledPoint& a, const ScaledPoint& b) { return a.models < b.models; });
  if (!measured_.empty()) scaling.ways.push_back(std::move(measured));
}

Result<Scaling> ProfileExploration::scaling(const ExploreSettings& settings, const std::vector<int>& models,
                                            const CancelToken& cancel, const ExploreProgress& progress) {
  COHORT_CHECK(plan_of(settings));
  COHORT_TRY(Scaling scaling, followed_over(models, facts_, progress, [&](int count, Scaling& into) {
               return scale_to(count, settings, cancel, into);
             }));
  add_measured(settings, scaling);
  return scaling;
}

Result<void> TraceExploration::scale_to(int models, const ExploreSettings& settings, const CancelToken& cancel,
                                        Scaling& scaling) const {
  ExploreSettings scaled = settings;
  scaled.models = {models};
  scaled.streams = scaled.launch_threads = 1;
  scaled.graphs = false;
  scaled.processes = Processes::kOne;
  scaled.fuse = FuseChoice::kNone;
  scaled.fused.clear();
  std::vector<std::pair<std::string, ExploreSettings>> ways{{"one stream", scaled}};
  scaled.streams = models;
  ways.emplace_back("a stream each", scaled);
  ExploreSettings changed = scaled;
  changed.fuse = FuseChoice::kAuto;
  ways.emplace_back("a stream each, fused", changed);
  if (facts_.launches) {
    changed = scaled;
    changed.graphs = true;
    ways.emplace_back("a stream each, as graphs", changed);
  }
  for (const auto& [name, as] : ways) {
    const auto prediction = predicted(as, cancel);
    if (!prediction && is_interrupted(prediction.error())) return tl::unexpected<Error>(prediction.error());
    if (!prediction) {
      add_missing(models, prediction.error(), name, scaling);
      continue;
    }
    if (as.fuse == FuseChoice::kAuto && (prediction->unfused || models == 1)) continue;  // it fuses nothing
    way_named(scaling, name).points.push_back(point_of(models, *prediction));
    way_named(scaling, name).points.back().settings = as;
  }
  RankOptions rank;
  rank.memory_limit = settings.limits.memory;
  rank.cancel = &cancel;
  scaled.streams = 1;
  COHORT_TRY(WhatIf base, what_if_of(scaled));
  base.streams.reset();
  const auto ranking = rank_what_ifs(traces_->what_if_case(), base, rank);
  COHORT_CHECK(cancel.check());
  if (!ranking) {
    add_missing(models, ranking.error(), kChosen, scaling);
    return {};
  }
  const RankedWhatIf& best = ranking->ranked.front();
  ScaledPoint point = point_of(models, best.prediction);
  point.name = way_in_words(best.what_if);
  point.settings = settings_with(settings, best.what_if);
  way_named(scaling, kChosen).points.push_back(std::move(point));
  return {};
}

Result<Scaling> TraceExploration::scaling(const ExploreSettings& settings, const std::vector<int>& models,
                                          const CancelToken& cancel, const ExploreProgress& progress) {
  COHORT_CHECK(what_if_of(settings));
  return followed_over(models, facts_, progress,
                       [&](int count, Scaling& into) { return scale_to(count, settings, cancel, into); });
}

}  // namespace cohort
