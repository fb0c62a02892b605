#include "simulator/report/prediction_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/rate.hpp"

namespace cohort {
namespace {

std::string share_of(Nanoseconds part, Nanoseconds whole) {
  return fmt::format("{:.0f}%", whole > Nanoseconds(0) ? 100 * seconds(part) / seconds(whole) : 0.0);
}

/// Names of kernels are long: what stands before the arguments of templates and calls.
std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 60;
  std::string shorter = name.rfind("void ", 0) == 0 ? name.substr(5) : name;
  if (shorter.size() > kMost) shorter = shorter.substr(0, kMost - 3) + "...";
  return shorter;
}

/// "kernel gemm (4 a step)"
std::string named(const NamedTasks& task, int steps) {
  const double count = static_cast<double>(task.count) / steps;
  return fmt::format("{} {} ({:.4g} a step)", to_string(task.kind), short_name(task.name), count);
}

std::string tasks_text(const RunFacts& facts, Nanoseconds whole) {
  constexpr std::size_t kMostOn = 3;
  constexpr std::size_t kMostOff = 2;
  std::string text;
  std::size_t on = 0;
  std::size_t off = 0;
  for (const NamedTasks& task : facts.tasks) {
    if (task.on_path > Nanoseconds(0) && on++ < kMostOn) {
      text += fmt::format("  {}: {} on it\n", named(task, facts.steps), share_of(task.on_path, whole));
    } else if (task.slack > Nanoseconds(0) && task.time > Nanoseconds(0) && off++ < kMostOff) {
      text += fmt::format("  {}: not on it, slack of {} or more\n", named(task, facts.steps), format_time(task.slack));
    }
  }
  return text;
}

std::string facts_text(const RunFacts& facts) {
  std::string text = fmt::format("device busy {:.0f}%", 100 * facts.device_busy);
  if (facts.sm_busy) text += fmt::format(", its multiprocessors {:.0f}%", 100 * *facts.sm_busy);
  if (facts.cores_busy) text += fmt::format(", its cores {:.0f}%", 100 * *facts.cores_busy);
  text += "\ncritical path:";
  Nanoseconds whole{};
  for (const PathPart& part : facts.parts) whole += part.time;
  std::string_view separator = " ";
  for (const PathPart& part : facts.parts) {
    text += fmt::format("{}{} {}", separator, part.what, share_of(part.time, whole));
    separator = ", ";
  }
  return text + "\n" + tasks_text(facts, whole);
}

std::string to_text(const WorkspaceRules& rules) {
  const auto way = [](const WorkspaceRules::Way& each) {
    return fmt::format("{} a step, {} used", format_time(each.step_time), format_bytes(each.workspace));
  };
  return fmt::format(
      "workspace limit {}\n  over the whole model batch: {}\n  the same part for each member (ModelBatch): {}\n"
      "  without a limit: {}\n",
      format_bytes(rules.limit), way(rules.whole_batch),
      rules.equal_shares ? way(*rules.equal_shares) : "not possible: " + rules.refused, way(rules.unlimited));
}

std::string memory_text(const BatchMemory& memory) {
  if (!memory.unknown.empty()) return fmt::format("memory unknown: {}\n", memory.unknown);
  const auto bytes = [](const std::optional<Bytes>& value) { return format_bytes(value.value_or(Bytes{})); };
  std::string text = fmt::format("memory {}", bytes(memory.total()));
  if (memory.workspace) {
    text += fmt::format(" (weights {}, activations {}, workspace {}, input {}", bytes(memory.weights),
                        bytes(memory.activations), bytes(memory.workspace), bytes(memory.input));
  } else {
    text += fmt::format(" or so (weights and what outlives a step {}, activations and workspace {}",
                        bytes(memory.weights), bytes(memory.step));
  }
  if (memory.optimizer)
    text += fmt::format("; of the weights optimizer {}, of the activations gradients {}", bytes(memory.optimizer),
                        bytes(memory.gradients));
  if (memory.device) text += fmt::format("; the device has {}", bytes(memory.device));
  return text + ")\n";
}

std::string unfused_text(Nanoseconds cost) {
  return fmt::format("--fuse auto: nothing is fused; with it the step would {}\n",
                     cost > Nanoseconds(0) ? "take " + format_time(cost) + " longer" : "be no shorter");
}

std::string doubts_text(const RunReport& report) {
  std::string text = fmt::format("confidence {}\n", to_string(report.confidence()));
  for (const Doubt& doubt : report.doubts) text += fmt::format("  {}\n", doubt.why);
  return text;
}

}  // namespace

std::string to_text(const RunReport& report, std::string_view what, std::string_view rate, std::string_view between) {
  std::string text = fmt::format(
      "{}: {} predicted (at least {}, at most {}), {}, {} busy {:.0f}%\n"
      "one after another: {}; speedup {:.2f}x\n",
      what, format_time(report.step_time), format_time(report.lower_bound), format_time(report.upper_bound), rate,
      report.binding.resource, 100 * report.binding.utilisation, format_time(report.baseline), report.speedup);
  for (const GainPart& part : report.gain) {
    const bool saves = part.gain >= Nanoseconds(0);
    text +=
        fmt::format("  {} {} {}\n", part.cause, saves ? "saves" : "costs", format_time(saves ? part.gain : -part.gain));
  }
  text += between;
  if (report.unfused) text += unfused_text(*report.unfused);
  text += facts_text(report.facts) + memory_text(report.memory);
  return text + doubts_text(report);
}

std::string to_text(const PlanReport& report) {
  const std::string_view steps = report.members == 1 ? "member's step" : "members' steps";
  return to_text(report, fmt::format("{} {}", report.members, steps), format_rate(report.samples_per_second),
                 report.workspace ? to_text(*report.workspace) : "");
}

std::string to_text(const WhatIfPrediction& prediction) {
  std::string more;
  if (prediction.minibatch) {
    more =
        fmt::format("minibatch {} instead of {}: a step alone takes {} instead of {}, {:.2f}x the samples a second\n",
                    prediction.minibatch->wanted, prediction.minibatch->recorded, format_time(prediction.single),
                    format_time(prediction.minibatch->traced), prediction.minibatch->more_samples);
  }
  const std::string_view steps = prediction.members == 1 ? "step" : "members' steps";
  return to_text(prediction, fmt::format("{} {}", prediction.members, steps),
                 fmt::format("{:.1f} steps/s", prediction.steps_per_second), more);
}

std::string path_text(const RunReport& report) { return facts_text(report.facts) + doubts_text(report); }

std::string confidence_line(const RunReport& report) {
  std::string text = fmt::format("confidence {}", to_string(report.confidence()));
  std::string_view separator = ": ";
  for (const Doubt& doubt : report.doubts) {
    text += fmt::format("{}{}", separator, doubt.why);
    separator = "; ";
  }
  return text + "\n";
}

}  // namespace cohort
