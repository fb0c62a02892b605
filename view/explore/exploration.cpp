#include "view/explore/exploration.hpp"

#include <algorithm>
#include <utility>

#include "view/explore/group_edit.hpp"
#include "view/explore/profile_exploration.hpp"
#include "view/explore/trace_exploration.hpp"

namespace cohort {

Result<std::unique_ptr<Exploration>> Exploration::open(const std::vector<std::filesystem::path>& files,
                                                       const ExploreOptions& options, const CancelToken& cancel,
                                                       const ExploreProgress& progress) {
  TraceReadOptions read = options.read;
  read.cancel = &cancel;
  std::vector<NamedTrace> traces;
  for (const std::filesystem::path& file : files) {
    if (progress) progress(traces.size(), files.size(), "reading " + file.filename().string());
    COHORT_TRY(Trace trace, read_trace(file, read));
    traces.push_back({file, std::make_shared<const Trace>(std::move(trace))});
  }
  return open(std::move(traces), options, cancel, progress);
}

Result<std::unique_ptr<Exploration>> Exploration::open(std::vector<NamedTrace> traces, const ExploreOptions& options,
                                                       const CancelToken& cancel, const ExploreProgress& progress) {
  if (traces.empty()) return fail(ErrorCode::kUsage, "nothing to explore: open a profile or the trace of a run");
  if (progress) progress(traces.size(), traces.size(), "finding what can be predicted");
  COHORT_CHECK(cancel.check());
  const auto is_profile = [](const NamedTrace& each) { return each.trace->info.kind == TraceKind::kProfile; };
  const auto runs = std::stable_partition(traces.begin(), traces.end(), is_profile);
  if (runs == traces.begin()) return TraceExploration::open(std::move(traces), options, cancel);
  std::vector<NamedTrace> measured(std::make_move_iterator(runs), std::make_move_iterator(traces.end()));
  traces.erase(runs, traces.end());
  for (const NamedTrace& each : measured) {
    if (each.trace->info.kind == TraceKind::kMeasured && !each.trace->info.plan.empty()) continue;
    return fail(ErrorCode::kUsage,
                "{} is a profile and {} a {} trace: explore either of them; beside profiles only "
                "traces of plans that were run (cohort run)",
                traces.front().file.string(), each.file.string(), to_string(each.trace->info.kind));
  }
  return ProfileExploration::open(std::move(traces), std::move(measured), options);
}

ExploreSettings Exploration::first_settings() const {
  constexpr int kMembers = 4;  // enough to see a gain, few enough to see each of them
  const int models = std::max(1, kMembers / std::max(1, static_cast<int>(facts_.models.size())));
  const ExploreSettings alone = initial_settings();
  ExploreSettings together = with_rest_strategy(with_models(alone, {models}), Strategy::kConcurrent);
  together = with_streams(std::move(together), facts_, std::min(kMembers, facts_.most_streams));
  return problems(together).empty() ? together : alone;
}

}  // namespace cohort
