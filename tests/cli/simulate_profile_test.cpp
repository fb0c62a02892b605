#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A profile of lenet5 that was recorded on a CPU with two cores.
const std::string kProfile = COHORT_TRACES "/lenet5-b1.trace.json.gz";

class SimulateProfile : public ProgramTest {
 protected:
  json simulate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"simulate", kProfile, "--json"});
    const Outcome outcome = cohort(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  }
  std::string refusal(std::vector<std::string> arguments, int exit_code) {
    const Outcome outcome = cohort(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
    return outcome.err;
  }
};

TEST_F(SimulateProfile, LooksForOpsInThePrecisionOfTheProfile) {
  ASSERT_EQ(cohort({"trace", "convert", kProfile, "half.json"}).exit_code, 0);
  std::string text = read("half.json");
  const std::string recorded = "\"precision\":\"float32\"";
  const std::size_t precision = text.find(recorded);
  ASSERT_NE(precision, std::string::npos);
  text.replace(precision, recorded.size(), "\"precision\":\"bfloat16\"");
  write("half.json", text);
  // Its ops are those of float32.
  EXPECT_THAT(refusal({"simulate", "half.json"}, 3), HasSubstr("-> [1, 6, 28, 28] in bfloat16\"; profile a model"));
}

TEST_F(SimulateProfile, RefusesAGpusFiguresForACpusProfile) {
  write("gpu.json", "{}");
  EXPECT_THAT(refusal({"simulate", kProfile, "-n", "2", "--device-profile", "gpu.json"}, 2),
              HasSubstr("--device-profile gpu.json: the profiles are of cpu:0, which is not a GPU"));
}

TEST_F(SimulateProfile, SaysAllThatAWhatIfOnATraceSays) {
  const json result = simulate({"-n", "4", "--strategy", "concurrent", "--streams", "2", "-o", "p.json.gz"});
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["members"], 4);
  const auto step = result["predicted_ns"].get<std::int64_t>();
  std::int64_t gain = 0;
  for (const auto& [cause, time] : result["gain"].items()) gain += time.get<std::int64_t>();
  EXPECT_EQ(gain, result["baseline_ns"].get<std::int64_t>() - step);
  EXPECT_EQ(result["gain"].size(), 5U);
  std::int64_t path = 0;
  for (const auto& [part, time] : result["critical_path_parts"].items()) path += time.get<std::int64_t>();
  const auto steps = result["critical_path_steps"].get<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(path), static_cast<double>(step * steps), static_cast<double>(steps));
  EXPECT_FALSE(result["critical_path"].empty());
  EXPECT_EQ(result["tasks"][0]["least_slack_ns"], 0);
  EXPECT_LE(result["lower_bound_ns"], step);
  EXPECT_TRUE(result["upper_bound_ns"].is_number_integer());
  EXPECT_TRUE(result["binding"].is_string());
  EXPECT_GT(result["device_busy"], 0.0);
  EXPECT_GT(result["cores_busy"], 0.0);
  const json& memory = result["memory"];
  EXPECT_EQ(memory["total_bytes"],
            memory["weights_bytes"].get<std::int64_t>() + memory["activations_bytes"].get<std::int64_t>() +
                memory["workspace_bytes"].get<std::int64_t>() + memory["input_bytes"].get<std::int64_t>());
  EXPECT_TRUE(result["because"].is_array());
  const auto predicted = read_trace(this->path("p.json.gz"));
  ASSERT_TRUE(predicted) << predicted.error().message;
  const bool has_slack = std::all_of(predicted->slices.begin(), predicted->slices.end(), [&](const Slice& slice) {
    return predicted->integer_arg(slice, "slack_ns").has_value();
  });
  EXPECT_TRUE(has_slack);
  // The same keys as a trace's, so that one reader does for both.
  const Outcome text = cohort({"simulate", kProfile, "-n", "4", "--strategy", "concurrent", "--streams", "2"});
  EXPECT_THAT(text.out, HasSubstr("critical path: steps"));
  EXPECT_THAT(text.out, HasSubstr("one after another: "));
  EXPECT_THAT(text.out, HasSubstr("workspace "));
  EXPECT_THAT(text.out, HasSubstr("confidence "));
}

TEST_F(SimulateProfile, HoldsBothRulesOfAWorkspaceLimitSideBySide) {
  const json free = simulate({"-n", "4"});
  EXPECT_FALSE(free.contains("workspace_rules"));
  const json limited = simulate({"-n", "4", "--workspace", "60KiB"});
  const json& rules = limited["workspace_rules"];
  EXPECT_EQ(rules["limit_bytes"], 61'440);
  EXPECT_EQ(rules["whole_batch"]["predicted_ns"], limited["predicted_ns"]);
  EXPECT_EQ(rules["unlimited"]["predicted_ns"], free["predicted_ns"]);
  EXPECT_LE(rules["whole_batch"]["workspace_bytes"], 61'440);
  EXPECT_GE(rules["equal_shares"]["predicted_ns"], rules["whole_batch"]["predicted_ns"]);
  EXPECT_EQ(limited, simulate({"-n", "4", "--limit", "workspace=60KiB"}));
  EXPECT_THAT(cohort({"simulate", kProfile, "-n", "4", "--workspace", "60KiB"}).out,
              HasSubstr("the same part for each member (ModelBatch)"));
}

TEST_F(SimulateProfile, HandsAWorkspaceToWhoeverRunsWhereEqualPartsAreTooSmall) {
  ASSERT_EQ(cohort({"trace", "convert", kProfile, "other.json"}).exit_code, 0);
  json profile = json::parse(read("other.json"));
  profile["cohort"]["device"]["name"] = "another CPU";  // whose library is not here to be asked
  std::size_t changed = 0;
  for (json& event : profile["traceEvents"]) {
    if (event["name"] != "conv1" || event["args"].value("algorithm", "") != "jit:avx512_core") continue;
    event["args"]["workspace bytes"] = 20'000;  // of the fastest way to run it
    ++changed;
  }
  ASSERT_GT(changed, 0U);
  write("other.json", profile.dump());
  const Outcome outcome = cohort({"simulate", "other.json", "-n", "4", "--workspace", "60KiB", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json rules = json::parse(outcome.out)["workspace_rules"];
  EXPECT_EQ(rules["whole_batch"], rules["unlimited"]) << "one member at a time needs it";
  EXPECT_GT(rules["equal_shares"]["predicted_ns"], rules["whole_batch"]["predicted_ns"]) << "15 KiB are too few";
  EXPECT_LT(rules["equal_shares"]["workspace_bytes"], rules["whole_batch"]["workspace_bytes"]);
}

TEST_F(SimulateProfile, SaysTheSameWhateverElseTheMachineCanDo) {
  std::vector<std::string> answers;
  for (const char* const instructions : {"SSE41", "AVX2"}) {  // neither is what the profile was recorded with
    ::setenv("ONEDNN_MAX_CPU_ISA", instructions, 1);
    const Outcome outcome = cohort({"plan", kProfile, "-n", "8", "-f", "-o", "p.plan.json", "--json"});
    ::unsetenv("ONEDNN_MAX_CPU_ISA");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    answers.push_back(outcome.out + read("p.plan.json"));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(SimulateProfile, LimitsTheWorkspaceOfAPlanThatIsThere) {
  ASSERT_EQ(cohort({"plan", kProfile, "-n", "4", "-o", "p.plan.json"}).exit_code, 0);
  const json result = simulate({"--plan", "p.plan.json", "--workspace", "1MiB"});
  EXPECT_LE(result["memory"]["workspace_bytes"], 1 << 20);
  EXPECT_EQ(result["workspace_rules"]["limit_bytes"], 1 << 20);
  EXPECT_THAT(refusal({"simulate", kProfile, "--plan", "p.plan.json", "-n", "8", "--input", "separate"}, 2),
              HasSubstr("--models, --input: p.plan.json already says that"));
}

TEST_F(SimulateProfile, RefusesStreamsThatNothingRunsOn) {
  EXPECT_THAT(refusal({"simulate", kProfile, "-n", "4", "--streams", "2"}, 2),
              HasSubstr("--streams 2: --strategy serial runs on one stream; give --strategy concurrent"));
  EXPECT_THAT(refusal({"simulate", kProfile, "-n", "4", "--streams", "2", "--fuse", "fc*"}, 2),
              HasSubstr("--streams 2: --strategy serial"));
}

TEST_F(SimulateProfile, RefusesAPlanForAnotherKindOfDevice) {
  ASSERT_EQ(cohort({"plan", kProfile, "-n", "4", "-o", "p.plan.json"}).exit_code, 0);
  std::string text = read("p.plan.json");
  const std::string device = R"("device": "cpu:0")";
  ASSERT_NE(text.find(device), std::string::npos);
  write("g.plan.json", text.replace(text.find(device), device.size(), R"("device": "cuda:0")"));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"simulate", kProfile, "--plan"},
                                                  {"plan", kProfile, "-o", "x.plan.json", "--resolve"}}) {
    std::vector<std::string> words = command;
    words.emplace_back("g.plan.json");
    EXPECT_THAT(refusal(words, 3), HasSubstr("the plan's device is cuda:0: the profiles are of cpu:0 (AMD EPYC)"));
  }
}

TEST_F(SimulateProfile, ChoosesAnewWhereALimitIsAddedToAPlan) {
  ASSERT_EQ(cohort({"plan", kProfile, "-n", "4", "-o", "p.plan.json"}).exit_code, 0);
  json plan = json::parse(read("p.plan.json"));
  plan["limits"]["workspace_bytes"] = 100;
  plan["groups"] = {{{"name", "all"}, {"members", "0-3"}, {"strategy", "serial"}}};
  write("limited.plan.json", plan.dump());
  EXPECT_THAT(refusal({"simulate", kProfile, "--plan", "limited.plan.json"}, 5),
              HasSubstr("of workspace, limits.workspace_bytes is 100 B; delete resolved and baselines"));
  const Outcome resolved = cohort({"plan", kProfile, "--resolve", "limited.plan.json", "-o", "x.plan.json"});
  EXPECT_EQ(resolved.exit_code, 0) << resolved.err;
}

TEST_F(SimulateProfile, ChecksNoPlansByLatency) {
  EXPECT_THAT(refusal({"plan", kProfile, "-n", "4", "--check", "0.1", "--objective", "p99-latency"}, 2),
              HasSubstr("--check measures throughput, not the latencies that --objective p99-latency ranks by"));
}

TEST_F(SimulateProfile, FusesOpsThatAreAskedFor) {
  const auto gain = [](const json& result) { return result["gain"]["fusion_ns"].get<std::int64_t>(); };
  const json apart = simulate({"-n", "4"});
  EXPECT_EQ(apart, simulate({"-n", "4", "--fuse", "none"}));
  EXPECT_EQ(gain(apart), 0);
  const json named = simulate({"-n", "4", "--fuse", "conv*,pool1"});
  EXPECT_NE(gain(named), 0);
  EXPECT_NE(named["predicted_ns"], apart["predicted_ns"]);
  const json faster = simulate({"-n", "4", "--fuse", "auto"});
  EXPECT_NE(gain(faster), 0);
  EXPECT_LT(faster["predicted_ns"], apart["predicted_ns"]);
  EXPECT_FALSE(faster.contains("fusing_would_cost_ns"));
  for (const char* const names : {"conv*,pool1", "conv1", "conv2", "fc*", "fc1", "fc2,fc3", "conv*,fc*"})
    EXPECT_LE(faster["predicted_ns"], simulate({"-n", "4", "--fuse", names})["predicted_ns"]) << names;
  const json spread = simulate({"-n", "4", "--fuse", "conv1", "--strategy", "concurrent", "--streams", "2"});
  EXPECT_GT(gain(spread), 0);
  EXPECT_GT(spread["gain"]["overlap_ns"], 0);
  const Outcome alone = cohort({"simulate", kProfile, "--fuse", "auto"});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_THAT(alone.err, HasSubstr("--fuse changes nothing with one member"));
}

TEST_F(SimulateProfile, FusesNothingByItselfWhereThatIsFastestAndSaysSo) {
  // Two recurrent layers of the recorded profile take no less time together than in turn.
  const std::vector<std::string> words{
      "simulate", COHORT_TRACES "/lstm-b1.trace.json.gz", "-n", "4", "--strategy", "concurrent", "--streams", "2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    const Outcome outcome = cohort(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome;
  };
  const json apart = json::parse(with({"--json"}).out);
  json chosen = json::parse(with({"--fuse", "auto", "--json"}).out);
  ASSERT_TRUE(chosen.contains("fusing_would_cost_ns"));
  EXPECT_GT(chosen["fusing_would_cost_ns"], 0);
  chosen.erase("fusing_would_cost_ns");
  EXPECT_EQ(chosen, apart);
  EXPECT_THAT(with({"--fuse", "auto"}).out, HasSubstr("\n--fuse auto: nothing is fused; with it the step would take "));
  EXPECT_FALSE(apart.contains("fusing_would_cost_ns"));
}

TEST_F(SimulateProfile, SaysWhyOpsAreNotFused) {
  const auto refused = [&](const std::string& fuse, int exit_code, const std::string& strategy = "serial") {
    return refusal({"simulate", kProfile, "-n", "4", "--fuse", fuse, "--strategy", strategy}, exit_code);
  };
  EXPECT_THAT(refused("pool1", 1),
              HasSubstr("--fuse: op pool1 (AveragePool) is only fused along with the op ahead of it, by grouped_"
                        "convolution: ask for that, too"));
  EXPECT_THAT(refusal({"simulate", COHORT_TRACES "/squeezenet1_1-b1.trace.json.gz", "-n", "3", "--fuse",
                       "fire2.expand3x3,fire2.concat"},
                      1),
              HasSubstr("--fuse: op fire2.concat (Concat) is only fused along with the op ahead of it, by "
                        "strided_batch: that one is not, so leave this one out"));
  EXPECT_THAT(refused("fc1,attention", 1),
              HasSubstr("--fuse: attention: no op of this name is in several equal members"));
  EXPECT_THAT(refused("fc1,", 2), HasSubstr("--fuse 'fc1,': an empty name"));
  EXPECT_THAT(refused("auto", 2, "strided_batch"), HasSubstr("--strategy strided_batch already says"));
  write("p.json", "{}");
  EXPECT_THAT(refusal({"simulate", kProfile, "--plan", "p.json", "--fuse", "auto", "--graphs"}, 2),
              HasSubstr("--fuse, --graphs: p.json already says that"));
}

TEST_F(SimulateProfile, FusesWhatItCanOfAPatternAndNamesTheRest) {
  const Outcome outcome =
      cohort({"simulate", COHORT_TRACES "/squeezenet1_1-b1.trace.json.gz", "-n", "3", "--fuse", "fire2*"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "--fuse: left unfused, as no strategy applies to them there: fire2.concat\n");
}

TEST_F(SimulateProfile, LaunchesOnAGpuAlone) {
  EXPECT_THAT(refusal({"simulate", kProfile, "--graphs"}, 2),
              HasSubstr("--graphs: the profiles are of cpu:0; it is for GPUs only"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--launch-threads", "2"}, 2),
              HasSubstr("--launch-threads 2: the profiles are of cpu:0; it is for GPUs only"));
}

TEST_F(SimulateProfile, LaunchesOneByOneOnAGpuUnlessAskedForGraphs) {
  ASSERT_EQ(cohort({"trace", "convert", kProfile, "gpu.json"}).exit_code, 0);
  std::string text = read("gpu.json");
  const std::string cpu = R"("id":"cpu:0","kind":"cpu","name":"AMD EPYC","cores":2)";
  ASSERT_NE(text.find(cpu), std::string::npos);
  write("gpu.json", text.replace(text.find(cpu), cpu.size(),
                                 R"("id":"cuda:0","kind":"cuda","name":"NVIDIA H100 80GB HBM3","cores":1)"));
  const auto of_gpu = [&](std::vector<std::string> options) {
    std::vector<std::string> words{"simulate",   "gpu.json",   "-n",        "4", "--json",
                                   "--strategy", "concurrent", "--streams", "4", "-f"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  };
  const json single = of_gpu({});
  const json graphs = of_gpu({"--graphs"});
  EXPECT_EQ(single["binding"], "host");
  EXPECT_NE(graphs["binding"], "host");
  EXPECT_LT(graphs["predicted_ns"], single["predicted_ns"]);
  // Published figures have launches hold the driver's lock: threads gain nothing.
  EXPECT_EQ(of_gpu({"--launch-threads", "2"})["binding"], "driver lock");
  EXPECT_THAT(refusal({"simulate", "gpu.json", "--launch-threads", "2"}, 2), HasSubstr("--streams is 1"));
  EXPECT_THAT(refusal({"simulate", "gpu.json", "--launch-threads", "2", "--graphs"}, 2),
              HasSubstr("a graph is one launch"));
}

TEST_F(SimulateProfile, NamesOptionsThatItHasNoUseFor) {
  EXPECT_THAT(refusal({"simulate", kProfile, "--step", "1", "--scale", "fc1=2"}, 2),
              HasSubstr("lenet5-b1.trace.json.gz is a profile; only traces of runs take --step, --scale"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--minibatch", "4"}, 2), HasSubstr("profile at another minibatch"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--workspace", "lots"}, 2), HasSubstr("--workspace 'lots': write it as"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--workspace", "1KiB", "--limit", "workspace=1KiB"}, 2),
              HasSubstr("give one of them"));
}

}  // namespace
}  // namespace cohort
