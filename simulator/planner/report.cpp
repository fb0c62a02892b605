// What planning found, for people.

#include <algorithm>

#include "base/rate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

std::string signed_time(Nanoseconds time) {
  return (time < Nanoseconds(0) ? "-" : "+") + format_time(std::chrono::abs(time));
}

std::string gain_text(const Attribution& attribution) {
  std::string text;
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", to_string(GainCause(i)), signed_time(attribution.saved[i]));
  }
  return text;
}

/// "by 17.5 us: overlap saves 18.6 us less, launch removal 1.13 us more"
std::string lost_text(const PlanCandidate& best, const PlanCandidate& candidate) {
  std::string text;
  for (const LostGain& lost : lost_to(best, candidate)) {
    text += fmt::format("{}{} saves {} {}", text.empty() ? "" : ", ", to_string(lost.cause),
                        format_time(std::chrono::abs(lost.less)), lost.less > Nanoseconds(0) ? "less" : "more");
  }
  return text.empty() ? "every cause saves as much" : text;
}

std::string explain_one(const PlanningResult& result, std::size_t place) {
  const PlanCandidate& each = result.ranked[place];
  const Prediction& prediction = each.prediction;
  std::string text = fmt::format("{:>3}  {}\n", place + 1, each.name);
  text += fmt::format("     step     {}, at least {}, at most {} with nothing side by side; {:.2f}x\n",
                      format_time(prediction.step_time), format_time(prediction.lower_bound),
                      format_time(prediction.upper_bound), each.speedup);
  text += fmt::format("     members  p99 latency {}, whole step {} from launch to end, least gain {:.2f}x\n",
                      format_time(prediction.p99_latency), format_time(prediction.launch_to_end), each.least_gain);
  text += fmt::format("     binds    {}\n", binding_text(prediction));
  text += fmt::format("     memory   {}\n", memory_text(prediction.memory));
  if (each.limited && each.explained) {
    const std::string equal = each.equal_shares ? format_time(*each.equal_shares) : "not possible";
    text += fmt::format("     limited  workspace over the whole model batch {}, by equal shares of the limit {}\n",
                        format_time(prediction.step_time), equal);
  }
  if (!each.explained) return text;
  text += fmt::format("     gain     {}\n", gain_text(each.attribution));
  if (place == 0) return text;
  const PlanCandidate& best = result.ranked.front();
  if (best.planning_case != each.planning_case) return text;  // gains are against other baselines
  text += fmt::format("     behind 1 {} a step: {}\n", signed_time(prediction.step_time - best.prediction.step_time),
                      lost_text(best, each));
  return text;
}

std::string interval_text(const SpeedupInterval& interval) {
  return interval == SpeedupInterval{} ? "" : fmt::format("{:.2f} to {:.2f}", interval.low, interval.high);
}

std::string baseline_text(Nanoseconds step_time, const std::string& more) {
  return fmt::format("{:>3} {:>10} {:>7.2f}x  {:<13} one after another{} (baseline)\n", "-", format_time(step_time),
                     1.0, "", more);
}

/// ", 2 decode workers, 3 buffers", where images are decoded.
std::string input_text(const BaselinePrediction& baseline) {
  if (baseline.baselines.empty() || !baseline.baselines.front().input) return "";
  const auto& [workers, buffers] = *baseline.baselines.front().input;
  return fmt::format(", {} decode worker{}, {} buffer{}", workers, workers == 1 ? "" : "s", buffers,
                     buffers == 1 ? "" : "s");
}

/// Of each of several cases: its members one after another, and the best of them together.
std::string cases_text(const PlanningResult& result) {
  std::string text;
  for (const CaseOutcome& each : result.cases) {
    text +=
        baseline_text(each.baseline, fmt::format(", {}, {}", each.name, format_rate(each.baseline_samples_per_second)));
    const PlanCandidate& best = result.ranked[each.best];
    text += fmt::format("{:39}best, rank {}: {} a step, {:.2f}x, {}, {}\n", "", each.best + 1,
                        format_time(best.prediction.step_time), best.speedup,
                        format_rate(best.prediction.samples_per_second), format_bytes(best.prediction.memory.total()));
  }
  return text;
}

/// Behind the name of a task, "0/relu1:split: ", where it begins with one.
std::string_view without_task(std::string_view reason) {
  const std::size_t end = reason.find(": ");
  const std::string_view first = reason.substr(0, end);
  const bool is_task = first.find('/') != std::string_view::npos && first.find(' ') == std::string_view::npos;
  return is_task && end != std::string_view::npos ? reason.substr(end + 2) : reason;
}

/// A line for each of the first few reasons.
std::string refused_text(const std::vector<RefusedCandidate>& refused) {
  constexpr int kMost = 5;
  int reasons = 0;
  std::string text;
  for (auto each = refused.begin(); each != refused.end(); ++each) {
    const auto is_same = [&](const RefusedCandidate& other) {
      return without_task(other.reason) == without_task(each->reason);
    };
    if (std::any_of(refused.begin(), each, is_same)) continue;
    if (++reasons > kMost) continue;
    const auto more = std::count_if(each + 1, refused.end(), is_same);
    text += fmt::format("not possible: {}{}: {}\n", each->name, more > 0 ? fmt::format(", and {} more", more) : "",
                        each->reason);
  }
  if (reasons > kMost) text += fmt::format("and {} more reasons (--explain)\n", reasons - kMost);
  return text;
}

}  // namespace

std::string binding_text(const Prediction& prediction) {
  if (prediction.binding.resource == "dependencies") return "no resource is busy half of the time";
  return fmt::format("{} busy {:.0f}%", prediction.binding.resource, prediction.binding.utilisation * 100);
}

std::vector<LostGain> lost_to(const PlanCandidate& best, const PlanCandidate& candidate) {
  std::vector<LostGain> lost;
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const Nanoseconds less = best.attribution.saved[i] - candidate.attribution.saved[i];
    if (less != Nanoseconds(0)) lost.push_back({GainCause(i), less});
  }
  std::stable_sort(lost.begin(), lost.end(), [](const LostGain& a, const LostGain& b) {
    return std::chrono::abs(a.less) > std::chrono::abs(b.less);
  });
  return lost;
}

std::string print(const PlanningResult& result, std::size_t most_rows) {
  const std::size_t shown = std::min(most_rows, result.ranked.size());
  const bool none_gains = std::none_of(result.ranked.begin(), result.ranked.end(),
                                       [](const PlanCandidate& each) { return each.speedup > 1; });
  std::string text;
  if (none_gains && !result.ranked.empty()) text = "none gains: run these members one after another\n";
  text += fmt::format("{:>3} {:>10} {:>8}  {:<13} {}\n", "", "step", "speedup", "8 of 10 in", "plan, and why");
  for (std::size_t i = 0; i < shown; ++i) {
    const PlanCandidate& each = result.ranked[i];
    text += fmt::format("{:>3} {:>10} {:>7.2f}x  {:<13} {}\n{:39}{}\n", i + 1, format_time(each.prediction.step_time),
                        each.speedup, interval_text(each.interval), each.name, "", each.explanation);
  }
  if (shown < result.ranked.size()) text += fmt::format("    ... and {} more\n", result.ranked.size() - shown);
  const bool may_not_gain =
      !none_gains && result.ranked.front().interval.low <= 1 && result.ranked.front().interval != SpeedupInterval{};
  if (may_not_gain) text += "1 may be no faster than one after another: 1.00x lies within its interval\n";
  const bool is_ranked = std::any_of(result.ranked.begin(), result.ranked.begin() + static_cast<std::ptrdiff_t>(shown),
                                     [](const PlanCandidate& each) { return each.name == kOneAfterAnother; });
  if (!result.cases.empty()) {
    text += cases_text(result);
  } else if (!is_ranked) {
    text += baseline_text(result.baseline.step_time, input_text(result.baseline));
  }
  if (result.interrupted) text += "interrupted: the best of what was looked at by then\n";
  if (!result.screened.empty()) {
    text +=
        fmt::format("not simulated: {} more, by what their ops take at least (--explain)\n", result.screened.size());
  }
  return text + refused_text(result.refused);
}

std::string print_pareto(const PlanningResult& result) {
  std::string text =
      fmt::format("{:>10} {:>10} {:>10}  {}\n", "step", "memory", "workspace", "no plan is better in both");
  for (const ParetoPoint& each : result.pareto) {
    text += fmt::format("{:>10} {:>10} {:>10}  {}\n", format_time(each.step_time), format_bytes(each.memory.total()),
                        format_bytes(each.memory.workspace), each.name);
  }
  return text;
}

std::string explain(const PlanningResult& result, std::size_t most_rows) {
  const std::size_t shown = std::min(most_rows, result.ranked.size());
  std::string text =
      fmt::format("ranked by {}; {} simulated, {} screened out, {} not possible\n", to_string(result.objective),
                  result.ranked.size(), result.screened.size(), result.refused.size());
  for (std::size_t i = 0; i < shown; ++i) text += explain_one(result, i);
  if (shown < result.ranked.size()) text += fmt::format("    ... and {} more\n", result.ranked.size() - shown);
  text += cases_text(result);
  for (const ScreenedCandidate& each : result.screened) {
    text += fmt::format("not simulated: {}: at least {} a step{}\n", each.name, format_time(each.bound),
                        each.cannot_win ? ", no better than 1" : "; others promised more");
  }
  for (const RefusedCandidate& each : result.refused) {
    text += fmt::format("not possible: {}: {}\n", each.name, each.reason);
  }
  return text;
}

}  // namespace cohort
