#include "training/results.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/csv.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

/// Hyperparameters that some member has, in the order in which they are met.
std::vector<std::string> columns_of(const std::vector<SweepMember>& members) {
  std::vector<std::string> columns;
  for (const SweepMember& member : members) {
    for (const auto& [name, value] : member.point) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
  }
  return columns;
}

std::string value_text(const Point& point, const std::string& name) {
  for (const auto& [known, value] : point) {
    if (known == name) return to_string(value);
  }
  return {};
}

/// Ranks from 1, by member; of those without a result 0.
std::vector<std::size_t> ranks_of(const std::vector<SweepMember>& members, Metric metric) {
  std::vector<std::size_t> ranks(members.size());
  const std::vector<std::size_t> order = ranking(members, metric);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (members[order[i]].reached(metric)) ranks[order[i]] = i + 1;
  }
  return ranks;
}

ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

ordered_json to_json(const Point& point) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : point) {
    if (const auto* real = std::get_if<double>(&value)) {
      object[name] = *real;
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      object[name] = *whole;
    } else {
      object[name] = to_string(value);
    }
  }
  return object;
}

}  // namespace

std::string metric_text(Metric metric, double value) {
  return metric == Metric::kAccuracy ? fmt::format("{:.1f}%", 100 * value) : fmt::format("{:.4g}", value);
}

std::string results_csv(const std::vector<SweepMember>& members, Metric metric) {
  const std::vector<std::string> columns = columns_of(members);
  std::string text = "member,rank,outcome,epochs,steps";
  for (const std::string& column : columns) text += "," + csv_field(column);
  text += ",train_loss,loss,accuracy,reason\n";
  const std::vector<std::size_t> ranks = ranks_of(members, metric);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const SweepMember& member = members[i];
    text += fmt::format("{},{},{},{},{}", member.name, ranks[i] > 0 ? fmt::format("{}", ranks[i]) : "",
                        to_string(member.outcome), member.epochs.size(), member.steps);
    for (const std::string& column : columns) text += "," + csv_field(value_text(member.point, column));
    if (member.epochs.empty()) {
      text += ",,,";
    } else {
      const EpochResult& last = member.epochs.back();
      text +=
          fmt::format(",{},{},{}", last.train_loss, last.loss, last.accuracy ? fmt::format("{}", *last.accuracy) : "");
    }
    text += "," + csv_field(member.reason) + "\n";
  }
  return text;
}

ordered_json results_json(const std::vector<SweepMember>& members, Metric metric) {
  const std::vector<std::size_t> ranks = ranks_of(members, metric);
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const SweepMember& member = members[i];
    ordered_json each;
    each["member"] = member.name;
    each["rank"] = ranks[i] > 0 ? ordered_json(ranks[i]) : ordered_json();
    each["outcome"] = to_string(member.outcome);
    each["reason"] = member.reason.empty() ? ordered_json() : ordered_json(member.reason);
    each["steps"] = member.steps;
    each["hyperparameters"] = to_json(member.point);
    each["epochs"] = ordered_json::array();
    for (const EpochResult& epoch : member.epochs) {
      each["epochs"].push_back({{"epoch", epoch.epoch},
                                {"train_loss", number(epoch.train_loss)},
                                {"loss", number(epoch.loss)},
                                {"accuracy", epoch.accuracy ? ordered_json(*epoch.accuracy) : ordered_json()}});
    }
    list.push_back(std::move(each));
  }
  return list;
}

ordered_json to_json(const SweepTimes& times) {
  return {{"steps_ns", times.steps.count()},
          {"input_ns", times.input.count()},
          {"input_share", times.steps.count() > 0 ? seconds(times.input) / seconds(times.steps) : 0.0},
          {"input_work_ns", times.input_work.count()},
          {"evaluation_ns", times.evaluation.count()},
          {"checkpoints_ns", times.checkpoints.count()},
          {"results_ns", times.results.count()},
          {"loading_ns", times.loading.count()},
          {"samples", times.samples},
          {"samples_per_second", times.samples_per_second()}};
}

std::string results_text(const std::vector<SweepMember>& members, Metric metric, std::size_t most_rows) {
  std::string text = fmt::format("{:>4}  {:<8} {:>9} {:>10}  {:<9} hyperparameters\n", "", "member", to_string(metric),
                                 "loss", "outcome");
  const std::vector<std::size_t> order = ranking(members, metric);
  for (std::size_t i = 0; i < std::min(most_rows, order.size()); ++i) {
    const SweepMember& member = members[order[i]];
    const auto reached = member.reached(metric);
    std::string point;
    for (const auto& [name, value] : member.point)
      point += fmt::format("{}{} {}", point.empty() ? "" : ", ", name, to_string(value));
    text += fmt::format("{:>4}  {:<8} {:>9} {:>10}  {:<9} {}\n", reached ? fmt::format("{}", i + 1) : "-", member.name,
                        reached ? metric_text(metric, *reached) : "-",
                        member.epochs.empty() ? "-" : fmt::format("{:.4g}", member.epochs.back().loss),
                        to_string(member.outcome), point);
    if (!member.reason.empty() && !reached) text += fmt::format("{:>6}{}\n", "", member.reason);
  }
  if (order.size() > most_rows) text += fmt::format("      ... and {} more\n", order.size() - most_rows);
  return text;
}

}  // namespace cohort
