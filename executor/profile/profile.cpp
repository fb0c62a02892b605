#include "executor/profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "executor/core_probe.hpp"
#include "executor/profile/case_timer.hpp"
#include "executor/profile/in_model.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/model_timer.hpp"
#include "executor/profile/overheads.hpp"

namespace cohort {
namespace {

using Overheads = std::map<std::string, std::vector<ProfileRecord>>;

Result<void> add_overheads(Backend& backend, const CancelToken& cancel, Overheads& overheads) {
  COHORT_TRY(auto records, measure_overheads(backend, cancel));
  for (ProfileRecord& record : records) overheads[record.signature].push_back(std::move(record));
  return {};
}

/// One for everything that is timed, so that all of it is held against the device at its fastest.
WorkWatch& watch_of(Backend& backend, const ProfileOptions& options, std::optional<WorkWatch>& own) {
  return options.watch != nullptr ? *options.watch : own.emplace(core_probe(backend.info()));
}

/// Parts of what is left of a budget: for comparing ways, for timing the best in their model, and for ops alone. The
/// rest is for timing the best in their model again.
constexpr double kToRace = 0.25;
constexpr double kToSettle = 0.45;
constexpr double kToFuse = 0.6;
constexpr double kToWiden = 0.7;

/// A small model is timed within a second. It is then timed again until this part of the budget has passed, and at most
/// so long: a machine may be fast or slow for a second, and the runs that are predicted will meet both.
constexpr double kToRepeat = 1.0 / 3;
constexpr std::chrono::seconds kMostRepeat{3};

/// A sink that seems to change a step by more was not what changed it.
constexpr double kMostPerturbation = 0.1;
constexpr int kMostRetries = 3;

/// What stops a step, such as an index outside of its axis, may be a number that the profile made up.
tl::unexpected<Error> explained(Error error, const Model& model) {
  std::vector<std::string> names;
  for (const TensorId input : model.inputs) {
    const Tensor& tensor = model.tensor(input);
    if (tensor.element == ElementType::kInt32) names.push_back(tensor.name);
  }
  if (error.code == ErrorCode::kDeviceMissing && !names.empty())
    error.message +=
        fmt::format("\na profile makes whole numbers up, 0 or 1, for {}; --set-input NAME=VALUE gives an input a value",
                    fmt::join(names, ", "));
  return tl::unexpected(std::move(error));
}

/// What a profile within a budget is made of.
struct BudgetedProfile {
  Backend& backend;
  const LoadedModel& loaded;
  const ProfileOptions& options;
  const CancelToken& cancel;
  WorkWatch& watch;
  InModelTimer in_model;
  CaseTimer cases;
  ModelTimer whole;
  Overheads overheads;
  std::vector<std::string> lacking;

  void say(const std::string& what) const {
    if (options.progress) options.progress(what);
  }

  /// Without which there is no profile.
  Result<void> least(const TimeBudget& budget) {
    say("the whole model");
    if (auto timed = in_model.time_first(cancel); !timed) return explained(std::move(timed.error()), loaded.model);
    COHORT_CHECK(whole.pass(choose_ways(in_model.best()), budget));
    return add_overheads(backend, cancel, overheads);
  }

  /// A sink adds a clock's tick to an op. Where it seems to do more, or to make steps faster, something else ran.
  Result<void> time_whole(const TimeBudget& budget) {
    const std::size_t before = whole.count();
    for (int i = 0; i <= kMostRetries; ++i) {
      COHORT_CHECK(whole.pass(choose_ways(in_model.best()), budget));
      if (std::abs(whole.perturbation()) <= kMostPerturbation || whole.is_enough(budget)) return {};
      if (i < kMostRetries) whole.forget(before);
    }
    return {};
  }

  Result<void> rest(const TimeBudget& budget) {
    const TimeBudget third = budget.part(kToRepeat);
    const TimeBudget to_repeat(std::min<Nanoseconds>(third.left(), kMostRepeat));
    say(fmt::format("ways to run each op; {:.0f} s left at most", seconds(budget.left())));
    const ChosenWays first = in_model.best();
    COHORT_TRY(const bool raced, in_model.race(budget.part(kToRace), cancel));
    if (!raced) lacking.emplace_back("further ways to run ops");
    if (in_model.best() != first || !budget.spent()) whole.forget();  // a member alone will run others
    if (whole.count() == 0) COHORT_CHECK(time_whole(budget));
    say(fmt::format("members in turn; {:.0f} s left at most", seconds(budget.left())));
    const TimeBudget to_settle = budget.part(kToSettle);
    COHORT_TRY(bool settled, in_model.settle(to_settle, cancel));
    COHORT_TRY(settled, in_model.settle(to_settle, cancel));
    cases.choose_ops(loaded.model);
    for (const auto& [stage, part] : {std::pair{FusedStage::kNarrow, kToFuse}, {FusedStage::kWide, kToWiden}}) {
      COHORT_TRY(auto without, cases.time_within(budget.part(part), stage, in_model));
      if (!without.empty()) lacking.push_back(std::move(without));
      if (budget.spent()) continue;
      COHORT_CHECK(time_whole(budget));
      say("members in turn once more");
      COHORT_TRY(settled, in_model.settle(budget, cancel));
    }
    while (settled && !to_repeat.spent()) {
      COHORT_CHECK(time_whole(budget));
      COHORT_TRY(settled, in_model.settle(to_repeat, cancel));
    }
    if (!settled) lacking.emplace_back("several members in turn");
    return whole.is_enough(budget) ? Result<void>() : time_whole(budget);
  }

  void write(Trace& trace) && {
    std::map<std::string, std::vector<ProfileRecord>> by_name;
    for (auto& [name, record] : in_model.records(kKeptSamples)) by_name[name].push_back(std::move(record));
    for (const auto& [name, records] : by_name) add_profile_records(trace, "ops in the model", name, records);
    cases.write(trace);
    for (const auto& [name, records] : overheads) add_profile_records(trace, "overheads", name, records);
    add_round_trips(trace, watch, 0);
    std::move(whole).write(trace);
    if (in_model.turns() > 1) {
      trace.info.wall_times.push_back({std::string(kWallInTurn), in_model.in_turn(), 0});
      std::vector<Nanoseconds> host;
      for (const ProfileRecord& record : overheads[std::string(kStepOverheadRecord)]) host.push_back(record.time);
      std::vector<Nanoseconds> ops = in_model.ops_in_turn();
      for (Nanoseconds& sum : ops) sum += median(host) * in_model.steps();
      trace.info.wall_times.push_back({std::string(kWallOpsInTurn), std::move(ops), 0});
      trace.info.settings[std::string(kTurns)] = std::to_string(in_model.turns());
    }
    if (!lacking.empty()) trace.info.settings[std::string(kLacking)] = fmt::format("{}", fmt::join(lacking, ", "));
  }
};

Result<void> profile_within(Nanoseconds length, Backend& backend, const LoadedModel& loaded,
                            const ProfileOptions& options, const CancelToken& cancel, Trace& trace) {
  const TimeBudget budget(length);
  std::optional<WorkWatch> own;
  WorkWatch& watch = watch_of(backend, options, own);
  BudgetedProfile profile{backend,
                          loaded,
                          options,
                          cancel,
                          watch,
                          InModelTimer(backend, loaded, options, watch),
                          CaseTimer(backend, options, cancel, watch),
                          ModelTimer(backend, loaded, options, cancel),
                          {},
                          {}};
  COHORT_CHECK(profile.least(budget));
  if (auto rest = profile.rest(budget); !rest) {
    if (rest.error().code != ErrorCode::kInterrupted)
      return tl::unexpected<Error>(profile.cases.explained(rest.error()));
    profile.lacking.emplace_back("all that came after Ctrl-C");
  }
  std::move(profile).write(trace);
  return {};
}

/// Everything, however long it takes.
Result<std::vector<KernelCase>> profile_all(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                                            const CancelToken& cancel, Trace& trace) {
  std::optional<WorkWatch> own;
  WorkWatch& watch = watch_of(backend, options, own);
  CaseTimer cases(backend, options, cancel, watch);
  ModelTimer whole(backend, loaded, options, cancel);
  Overheads overheads;
  cases.choose_ops(loaded.model);
  COHORT_CHECK(cases.choose_warm());
  auto timed = cases.time_warm([&]() -> Result<void> {
    if (options.progress) options.progress("overheads and the whole model");
    COHORT_CHECK(add_overheads(backend, cancel, overheads));
    return whole.pass(first_that_ran(loaded.model, options.precision, cases.kernel_cases()));
  });
  if (timed) timed = cases.time_colder();
  if (!timed) return tl::unexpected<Error>(cases.explained(std::move(timed).error()));
  const std::vector<KernelCase> kernel_cases = cases.kernel_cases();
  cases.write(trace);
  for (const auto& [name, records] : overheads) add_profile_records(trace, "overheads", name, records);
  add_round_trips(trace, watch, 0);
  std::move(whole).write(trace);
  return kernel_cases;
}

}  // namespace

Nanoseconds usual_budget(const Model& model) {
  std::set<std::string> distinct;
  for (const Op& op : model.ops) distinct.insert(signature_of(model, op));
  constexpr std::chrono::milliseconds kAnOp{100};
  return std::clamp<Nanoseconds>(static_cast<int>(distinct.size()) * kAnOp, std::chrono::seconds(9),
                                 std::chrono::seconds(27));
}

void add_round_trips(Trace& trace, const WorkWatch& watch, std::size_t from) {
  std::vector<ProfileRecord> records;
  for (std::size_t i = from; i < watch.round_trips().size(); ++i)
    records.push_back(overhead_record(kRoundTripRecord, watch.round_trips()[i]));
  add_profile_records(trace, "overheads", kRoundTripRecord, thinned(std::move(records), kKeptSamples));
}

void add_profile_records(Trace& trace, std::string_view track, std::string_view name,
                         const std::vector<ProfileRecord>& records) {
  if (records.empty()) return;
  auto found =
      std::find_if(trace.tracks.begin(), trace.tracks.end(), [&](const Track& t) { return t.thread == track; });
  const TrackId id = found == trace.tracks.end() ? trace.add_track("profile", std::string(track))
                                                 : static_cast<TrackId>(found - trace.tracks.begin());
  Nanoseconds start{};
  for (const Slice& slice : trace.slices) {
    if (slice.track == id) start = std::max(start, slice.end());
  }
  for (const ProfileRecord& record : records) {
    add_profile_record(trace, id, name, start, record);
    start += record.time;
  }
}

Result<Trace> profile_model(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                            const CancelToken& cancel) {
  COHORT_CHECK(check_precision(options.precision, backend.catalog().precisions()));
  Trace trace;
  trace.info.kind = TraceKind::kProfile;
  trace.info.device = backend.info();
  std::vector<KernelCase> kernel_cases;
  if (options.budget) {
    COHORT_CHECK(profile_within(*options.budget, backend, loaded, options, cancel, trace));
  } else {
    COHORT_TRY(kernel_cases, profile_all(backend, loaded, options, cancel, trace));
  }
  if (options.more && !cancel.cancelled()) COHORT_CHECK(options.more(trace));
  if (options.tracer == nullptr || options.budget) return trace;
  if (options.progress) options.progress("kernels");
  COHORT_CHECK(record_kernels(backend, loaded, options.layout, kernel_cases, *options.tracer, cancel, trace));
  return trace;
}

Result<AddedTimings> add_to_profile(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                                    std::span<const WantedCase> wanted, const CancelToken& cancel, Trace& profile) {
  const TimeBudget budget(options.budget.value_or(usual_budget(loaded.model)));
  std::optional<WorkWatch> own;
  WorkWatch& watch = watch_of(backend, options, own);
  CaseTimer cases(backend, options, cancel, watch);
  cases.choose_ops(loaded.model);
  const std::size_t before = profile.slices.size();
  const auto timed = cases.time_wanted(budget, wanted);
  if (!timed && timed.error().code != ErrorCode::kInterrupted)
    return tl::unexpected<Error>(cases.explained(timed.error()));
  cases.write(profile);
  return AddedTimings{profile.slices.size() - before, timed.value_or(wanted.size()), cases.left_out()};
}

}  // namespace cohort
