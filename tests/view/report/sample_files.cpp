#include "tests/view/report/sample_files.hpp"

#include <array>
#include <utility>

namespace cohort {

using namespace literals;

Plan sample_plan(const std::string& model) {
  std::vector<Member> members;
  for (std::uint64_t seed = 0; seed < 2; ++seed)
    members.push_back({model + "-" + std::to_string(seed), {model, {}, 1}, seed});
  Plan plan = uniform_plan(std::move(members), Strategy::kConcurrent, 2);
  Resolved resolved;
  resolved.device = "Test CPU";
  resolved.fingerprint = fingerprint(plan);
  resolved.weights = 3_MiB;
  resolved.activations = 1_MiB;
  resolved.workspace = 64_KiB;
  resolved.input = 16_KiB;
  plan.resolved = resolved;
  return plan;
}

Trace sample_trace(const Plan& plan, TraceKind kind, int longer) {
  Trace trace;
  trace.info.kind = kind;
  trace.info.device = {"cpu:0", "cpu", "Test CPU", 2, 8_MiB, true, "", {{"library", "oneDNN 2.6"}}};
  trace.info.plan = write_plan(plan);
  trace.info.settings = {{"cohort", "0.1.0"}, {"date", "2026-11-20 10:00 UTC"}};
  const bool measured = kind == TraceKind::kMeasured;
  trace.info.wall_times = {{"plan", {3000_ns + Nanoseconds(longer)}, 0}, {"baseline", {6000_ns}, 0}};
  if (measured) {
    trace.info.wall_times[0].samples.push_back(3500_ns);
    trace.info.wall_times[0].discarded = 1;
    trace.info.wall_times.push_back({"plan traced", {4000_ns}, 0});
    trace.info.dropped["broken record"] = 2;
  }
  const std::array<TrackId, 2> streams = {trace.add_track("cpu:0", "stream 0"), trace.add_track("cpu:0", "stream 1")};
  Nanoseconds start{};
  for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
    for (std::size_t member = 0; member < 2; ++member) {
      Nanoseconds at = start;
      for (const char* op : {"conv1", "fc1"}) {
        const std::string task = std::to_string(member) + "/" + op;
        const Nanoseconds duration = 1000_ns + member * Nanoseconds(longer) + iteration * 10_ns;
        const std::array<Trace::NamedArg, 3> args = {
            {{kTaskArg, std::string_view(task)}, {"group", std::string_view("all")}, {kIterationArg, iteration}}};
        trace.add_slice(streams[member], op, "task", at, duration, args);
        at += duration;
      }
    }
    start += 10'000_ns;
  }
  return trace;
}

std::shared_ptr<const Trace> shared(Trace trace) { return std::make_shared<const Trace>(std::move(trace)); }

std::vector<ReportFile> sample_files(const std::string& model) {
  const Plan plan = sample_plan(model);
  return {{"tiny.plan.json", plan},
          {"tiny.predicted.json.gz", shared(sample_trace(plan, TraceKind::kPredicted, 100))},
          {"tiny.measured.json.gz", shared(sample_trace(plan, TraceKind::kMeasured, 400))}};
}

Trace sample_recording() {
  Trace trace;
  trace.info.device = {"cuda:0", "cuda", "Test GPU", 1, 80_MiB, true, "", {}};
  const TrackId stream = trace.add_track("GPU 0", "stream 7");
  trace.add_slice(stream, "void gemm<float>(int)", "kernel", 1000_ns, 5000_ns);
  trace.add_slice(stream, "relu", "kernel", 7000_ns, 1000_ns);
  trace.add_slice(stream, "Memcpy HtoD", "gpu_memcpy", 9000_ns, 500_ns);
  return trace;
}

}  // namespace cohort
