#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "view/explore/explore_charts.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostCandidates = 12;
constexpr std::size_t kMostGains = 5;

std::string interval_text(const SpeedupInterval& interval) {
  return fmt::format("{:.2f} to {:.2f}", interval.low, interval.high);
}

/// "steps 98%, latencies and gaps 2%"; empty where nothing is known.
std::string path_parts(const RunFacts& facts) {
  Nanoseconds whole{};
  for (const PathPart& part : facts.parts) whole += part.time;
  std::vector<std::string> parts;
  for (const PathPart& part : facts.parts) {
    if (whole > Nanoseconds{})
      parts.push_back(fmt::format("{} {:.0f}%", part.what, 100 * seconds(part.time) / seconds(whole)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void write_facts(HtmlWriter& html, const ExploreAnswer& answer) {
  const RunReport& report = answer.report;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"step", fmt::format("{}; at least {}, at most {}", format_time(report.step_time),
                           format_time(report.lower_bound), format_time(report.upper_bound))},
      {"one after another", format_time(report.baseline)}};
  std::string speedup = ratio_text(report.speedup);
  if (answer.interval) speedup += fmt::format(", 8 of 10 in {}", interval_text(*answer.interval));
  facts.emplace_back("speedup", std::move(speedup));
  facts.emplace_back("throughput",
                     fmt::format("{} of {}", format_value(AxisUnit::kRate, answer.per_second), answer.counted));
  facts.emplace_back("what binds it",
                     fmt::format("{}, busy {:.0f}%", report.binding.resource, 100 * report.binding.utilisation));
  if (std::string parts = path_parts(report.facts); !parts.empty())
    facts.emplace_back("critical path", std::move(parts));
  facts.emplace_back("confidence", std::string(to_string(report.confidence())));
  html.facts(facts);
  std::vector<std::string> doubts;
  for (const Doubt& doubt : report.doubts) doubts.push_back(doubt.why);
  html.list(doubts);
}

void write_why(HtmlWriter& html, const Forecast& forecast, const std::string& what) {
  html.open_section("Why", 3);
  if (forecast.chosen) {
    const ExploreCandidate& chosen = forecast.search.candidates[*forecast.chosen];
    html.paragraph(fmt::format("{}: {}.", chosen.name, chosen.explanation));
  }
  write_facts(html, forecast.answer);
  std::vector<PlanGain> gains = {{what, forecast.answer.report.gain}};
  for (std::size_t i = 0; i < forecast.search.ranked && gains.size() < kMostGains; ++i) {
    const ExploreCandidate& candidate = forecast.search.candidates[i];
    if (i != forecast.chosen && !candidate.gain.empty()) gains.push_back({candidate.name, candidate.gain});
  }
  html.chart(gain_chart(gains), 130 + 34 * static_cast<double>(gains.size()),
             fmt::format("What makes a step shorter than the members' steps one after another, by cause, for {} and "
                         "the next best ones; what costs time points to the left.",
                         what));
  html.close_section();
}

/// With what the plan itself does, where the search has not found it.
std::vector<ParetoEntry> entries_of(const Forecast& forecast, const std::string& what) {
  std::vector<ParetoEntry> entries =
      pareto_entries(forecast.search, forecast.chosen.value_or(forecast.search.candidates.size()));
  const RunReport& own = forecast.answer.report;
  if (!forecast.chosen) {
    entries.push_back({what, own.step_time, forecast.answer.per_second, forecast.answer.p99_latency, own.memory.total(),
                       own.speedup, true});
  }
  return entries;
}

void write_fronts(HtmlWriter& html, const Forecast& forecast, const std::string& what) {
  const std::vector<ParetoEntry> entries = entries_of(forecast, what);
  ParetoView view;
  view.counted = std::string(forecast.answer.counted);
  view.memory_limit = forecast.answer.memory_limit;
  view.device_memory = forecast.answer.report.memory.device;
  html.chart(pareto_chart(entries, view), 360,
             fmt::format("Each point is a way to run the models that was simulated: how many {} a second it promises "
                         "for the memory it takes. The ringed one is {}; none beats those on the line in both.",
                         view.counted, what));
  view.across = ParetoView::Across::kLatency;
  html.chart(pareto_chart(entries, view), 320,
             "The same by how long a member waits for its results: the 99th percentile over members.");
}

void write_ranking(HtmlWriter& html, const Forecast& forecast) {
  const auto& candidates = forecast.search.candidates;
  const bool intervals = std::any_of(candidates.begin(), candidates.end(),
                                     [](const ExploreCandidate& candidate) { return candidate.interval.has_value(); });
  HtmlRow headings = {number_cell("rank"), {"way"}, number_cell("step"), number_cell("speedup")};
  if (intervals) headings.push_back(number_cell("8 of 10 in"));
  headings.insert(headings.end(), {number_cell("memory"), {"why"}});
  std::vector<HtmlRow> rows;
  for (std::size_t i = 0; i < forecast.search.ranked && i < kMostCandidates; ++i) {
    const ExploreCandidate& candidate = candidates[i];
    HtmlRow row = {number_cell(fmt::format("{}{}", i + 1, i == forecast.chosen ? " (this)" : "")),
                   {candidate.name},
                   number_cell(format_time(candidate.step)),
                   number_cell(ratio_text(candidate.speedup))};
    if (intervals) row.push_back(number_cell(candidate.interval ? interval_text(*candidate.interval) : "-"));
    row.push_back(number_cell(candidate.memory ? format_bytes(*candidate.memory) : "-"));
    row.push_back({candidate.explanation, false, "faint"});
    rows.push_back(std::move(row));
  }
  html.table("The best that were found, best first.", headings, rows);
  std::vector<std::string> refused;
  for (const RefusedWay& each : forecast.search.refused)
    refused.push_back(fmt::format("{}: {}", each.name, each.reason));
  if (refused.empty()) return;
  html.paragraph("Not possible here:");
  html.list(refused);
}

/// `bounds`: speedups have no other range.
void write_scaling(HtmlWriter& html, const Scaling& scaling, bool bounds) {
  std::vector<ScalingCurve> curves = scaling_curves(scaling, bounds ? ScalingBand::kBounds : ScalingBand::kInterval);
  if (curves.empty()) return;
  for (ScalingCurve& curve : curves) {
    if (curve.name == "as set") curve.name = "the way above";
    for (ScalingPoint& point : curve.points) {
      if (curve.measured) point.label = fmt::format("measured {:.2f}x", point.speedup);
      point.highlight = curve.measured;
    }
  }
  html.open_section("More or fewer models", 3);
  html.chart(
      scaling_chart(curves), 380,
      fmt::format("Predicted speedup over one after another for other numbers of each model, with {}. Measured runs "
                  "are single points with their spread.",
                  bounds ? "what the bounds of the step leave possible"
                         : "the range in which 8 of 10 measured ones are expected to lie"));
  std::map<int, std::vector<std::string>> by_models;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (const ScalingPoint& point : curves[i].points) {
      auto& cells = by_models[point.models];
      cells.resize(curves.size());
      cells[i] = ratio_text(point.speedup);
    }
  }
  HtmlRow headings = {number_cell("models")};
  for (const ScalingCurve& curve : curves) headings.push_back(number_cell(curve.name));
  std::vector<HtmlRow> rows;
  for (const auto& [models, cells] : by_models) {
    HtmlRow row = {number_cell(fmt::format("{}", models))};
    for (const std::string& cell : cells) row.push_back(number_cell(cell.empty() ? "-" : cell));
    rows.push_back(std::move(row));
  }
  html.table("The same in numbers.", headings, rows);
  std::vector<std::string> missing;
  for (const ScaledWay& way : scaling.ways) {
    if (!way.missing.empty())
      missing.push_back(
          fmt::format("{}: {}{}", way.name, way.missing.front(),
                      way.missing.size() > 1 ? fmt::format("; and {} more", way.missing.size() - 1) : ""));
  }
  html.list(missing);
  html.close_section();
}

}  // namespace

void write_forecast(HtmlWriter& html, const Forecast& forecast, const std::string& what) {
  write_why(html, forecast, what);
  html.open_section("Other ways", 3);
  write_fronts(html, forecast, what);
  write_ranking(html, forecast);
  html.close_section();
  write_scaling(html, forecast.scaling, !forecast.answer.interval);
}

}  // namespace cohort
