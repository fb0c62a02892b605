#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "simulator/colocation/processes_report.hpp"
#include "simulator/report/comparison_json.hpp"
#include "simulator/report/prediction_json.hpp"
#include "simulator/report/ranking_json.hpp"
#include "view/explore/explore_charts.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json scaling_json(const Scaling& scaling, ScalingBand band) {
  ordered_json list = ordered_json::array();
  for (const ScalingCurve& curve : scaling_curves(scaling, band)) {
    ordered_json points = ordered_json::array();
    for (const ScalingPoint& point : curve.points) {
      ordered_json one = {{"models", point.models}, {"speedup", point.speedup}};
      one["low"] = point.range ? ordered_json(point.range->low) : ordered_json();
      one["high"] = point.range ? ordered_json(point.range->high) : ordered_json();
      points.push_back(std::move(one));
    }
    list.push_back({{"name", curve.name}, {"measured", curve.measured}, {"points", std::move(points)}});
  }
  return list;
}

ordered_json ranking_json(const PlanningResult& found) { return to_json(found, false); }
ordered_json ranking_json(const WhatIfRanking& found) { return to_json(found); }

void add_forecast(const std::optional<Forecast>& forecast, const std::string& why_none, ordered_json& json) {
  if (!forecast) {
    json["no_prediction"] = why_none;
    return;
  }
  json["prediction"] = to_json(forecast->answer.report);
  if (forecast->answer.interval) {
    json["speedup_80_low"] = forecast->answer.interval->low;
    json["speedup_80_high"] = forecast->answer.interval->high;
  }
  json["ranking"] = std::visit([](const auto& found) { return ranking_json(found); }, forecast->search.found);
  json["scaling"] =
      scaling_json(forecast->scaling, forecast->answer.interval ? ScalingBand::kInterval : ScalingBand::kBounds);
}

ordered_json to_json(const PlanSection& section) {
  ordered_json files = ordered_json::array();
  for (const ReportFile* file : section.files) files.push_back(file->path.string());
  ordered_json runs = ordered_json::array();
  for (const RunSection& run : section.runs) {
    ordered_json one = {{"file", run.file->path.string()}};
    if (run.comparison) {
      one["comparison"] = to_json(*run.comparison);
    } else {
      one["not_compared"] = run.not_compared;
    }
    runs.push_back(std::move(one));
  }
  ordered_json json = {{"members", members_text(section.plan)},
                       {"fingerprint", fingerprint(section.plan)},
                       {"recommended", section.recommended},
                       {"files", std::move(files)},
                       {"runs", std::move(runs)}};
  add_forecast(section.forecast, section.no_forecast, json);
  return json;
}

}  // namespace

ordered_json to_json(const Report& report) {
  ordered_json plans = ordered_json::array();
  for (const PlanSection& section : report.plans) plans.push_back(to_json(section));
  ordered_json profiles = ordered_json::array();
  for (const ProfileSection& section : report.profiles)
    profiles.push_back({{"file", section.file->path.string()}, {"ops", section.ops.size()}});
  ordered_json recordings = ordered_json::array();
  for (const RecordingSection& section : report.recordings) {
    ordered_json one = {{"file", section.file->path.string()},
                        {"span_ns", section.summary.span.count()},
                        {"slices", section.summary.slices}};
    if (section.gpu) {
      one["kernels"] = section.gpu->kernels;
      one["busy_ns"] = section.gpu->busy.count();
      one["confidence"] = section.gpu->confidence();
      add_forecast(section.forecast, section.no_forecast, one);
    }
    recordings.push_back(std::move(one));
  }
  ordered_json processes = ordered_json::array();
  for (const ProcessesSection& section : report.processes) {
    ordered_json one = {{"file", section.file->path.string()}};
    one.update(processes_json(section.model, section.rows));
    processes.push_back(std::move(one));
  }
  return {{"title", report.title},
          {"plans", std::move(plans)},
          {"profiles", std::move(profiles)},
          {"recordings", std::move(recordings)},
          {"processes", std::move(processes)},
          {"missing", report.missing}};
}

}  // namespace cohort
