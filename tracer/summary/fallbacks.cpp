#include "tracer/summary/fallbacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/statistics.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

/// Time of ops by name, and whether it is spent on plain loops.
using OpTimes = std::map<std::pair<std::string, bool>, Nanoseconds>;

OpTimes times_of_profile(const Trace& trace) {
  using Way = std::tuple<int, std::string>;  // threads, algorithm
  std::map<std::string, std::map<Way, std::vector<Nanoseconds>>> in_model, alone;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    // What is no op, as a copy or an overhead, names no algorithm.
    if (!record || record->width != 1 || record->neighbours != 0 || record->algorithm.empty()) continue;
    if (record->state != ProfileState::kInModel && record->state != ProfileState::kWarm) continue;
    auto& ops = record->state == ProfileState::kInModel ? in_model : alone;
    ops[std::string(trace.name(slice))][{record->threads, record->algorithm}].push_back(record->time);
  }
  OpTimes times;
  for (const auto& [name, ways] : in_model.empty() ? alone : in_model) {
    std::optional<std::pair<Nanoseconds, bool>> best;
    for (const auto& [way, samples] : ways) {
      const std::pair candidate(median(samples), is_plain_loops(std::get<std::string>(way)));
      best = best ? std::min(*best, candidate) : candidate;
    }
    times[{name, best->second}] = best->first;
  }
  return times;
}

/// Of a step, on average over those that the trace holds.
OpTimes times_of_plan(const Trace& trace) {
  OpTimes times;
  std::set<std::int64_t> steps;
  for (const Slice& slice : trace.slices) {
    const auto algorithm = trace.text_arg(slice, "algorithm");
    if (!algorithm) continue;
    times[{std::string(trace.name(slice)), is_plain_loops(*algorithm)}] += slice.duration;
    steps.insert(trace.integer_arg(slice, kIterationArg).value_or(0));
  }
  for (auto& [op, time] : times) time /= static_cast<std::int64_t>(steps.size());
  return times;
}

bool has_plain_loops_only(const Trace& trace) { return trace.info.device.id.starts_with("reference"); }

}  // namespace

double Fallbacks::part() const {
  Nanoseconds sum{};
  for (const Op& op : ops) sum += op.time;
  return all == Nanoseconds(0) ? 0 : static_cast<double>(sum.count()) / static_cast<double>(all.count());
}

Fallbacks find_fallbacks(const Trace& trace) {
  const bool is_profile = trace.info.kind == TraceKind::kProfile;
  const bool is_plan = trace.info.kind == TraceKind::kPredicted || trace.info.kind == TraceKind::kMeasured;
  if ((!is_profile && !is_plan) || has_plain_loops_only(trace)) return {};
  Fallbacks found;
  for (const auto& [op, time] : is_profile ? times_of_profile(trace) : times_of_plan(trace)) {
    found.all += time;
    if (op.second) found.ops.push_back({op.first, time});
  }
  std::stable_sort(found.ops.begin(), found.ops.end(),
                   [](const Fallbacks::Op& a, const Fallbacks::Op& b) { return a.time > b.time; });
  return found;
}

std::string format_fallbacks(const Fallbacks& fallbacks, std::size_t most) {
  if (fallbacks.ops.empty()) return {};
  std::string names;
  const std::size_t shown = std::min(most, fallbacks.ops.size());
  for (std::size_t i = 0; i < shown; ++i) {
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", fallbacks.ops[i].name, format_time(fallbacks.ops[i].time));
  }
  if (shown < fallbacks.ops.size()) names += fmt::format(" and {} more", fallbacks.ops.size() - shown);
  return fmt::format("{:.1f}% of the ops' time is spent on plain loops: {}", 100 * fallbacks.part(), names);
}

}  // namespace cohort
