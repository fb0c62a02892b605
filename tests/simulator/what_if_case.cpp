#include "tests/simulator/what_if_case.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/simulator/gpu_trace_text.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

std::string launch_bound(int kernels) {
  std::string text = "main #step 0 100000\n";
  for (int i = 0; i < kernels; ++i) {
    text += fmt::format("main @layer{} {} {}\n", i, 10 * i, 10 * i + 6);
    text += fmt::format("main cudaLaunchKernel {} {} c{}\n", 10 * i, 10 * i + 5, i + 1);
    text += fmt::format("s7 small {} {} c{}\n", 10 * i + 7, 10 * i + 9, i + 1);
  }
  text += fmt::format("main cudaDeviceSynchronize {} {} c999\n", 10 * kernels, 10 * kernels + 6);
  return text;
}

Trace cpu_trace() {
  Trace trace;
  trace.info.device.kind = "cpu";
  trace.info.device.cores = 2;
  const TrackId track = trace.add_track("cpu", "stream 0");
  const std::array<Trace::NamedArg, 2> args{{{kIterationArg, std::int64_t{0}}, {"threads", std::int64_t{1}}}};
  trace.add_slice(track, "conv", "task", Nanoseconds(0), Nanoseconds(1000), args);
  trace.add_slice(track, "fc", "task", Nanoseconds(1000), Nanoseconds(500), args);
  return trace;
}

Case::Case(std::vector<Trace> of, std::optional<TimeWindow> window) : traces(std::move(of)) {
  TraceGraphOptions options;
  options.window = window;
  options.in_flight = false;
  for (const Trace& trace : traces) {
    Result<TraceGraph> graph = build_trace_graph(trace, options);
    EXPECT_TRUE(graph.has_value()) << graph.error().message;
    what_if_case.traces.push_back(&trace);
    what_if_case.graphs.push_back(std::move(*graph));
  }
}

Case::Case(std::string_view text, std::optional<TimeWindow> window)
    : Case(std::vector<Trace>{gpu_trace_from(text)}, window) {}

WhatIfPrediction Case::predict(const WhatIf& what_if) const {
  Result<WhatIfPrediction> prediction = predict_what_if(what_if_case, what_if);
  EXPECT_TRUE(prediction.has_value()) << prediction.error().message;
  return prediction ? std::move(*prediction) : WhatIfPrediction{};
}

Case filling(Case of, float waves) {
  for (TraceGraph& graph : of.what_if_case.graphs) {
    for (Task& task : graph.graph.tasks) {
      if (task.kind == TaskKind::kKernel) task.waves = waves;
    }
  }
  return of;
}

void expect_sound(const WhatIfPrediction& prediction) {
  // Ends of kernels are rounded one by one.
  const Nanoseconds rounding(static_cast<std::int64_t>(prediction.trace.slices.size()));
  EXPECT_LE(prediction.lower_bound, prediction.step_time + rounding);
  EXPECT_LE(prediction.step_time, prediction.upper_bound);
  Nanoseconds gain{};
  for (const GainPart& part : prediction.gain) gain += part.gain;
  EXPECT_EQ(gain, prediction.baseline - prediction.step_time);
}

WhatIf models(int count) { return models(std::vector<int>{count}); }

WhatIf models(std::vector<int> counts) {
  WhatIf what_if;
  what_if.models = std::move(counts);
  return what_if;
}

}  // namespace cohort
