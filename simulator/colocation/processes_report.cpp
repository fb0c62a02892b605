#include "simulator/colocation/processes_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

/// Why the GPU's time is not known, and what would tell it.
constexpr std::string_view kFollowsNoShare =
    "GPU work is not known: steps hardly shorten on a larger part of the GPU, as where host and GPU wait for each "
    "other. Add a column gpu_busy_ms\n";
constexpr std::string_view kOneRow =
    "GPU work is not known where one row has to tell the host's time from the GPU's: it is at most the step. Add rows "
    "of a larger minibatch, of a smaller part of the GPU, or a column gpu_busy_ms\n";

/// What decides how long a step takes; absent where the table does not tell.
std::optional<std::string_view> bound_by(const Colocation& colocation, bool any_unknown) {
  if (any_unknown) return std::nullopt;
  return colocation.gpu_decides ? "GPU" : "host";
}

/// Times are uncertain as the gain is, the other way round.
ordered_json times_json(const Colocation& colocation) {
  const double low = colocation.gain / colocation.gain_within.high;
  const double high = colocation.gain / colocation.gain_within.low;
  const auto times = [](Nanoseconds time, double factor) {
    return std::llround(factor * static_cast<double>(time.count()));
  };
  ordered_json steps = ordered_json::array();
  ordered_json steps_low = ordered_json::array();
  ordered_json steps_high = ordered_json::array();
  for (const Nanoseconds step : colocation.steps) {
    steps.push_back(step.count());
    steps_low.push_back(times(step, low));
    steps_high.push_back(times(step, high));
  }
  return {{"predicted_step_ns", steps},
          {"step_80_low_ns", steps_low},
          {"step_80_high_ns", steps_high},
          {"predicted_all_ns", colocation.all.count()},
          {"all_80_low_ns", times(colocation.all, low)},
          {"all_80_high_ns", times(colocation.all, high)}};
}

/// Of processes on the same part of the GPU.
ordered_json gain_json(const Colocation& colocation, bool any_unknown) {
  const auto bound = bound_by(colocation, any_unknown);
  return {{"predicted_gain", colocation.gain},
          {"gain_80_low", colocation.gain_within.low},
          {"gain_80_high", colocation.gain_within.high},
          {"bound_by", bound ? ordered_json(to_lower(*bound)) : ordered_json()}};
}

ordered_json demand_json(const ProcessDemand& demand) {
  return {{"minibatch", demand.alone.minibatch},
          {"share", demand.alone.share},
          {"part", demand.alone.part},
          {"alone_ns", demand.alone.step.count()},
          {"gpu_work_ns", demand.gpu_work.count()},
          {"gpu_work_from", to_string(demand.origin)}};
}

/// Before the other columns, its heading first: which part of a step each row is of. Empty where all are whole.
std::vector<std::string> part_column(const std::vector<EqualProcesses>& rows) {
  std::vector<std::string> column{"part"};
  for (const EqualProcesses& row : rows) column.push_back(row.demand.alone.part);
  if (std::all_of(column.begin() + 1, column.end(), [](const std::string& part) { return part.empty(); }))
    return std::vector<std::string>(column.size());
  std::size_t width = 0;
  for (const std::string& part : column) width = std::max(width, part.size());
  for (std::string& part : column) part = fmt::format("{:<{}}  ", part, width);
  return column;
}

std::string measured_text(const EqualProcesses& row) {
  if (!row.measured) return "";
  return row.measured->one_died ? fmt::format("as {} process{}", row.count - 1, row.count == 2 ? "" : "es")
                                : fmt::format("{:.2f}x", row.measured->gain);
}

bool any_unknown(const DifferentProcesses& different) {
  return std::any_of(different.processes.begin(), different.processes.end(),
                     [](const Colocated& each) { return is_unknown(each.demand); });
}

}  // namespace

std::string_view unknown_work_text(bool follows_shares) { return follows_shares ? kOneRow : kFollowsNoShare; }

std::string processes_text(const TimedModel& model, const std::vector<EqualProcesses>& rows) {
  const auto any = [&](auto is) { return std::any_of(rows.begin(), rows.end(), is); };
  std::string text = fmt::format("{}: equal processes on one GPU under MPS", model.name);
  if (model.demands.host_time) text += fmt::format("; the host needs {} a step", format_time(*model.demands.host_time));
  const std::vector<std::string> parts = part_column(rows);
  text += fmt::format("\n{}{:>9}  {:>7}  {:>9}  {:>9}  {:>2}  {:>9}  {:>6}  {:>12}  {:<9}{}\n", parts.front(),
                      "minibatch", "of GPU", "alone", "GPU work", "N", "step of N", "gain", "8 of 10", "bound by",
                      any([](const EqualProcesses& row) { return row.measured.has_value(); }) ? "measured" : "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EqualProcesses& row = rows[i];
    const StepTime& alone = row.demand.alone;
    const Within& within = row.colocation.gain_within;
    text += fmt::format("{}{:>9}  {:>7}  {:>9}  {:>9}  {:>2}  {:>9}  {:>5.2f}x  {:>12}  {:<9}{}\n", parts[i + 1],
                        alone.minibatch, share_text(model.times.unit, alone.share), format_time(alone.step),
                        format_time(row.demand.gpu_work), row.count, format_time(row.colocation.steps.front()),
                        row.colocation.gain, fmt::format("{:.2f} to {:.2f}", within.low, within.high),
                        bound_by(row.colocation, is_unknown(row.demand)).value_or("not known"), measured_text(row));
  }
  if (any([](const EqualProcesses& row) { return is_unknown(row.demand); }))
    text += unknown_work_text(model.demands.follows_shares);
  return text;
}

ordered_json processes_json(const TimedModel& model, const std::vector<EqualProcesses>& rows) {
  ordered_json listed = ordered_json::array();
  for (const EqualProcesses& each : rows) {
    ordered_json row = demand_json(each.demand);
    row["processes"] = each.count;
    row.update(times_json(each.colocation));
    row.update(gain_json(each.colocation, is_unknown(each.demand)));
    if (each.measured) {
      row["measured_step_ns"] = each.measured->step.count();
      row["measured_gain"] = each.measured->gain;
      row["measured_less_processes"] = each.measured->one_died;
    }
    listed.push_back(std::move(row));
  }
  const auto& host = model.demands.host_time;
  return {
      {"model", model.name}, {"host_time_ns", host ? ordered_json(host->count()) : ordered_json()}, {"rows", listed}};
}

std::string processes_text(std::span<const TimedModel> models, const DifferentProcesses& different) {
  const bool is_apart = different.sharing == GpuSharing::kApart;
  const Colocation& colocation = different.colocation;
  std::string text = is_apart ? "one GPU, each process on multiprocessors of its own\n" : "one GPU under MPS\n";
  for (std::size_t i = 0; i < models.size(); ++i) {
    const StepTime& alone = different.processes[i].demand.alone;
    text += fmt::format("  {}{}, minibatch {}, {}: {} alone, {} beside the others ({:.2f} times)\n", models[i].name,
                        alone.part.empty() ? "" : ", " + alone.part, alone.minibatch,
                        share_text(different.unit, alone.share), format_time(alone.step),
                        format_time(colocation.steps[i]), colocation.slowdowns[i]);
  }
  if (is_apart) return text;
  text += fmt::format("gain {:.2f}x ({:.2f} to {:.2f} in 8 of 10); one step of each, begun together, ends after {}\n",
                      colocation.gain, colocation.gain_within.low, colocation.gain_within.high,
                      format_time(colocation.all));
  const bool all_follow =
      std::all_of(models.begin(), models.end(), [](const TimedModel& model) { return model.demands.follows_shares; });
  if (any_unknown(different)) text += unknown_work_text(all_follow);
  return text;
}

ordered_json processes_json(std::span<const TimedModel> models, const DifferentProcesses& different) {
  const bool is_apart = different.sharing == GpuSharing::kApart;
  ordered_json listed = ordered_json::array();
  for (std::size_t i = 0; i < models.size(); ++i) {
    listed.push_back(demand_json(different.processes[i].demand));
    listed.back()["model"] = models[i].name;
    listed.back()["slowdown"] = different.colocation.slowdowns[i];
  }
  ordered_json json = {{"sharing", is_apart ? "apart" : "together"}, {"processes", listed}};
  json.update(times_json(different.colocation));
  if (!is_apart) json.update(gain_json(different.colocation, any_unknown(different)));
  return json;
}

}  // namespace cohort
