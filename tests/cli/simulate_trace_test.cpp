#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Two kernels behind their launches and a wait, as PyTorch's profiler writes them.
constexpr std::string_view kTrace = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100, "dur": 5,
   "args": {"correlation": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5,
   "args": {"correlation": 2}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 120, "dur": 105,
   "args": {"correlation": 3}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 108, "dur": 60,
   "args": {"correlation": 1, "stream": 7}},
  {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 169, "dur": 50,
   "args": {"correlation": 2, "stream": 7}}
]})";

/// Two steps, each 10 us of the host's work, a launch, a kernel of so many microseconds and a wait that ends 2 us after
/// it: the kernel's time and 22 us.
std::string two_steps(int first, int second) {
  std::string events;
  const auto add = [&](std::string_view category, std::string_view name, int tid, int start, int length, int id) {
    events += fmt::format(R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {},
      "args": {{"correlation": {}{}}}}})",
                          events.empty() ? "" : ",", category, name, tid == 7 ? 0 : 1, tid, start, length, id,
                          tid == 7 ? R"(, "stream": 7)" : "");
  };
  for (const auto& [step, kernel] : {std::pair{0, first}, {1, second}}) {
    const int start = 1000 * step;
    add("user_annotation", fmt::format("ProfilerStep#{}", step), 1, start, kernel + 22, 0);
    add("cuda_runtime", "cudaLaunchKernel", 1, start + 10, 5, 2 * step + 1);
    add("cuda_runtime", "cudaDeviceSynchronize", 1, start + 20, kernel + 2, 2 * step + 2);
    add("kernel", "gemm", 7, start + 20, kernel, 2 * step + 1);
  }
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

class SimulateTrace : public ProgramTest {
 protected:
  json answer(const std::vector<std::string>& words) {
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  }
  std::string misuse(const std::vector<std::string>& words) {
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  }
};

TEST_F(SimulateTrace, ReplaysWithoutAnyWhatIf) {
  write("t.json", kTrace);
  const Outcome outcome = cohort({"simulate", "t.json", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["traced_ns"], 125'000);
  EXPECT_EQ(result["simulated_ns"], 125'000);
  EXPECT_EQ(result["relative_error"], 0.0);
  EXPECT_TRUE(result["start_error_p99_ns"].is_number_integer());
  EXPECT_EQ(result["waits"], 1);
}

TEST_F(SimulateTrace, PredictsAWhatIfAndWritesItsTimeline) {
  write("t.json", kTrace);
  const Outcome outcome = cohort({"simulate", "t.json", "--scale", "gemm=2", "--json", "-o", "p.json.gz"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["predicted_ns"], 95'000);
  EXPECT_EQ(result["baseline_ns"], 125'000);
  EXPECT_EQ(result["gain"]["faster_tasks_ns"], 30'000);
  const Outcome again = cohort({"simulate", "p.json.gz", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["traced_ns"], 95'000);
}

TEST_F(SimulateTrace, SaysWhereTheTimeGoesAndWhatItCannotKnow) {
  write("t.json", kTrace);
  const Outcome outcome = cohort({"simulate", "t.json", "--models", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  std::int64_t path = 0;
  for (const auto& [part, time] : result["critical_path_parts"].items()) path += time.get<std::int64_t>();
  EXPECT_EQ(path, result["predicted_ns"]);
  EXPECT_FALSE(result["critical_path"].empty());
  EXPECT_EQ(result["tasks"][0]["least_slack_ns"], 0);
  EXPECT_GT(result["device_busy"], 0.5);
  EXPECT_TRUE(result["memory"]["total_bytes"].is_null());
  EXPECT_THAT(result["memory"]["unknown"], HasSubstr("profile_memory"));
  EXPECT_EQ(result["confidence"], "low");  // the trace names no device
  EXPECT_TRUE(result["because"][0]["grave"]);
  const Outcome text = cohort({"simulate", "t.json", "--models", "2"});
  EXPECT_THAT(text.out, HasSubstr("critical path: kernels"));
  EXPECT_THAT(text.out, HasSubstr("memory unknown"));
  EXPECT_THAT(text.out, HasSubstr("confidence low"));
}

TEST_F(SimulateTrace, ChangesTheMinibatchByTwoRecordings) {
  std::string twice(kTrace);
  twice.replace(twice.find("\"dur\": 60"), 9, "\"dur\": 58");
  write("a.json", kTrace);
  write("b.json", twice);
  const Outcome outcome =
      cohort({"simulate", "a.json", "b.json", "--minibatch", "24", "--recorded-minibatch", "16,32", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["members"], 1);
  EXPECT_EQ(result["predicted_ns"], 124'000);
  EXPECT_EQ(result["minibatch"]["traced_step_ns"], 125'000);
  EXPECT_EQ(cohort({"simulate", "a.json", "--minibatch", "24", "--recorded-minibatch", "16"}).exit_code, 1);
  EXPECT_EQ(cohort({"simulate", "a.json", "--minibatch", "24"}).exit_code, 2);
  EXPECT_EQ(cohort({"simulate", "a.json", "--recorded-minibatch", "16,32"}).exit_code, 2);
  // An option's value is one word: files may follow it.
  const json first =
      answer({"simulate", "--minibatch", "24", "--recorded-minibatch", "16,32", "a.json", "b.json", "--json"});
  EXPECT_EQ(first, result);
  EXPECT_THAT(misuse({"simulate", "a.json", "b.json", "--minibatch", "24", "--recorded-minibatch", "16,32,64"}),
              HasSubstr("--recorded-minibatch: 3 values; give one, or A,B for two traces of one model"));
  // Which are one member together.
  EXPECT_THAT(
      misuse({"simulate", "a.json", "b.json", "--minibatch", "24", "--recorded-minibatch", "16,32", "--models", "2,1"}),
      HasSubstr("--models: 2 values for 1 trace"));
}

TEST_F(SimulateTrace, TakesSeveralTracesTogether) {
  write("a.json", kTrace);
  write("b.json", kTrace);
  const Outcome outcome = cohort({"simulate", "a.json", "b.json", "--models", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["members"], 4);
}

TEST_F(SimulateTrace, TakesANumberOfMembersForEachTrace) {
  write("a.json", two_steps(20, 50));
  write("b.json", two_steps(30, 70));
  const json result = answer({"simulate", "a.json", "b.json", "--step", "0", "--models", "2,1", "--json"});
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["members"], 3);
  EXPECT_EQ(result["traced_step_ns"], 42'000 + 52'000);
  EXPECT_EQ(result["baseline_ns"], 2 * 42'000 + 52'000);
  EXPECT_EQ(result["upper_bound_ns"], result["baseline_ns"]);
  EXPECT_THAT(cohort({"simulate", "a.json", "b.json", "--step", "0", "--models", "2,1"}).out,
              HasSubstr("3 members' steps"));
  const json planned = answer({"plan", "a.json", "b.json", "--step", "0", "-n", "1,3", "--json"});
  ASSERT_TRUE(planned.is_object());
  EXPECT_EQ(planned["baseline_ns"], 42'000 + 3 * 52'000);
  EXPECT_EQ(planned["ranked"][0]["members"], 4);
  // One number is that of each.
  for (const char* const form : {"--json", "-q"}) {
    EXPECT_EQ(cohort({"simulate", "a.json", "b.json", "--models", "3", "--graphs", form}).out,
              cohort({"simulate", "a.json", "b.json", "--models", "3,3", "--graphs", form}).out);
    EXPECT_EQ(cohort({"plan", "a.json", "b.json", "-n", "2", "-f", form}).out,
              cohort({"plan", "a.json", "b.json", "-n", "2,2", "-f", form}).out);
  }
}

TEST_F(SimulateTrace, TakesAStepOfEachTrace) {
  write("a.json", two_steps(20, 50));
  write("b.json", two_steps(30, 70));
  const auto steps = [&](const std::vector<std::string>& chosen) {
    std::vector<std::string> words{"simulate", "a.json", "b.json", "--json"};
    words.insert(words.end(), chosen.begin(), chosen.end());
    return answer(words)["traced_step_ns"];
  };
  EXPECT_EQ(steps({"--step", "1"}), 72'000 + 92'000);
  EXPECT_EQ(steps({"--step", "0,1"}), 42'000 + 92'000);
  EXPECT_EQ(steps({"--step", "1,0"}), 72'000 + 52'000);
  EXPECT_EQ(steps({"--step", "0,0"}), steps({"--step", "0"}));
  EXPECT_EQ(steps({"--annotation", "ProfilerStep#1", "--annotation", "ProfilerStep#0"}), 72'000 + 52'000);
  EXPECT_EQ(steps({"--annotation", "*1"}), steps({"--step", "1"}));
  EXPECT_EQ(steps({"--annotation", "ProfilerStep*", "--step", "0,1"}), steps({"--step", "0,1"}));
  EXPECT_EQ(steps({"--window", "0us..900us,1ms..1.9ms"}), steps({"--step", "0,1"}));
  const json planned = answer({"plan", "a.json", "b.json", "--step", "0,1", "-n", "2,1", "--json"});
  ASSERT_TRUE(planned.is_object());
  EXPECT_EQ(planned["baseline_ns"], 2 * 42'000 + 92'000);
}

TEST_F(SimulateTrace, RefusesListsThatAreNoValueForEachTrace) {
  write("a.json", two_steps(20, 50));
  write("b.json", two_steps(30, 70));
  const auto two = [&](const std::string& option, const std::string& values) {
    return misuse({"simulate", "a.json", "b.json", option, values});
  };
  EXPECT_THAT(two("--models", "3,2,1"),
              HasSubstr("--models: 3 values for 2 traces; give one for all, or one for each"));
  EXPECT_THAT(two("--models", "3,0"), HasSubstr("--models 0: 1 to 4096"));
  EXPECT_THAT(two("--models", "3,-1"), HasSubstr("--models -1: 1 to 4096"));
  EXPECT_THAT(two("--models", "3,"), HasSubstr("--models: '' is no whole number"));
  EXPECT_THAT(two("--models", "3,two"), HasSubstr("--models: 'two' is no whole number"));
  EXPECT_THAT(two("--step", "0,1,0"), HasSubstr("--step: 3 values for 2 traces"));
  EXPECT_THAT(two("--step", "0,-1"), HasSubstr("--step: '-1' is no whole number from 0 to"));
  EXPECT_THAT(two("--window", "0us..1us,5"), HasSubstr("--window: '5' is no part of a trace; write it as FROM..TO"));
  EXPECT_THAT(two("--window", "2us..1us"), HasSubstr("--window: '2us..1us' ends before it starts"));
  EXPECT_THAT(misuse({"plan", "a.json", "b.json", "-n", "3,2,1"}), HasSubstr("--models: 3 values for 2 traces"));
  EXPECT_THAT(misuse({"plan", "a.json", "b.json", "-n", "3,0"}), HasSubstr("-n must be from 1 to 65536, not 0"));
  EXPECT_THAT(misuse({"plan", "a.json", "b.json", "--step", "0,1,0"}), HasSubstr("--step: 3 values for 2 traces"));
  // A step of one trace is one.
  EXPECT_THAT(misuse({"simulate", "a.json", "--models", "1,1"}), HasSubstr("--models: 2 values for 1 trace; give one"));
  EXPECT_THAT(misuse({"simulate", "a.json", "--step", "0,1"}), HasSubstr("--step: 2 values for 1 trace; give one"));
  EXPECT_THAT(misuse({"trace", "info", "a.json", "--step", "0,1"}), HasSubstr("--step: 2 values for 1 trace"));
  EXPECT_THAT(misuse({"trace", "info", "a.json", "--annotation", "a", "--annotation", "b"}),
              HasSubstr("--annotation: 2 values for 1 trace"));
  EXPECT_THAT(misuse({"trace", "convert", "a.json", "c.json", "--window", "0us..1us,1us..2us"}),
              HasSubstr("--window: 2 values for 1 trace"));
}

TEST_F(SimulateTrace, SaysInItsHelpWhereAListIsTaken) {
  for (const char* const command : {"simulate", "plan"}) {
    const std::string help = cohort({command, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("--models N[,...]=1")) << command;
    EXPECT_THAT(help, HasSubstr("--step N[,...]")) << command;
    EXPECT_THAT(help, HasSubstr("--window FROM..TO[,...]")) << command;
  }
  const std::string info = cohort({"trace", "info", "--help"}).out;
  EXPECT_THAT(info, HasSubstr("--step N "));
  EXPECT_THAT(info, Not(HasSubstr("for all traces")));
}

TEST_F(SimulateTrace, RefusesTracesOfDifferentDevicesByTheirFiles) {
  const auto of = [](const std::string& device) {
    return R"({"deviceProperties": [{"id": 0, "name": ")" + device + R"("}], )" + std::string(kTrace.substr(1));
  };
  write("a.json", of("Tesla V100-SXM2-32GB"));
  write("b.json", of("NVIDIA H100 80GB HBM3"));
  const Outcome outcome = cohort({"simulate", "a.json", "b.json"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("b.json was recorded on \"NVIDIA H100 80GB HBM3\", a.json on \"Tesla V100"));
}

TEST_F(SimulateTrace, SaysWhatATraceCannotAnswer) {
  write("t.json", kTrace);
  const Outcome workspace = cohort({"simulate", "t.json", "--workspace", "1GiB"});
  EXPECT_EQ(workspace.exit_code, 1);
  EXPECT_THAT(workspace.out, IsEmpty());
  EXPECT_THAT(workspace.err, HasSubstr("what is missing are the other algorithms of its ops"));
  const Outcome unknown = cohort({"simulate", "t.json", "--fuse", "attention", "--models", "2"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("attention"));
  const Outcome input = cohort({"simulate", "t.json", "--input", "shared", "--models", "2"});
  EXPECT_EQ(input.exit_code, 1);
  const Outcome between = cohort({"simulate", "t.json", "--interconnect-speed", "2"});
  EXPECT_EQ(between.exit_code, 1);
  EXPECT_THAT(between.err, HasSubstr("--interconnect-speed: the step copies nothing between GPUs"));
}

TEST_F(SimulateTrace, NamesOptionsThatItHasNoUseFor) {
  write("t.json", kTrace);
  const Outcome outcome = cohort({"simulate", "t.json", "--strategy", "serial", "--limit", "memory=1GiB"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("t.json is the trace of a run; only profiles (cohort profile MODEL) take --limit, --strategy"));
  EXPECT_EQ(cohort({"simulate", "t.json", "--recorded-minibatch", "16"}).exit_code, 2);
  const Outcome mixed = cohort({"simulate", "t.json", COHORT_TRACES "/lenet5-b1.trace.json.gz", "--models", "2"});
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_THAT(mixed.err, HasSubstr("is a profile and t.json the trace of a run"));
}

TEST_F(SimulateTrace, SaysWhatChangesNothingWithOneMember) {
  write("t.json", kTrace);
  const Outcome alone = cohort({"simulate", "t.json", "--streams", "2", "--fuse", "auto", "--graphs"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("--streams, --fuse: nothing changes with one member of a trace"));
  const Outcome several = cohort({"simulate", "t.json", "--streams", "2", "--graphs", "--models", "2"});
  EXPECT_THAT(several.err, Not(HasSubstr("nothing changes")));
}

TEST_F(SimulateTrace, IsPlannedWithAsFarAsATraceGoes) {
  write("t.b.json", kTrace);
  const Outcome outcome = cohort({"plan", "t.b.json", "-n", "4", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["predicted"], "t.b.predicted.json.gz");
  EXPECT_EQ(result["baseline_ns"], 500'000);
  const json& best = result["ranked"][0];
  EXPECT_LE(best["predicted_ns"], result["ranked"][1]["predicted_ns"]);
  EXPECT_TRUE(best["because"].is_array());
  // What it says of a way is what simulate says of it.
  std::vector<std::string> simulate{"simulate", "t.b.json", "--models", "4", "--json"};
  std::istringstream name(best["name"].get<std::string>());
  for (std::string word; name >> word;) simulate.push_back(word);
  const Outcome same = cohort(simulate);
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(json::parse(same.out)["predicted_ns"], best["predicted_ns"]);
  EXPECT_EQ(cohort({"trace", "info", "t.b.predicted.json.gz"}).exit_code, 0);
  const Outcome text = cohort({"plan", "t.b.json", "-n", "4", "-f", "--explain", "--rows", "1"});
  EXPECT_THAT(text.out, HasSubstr("one after another (baseline)"));
  EXPECT_THAT(text.out, HasSubstr("critical path:"));
  EXPECT_THAT(text.out, HasSubstr("more\n"));
}

TEST_F(SimulateTrace, IsNotPlannedWithWhereOnlyAProfileWouldDo) {
  write("t.json", kTrace);
  const Outcome of_profiles = cohort({"plan", "t.json", "-n", "4", "--objective", "balanced", "--pareto"});
  EXPECT_EQ(of_profiles.exit_code, 2);
  EXPECT_THAT(
      of_profiles.err,
      HasSubstr("t.json is the trace of a run; only profiles (cohort profile MODEL) take --objective, --pareto"));
  const Outcome limit = cohort({"plan", "t.json", "--limit", "workspace=1MiB"});
  EXPECT_EQ(limit.exit_code, 2);
  EXPECT_THAT(limit.err, HasSubstr("only take memory=BYTES"));
  const Outcome unknown = cohort({"plan", "t.json", "--limit", "memory=1MiB"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("records no allocations"));
  const Outcome step = cohort({"plan", COHORT_TRACES "/lenet5-b1.trace.json.gz", "--step", "1"});
  EXPECT_EQ(step.exit_code, 2);
  EXPECT_THAT(step.err, HasSubstr("lenet5-b1.trace.json.gz is a profile; only traces of runs take --step"));
}

TEST_F(SimulateTrace, RefusesWhatItCannotRead) {
  write("t.json", kTrace);
  write("p.json", "{}");
  EXPECT_EQ(cohort({"simulate", "t.json", "--graphs", "--device-profile", "p.json"}).exit_code, 3);
  EXPECT_EQ(cohort({"simulate", "t.json", "--scale", "gemm"}).exit_code, 2);
  EXPECT_EQ(cohort({"simulate", "t.json", "--scale", "gemm=-1"}).exit_code, 2);
  EXPECT_EQ(cohort({"simulate", "t.json", "--models", "0"}).exit_code, 2);
  EXPECT_EQ(cohort({"simulate", "missing.json"}).exit_code, 3);
}

}  // namespace
}  // namespace cohort
