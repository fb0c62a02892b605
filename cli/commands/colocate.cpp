#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/csv.hpp"
#include "base/one_or_each.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/list_option.hpp"
#include "cli/planning_options.hpp"
#include "simulator/colocation/colocate.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct ColocateOptions {
  std::vector<std::filesystem::path> files;
  std::vector<int> processes{2};
  std::vector<int> minibatches;
  std::vector<double> shares;
  std::vector<std::string> parts;
  std::vector<Bytes> copied{Bytes{}};
  const CLI::Option* processes_option = nullptr;
};

/// A table with what it says of one process.
struct TimedModel {
  std::string name;
  StepTimes times;
  ProcessDemands demands;
  Bytes copied;
};

std::string unit_text(ShareUnit unit, double share) {
  if (unit == ShareUnit::kAll) return "all";
  return unit == ShareUnit::kGpcs ? fmt::format("{:g} GPCs", share) : fmt::format("{:g}%", share);
}

Result<TimedModel> read_model(const std::filesystem::path& file, Bytes copied, Console& console) {
  COHORT_TRY(const std::string text, read_file(file));
  auto times = parse_step_times(text);
  if (!times) return in_context(file.string(), times.error());
  if (!times->unused.empty())
    console.note(fmt::format("{}: columns not used: {}", file.string(), fmt::join(times->unused, ", ")));
  TimedModel model{file.stem().string(), *std::move(times), {}, copied};
  model.demands = process_demands(model.times, copied);
  return model;
}

/// Times are uncertain as the gain is, the other way round.
ordered_json json_of(const Colocation& colocation) {
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

/// What decides how long a step takes; absent where the table does not tell.
std::optional<std::string_view> bound_by(const Colocation& colocation, bool any_unknown) {
  if (any_unknown) return std::nullopt;
  return colocation.gpu_decides ? "GPU" : "host";
}

/// Of processes on the same part of the GPU.
ordered_json gain_json(const Colocation& colocation, bool any_unknown) {
  const auto bound = bound_by(colocation, any_unknown);
  return {{"predicted_gain", colocation.gain},
          {"gain_80_low", colocation.gain_within.low},
          {"gain_80_high", colocation.gain_within.high},
          {"bound_by", bound ? ordered_json(to_lower(*bound)) : ordered_json()}};
}

/// Why the GPU's time is not known, and what would tell it.
constexpr std::string_view kFollowsNoShare =
    "GPU work is not known: steps hardly shorten on a larger part of the GPU, as where host and GPU wait for each "
    "other. "
    "Add a column gpu_busy_ms\n";
constexpr std::string_view kOneRow =
    "GPU work is not known where one row has to tell the host's time from the GPU's: it is at most the step. Add rows "
    "of "
    "a larger minibatch, of a smaller part of the GPU, or a column gpu_busy_ms\n";

bool is_unknown(const ProcessDemand& demand) { return demand.origin == WorkOrigin::kAtMost; }

ordered_json json_of(const ProcessDemand& demand) {
  return {{"minibatch", demand.alone.minibatch},
          {"share", demand.alone.share},
          {"part", demand.alone.part},
          {"alone_ns", demand.alone.step.count()},
          {"gpu_work_ns", demand.gpu_work.count()},
          {"gpu_work_from", to_string(demand.origin)}};
}

/// Equal processes of one table: a row for each minibatch, share and number of them.
class EqualProcesses {
 public:
  EqualProcesses(const TimedModel& model, const ColocateOptions& options) : model_(model), options_(options) {}

  Result<void> run(CommandContext& context) {
    for (const ProcessDemand& demand : model_.demands.rows) {
      if (!is_asked_for(demand)) continue;
      for (const int count : options_.processes) add(demand, count);
    }
    if (rows_.empty())
      return fail(ErrorCode::kUsage, "{}: no row of one process has this minibatch, share and part; see the file",
                  options_.files.front().string());
    if (context.json) {
      context.console.print_json(
          {{"model", model_.name},
           {"host_time_ns",
            model_.demands.host_time ? ordered_json(model_.demands.host_time->count()) : ordered_json()},
           {"rows", rows_}});
      return {};
    }
    context.console.print(text());
    return {};
  }

 private:
  [[nodiscard]] bool is_asked_for(const ProcessDemand& demand) const {
    const auto among = [](const auto& wanted, const auto& value) {
      return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    };
    return among(options_.minibatches, static_cast<int>(demand.alone.minibatch)) &&
           among(options_.shares, demand.alone.share) && among(options_.parts, demand.alone.part);
  }

  void add(const ProcessDemand& demand, int count) {
    const std::vector<Colocated> processes(static_cast<std::size_t>(count), {demand, model_.copied});
    const Colocation colocation = colocate(processes, GpuSharing::kTogether);
    ordered_json row = json_of(demand);
    row["processes"] = count;
    row.update(json_of(colocation));
    row.update(gain_json(colocation, is_unknown(demand)));
    std::string seen;
    if (const auto measured = measured_together(model_.times, demand.alone, count)) {
      row["measured_step_ns"] = measured->step.count();
      row["measured_gain"] = measured->gain;
      row["measured_less_processes"] = measured->one_died;
      seen = measured->one_died ? fmt::format("as {} processes", count - 1) : fmt::format("{:.2f}x", measured->gain);
    }
    lines_.push_back(
        fmt::format("{:>9}  {:>7}  {:>9}  {:>9}  {:>2}  {:>9}  {:>5.2f}x  {:>12}  {:<9}{}\n", demand.alone.minibatch,
                    unit_text(model_.times.unit, demand.alone.share), format_time(demand.alone.step),
                    format_time(demand.gpu_work), count, format_time(colocation.steps.front()), colocation.gain,
                    fmt::format("{:.2f} to {:.2f}", colocation.gain_within.low, colocation.gain_within.high),
                    bound_by(colocation, is_unknown(demand)).value_or("not known"), seen));
    any_unknown_ = any_unknown_ || is_unknown(demand);
    any_measured_ = any_measured_ || !seen.empty();
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("{}: equal processes on one GPU under MPS", model_.name);
    if (model_.demands.host_time)
      text += fmt::format("; the host needs {} a step", format_time(*model_.demands.host_time));
    text += fmt::format("\n{:>9}  {:>7}  {:>9}  {:>9}  {:>2}  {:>9}  {:>6}  {:>12}  {:<9}{}\n", "minibatch", "of GPU",
                        "alone", "GPU work", "N", "step of N", "gain", "8 of 10", "bound by",
                        any_measured_ ? "measured" : "");
    for (const std::string& line : lines_) text += line;
    if (any_unknown_) text += model_.demands.follows_shares ? kOneRow : kFollowsNoShare;
    return text;
  }

  const TimedModel& model_;
  const ColocateOptions& options_;
  ordered_json rows_ = ordered_json::array();
  std::vector<std::string> lines_;
  bool any_unknown_ = false;
  bool any_measured_ = false;
};

template <class Value>
Value value_for(const std::vector<Value>& values, std::size_t i, Value otherwise) {
  return values.empty() ? otherwise : one_or_each(values, i);
}

/// One process of each table.
class DifferentProcesses {
 public:
  DifferentProcesses(const std::vector<TimedModel>& models, const ColocateOptions& options)
      : models_(models), options_(options) {}

  Result<void> run(CommandContext& context) {
    COHORT_CHECK(choose());
    COHORT_CHECK(check_shares());
    const Colocation colocation = colocate(processes_, is_apart() ? GpuSharing::kApart : GpuSharing::kTogether);
    if (context.json) {
      context.console.print_json(json(colocation));
    } else {
      context.console.print(text(colocation));
    }
    return {};
  }

 private:
  /// Each process's row of its table.
  Result<void> choose() {
    const std::size_t count = models_.size();
    const auto check = [&](std::string_view option, std::size_t values) {
      return values == 0 ? Result<void>() : check_one_or_each(option, values, count, "table");
    };
    COHORT_CHECK(check("--minibatch", options_.minibatches.size()));
    COHORT_CHECK(check("--share", options_.shares.size()));
    COHORT_CHECK(check("--part", options_.parts.size()));
    for (std::size_t i = 0; i < count; ++i) {
      const StepTime& last = models_[i].demands.rows.back().alone;
      const auto minibatch = value_for<int>(options_.minibatches, i, static_cast<int>(last.minibatch));
      const double share = value_for<double>(options_.shares, i, last.share);
      const std::string part = value_for<std::string>(options_.parts, i, "");
      const ProcessDemand* const demand = models_[i].demands.find(minibatch, share, part);
      if (demand == nullptr)
        return fail(ErrorCode::kUsage, "{}: has no row of one process with minibatch {} on {}{}",
                    options_.files[i].string(), minibatch, unit_text(unit(), share),
                    part.empty() ? "" : fmt::format(", part {}", part));
      processes_.push_back({*demand, models_[i].copied});
    }
    return {};
  }

  [[nodiscard]] ShareUnit unit() const { return models_.front().times.unit; }
  [[nodiscard]] bool is_apart() const { return !options_.shares.empty() && unit() == ShareUnit::kPercent; }

  [[nodiscard]] Result<void> check_shares() const {
    double sum = 0;
    for (const Colocated& each : processes_) sum += each.demand.alone.share;
    if (is_apart() && sum > 100)
      return fail(ErrorCode::kUsage, "--share: {:g}% of the multiprocessors in all; at most 100% are there", sum);
    const double first = processes_.front().demand.alone.share;
    for (const Colocated& each : processes_) {
      const double share = each.demand.alone.share;
      if (!is_apart() && share != first)
        return fail(ErrorCode::kUsage, "--share: {} and {} are not the same part of the GPU; {}",
                    unit_text(unit(), first), unit_text(unit(), share),
                    unit() == ShareUnit::kGpcs ? "MIG slices do not share multiprocessors or memory: give one slice"
                                               : "give each process's share");
    }
    return {};
  }

  [[nodiscard]] bool any_unknown() const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const Colocated& each) { return is_unknown(each.demand); });
  }

  [[nodiscard]] ordered_json json(const Colocation& colocation) const {
    ordered_json listed = ordered_json::array();
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      listed.push_back(json_of(processes_[i].demand));
      listed.back()["model"] = models_[i].name;
      listed.back()["slowdown"] = colocation.slowdowns[i];
    }
    ordered_json json = {{"sharing", is_apart() ? "apart" : "together"}, {"processes", listed}};
    json.update(json_of(colocation));
    if (!is_apart()) json.update(gain_json(colocation, any_unknown()));
    return json;
  }

  [[nodiscard]] std::string text(const Colocation& colocation) const {
    std::string text = is_apart() ? "one GPU, each process on multiprocessors of its own\n" : "one GPU under MPS\n";
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const StepTime& alone = processes_[i].demand.alone;
      text += fmt::format("  {}, minibatch {}, {}: {} alone, {} beside the others ({:.2f} times)\n", models_[i].name,
                          alone.minibatch, unit_text(unit(), alone.share), format_time(alone.step),
                          format_time(colocation.steps[i]), colocation.slowdowns[i]);
    }
    if (is_apart()) return text;
    text += fmt::format("gain {:.2f}x ({:.2f} to {:.2f} in 8 of 10); one step of each, begun together, ends after {}\n",
                        colocation.gain, colocation.gain_within.low, colocation.gain_within.high,
                        format_time(colocation.all));
    const auto odd = [](const TimedModel& model) { return !model.demands.follows_shares; };
    if (any_unknown()) text += std::any_of(models_.begin(), models_.end(), odd) ? kFollowsNoShare : kOneRow;
    return text;
  }

  const std::vector<TimedModel>& models_;
  const ColocateOptions& options_;
  std::vector<Colocated> processes_;
};

Result<void> run(const ColocateOptions& options, CommandContext& context) {
  COHORT_CHECK(check_one_or_each("--copied", options.copied.size(), options.files.size(), "table"));
  std::vector<TimedModel> models;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    COHORT_TRY(TimedModel model, read_model(options.files[i], one_or_each(options.copied, i), context.console));
    models.push_back(std::move(model));
  }
  if (models.size() == 1) return EqualProcesses(models.front(), options).run(context);
  if (options.processes_option->count() > 0)
    return fail(ErrorCode::kUsage,
                "--processes: several tables are one process each; give a table twice for two of it");
  for (const TimedModel& model : models) {
    if (model.times.unit != models.front().times.unit)
      return fail(ErrorCode::kUsage, "{} and {} give the part of the GPU in different columns; use the same in both",
                  options.files.front().string(), model.name);
  }
  return DifferentProcesses(models, options).run(context);
}

Result<int> parse_positive(const std::string& text) {
  COHORT_TRY(const int value, parse_count(text));
  if (value < 1) return fail(ErrorCode::kUsage, "{} must be at least 1", text);
  return value;
}

Result<int> parse_processes(const std::string& text) {
  COHORT_TRY(const int value, parse_positive(text));
  if (value > 48) return fail(ErrorCode::kUsage, "{} processes: an MPS server has at most 48 clients", text);
  return value;
}

Result<double> parse_share(const std::string& text) {
  const auto value = csv_number(text);
  if (!value || *value <= 0) return fail(ErrorCode::kUsage, "\"{}\" must be a number above 0", text);
  return *value;
}

Result<std::string> parse_part(const std::string& text) { return text; }

}  // namespace

Command colocate_command() {
  Command command;
  command.name = "colocate";
  command.help =
      "Predict what several processes on one GPU gain, from step times of one process alone. A table (CSV) has the "
      "columns minibatch; step_ms, step_us or samples_per_s; and as far as known gpcs or sm_percent (the part of the "
      "GPU), gpu_busy_ms, dram_percent, part (of a step), processes (measured rows, shown beside the predicted)";
  command.example =
      "cohort colocate resnet50.csv -n 2,4\n  cohort colocate resnet50.csv resnet50.csv --minibatch 1,16\n"
      "\nresnet50.csv:\nminibatch,samples_per_s\n1,195\n4,820\n16,2220\n64,2480";
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ColocateOptions>();
    app.add_option("TIMES", options->files, "A table of step times; several: one process of each")->required();
    options->processes_option =
        add_list_option(app, "-n,--processes", options->processes, parse_processes, "Equal processes of one table")
            ->type_name("N[,...]")
            ->default_str("2");
    add_list_option(app, "--minibatch", options->minibatches, parse_positive,
                    "Minibatches; default: all of one table; of several, each one's last")
        ->type_name("N[,...]");
    add_list_option(app, "--share", options->shares, parse_share,
                    "Parts of the GPU, as the table has them; of several tables with sm_percent: each process's own")
        ->type_name("N[,...]");
    add_list_option(app, "--part", options->parts, parse_part, "Parts of a step, as the table has them; default: all")
        ->type_name("NAME[,...]");
    add_list_option(
        app, "--copied", options->copied, [](const std::string& text) { return parse_bytes("--copied", text); },
        "Bytes of input that a sample copies to the GPU in every step; one for all tables, or one for each")
        ->type_name("BYTES[,...]")
        ->default_str("0");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
