// `cohort plan` on a recorded profile.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "tests/cli/program.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

/// A profile of lenet5 that was recorded on a CPU with two cores.
const std::string kLenet5 = COHORT_TRACES "/lenet5-b1.trace.json.gz";
/// One of mlp, recorded on the same.
const std::string kMlp = COHORT_TRACES "/mlp-b1.trace.json.gz";

class PlanProfile : public ProgramTest {
 protected:
  json plan(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", kLenet5, "--json", "-f", "-o", "p.plan.json"});
    const Outcome outcome = cohort(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  }
  std::string refusal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", kLenet5});
    const Outcome outcome = cohort(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
    return outcome.err;
  }
  /// Members of the plan that was written.
  std::size_t members() {
    const json written = json::parse(read("p.plan.json"));
    std::size_t count = 0;
    for (const json& each : written["members"]) count += each.value("count", 1U);
    return count;
  }
};

/// A plan of it, of nhwc as all of traces/.
const std::string kLenet5Plan = COHORT_TRACES "/lenet5-b1-n16.plan.json";

TEST_F(PlanProfile, TimesOfOneLayoutSayNothingOfAnother) {
  json edited = json::parse(read_file(kLenet5Plan).value());
  edited["layout"] = "nchw";
  write("edited.plan.json", edited.dump());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan", kLenet5, "--resolve", "edited.plan.json"},
        {"simulate", kLenet5, "--plan", "edited.plan.json"}}) {
    const Outcome outcome = cohort(command);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("layout nchw: the profiles were recorded in nhwc; profile with --layout nchw"));
  }
}

TEST_F(PlanProfile, PlansInTheLayoutOfItsProfile) {
  auto recorded = read_trace(kLenet5);
  ASSERT_TRUE(recorded);
  recorded->info.settings["layout"] = "nchw";
  write("nchw.trace.json", trace_to_json(*recorded));
  EXPECT_EQ(cohort({"plan", "nchw.trace.json", "-n", "2", "-o", "p.plan.json"}).exit_code, 0);
  EXPECT_EQ(json::parse(read("p.plan.json"))["layout"], "nchw");
  EXPECT_THAT(cohort({"plan", "nchw.trace.json", kMlp}).err, HasSubstr("a plan has one layout"));
}

TEST_F(PlanProfile, ChoosesTheNumberOfMembers) {
  const json result = plan({"--choose-models", "12", "--candidates", "all"});
  ASSERT_TRUE(result.is_object());
  // Names of files stand in the order of ranks, however many there are.
  const std::string last = std::to_string(result["ranked"].size());
  const std::string digits(std::max<std::size_t>(2, last.size()) - 1, '0');
  EXPECT_EQ(read("all/" + digits + "1.plan.json"), read("p.plan.json"));
  EXPECT_TRUE(std::filesystem::exists(path("all/" + last + ".plan.json")));
  EXPECT_TRUE(result["minibatches"].empty());
  std::vector<std::size_t> sizes;
  double most = 0;
  for (const json& each : result["model_batches"]) {
    sizes.push_back(each["members"]);
    EXPECT_EQ(each["minibatch"], 1);
    most = std::max(most, each["best_samples_per_second"].get<double>());
    const json& best = result["ranked"][each["best_rank"].get<std::size_t>() - 1];
    EXPECT_EQ(best["step_ns"], each["best_step_ns"]);
    EXPECT_NEAR(best["predicted_speedup"].get<double>(),
                each["baseline_ns"].get<double>() / each["best_step_ns"].get<double>(), 1e-6);
  }
  EXPECT_THAT(sizes, ElementsAre(1, 2, 4, 8, 12));
  EXPECT_GE(result["ranked"][0]["samples_per_second"].get<double>() * 1.02, most);
  EXPECT_THAT(result["ranked"][0]["name"].get<std::string>(), HasSubstr(std::to_string(members()) + " member"));
  EXPECT_EQ(cohort({"simulate", kLenet5, "--plan", "p.plan.json"}).exit_code, 0);
  const Outcome text = cohort({"plan", kLenet5, "-f", "--choose-models", "4"});
  EXPECT_THAT(text.out, HasSubstr("one after another, 1 member, "));
  EXPECT_THAT(text.out, HasSubstr("one after another, 4 members, "));
}

TEST_F(PlanProfile, ChoosesAsManyMembersAsTheLimitsAllow) {
  const json small = plan({"--choose-models", "16", "--limit", "memory=2MiB"});
  ASSERT_TRUE(small.is_object());
  EXPECT_EQ(members(), 4U) << "8 need 2.2 MiB";
  for (const json& each : small["model_batches"]) EXPECT_LE(each["best_memory_bytes"], 2 << 20);
  const json all = plan({"--choose-models", "16"});
  const auto latency_of_4 = all["model_batches"][2]["best_p99_latency_ns"].get<std::int64_t>();
  plan({"--choose-models", "16", "--limit", "latency=" + std::to_string(latency_of_4 + 1000) + "ns"});
  EXPECT_EQ(members(), 4U) << "8 take about twice as long";
  EXPECT_EQ(cohort({"plan", kLenet5, "--choose-models", "4", "--limit", "memory=100"}).exit_code, 5);
}

TEST_F(PlanProfile, SaysWhichChoicesExcludeEachOther) {
  EXPECT_THAT(refusal({"--choose-models", "8", "-n", "4"}), HasSubstr("--models excludes --choose-models"));
  EXPECT_THAT(refusal({"--choose-models", "8", "--members", "m.json"}), HasSubstr("--choose-models"));
  EXPECT_THAT(refusal({"--choose-minibatch", "--members", "m.json"}), HasSubstr("--choose-minibatch"));
  EXPECT_THAT(refusal({"--choose-models", "8", "--resolve", "p.plan.json"}), HasSubstr("--resolve"));
  EXPECT_THAT(refusal({"--choose-models", "0"}), HasSubstr("--choose-models must be from 1 to 65536, not 0"));
}

TEST_F(PlanProfile, TakesANumberOfMembersForEachProfile) {
  ASSERT_TRUE(plan({kMlp, "-n", "3,2"}).is_object());
  std::map<std::string, std::size_t> members;
  const json written = json::parse(read("p.plan.json"));
  for (const json& each : written["members"]) members[each["model"]] += each.value("count", 1U);
  EXPECT_THAT(members, ElementsAre(Pair("lenet5", 3U), Pair("mlp", 2U)));
  const Outcome simulated = cohort({"simulate", kLenet5, kMlp, "-n", "3,2", "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(json::parse(simulated.out)["members"], 5);
  EXPECT_EQ(cohort({"simulate", kLenet5, kMlp, "-n", "2"}).out, cohort({"simulate", kLenet5, kMlp, "-n", "2,2"}).out);
}

TEST_F(PlanProfile, RefusesNumbersThatAreNeitherOneNorOneForEachProfile) {
  EXPECT_THAT(refusal({"-n", "3,2"}), HasSubstr("-n: 2 values for 1 profile; give one"));
  EXPECT_THAT(refusal({kMlp, "-n", "3,2,1"}), HasSubstr("-n: 3 values for 2 profiles"));
  EXPECT_THAT(refusal({kMlp, "-n", "3,0"}), HasSubstr("-n must be from 1 to 65536, not 0"));
  EXPECT_THAT(refusal({kMlp, "-n", "3,2", "--choose-minibatch"}), HasSubstr("-n: 2 values with --choose-minibatch"));
  EXPECT_THAT(refusal({"-n", "many"}), HasSubstr("--models: 'many' is no whole number"));
}

TEST_F(PlanProfile, SaysOfTheBestWhatSimulateSaysOfAPlan) {
  json result = plan({"-n", "4"});
  ASSERT_TRUE(result.is_object());
  const Outcome simulated = cohort({"simulate", kLenet5, "--plan", "p.plan.json", "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(result["best"], json::parse(simulated.out));
  const json& best = result["best"];
  EXPECT_EQ(best["predicted_ns"], result["ranked"][0]["step_ns"]);
  EXPECT_EQ(best["confidence"], "medium");
  EXPECT_FALSE(best["because"].empty());
  EXPECT_FALSE(best["critical_path"].empty());
  EXPECT_TRUE(best["tasks"][0]["least_slack_ns"].is_number_integer());
  EXPECT_GT(best["device_busy"], 0.0);
  const Outcome text = cohort({"plan", kLenet5, "-n", "4", "-f"});
  EXPECT_THAT(text.out, HasSubstr("\nconfidence medium: "));
  EXPECT_THAT(text.out, Not(HasSubstr("critical path")));
  const Outcome explained = cohort({"plan", kLenet5, "-n", "4", "-f", "--explain"});
  EXPECT_THAT(explained.out, HasSubstr("the best, as written:\ndevice busy "));
  EXPECT_THAT(explained.out, HasSubstr("\ncritical path: "));
  EXPECT_THAT(explained.out, HasSubstr("\nconfidence medium\n  "));
}

TEST_F(PlanProfile, WritesTheBestSoFarWhenInterrupted) {
  const std::vector<std::string> words{"plan", COHORT_TRACES "/squeezenet1_1-b1.trace.json.gz", "-n", "64"};
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"--json", "-o", "json.plan.json"});
  const Outcome outcome = signal_at("simulated 1 of", SIGINT, as_json);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(result["interrupted"], true);
  EXPECT_TRUE(result["best"].is_null());
  EXPECT_GE(result["ranked"].size(), 1U);
  EXPECT_THAT(files(), ElementsAre("json.plan.json", "json.predicted.json.gz"));
  EXPECT_TRUE(read_trace(path("json.predicted.json.gz")));
  const Outcome simulated = cohort({"simulate", words[1], "--plan", "json.plan.json", "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(json::parse(simulated.out)["predicted_ns"], result["ranked"][0]["step_ns"]);
  const Outcome text = signal_at("simulated 1 of", SIGTERM, words);
  EXPECT_EQ(text.exit_code, 130) << text.err;
  EXPECT_THAT(text.out, HasSubstr("interrupted: the best of what was looked at by then"));
}

TEST_F(PlanProfile, NamesTheModelOfAMemberThatNoProfileIsOf) {
  write("members.json", R"({"members": [{"name": "a", "model": "lenet5", "minibatch": 1, "seed": 0},
                                        {"name": "b", "model": "mlp", "minibatch": 1, "seed": 0}]})");
  const Outcome outcome = cohort({"plan", kLenet5, "--members", "members.json"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err,
              HasSubstr("member b: no profile of mlp was given, and the other profiles lack its op fc1 (Gemm)"));
  EXPECT_EQ(cohort({"plan", kLenet5, kMlp, "--members", "members.json"}).exit_code, 0);
}

TEST_F(PlanProfile, SaysOnceWhatSeveralNumbersOfMembersRefuse) {
  const Outcome outcome = cohort(
      {"plan", COHORT_TRACES "/lenet5-b1.trace.json.gz", "--choose-models", "8", "--input", "separate", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int said = 0;
  const json result = json::parse(outcome.out);
  for (const json& refused : result["refused"]) {
    if (refused["reason"].get<std::string>().find("its members do not read the same input") == std::string::npos)
      continue;
    ++said;
    for (const char* const number : {"2 members", "4 members", "8 members"}) {
      EXPECT_THAT(refused["name"].get<std::string>(), HasSubstr(number));
    }
  }
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace cohort
