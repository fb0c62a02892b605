#include "simulator/colocation/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/one_or_each.hpp"

namespace cohort {
namespace {

bool is_selected(const ProcessDemand& demand, const RowSelection& selection) {
  const auto among = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  return among(selection.minibatches, static_cast<int>(demand.alone.minibatch)) &&
         among(selection.shares, demand.alone.share) && among(selection.parts, demand.alone.part);
}

template <class Value>
Value value_for(const std::vector<Value>& values, std::size_t i, Value otherwise) {
  return values.empty() ? otherwise : one_or_each(values, i);
}

Result<void> check_units(std::span<const TimedModel> models) {
  for (const TimedModel& model : models) {
    if (model.times.unit != models.front().times.unit)
      return fail(ErrorCode::kUsage, "{} and {} give the part of the GPU in different columns; use the same in both",
                  models.front().file, model.file);
  }
  return {};
}

Result<void> check_counts(const RowSelection& selection, std::size_t tables) {
  const auto check = [&](std::string_view option, std::size_t values) {
    return values == 0 ? Result<void>() : check_one_or_each(option, values, tables, "table");
  };
  COHORT_CHECK(check("--minibatch", selection.minibatches.size()));
  COHORT_CHECK(check("--share", selection.shares.size()));
  return check("--part", selection.parts.size());
}

/// Whether each value that is asked for is one of a row that was found.
Result<void> check_found(const TimedModel& model, const RowSelection& selection, std::span<const EqualProcesses> rows) {
  const auto check = [&](std::string_view option, const auto& wanted, const auto& value_of) -> Result<void> {
    for (const auto& value : wanted) {
      if (std::none_of(rows.begin(), rows.end(), [&](const EqualProcesses& row) { return value_of(row) == value; }))
        return fail(ErrorCode::kUsage, "{} {}: {} has no such row of one process", option, value, model.file);
    }
    return {};
  };
  COHORT_CHECK(check("--minibatch", selection.minibatches,
                     [](const EqualProcesses& row) { return static_cast<int>(row.demand.alone.minibatch); }));
  COHORT_CHECK(check("--share", selection.shares, [](const EqualProcesses& row) { return row.demand.alone.share; }));
  return check("--part", selection.parts, [](const EqualProcesses& row) { return row.demand.alone.part; });
}

/// The row of the `i`-th table.
Result<ProcessDemand> row_of(const TimedModel& model, const RowSelection& selection, std::size_t i) {
  const StepTime& last = model.demands.rows.back().alone;
  const auto minibatch = value_for<int>(selection.minibatches, i, static_cast<int>(last.minibatch));
  const double share = value_for<double>(selection.shares, i, last.share);
  const auto part = value_for<std::string>(selection.parts, i, "");
  if (const ProcessDemand* const demand = model.demands.find(minibatch, share, part)) return *demand;
  return fail(ErrorCode::kUsage, "{}: has no row of one process with minibatch {} on {}{}", model.file, minibatch,
              share_text(model.times.unit, share), part.empty() ? "" : fmt::format(", part {}", part));
}

Result<void> check_shares(const DifferentProcesses& different) {
  double sum = 0;
  for (const Colocated& each : different.processes) sum += each.demand.alone.share;
  const bool is_apart = different.sharing == GpuSharing::kApart;
  if (is_apart && sum > 100)
    return fail(ErrorCode::kUsage, "--share: {:g}% of the multiprocessors in all; at most 100% are there", sum);
  const double first = different.processes.front().demand.alone.share;
  for (const Colocated& each : different.processes) {
    const double share = each.demand.alone.share;
    if (!is_apart && share != first)
      return fail(ErrorCode::kUsage, "--share: {} and {} are not the same part of the GPU; {}",
                  share_text(different.unit, first), share_text(different.unit, share),
                  different.unit == ShareUnit::kGpcs
                      ? "MIG slices do not share multiprocessors or memory: give one slice"
                      : "give each process's share");
  }
  return {};
}

}  // namespace

TimedModel timed_model(const std::filesystem::path& file, StepTimes times, Bytes copied) {
  ProcessDemands demands = process_demands(times, copied);
  return {file.string(), file.stem().string(), std::move(times), std::move(demands), copied};
}

Result<std::vector<EqualProcesses>> equal_processes(const TimedModel& model, const RowSelection& selection,
                                                    const std::vector<int>& counts) {
  std::vector<EqualProcesses> all;
  for (const ProcessDemand& demand : model.demands.rows) {
    if (!is_selected(demand, selection)) continue;
    for (const int count : counts) {
      const std::vector<Colocated> processes(static_cast<std::size_t>(count), {demand, model.copied});
      all.push_back({demand, count, colocate(processes, GpuSharing::kTogether),
                     measured_together(model.times, demand.alone, count)});
    }
  }
  if (all.empty())
    return fail(ErrorCode::kUsage, "{}: no row of one process has this minibatch, share and part; see the file",
                model.file);
  COHORT_CHECK(check_found(model, selection, all));
  return all;
}

Result<DifferentProcesses> different_processes(std::span<const TimedModel> models, const RowSelection& selection) {
  COHORT_CHECK(check_units(models));
  COHORT_CHECK(check_counts(selection, models.size()));
  DifferentProcesses different;
  different.unit = models.front().times.unit;
  if (!selection.shares.empty() && different.unit == ShareUnit::kPercent) different.sharing = GpuSharing::kApart;
  for (std::size_t i = 0; i < models.size(); ++i) {
    COHORT_TRY(const ProcessDemand demand, row_of(models[i], selection, i));
    different.processes.push_back({demand, models[i].copied});
  }
  COHORT_CHECK(check_shares(different));
  different.colocation = colocate(different.processes, different.sharing);
  return different;
}

}  // namespace cohort
