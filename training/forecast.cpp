#include "training/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "simulator/plan/lower.hpp"
#include "training/checkpoint.hpp"
#include "training/results.hpp"
#include "training/rungs.hpp"
#include "training/stopwatch.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

std::string network_text(const ModelSource& source) {
  std::string text = source.model;
  for (const auto& [name, value] : source.arguments) text += fmt::format(", {} {}", name, value);
  return text;
}

std::string strategy_text(const Plan& plan) {
  std::string text;
  for (const Group& group : plan.groups)
    text += fmt::format("{}{}", text.empty() ? "" : " + ", to_string(group.strategy));
  return plan.streams > 1 ? fmt::format("{} x{}", text, plan.streams) : text;
}

/// `total` shared out as `parts` are, by largest remainders.
std::vector<std::size_t> shared_out(std::size_t total, const std::vector<std::size_t>& parts) {
  const std::size_t all = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
  std::vector<std::size_t> shares;
  std::vector<std::pair<std::size_t, std::size_t>> remainders;
  std::size_t given = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    shares.push_back(total * parts[i] / all);
    given += shares.back();
    remainders.emplace_back(all - total * parts[i] % all, i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < total; ++i, ++given) ++shares[remainders[i].second];
  return shares;
}

Result<BatchForecast> batch_forecast(const TrainedNetwork& network, const PlannedBatch& planned,
                                     const OpCatalog& catalog) {
  BatchForecast batch;
  batch.network = network_text(network.source);
  batch.members = planned.plan.members.size();
  if (planned.forecast) {
    batch.strategy = planned.forecast->name;
    batch.step_time = planned.forecast->step_time;
    batch.one_by_one = planned.forecast->one_by_one;
    batch.memory = planned.forecast->memory;
    batch.divided = planned.forecast->divided;
    batch.weighed = planned.forecast->weighed;
    return batch;
  }
  batch.strategy = strategy_text(planned.plan);
  const std::vector<const Model*> models(batch.members, &network.training.loaded.model);
  COHORT_TRY(const Program program, lower(planned.plan, models, catalog));
  batch.memory = program.memory;
  return batch;
}

MemoryUse memory_of(const RungForecast& rung) {
  MemoryUse sum;
  for (const BatchForecast& batch : rung.batches) {
    sum.weights += batch.memory.weights;
    sum.parameters += batch.memory.parameters;
    sum.optimizer += batch.memory.optimizer;
    sum.gradients += batch.memory.gradients;
    sum.activations += batch.memory.activations;
    sum.workspace += batch.memory.workspace;
    sum.input += batch.memory.input;
  }
  return sum;
}

Result<void> add_overheads(const TrainedNetwork& network, const Plan& plan, OverheadProbe& probe,
                           BatchForecast& batch) {
  COHORT_TRY(batch.overheads, probe.of(network, plan));
  COHORT_TRY(batch.alone_overheads, probe.of(network, baseline_plan(plan, 0)));
  return {};
}

/// One every so many epochs, or as many seconds as the trainer leaves between them; and the last one.
std::int64_t checkpoints_within(Nanoseconds time, std::int64_t epochs, const Sweep& sweep) {
  if (sweep.checkpoint_every) return (epochs + *sweep.checkpoint_every - 1) / *sweep.checkpoint_every;
  return std::min(epochs, time / kBetweenCheckpoints + 1);
}

struct PartsOptions {
  bool one_by_one = false;
  /// Workers decode while the device works, on cores of their own; else what they take comes on top.
  bool hides_decoding = false;
};

SweepParts parts_of(const std::vector<RungForecast>& rungs, const FileOverheads& files, const PreparedSweep& prepared,
                    const PartsOptions& options) {
  SweepParts parts;
  std::int64_t epochs = 0;
  for (const RungForecast& rung : rungs) {
    Nanoseconds step{};
    for (const BatchForecast& batch : rung.batches) {
      const auto times = options.one_by_one ? static_cast<std::int64_t>(batch.members) : 1;
      const BatchOverheads& overheads = options.one_by_one ? *batch.alone_overheads : *batch.overheads;
      step += options.one_by_one ? *batch.one_by_one : *batch.step_time;
      parts.input += overheads.handing_over * times * rung.steps;
      parts.evaluation += overheads.evaluation * times * rung.evaluations;
      parts.opening += overheads.opening * times;
    }
    parts.steps += step * rung.steps;
    const Nanoseconds hidden = options.hides_decoding ? std::min(step, rung.minibatch) : Nanoseconds{};
    parts.input += (rung.minibatch - hidden) * rung.steps;
    epochs += rung.evaluations;
  }
  const auto most = static_cast<std::int64_t>(rungs.front().members);
  const auto last = static_cast<std::int64_t>(rungs.back().members);
  const std::int64_t written = std::min(epochs, parts.total() / kBetweenResults + 1) + 1;
  parts.files = files.model * most + files.results * written;
  parts.files += files.checkpoint * last * checkpoints_within(parts.total(), epochs, prepared.sweep);
  return parts;
}

}  // namespace

Result<SweepForecast> forecast_sweep(const PreparedSweep& prepared, SweepPlanner& planner, const Backend& backend,
                                     OverheadProbe& probe) {
  SweepForecast forecast;
  const std::vector<std::vector<std::size_t>> groups = prepared.training_groups();
  std::vector<std::size_t> counts;
  for (const auto& group : groups) {
    counts.push_back(group.size());
    const ModelSource& source = prepared.network_of[group.front()]->source;
    if (!planner.has_profile(source)) forecast.unprofiled.push_back(source);
  }
  const bool timed = forecast.unprofiled.empty();
  Nanoseconds planning{};
  const std::size_t members = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  for (const Rung& each : rungs_of(prepared.counts, prepared.sweep.halving, members)) {
    RungForecast rung{
        each.first_step / prepared.counts.per_epoch + 1, each.steps, each.evaluations, each.members, {}, {}};
    const std::vector<std::size_t> shares = shared_out(each.members, counts);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (shares[g] == 0) continue;
      const TrainedNetwork& network = *prepared.network_of[groups[g].front()];
      std::vector<PlannedBatch> planned;
      {
        const Stopwatch watch(planning);
        COHORT_TRY(planned, planner.plan(network, shares[g]));
      }
      for (const PlannedBatch& batch : planned) {
        COHORT_TRY(BatchForecast forecast_of_it, batch_forecast(network, batch, backend.catalog()));
        if (timed) COHORT_CHECK(add_overheads(network, batch.plan, probe, forecast_of_it));
        rung.batches.push_back(std::move(forecast_of_it));
      }
    }
    if (timed) {
      COHORT_TRY(rung.minibatch, probe.minibatch(each.members));
    }
    forecast.rungs.push_back(std::move(rung));
  }
  if (!timed) return forecast;
  COHORT_TRY(const FileOverheads files, probe.files());
  const bool hides_decoding = prepared.data.decoded_each_time && backend.info().kind != "cpu";
  forecast.together = parts_of(forecast.rungs, files, prepared, {false, hides_decoding});
  forecast.together->opening += planning;
  forecast.one_by_one = parts_of(forecast.rungs, files, prepared, {true, hides_decoding});
  return forecast;
}

namespace {

std::string parts_text(const SweepParts& together, const SweepParts& alone) {
  std::string text =
      fmt::format("predicted: {} for all of it, one after another {}, {:.2f}x\n", format_time(together.total()),
                  format_time(alone.total()), seconds(alone.total()) / seconds(together.total()));
  const auto row = [&](std::string_view name, Nanoseconds SweepParts::*part, std::string_view source) {
    text += fmt::format("  {:<16} {:>8}  one after another {:>8}  {}\n", name, format_time(together.*part),
                        format_time(alone.*part), source);
  };
  row("training steps", &SweepParts::steps, "by profiles");
  row("input", &SweepParts::input, "as tried here, as are the others: samples made and handed over, losses read");
  row("evaluation", &SweepParts::evaluation, "");
  row("files", &SweepParts::files, "checkpoints, results, models");
  row("opening", &SweepParts::opening, "plans, kernels, memory");
  return text;
}

/// What else the model batch could have been: "1: 35.3 ms and 539 KiB; 2: ...".
std::string weighed_text(const BatchForecast& batch, std::int64_t steps) {
  std::string text;
  for (const WeighedSize& size : batch.weighed) {
    const auto epoch = Nanoseconds(std::llround(size.step_of(batch.divided) * static_cast<double>(steps)));
    text += fmt::format("{}{}{}: {}, {}", text.empty() ? "" : "; ", size.members, size.recomputes ? " recomputing" : "",
                        format_time(epoch), format_bytes(size.memory));
  }
  return fmt::format("    an epoch of all {} in model batches of {} each\n", batch.divided, text);
}

ordered_json weighed_json(const BatchForecast& batch) {
  ordered_json list = ordered_json::array();
  for (const WeighedSize& size : batch.weighed) {
    list.push_back({{"members", size.members},
                    {"recomputing", size.recomputes},
                    {"step_ns", size.step_time.count()},
                    {"memory_bytes", size.memory.value}});
  }
  return list;
}

ordered_json to_json(const SweepParts& parts) {
  return {{"steps_ns", parts.steps.count()},
          {"input_ns", parts.input.count()},
          {"evaluation_ns", parts.evaluation.count()},
          {"files_ns", parts.files.count()},
          {"opening_ns", parts.opening.count()}};
}

}  // namespace

std::string to_text(const SweepForecast& forecast, const PreparedSweep& prepared, const std::string& device) {
  std::string text =
      fmt::format("{} members, {} steps of {} samples each, {} an epoch; {} samples to train on, {} to evaluate on\n",
                  prepared.members.size(), prepared.counts.all, prepared.sweep.minibatch, prepared.counts.per_epoch,
                  prepared.data.train.samples, prepared.data.evaluation.samples);
  for (const SweepMember& member : prepared.members) {
    if (member.outcome == MemberOutcome::kFailed) text += fmt::format("{} fails: {}\n", member.name, member.reason);
  }
  for (const RungForecast& rung : forecast.rungs) {
    text += fmt::format("from epoch {}: {} members, {} steps, {}\n", rung.first_epoch, rung.members, rung.steps,
                        memory_text(memory_of(rung)));
    for (std::size_t i = 0; i < rung.batches.size(); ++i) {
      const BatchForecast& batch = rung.batches[i];
      text += fmt::format("  {} of {}: {}", batch.members, batch.network, batch.strategy);
      if (batch.step_time && batch.one_by_one)
        text += fmt::format("; {} a step, one after another {}, {:.2f}x", format_time(*batch.step_time),
                            format_time(*batch.one_by_one), seconds(*batch.one_by_one) / seconds(*batch.step_time));
      text += "\n";
      const bool again = i > 0 && rung.batches[i - 1].network == batch.network;
      if (batch.weighed.size() > 1 && !again) text += weighed_text(batch, prepared.counts.per_epoch);
    }
  }
  if (forecast.together) return text + parts_text(*forecast.together, *forecast.one_by_one);
  text += "no time is predicted: there is no profile of\n";
  for (const ModelSource& source : forecast.unprofiled) text += fmt::format("  {}\n", network_text(source));
  text += "--make-profiles makes them, in seconds each; or --profile takes them, made by\n";
  for (const ModelSource& source : forecast.unprofiled) {
    if (!source.training->dropout_from_settings) text += fmt::format("  {}\n", profile_command_of(source, device));
  }
  return text;
}

ordered_json to_json(const SweepForecast& forecast, const PreparedSweep& prepared) {
  const auto time = [](const std::optional<Nanoseconds>& value) {
    return value ? ordered_json(value->count()) : ordered_json();
  };
  ordered_json document;
  document["members"] = ordered_json::array();
  for (const SweepMember& member : prepared.members) {
    ordered_json point = ordered_json::object();
    for (const auto& [name, value] : member.point) point[name] = to_string(value);
    document["members"].push_back({{"member", member.name},
                                   {"outcome", to_string(member.outcome)},
                                   {"reason", member.reason.empty() ? ordered_json() : ordered_json(member.reason)},
                                   {"hyperparameters", std::move(point)}});
  }
  document["steps"] = prepared.counts.all;
  document["rungs"] = ordered_json::array();
  for (const RungForecast& rung : forecast.rungs) {
    ordered_json batches = ordered_json::array();
    for (const BatchForecast& batch : rung.batches) {
      batches.push_back({{"network", batch.network},
                         {"members", batch.members},
                         {"strategy", batch.strategy},
                         {"step_ns", time(batch.step_time)},
                         {"one_by_one_ns", time(batch.one_by_one)},
                         {"weighed", weighed_json(batch)},
                         {"memory",
                          {{"weights", batch.memory.weights.value},
                           {"parameters", batch.memory.parameters.value},
                           {"optimizer", batch.memory.optimizer.value},
                           {"gradients", batch.memory.gradients.value},
                           {"activations", batch.memory.activations.value},
                           {"workspace", batch.memory.workspace.value},
                           {"input", batch.memory.input.value}}}});
    }
    document["rungs"].push_back({{"first_epoch", rung.first_epoch},
                                 {"steps", rung.steps},
                                 {"members", rung.members},
                                 {"batches", std::move(batches)}});
  }
  document["predicted_ns"] = ordered_json();
  document["one_by_one_ns"] = ordered_json();
  if (forecast.together) {
    document["predicted_ns"] = forecast.together->total().count();
    document["one_by_one_ns"] = forecast.one_by_one->total().count();
    document["parts"] = {{"together", to_json(*forecast.together)}, {"one_by_one", to_json(*forecast.one_by_one)}};
  }
  return document;
}

}  // namespace cohort
