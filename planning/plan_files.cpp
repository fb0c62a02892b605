#include "planning/plan_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "planning/recorded_settings.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// Plans name their format at their top. In a trace the plan that it is of is text within text, whose quotes are
/// escaped.
bool looks_like_plan(const std::filesystem::path& file) {
  constexpr std::streamsize kStartBytes = 64 << 10;
  std::string start(static_cast<std::size_t>(kStartBytes), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), kStartBytes);
  start.resize(static_cast<std::size_t>(stream.gcount()));
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string::npos && start[first] == '{' && start.find("\"cohort.plan\"") != std::string::npos &&
         start.find("\"traceEvents\"") == std::string::npos;
}

namespace {

Result<Plan> plan_from(std::string_view text, const std::filesystem::path& file) {
  COHORT_TRY(Plan plan, parse_plan(text));
  const bool is_resolved = plan.resolved && plan.resolved->fingerprint == fingerprint(plan);
  for (Member& member : plan.members) find_moved(member.source, file);
  if (is_resolved) plan.resolved->fingerprint = fingerprint(plan);  // where its models are changes no choice
  return plan;
}

}  // namespace

Result<Plan> read_plan(const std::filesystem::path& file) {
  COHORT_TRY(const std::string text, read_file(file));
  auto plan = plan_from(text, file);
  if (!plan) return in_context(file.string(), plan.error());
  return plan;
}

Result<Plan> recorded_plan(const std::filesystem::path& file, const TraceInfo& trace) {
  if (trace.plan.empty()) return fail(ErrorCode::kInvalidInput, "the trace is of no plan");
  return plan_from(trace.plan, file);
}

std::filesystem::path beside_plan(const std::filesystem::path& plan, std::string_view ending) {
  std::string name = plan.filename().string();
  for (const std::string_view end : {".json", ".plan"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return plan.parent_path() / (name += ending);
}

PlanFiles PlanFiles::of(std::filesystem::path plan) {
  PlanFiles files;
  files.predicted = beside_plan(plan, ".predicted.json.gz");
  files.plan = std::move(plan);
  return files;
}

Result<void> PlanFiles::check(Overwrite overwrite) const {
  COHORT_CHECK(check_writable(plan, overwrite));
  return check_writable(predicted, overwrite);
}

Result<void> PlanFiles::add(const Plan& content, const Trace& trace, PendingFiles& pending) const {
  COHORT_CHECK(pending.add(plan, write_plan(content)));
  return pending.add(predicted, trace_bytes(predicted, trace));
}

Result<void> add_candidates(const PlanningResult& result, const std::filesystem::path& folder, PendingFiles& pending) {
  COHORT_CHECK(pending.make_folder(folder));
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(result.ranked.size()).size());
  for (std::size_t i = 0; i < result.ranked.size(); ++i) {
    const std::string name = fmt::format("{:0{}}.plan.json", i + 1, digits);
    COHORT_CHECK(pending.add(folder / name, write_plan(result.ranked[i].plan)));
  }
  for (std::size_t i = 0; i < result.pareto.size(); ++i)
    COHORT_CHECK(pending.add(folder / fmt::format("pareto-{:02}.plan.json", i + 1), write_plan(result.pareto[i].plan)));
  return {};
}

}  // namespace cohort
