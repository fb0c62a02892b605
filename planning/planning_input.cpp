#include "planning/planning_input.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/one_or_each.hpp"
#include "models/op.hpp"
#include "simulator/plan/fuse.hpp"
#include "simulator/plan/precision.hpp"

namespace cohort {
namespace {

/// Profiles of which one is chosen have no number each.
Result<void> check_counts(const PlanningOptions& options) {
  const MemberChoice& members = options.members;
  if (members.choose_minibatch && members.counts.size() > 1) {
    return fail(ErrorCode::kUsage,
                "-n: {} values with --choose-minibatch, which runs one of a model's profiles; give one for all",
                members.counts.size());
  }
  return check_one_or_each("-n", members.counts.size(), options.profiles.size(), "profile");
}

/// The same members, of training steps that recompute cheap activations.
std::vector<Member> recomputing(std::vector<Member> members) {
  for (Member& member : members) {
    if (member.source.training) member.source.training->recompute = true;
  }
  return members;
}

/// Ops that every profile of a model holds a time of.
bool takes_time(const Op& op) {
  return std::holds_alternative<Convolution>(op.attributes) || std::holds_alternative<Gemm>(op.attributes) ||
         std::holds_alternative<MatMul>(op.attributes) || is_recurrent(op);
}

/// A member whose model was not profiled may run if profiles of others hold all of its ops.
Result<void> check_profiled(const PlanningCase& planning_case, const std::vector<ModelSource>& profiled) {
  const std::vector<Member>& members = planning_case.base->members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ModelSource& source = members[i].source;
    const auto is_of = [&](ModelSource other) {  // what recomputes makes the same products once more
      if (other.training && source.training) other.training->recompute = source.training->recompute;
      return other == source;
    };
    if (std::any_of(profiled.begin(), profiled.end(), is_of)) continue;
    const Model& model = *planning_case.models[i];
    for (const Op& op : model.ops) {
      const std::string signature = signature_in(planning_case.base->precision, signature_of(model, op));
      if (!takes_time(op) || planning_case.costs->has_op(signature)) continue;
      return fail(
          ErrorCode::kInvalidInput,
          "member {}: no profile of {} was given, and the other profiles lack its op {} ({}); profile it at the "
          "member's minibatch and settings, and give that profile, too",
          members[i].name, base_name(source.model), op.name, op_type(op.attributes));
    }
  }
  return {};
}

/// Which of several devices of a kind does not matter.
Result<void> check_device(const Plan& plan, const DeviceInfo& profiled) {
  const auto kind = [](const std::string& id) { return id.substr(0, id.find(':')); };
  if (kind(plan.device) == kind(profiled.id)) return {};
  return fail(ErrorCode::kInvalidInput, "the plan's device is {}: the profiles are of {} ({}); make profiles there",
              plan.device, profiled.id, profiled.name);
}

}  // namespace

Result<void> check_usage(const PlanningOptions& options) {
  const auto check = [](std::string_view option, int value, int least, int most) -> Result<void> {
    if (value >= least && value <= most) return {};
    return fail(ErrorCode::kUsage, "{} must be from {} to {}, not {}", option, least, most, value);
  };
  for (const int count : options.members.counts) COHORT_CHECK(check("-n", count, 1, 65536));
  COHORT_CHECK(check("--choose-models", options.members.choose_models.value_or(1), 1, 65536));
  COHORT_CHECK(check("--buffers", options.input.buffers, 1, 1024));
  COHORT_CHECK(check("--launch-threads", options.launch_threads, 1, 64));
  return check("--decode-workers", options.input.decode_workers, 0, 1024);
}

Result<Plan> base_plan(const PlanningOptions& options, const ProfileSet& profiles) {
  if (!profiles.on_gpu() && (options.launch_threads > 1 || options.launch == LaunchMode::kGraph)) {
    const bool threads = options.launch_threads > 1;
    return fail(ErrorCode::kUsage, "{}: the profiles are of {}; it is for GPUs only",
                threads ? fmt::format("--launch-threads {}", options.launch_threads) : "--graphs",
                profiles.device().id);
  }
  if (options.precision) COHORT_CHECK(profiles.check_recorded_in("--precision", *options.precision));
  Plan base;
  base.device = profiles.device().id;
  base.precision = profiles.precision();
  base.layout = profiles.layout();
  base.input = options.input;
  if (base.input.decode_workers == 0) base.input.decode_workers = host_cores(profiles.device());
  base.launch_threads = options.launch_threads;
  if (options.launch && profiles.on_gpu()) base.launch = *options.launch;
  base.limits = options.limits;
  COHORT_CHECK(profiles.check_images(base.input, "--resize"));
  return base;
}

Result<void> PlanningInput::add_case(Plan base) {
  COHORT_TRY(auto models, structures_.of(base.members));
  PlanningCase& planning_case = cases_.emplace_back(profiles_->planning_case());
  planning_case.base = &bases_.emplace_back(std::move(base));
  planning_case.models = models_.emplace_back(std::move(models));
  COHORT_CHECK(check_profiled(planning_case, profiles_->sources()));
  // Which models there are decides what is learned, not how many of each.
  std::set<ModelSource> sources;
  for (const Member& member : planning_case.base->members) sources.insert(member.source);
  auto known = learned_.find(sources);
  if (known == learned_.end()) {
    COHORT_TRY(LearnedRatios learned, LearnedRatios::from(planning_case, profiles_->checked()));
    known = learned_.emplace(std::move(sources), std::move(learned)).first;
  }
  if (!known->second.empty()) planning_case.learned = &known->second;
  return {};
}

/// Where memory is limited, members of training steps that would recompute something are one more choice.
Result<void> PlanningInput::add_recomputing_case(Plan base) {
  COHORT_TRY(const auto models, structures_.of(base.members));
  base.members = recomputing(std::move(base.members));
  COHORT_TRY(const auto again, structures_.of(base.members));
  const auto differs = [](const Model* a, const Model* b) { return a->ops.size() != b->ops.size(); };
  const bool any = !std::equal(models.begin(), models.end(), again.begin(), std::not_fn(differs));
  return any ? add_case(std::move(base)) : Result<void>{};
}

Result<std::unique_ptr<PlanningInput>> PlanningInput::open(const PlanningOptions& options,
                                                           const TraceReadOptions& read) {
  COHORT_CHECK(check_usage(options));
  COHORT_CHECK(check_counts(options));
  COHORT_TRY(auto profiles, ProfileSet::read(options.profiles, options.gpu_profile, read));
  std::unique_ptr<PlanningInput> input(new PlanningInput(std::move(profiles)));
  COHORT_TRY(const Plan base, base_plan(options, *input->profiles_));
  COHORT_TRY(auto choices, choose_members(options.members, input->profiles_->sources(), options.profiles));
  for (std::vector<Member>& members : choices) {
    Plan of_choice = base;
    of_choice.members = std::move(members);
    COHORT_CHECK(input->add_case(std::move(of_choice)));
  }
  for (std::size_t i = 0, count = input->bases_.size(); base.limits.memory && i < count; ++i)
    COHORT_CHECK(input->add_recomputing_case(input->bases_[i]));
  return input;
}

Result<std::unique_ptr<PlanningInput>> PlanningInput::open(const std::vector<std::filesystem::path>& profiles,
                                                           Plan plan, const std::filesystem::path& gpu_profile,
                                                           const TraceReadOptions& read) {
  COHORT_TRY(auto set, ProfileSet::read(profiles, gpu_profile, read));
  COHORT_CHECK(check_device(plan, set->device()));
  COHORT_CHECK(set->check_recorded_in("the plan's precision", plan.precision));
  COHORT_CHECK(set->check_recorded_in(plan.layout));
  COHORT_CHECK(set->check_images(plan.input, "the plan's input.resize"));
  std::unique_ptr<PlanningInput> input(new PlanningInput(std::move(set)));
  COHORT_CHECK(input->add_case(std::move(plan)));
  return input;
}

}  // namespace cohort
