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
  const std::size_t model = text.find("\"model\":\"lenet5\"");
  ASSERT_NE(model, std::string::npos);
  text.insert(model, "\"precision\":\"bfloat16\",");
  write("half.json", text);
  // Its ops are those of float32.
  EXPECT_THAT(refusal({"simulate", "half.json"}, 3), HasSubstr("-> [1, 6, 28, 28] in bfloat16\"; profile a model"));
}

TEST_F(SimulateProfile, RefusesAGpusFiguresForACpusProfile) {
  write("gpu.json", "{}");
  EXPECT_THAT(refusal({"simulate", kProfile, "-n", "2", "--device-profile", "gpu.json"}, 2),
              HasSubstr("--device-profile gpu.json: the profiles are of cpu:0; only those of a GPU have a use for it"));
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
              HasSubstr("--models, --input: p.plan.json says that itself"));
}

TEST_F(SimulateProfile, NamesOptionsThatItHasNoUseFor) {
  EXPECT_THAT(refusal({"simulate", kProfile, "--step", "1", "--graphs"}, 2),
              HasSubstr("lenet5-b1.trace.json.gz is a profile; --step, --graphs: of traces of runs"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--minibatch", "4"}, 2), HasSubstr("profile at another minibatch"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--workspace", "lots"}, 2), HasSubstr("--workspace 'lots': write it as"));
  EXPECT_THAT(refusal({"simulate", kProfile, "--workspace", "1KiB", "--limit", "workspace=1KiB"}, 2),
              HasSubstr("give one of them"));
}

}  // namespace
}  // namespace cohort
