#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/require.hpp"
#include "simulator/what_if/replay.hpp"
#include "simulator/what_if/what_if.hpp"
#include "tracer/file/trace_file.hpp"

// Whatever the bytes: where they are a trace, its step is replayed, and several members of it run together in the ways
// that `cohort simulate` knows; a prediction that agrees with itself or a message comes out.

namespace cohort {
namespace {

std::vector<WhatIf> questions(const Trace& trace) {
  std::vector<WhatIf> all(7);
  all[0].models = {3};
  all[1].models = {2};
  all[1].graphs = true;
  all[2].models = {4};
  all[2].streams = 2;
  all[2].launch_threads = 2;
  all[2].fuse = FuseChoice::kAuto;
  all[3].models = {2};
  all[3].shared_input = true;
  all[3].buffers = 2;
  all[4].models = {2};
  all[4].mixed_precision = true;
  all[4].scale.emplace_back("*", 1e-3);
  all[4].copy_speed = 2;
  all[5].recorded_minibatch = 1;
  all[5].minibatch = 4096;
  all[6].interconnect_speed = 2;
  if (!published_gpu_profile(trace.info.device.name)) {
    all.push_back(all[0]);
    all.back().gpu = published_gpu_profile("NVIDIA H100 80GB HBM3");
  }
  return all;
}

void check_prediction(const WhatIfPrediction& prediction) {
  // Ends of kernels are rounded one by one, and long ones to what a double holds.
  const auto rounding =
      Nanoseconds(static_cast<std::int64_t>(prediction.trace.slices.size())) + prediction.step_time / 1'000'000'000;
  require(prediction.lower_bound <= prediction.step_time + rounding, "a step takes no less than its lower bound");
  require(prediction.step_time <= prediction.upper_bound, "a step takes no more than its upper bound");
  require(prediction.lower_bound >= Nanoseconds(0), "no bound is negative");
  Nanoseconds gain{};
  for (const auto& part : prediction.gain) gain += part.gain;
  require(gain == prediction.baseline - prediction.step_time, "the parts of the gain are all of it");
  const auto again = parse_trace(trace_to_json(prediction.trace));
  require(again.has_value(), "a predicted trace can be read");
}

void check_answer(const WhatIfCase& what_if_case, const WhatIf& question) {
  const auto prediction = predict_what_if(what_if_case, question);
  if (prediction) {
    check_prediction(*prediction);
  } else {
    const std::string& message = prediction.error().message;
    require(!message.empty(), "an error of a what-if says something");
    require(message.find("wait for each other") == std::string::npos, "no what-if makes tasks wait for each other");
  }
}

void check_trace(const Trace& trace) {
  TraceGraphOptions options;
  if (const auto graph = build_trace_graph(trace, options)) {
    if (const auto replayed = replay(*graph); !replayed) require(!replayed.error().message.empty(), "an error speaks");
  }
  WhatIfCase what_if_case;
  if (const auto added = what_if_case.add(trace, {}); !added) {
    require(!added.error().message.empty(), "an error says something");
    return;
  }
  for (const WhatIf& question : questions(trace)) check_answer(what_if_case, question);
  // Of two traces, whose members share host threads.
  if (!what_if_case.add(trace, {})) return;
  check_answer(what_if_case, {});
  WhatIf threads;
  threads.models = {1, 3};
  threads.launch_threads = 3;
  check_answer(what_if_case, threads);
}

}  // namespace
}  // namespace cohort

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cohort::TraceReadOptions options;
  options.most_inflated_bytes = std::size_t{16} << 20;  // a fuzzer must not run out of memory, nor of time
  const auto trace = cohort::parse_trace({reinterpret_cast<const char*>(data), size}, options);
  if (trace) cohort::check_trace(*trace);
  return 0;
}
