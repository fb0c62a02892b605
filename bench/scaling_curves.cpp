// What a model batch of N copies is predicted to gain, N = 1 to 64, from a trace of one model's step.
//
//     build/release/bin/scaling_curves TRACE... > bench/results/scaling.md
//     build/release/bin/scaling_curves --launch-bound > bench/results/launch_bound.md
//
// For each trace a markdown table: members one after another, on streams of their own, on streams from captured
// graphs; with bounds, attribution and confidence. --launch-bound needs no trace: it makes the trace of a step of 100
// short kernels behind long launches.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/what_if/what_if.hpp"
#include "tracer/file/trace_file.hpp"

namespace {

using namespace cohort;
using namespace cohort::literals;

struct Way {
  std::string_view name;
  bool graphs = false;
  int threads = 1;
  FuseChoice fuse = FuseChoice::kNone;
};

std::string gains(const WhatIfPrediction& prediction) {
  std::string text;
  for (const GainPart& part : prediction.gain) {
    const bool saves = part.gain >= Nanoseconds(0);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", part.cause, saves ? "" : "-",
                        format_time(saves ? part.gain : -part.gain));
  }
  return text.empty() ? "none" : text;
}

std::string memory(const BatchMemory& memory) {
  const auto total = memory.total();
  return total ? format_bytes(*total) : "unknown";
}

/// What every prediction has to keep, whatever the trace.
void check(const WhatIfPrediction& prediction, std::vector<std::string>& broken) {
  const auto expect = [&](bool holds, std::string_view what) {
    if (!holds) broken.push_back(fmt::format("N = {}: {}", prediction.members, what));
  };
  const auto rounding = Nanoseconds(static_cast<std::int64_t>(prediction.trace.slices.size()));
  expect(prediction.lower_bound <= prediction.step_time + rounding, "below its lower bound");
  Nanoseconds sum{};
  for (const GainPart& part : prediction.gain) sum += part.gain;
  expect(sum == prediction.baseline - prediction.step_time, "the attribution does not add up");
  Nanoseconds path{};
  for (const PathPart& part : prediction.facts.parts) path += part.time;
  expect(path == Nanoseconds(0) || prediction.facts.device_busy <= 1, "a device busier than always");
  expect(prediction.without_contention <= prediction.kernels_in_turn, "contention that saves time");
}

Result<void> print_table(const WhatIfCase& what_if_case, const std::vector<Way>& ways) {
  fmt::print(
      "| N | way | step | speedup | at least | at most | no contention | kernels in turn | device, SMs busy | "
      "binds | gain by cause | memory | confidence |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<std::string> broken;
  std::vector<std::pair<std::string, std::string>> doubts;
  for (const int models : {1, 2, 4, 8, 16, 32, 64}) {
    bool first = true;
    for (const Way& way : ways) {
      WhatIf what_if;
      what_if.models = {models};
      what_if.graphs = way.graphs;
      what_if.launch_threads = std::min(models, way.threads);
      what_if.fuse = models > 1 ? way.fuse : FuseChoice::kNone;
      COHORT_TRY(const WhatIfPrediction prediction, predict_what_if(what_if_case, what_if));
      if (first) {
        fmt::print("| {} | one after another | {} | 1.00x | | | | | | | | | |\n", models,
                   format_time(prediction.baseline));
      }
      first = false;
      check(prediction, broken);
      for (const Doubt& doubt : prediction.doubts) {
        const std::string why = doubt.why.substr(0, doubt.why.find(';'));
        const auto known =
            std::find_if(doubts.begin(), doubts.end(), [&](const auto& each) { return each.first == why; });
        if (known == doubts.end()) doubts.emplace_back(why, fmt::format("N = {}, {}", models, way.name));
      }
      fmt::print("| {} | {} | {} | {:.2f}x | {} | {} | {} | {} | {:.0f}%, {:.0f}% | {} {:.0f}% | {} | {} | {} |\n",
                 models, way.name, format_time(prediction.step_time), prediction.speedup,
                 format_time(prediction.lower_bound), format_time(prediction.upper_bound),
                 format_time(prediction.without_contention), format_time(prediction.kernels_in_turn),
                 100 * prediction.facts.device_busy, 100 * prediction.facts.sm_busy.value_or(0),
                 prediction.binding.resource, 100 * prediction.binding.utilisation, gains(prediction),
                 memory(prediction.memory), to_string(prediction.confidence()));
      std::fflush(stdout);
    }
  }
  fmt::print("\nWhat makes these uncertain, and where it first does:\n\n");
  for (const auto& [why, where] : doubts) fmt::print("- {} ({})\n", why, where);
  if (doubts.empty()) fmt::print("- nothing that the model knows of\n");
  fmt::print("\nChecks (bounds, attribution adds up, contention never saves time): {}\n",
             broken.empty() ? "all hold" : "broken");
  for (const std::string& what : broken) fmt::print("- {}\n", what);
  return {};
}

/// 100 kernels of 3 us on a twentieth of a V100, each behind a launch of 5 us and 5 us of the framework's work.
Trace launch_bound() {
  constexpr int kKernels = 100;
  Trace trace;
  trace.info.device.name = "Tesla V100-SXM2-16GB";
  const TrackId host = trace.add_track("host", "main");
  const TrackId device = trace.add_track("GPU 0", "stream 7");
  for (std::int64_t i = 0; i < kKernels; ++i) {
    const std::array<Trace::NamedArg, 1> call{{{"correlation", i + 1}}};
    trace.add_slice(host, "cudaLaunchKernel", "cuda_runtime", 10_us * i, 5_us, call);
    const std::array<Trace::NamedArg, 6> kernel{{{"correlation", i + 1},
                                                 {"device", std::int64_t{0}},
                                                 {"stream", std::int64_t{7}},
                                                 {"grid", std::string_view("[32, 1, 1]")},
                                                 {"block", std::string_view("[256, 1, 1]")},
                                                 {"registers per thread", std::int64_t{32}}}};
    trace.add_slice(device, "small", "kernel", 10_us * i + 7_us, 3_us, kernel);
  }
  const std::array<Trace::NamedArg, 1> call{{{"correlation", std::int64_t{kKernels + 1}}}};
  trace.add_slice(host, "cudaDeviceSynchronize", "cuda_runtime", 10_us * kKernels, 5_us, call);
  return trace;
}

Result<void> run(const std::vector<std::string>& files) {
  const std::vector<Way> ways = {{"streams"}, {"graphs on streams", true}};
  for (const std::string& file : files) {
    COHORT_TRY(const Trace trace, read_trace(file));
    WhatIfCase what_if_case;
    COHORT_CHECK(what_if_case.add(trace, {}));
    fmt::print("## {} on {}\n\n", std::filesystem::path(file).filename().string(), trace.info.device.name);
    COHORT_CHECK(print_table(what_if_case, ways));
    fmt::print("\n");
  }
  return {};
}

Result<void> run_launch_bound() {
  const Trace trace = launch_bound();
  WhatIfCase what_if_case;
  StepOptions all;
  all.window = TimeWindow{0_ms, 1000_ms};
  COHORT_CHECK(what_if_case.add(trace, all));
  fmt::print(
      "# A launch-bound step\n\nMade by `build/release/bin/scaling_curves --launch-bound`: 100 kernels of 3 us "
      "that fill a twentieth of a V100, each behind a launch of 5 us and 5 us of the framework's work. "
      "Predictions; nothing here ran on a GPU.\n\n");
  return print_table(what_if_case, {{"streams"},
                                    {"streams, 4 launch threads", false, 4},
                                    {"graphs on streams", true},
                                    {"fused", false, 1, FuseChoice::kAuto}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    fmt::print(stderr, "usage: scaling_curves TRACE... | --launch-bound\n");
    return 2;
  }
  if (arguments.front() != "--launch-bound") {
    fmt::print(
        "# Scaling curves\n\nMade by `build/release/bin/scaling_curves TRACE...`. Predictions from a trace of "
        "one model's step; nothing here was measured with more than one model.\n\n");
  }
  const Result<void> done = arguments.front() == "--launch-bound" ? run_launch_bound() : run(arguments);
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
