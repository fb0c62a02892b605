#include "view/explore/profile_exploration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "planning/choose_members.hpp"
#include "planning/recorded_settings.hpp"
#include "tracer/profile_record.hpp"
#include "view/explore/check_settings.hpp"
#include "view/explore/fusing_strategies.hpp"
#include "view/explore/plan_settings.hpp"

namespace cohort {
namespace {

constexpr int kMostGpuStreams = 128;

bool times_input(const Trace& profile) {
  return std::any_of(profile.slices.begin(), profile.slices.end(), [&](const Slice& slice) {
    return profile.text_arg(slice, "signature").value_or("") == kInputDecodeRecord;
  });
}

}  // namespace

ProfileExploration::ProfileExploration(std::unique_ptr<ProfileSet> profiles, std::vector<NamedTrace> measured)
    : profiles_(std::move(profiles)), measured_(std::move(measured)) {}

Result<std::unique_ptr<Exploration>> ProfileExploration::open(std::vector<NamedTrace> profiles,
                                                              std::vector<NamedTrace> measured,
                                                              const ExploreOptions& options) {
  COHORT_TRY(auto set, ProfileSet::of(std::move(profiles), options.gpu_profile));
  const std::vector<ModelSource>& sources = set->sources();
  for (auto source = sources.begin(); source != sources.end(); ++source) {
    const auto twin = std::find(sources.begin(), source, *source);
    if (twin == source) continue;
    const auto file = [&](auto place) {
      return set->profiles()[static_cast<std::size_t>(place - sources.begin())].file.string();
    };
    return fail(ErrorCode::kInvalidInput, "{} and {} are profiles of the same {}; open one of them", file(twin),
                file(source), source->model);
  }
  std::unique_ptr<ProfileExploration> made(new ProfileExploration(std::move(set), std::move(measured)));
  made->find_models();
  COHORT_TRY(const auto models, made->structures_.of(made->members_of(made->initial_settings())));
  made->find_ops(models);
  made->time_ops();
  return made;
}

/// Profiles of the same models at several minibatches are a choice among these; else each profile is a model.
void ProfileExploration::find_models() {
  const std::vector<ModelSource>& sources = profiles_->sources();
  by_minibatch_ = sources_by_minibatch(sources);
  if (by_minibatch_.size() < 2) by_minibatch_ = {sources};
  for (const ModelSource& model : by_minibatch_.front()) {
    ExploredModel& explored = facts_.models.emplace_back();
    explored.name = base_name(model.model);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      ModelSource same = sources[i];
      if (by_minibatch_.size() > 1) same.minibatch = model.minibatch;
      if (same == model) explored.files.push_back(profiles_->profiles()[i].file);
    }
    if (by_minibatch_.size() == 1) explored.minibatch = model.minibatch;
  }
  std::set<std::int64_t> minibatches;
  for (const auto& at : by_minibatch_) minibatches.insert(at.front().minibatch);
  facts_.minibatches.assign(minibatches.begin(), minibatches.end());
  facts_.kind = ExploreFacts::Kind::kProfiles;
  facts_.name = profiles_->name();
  facts_.device = profiles_->device();
  facts_.on_gpu = profiles_->on_gpu();
  facts_.most_streams = profiles_->catalog().most_streams().value_or(kMostGpuStreams);
  facts_.launches = facts_.on_gpu;
  facts_.most_launch_threads = facts_.on_gpu ? kMostLaunchThreads : 1;
  facts_.limits_workspace = true;
  facts_.measured_runs = measured_.size();
  const auto& all = profiles_->profiles();
  facts_.reads_input = std::any_of(all.begin(), all.end(), [](const auto& each) { return times_input(*each.trace); });
  if (facts_.device.memory.value > 0) facts_.device_memory = facts_.device.memory;
  if (profiles_->gpu()) facts_.device_memory = profiles_->gpu()->profile().memory;
}

void ProfileExploration::find_ops(const std::vector<const Model*>& models) {
  std::map<std::string, std::size_t> places;
  for (const Model* model : models) {
    for (const Op& op : model->ops) {
      const auto [place, is_new] = places.try_emplace(op.name, facts_.ops.size());
      if (!is_new) {
        ++facts_.ops[place->second].models;
        continue;
      }
      ExploredOp& explored = facts_.ops.emplace_back();
      explored.name = op.name;
      explored.type = op_type(op.attributes);
      explored.strategies = strategies_for(*model, op, facts_.on_gpu);
    }
  }
}

/// As long as each op takes in one of each model, one after another; as long as nothing can be predicted, nothing.
void ProfileExploration::time_ops() {
  const auto answer = predict(initial_settings(), CancelToken());
  if (!answer) return;
  const Trace& trace = *answer->trace;
  std::map<std::string_view, Nanoseconds> times;
  for (const Slice& slice : trace.slices) {
    if (trace.integer_arg(slice, kIterationArg).value_or(0) == 0) times[trace.name(slice)] += slice.duration;
  }
  for (ExploredOp& op : facts_.ops) {
    if (const auto time = times.find(op.name); time != times.end()) op.time = time->second;
  }
}

ExploreSettings ProfileExploration::initial_settings() const {
  ExploreSettings settings;
  settings.groups = {all_ops(Strategy::kSerial)};
  settings.graphs = !facts_.on_gpu;  // as plans of a CPU have it, where nothing is launched
  return settings;
}

const std::vector<ModelSource>& ProfileExploration::sources_at(std::optional<std::int64_t> minibatch) const {
  for (const auto& sources : by_minibatch_) {
    if (minibatch && by_minibatch_.size() > 1 && sources.front().minibatch == *minibatch) return sources;
  }
  return by_minibatch_.front();
}

std::vector<Member> ProfileExploration::members_of(const ExploreSettings& settings) const {
  if (!settings.members.empty()) return settings.members;
  return cohort::members_of(sources_at(settings.minibatch), settings.models);
}

ExploreSettings ProfileExploration::with_models(ExploreSettings settings, std::vector<int> models) const {
  if (!check_counts(models, facts_).empty()) return settings;
  const std::vector<Member> before = members_of(settings);
  settings.models = std::move(models);
  settings.members.clear();
  move_members(settings, before, members_of(settings));
  return settings;
}

std::vector<SettingsProblem> ProfileExploration::problems(const ExploreSettings& settings) const {
  std::vector<SettingsProblem> found = check_settings(settings, facts_);
  if (found.empty()) found = check_groups(settings, facts_, members_of(settings).size());
  return found;
}

Result<Plan> ProfileExploration::plan_of(const ExploreSettings& settings) const {
  if (const auto found = problems(settings); !found.empty())
    return fail(ErrorCode::kUsage, "{}: {}", found.front().field, found.front().why);
  Plan base;
  base.device = profiles_->device().id;
  base.layout = profiles_->layout();
  base.precision = profiles_->precision();
  base.members = members_of(settings);
  ExploreSettings asked = settings;
  if (asked.decode_workers == 0) asked.decode_workers = host_cores(profiles_->device());
  const Plan plan = plan_from(asked, std::move(base));
  COHORT_CHECK(validate(plan));
  COHORT_CHECK(profiles_->check_images(plan.input, "data"));
  return plan;
}

Result<ExploreSettings> ProfileExploration::settings_of(const Plan& plan) const {
  COHORT_CHECK(validate(plan));
  COHORT_CHECK(profiles_->check_recorded_in("the plan's precision", plan.precision));
  COHORT_CHECK(profiles_->check_recorded_in(plan.layout));
  ExploreSettings settings = settings_from(plan);
  for (const std::vector<ModelSource>& sources : by_minibatch_) {
    std::vector<int> counts;
    for (const ModelSource& source : sources) {
      counts.push_back(static_cast<int>(std::count_if(plan.members.begin(), plan.members.end(),
                                                      [&](const Member& member) { return member.source == source; })));
    }
    if (std::find(counts.begin(), counts.end(), 0) != counts.end()) continue;
    if (cohort::members_of(sources, counts) != plan.members) continue;
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) counts.resize(1);
    settings.models = std::move(counts);
    if (by_minibatch_.size() > 1) settings.minibatch = sources.front().minibatch;
    return settings;
  }
  const std::vector<ModelSource>& known = profiles_->sources();
  for (const Member& member : plan.members) {
    if (std::find(known.begin(), known.end(), member.source) == known.end())
      return fail(ErrorCode::kInvalidInput, "the plan's member {} is of {}, minibatch {}, which no profile here is of",
                  member.name, member.source.model, member.source.minibatch);
  }
  settings.members = plan.members;
  return settings;
}

Result<std::unique_ptr<MemberCase>> ProfileExploration::case_of(Plan base) {
  auto made = std::make_unique<MemberCase>();
  made->base = std::move(base);
  COHORT_TRY(made->models, structures_.of(made->base.members));
  made->demands = profiles_->gpu();
  PlanningCase& planning_case = made->planning_case = profiles_->planning_case();
  planning_case.gpu = made->demands ? &*made->demands : nullptr;
  planning_case.base = &made->base;
  planning_case.models = made->models;
  COHORT_TRY(made->learned, learned_for(planning_case));
  planning_case.learned = made->learned.get();
  return made;
}

/// Which models there are decides what is learned, not how many of each.
Result<std::shared_ptr<const LearnedRatios>> ProfileExploration::learned_for(const PlanningCase& planning_case) {
  if (profiles_->checked().empty()) return nullptr;
  std::set<ModelSource> sources;
  for (const Member& member : planning_case.base->members) sources.insert(member.source);
  const std::scoped_lock lock(learning_);
  const auto known = learned_.find(sources);
  if (known != learned_.end()) return known->second;
  COHORT_TRY(LearnedRatios learned, LearnedRatios::from(planning_case, profiles_->checked()));
  auto& place = learned_[sources];
  if (!learned.empty()) place = std::make_shared<const LearnedRatios>(std::move(learned));
  return place;
}

/// Of some sets of members: what was found of plans of one serves the next.
Result<ExploredMembers*> ProfileExploration::explored(const Plan& plan) {
  constexpr std::size_t kMost = 8;
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const ExploredMembers& each) {
    return each.members->base.members == plan.members;
  });
  if (known != known_.end()) {
    std::rotate(known_.begin(), known, known + 1);
    return &known_.front();
  }
  ExploredMembers made;
  COHORT_TRY(made.members, case_of(plan));
  made.reporter = std::make_unique<PlanReporter>(made.members->planning_case, profiles_->device());
  if (known_.size() == kMost) known_.pop_back();
  known_.insert(known_.begin(), std::move(made));
  return &known_.front();
}

Result<ExploreAnswer> ProfileExploration::predict(const ExploreSettings& settings, const CancelToken& cancel) {
  COHORT_CHECK(cancel.check());
  COHORT_TRY(const Plan plan, plan_of(settings));
  const std::scoped_lock lock(predicting_);
  COHORT_CHECK(cancel.check());
  COHORT_TRY(ExploredMembers* const members, explored(plan));
  COHORT_TRY(PlanReport report, members->reporter->report(plan, &cancel));
  ExploreAnswer answer;
  answer.trace = std::make_shared<const Trace>(std::exchange(report.trace, Trace()));
  answer.interval = report.interval;
  answer.per_second = report.samples_per_second;
  answer.counted = "samples";
  answer.p99_latency = report.p99_latency;
  answer.memory_limit = report.plan.limits.memory;
  answer.plan = std::move(report.plan);
  answer.workspace = std::move(report.workspace);
  answer.report = std::move(static_cast<RunReport&>(report));
  return answer;
}

}  // namespace cohort
