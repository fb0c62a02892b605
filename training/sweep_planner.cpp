#include "training/sweep_planner.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/spelling.hpp"
#include "models/file_arguments.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/planning_input.hpp"
#include "planning/profile_set.hpp"
#include "planning/profiled_catalog.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// A size with what the planner found for it.
struct WeighedCase {
  WeighedSize size;
  const CaseOutcome* outcome = nullptr;
};

/// By members; those that recompute behind those that do not.
std::vector<WeighedCase> weigh(const PlanningResult& result, const std::vector<PlanningCase>& cases) {
  std::vector<WeighedCase> weighed;
  for (const CaseOutcome& outcome : result.cases) {
    const PlanCandidate& best = result.ranked[outcome.best];
    const ModelSource& source = cases[best.planning_case].base->members.front().source;
    weighed.push_back(
        {{outcome.members, source.training->recompute, best.prediction.step_time, best.prediction.memory.total()},
         &outcome});
  }
  std::stable_sort(weighed.begin(), weighed.end(), [](const WeighedCase& a, const WeighedCase& b) {
    return std::pair(a.size.members, a.size.recomputes) < std::pair(b.size.members, b.size.recomputes);
  });
  return weighed;
}

/// Of those that are as good as the best: fewer model batches have less to do between their steps.
const WeighedCase& fastest_of(const std::vector<WeighedCase>& weighed, std::size_t members) {
  const auto time = [members](const WeighedCase& each) { return each.size.step_of(members); };
  const auto best = std::min_element(weighed.begin(), weighed.end(),
                                     [&](const WeighedCase& a, const WeighedCase& b) { return time(a) < time(b); });
  const double good = time(*best) * (1 + kAsGood);
  const WeighedCase* chosen = nullptr;
  for (const WeighedCase& each : weighed) {
    const bool larger = chosen == nullptr || each.size.members > chosen->size.members;
    if (time(each) <= good && larger) chosen = &each;
  }
  return *chosen;
}

/// Of members that keep their activations, where such fit: they are what one would train one after another.
Nanoseconds one_by_one_of(const WeighedCase& chosen, const std::vector<WeighedCase>& weighed) {
  for (const WeighedCase& each : weighed) {
    if (each.size.members == chosen.size.members && !each.size.recomputes) return each.outcome->baseline;
  }
  return chosen.outcome->baseline;
}

}  // namespace

Result<SweepPlanner> SweepPlanner::open(const DeviceInfo& device, SweepPlannerOptions options) {
  SweepPlanner planner(device, std::move(options));
  for (const std::filesystem::path& file : planner.options_.profiles) COHORT_CHECK(planner.add_profile(file));
  return planner;
}

Result<void> SweepPlanner::add_profile(const std::filesystem::path& file) {
  COHORT_TRY(const auto set, ProfileSet::read({file}, {}, {}));
  const ModelSource& source = set->sources().front();
  if (!source.training)
    return fail(ErrorCode::kInvalidInput, "{} is a profile of inference; make one of a training step: {}",
                file.string(), "cohort profile MODEL --train OPTIMIZER --minibatch N");
  if (!is_profiled_device(*device_, set->device()))
    return fail(ErrorCode::kInvalidInput, "{} is a profile of {}, and this is {}", file.string(), set->device().name,
                device_->name);
  profiles_[source] = file;
  return {};
}

PlannedBatch SweepPlanner::usual(const ModelSource& source, std::size_t members) const {
  std::vector<Member> list;
  for (std::size_t i = 0; i < members; ++i) list.push_back({fmt::format("m{}", i), source, i});
  const int streams = static_cast<int>(std::min(members, static_cast<std::size_t>(std::max(1, device_->cores))));
  PlannedBatch batch{uniform_plan(std::move(list), streams > 1 ? Strategy::kConcurrent : Strategy::kSerial, streams),
                     {}};
  batch.plan.device = device_->id;
  batch.plan.layout = usual_layout(device_->kind, Precision::kFloat32);
  batch.plan.limits = options_.limits;
  batch.plan.input.sharing = options_.sharing;
  return batch;
}

Result<PlannedBatch> SweepPlanner::planned(const ModelSource& source, std::size_t members) {
  const auto key = std::pair(source, members);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  PlanningOptions planning;
  planning.profiles = {profiles_.at(source)};
  planning.members.choose_models = static_cast<int>(members);
  planning.limits = options_.limits;
  planning.input.sharing = options_.sharing;
  COHORT_TRY(const auto input, PlanningInput::open(planning, {}));
  PlannerOptions planner;
  planner.cancel = options_.cancel;
  COHORT_TRY(PlanningResult result, plan_best_of(input->cases(), planner));
  if (result.interrupted) return fail(ErrorCode::kInterrupted, "interrupted");
  const std::vector<WeighedCase> weighed = weigh(result, input->cases());
  const WeighedCase& chosen = fastest_of(weighed, members);
  PlanCandidate& best = result.ranked[chosen.outcome->best];
  PlannedBatch batch;
  // What cases differ in is told beside it.
  std::string name = best.name.substr(0, best.name.rfind(", " + chosen.outcome->name));
  if (chosen.size.recomputes) name += ", recomputing";
  batch.forecast = PlanForecast{
      std::move(name), best.prediction.step_time, one_by_one_of(chosen, weighed), best.prediction.memory, members, {}};
  for (const WeighedCase& each : weighed) batch.forecast->weighed.push_back(each.size);
  batch.plan = std::move(best.plan);
  return known_.emplace(key, std::move(batch)).first->second;
}

Result<std::vector<PlannedBatch>> SweepPlanner::plan(const TrainedNetwork& network, std::size_t members) {
  const auto most = static_cast<std::size_t>(options_.most_together.value_or(static_cast<std::int64_t>(members)));
  std::vector<PlannedBatch> batches;
  while (members > 0) {
    const std::size_t wanted = std::min(members, most);
    if (!has_profile(network.source)) {
      batches.push_back(usual(network.source, wanted));
    } else {
      COHORT_TRY(PlannedBatch batch, planned(network.source, wanted));
      batches.push_back(std::move(batch));
    }
    members -= batches.back().plan.members.size();
  }
  return batches;
}

std::string profile_command_of(const ModelSource& source, const std::string& device) {
  std::string command = fmt::format("cohort profile {}", source.model);
  const bool file = onnx::is_file(source.model);
  std::map<std::pair<std::size_t, std::string>, std::string> from, until;  // by place: digits, text
  for (const auto& [name, value] : source.arguments) {
    if (file && name.starts_with(kSetInput)) {
      command += fmt::format(" --set-input {}={}", as_shell_word(name.substr(kSetInput.size())), value);
    } else if (file && name.starts_with(kFrom)) {
      from[{value.size(), value}] = name.substr(kFrom.size());
    } else if (file && name.starts_with(kUntil)) {
      until[{value.size(), value}] = name.substr(kUntil.size());
    } else {
      command += fmt::format(" {} {}={}", file ? "--dim" : "--set", name, value);
    }
  }
  for (const auto& [place, name] : from) command += fmt::format(" --from {}", as_shell_word(name));
  for (const auto& [place, name] : until) command += fmt::format(" --until {}", as_shell_word(name));
  command += fmt::format(" --minibatch {} --train {}", source.minibatch, optimizer_name(source.training->update));
  if (source.training->loss != LossKind::kCrossEntropy)
    command += fmt::format(" --loss {}", to_string(source.training->loss));
  if (source.training->update.clip) command += " --clip";
  if (source.strict_nan) command += " --strict-nan";
  if (device != "cpu:0") command += fmt::format(" --device {}", device);
  return command;
}

}  // namespace cohort
