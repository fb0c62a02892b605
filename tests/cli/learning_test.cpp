// What the loop learns from the device after a profile was made: plans that are checked, calls that are added.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/loop.hpp"
#include "tracer/checked_plan_record.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Learning : public LoopTest {
 protected:
  json plan(std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "mlp.trace.json.gz", "-n", "5", "-f", "--json"});
    const Outcome outcome = cohort(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  }
  Trace profile_trace() {
    auto trace = read_trace(path("mlp.trace.json.gz"));
    EXPECT_TRUE(trace) << trace.error().message;
    return *std::move(trace);
  }

  /// fused.plan.json: five members, of which one call computes fc1; `more` of that group.
  void write_fused_plan(const std::string& more) {
    write("fused.plan.json", R"({"format": "cohort.plan", "version": 1, "device": "reference:0",
      "members": [{"name": "mlp", "model": "mlp", "arguments": {"inputs": "8", "hidden": "8"}, "minibatch": 2,
                   "seed": 0, "count": 5}],
      "input": {"source": "generated", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0,
                "bad_images": "skip"},
      "streams": 1, "layout": "nhwc", "launch": "graph",
      "groups": [{"name": "fused", "members": "0-4", "ops": ["fc1"], "strategy": "strided_batch")" +
                                 more + R"(},
                 {"name": "rest", "members": "0-4", "strategy": "serial"}]})");
  }
  json add_calls_of_fused_plan() {
    const Outcome outcome =
        cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "fused.plan.json", "--budget", "60", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out)[0] : json();
  }
  std::set<int> threads_timed_at_width(int width) {
    std::set<int> threads;
    const Trace trace = profile_trace();
    for (const Slice& slice : trace.slices) {
      const auto record = profile_record_of(trace, slice);
      if (record && record->width == width) threads.insert(record->threads);
    }
    return threads;
  }
  const std::vector<std::string> predict_fused_{"simulate", "mlp.trace.json.gz", "--plan", "fused.plan.json"};
};

TEST_F(Learning, APlanThatWasCheckedIsPredictedAsItWasMeasured) {
  ASSERT_EQ(profile().exit_code, 0);
  const json first = plan({"--check", "0.3"});
  ASSERT_TRUE(first.contains("check"));
  const json& checked = first["check"];
  ASSERT_FALSE(checked["plans"].empty());
  EXPECT_LE(checked["plans"].size(), 4U);
  for (std::size_t i = 1; i < checked["plans"].size(); ++i)
    EXPECT_LE(checked["plans"][i - 1]["measured_ns"], checked["plans"][i]["measured_ns"]) << "fastest first";
  if (checked["disturbed"]) {
    EXPECT_TRUE(checked_plans_of(profile_trace()).empty()) << "what a busy machine did teaches nothing";
    return;
  }
  EXPECT_EQ(checked_plans_of(profile_trace()).size(), checked["plans"].size());

  // The next plan, made without running anything, knows it.
  const json next = plan({});
  for (const json& run : checked["plans"]) {
    for (const json& candidate : next["ranked"]) {
      if (candidate["name"] != run["name"]) continue;
      const double measured = run["measured_ns"];
      EXPECT_NEAR(candidate["step_ns"].get<double>() / measured, 1, 0.1) << run["name"];
    }
  }
}

TEST_F(Learning, TheFastestThatWasMeasuredIsWritten) {
  ASSERT_EQ(profile().exit_code, 0);
  const json first = plan({"--check", "0.3"});
  const std::size_t rank = first["check"]["best_rank"];
  ASSERT_GE(rank, 1U);
  ASSERT_LE(rank, first["ranked"].size());
  const json& best = first["check"]["plans"][0];
  if (best["measured_speedup"].get<double>() > 1) {
    EXPECT_EQ(rank, best["rank"].get<std::size_t>());
  } else {
    EXPECT_EQ(first["ranked"][rank - 1]["name"], "one after another");
  }
  EXPECT_EQ(run_shortly("mlp.plan.json").exit_code, 0);
}

TEST_F(Learning, AProfileOfAnotherDeviceIsNeitherCheckedNorAddedToHere) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2", "-q"}).exit_code, 0);
  Trace trace = profile_trace();
  trace.info.device.name = "another CPU";
  ASSERT_TRUE(write_trace(path("other.trace.json.gz"), trace, Overwrite::kNever));
  const auto before = contents();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan", "other.trace.json.gz", "-n", "2", "--check", "0.1", "-o", "x.plan.json"},
        {"profile", "--add", "other.trace.json.gz", "--for", "mlp.plan.json"}}) {
    const Outcome outcome = cohort(command);
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("another CPU"));
  }
  EXPECT_EQ(contents(), before) << "nothing is written";
}

TEST_F(Learning, CallsThatAPlanNeedsAreAddedToItsProfile) {
  ASSERT_EQ(profile().exit_code, 0);
  // Five members in one call: between the widths of 4 and 16 that are timed.
  ASSERT_EQ(cohort({"simulate", "mlp.trace.json.gz", "-n", "5", "--fuse", "fc1", "-q"}).exit_code, 0);
  write_fused_plan(R"(, "threads": 1)");
  ASSERT_THAT(cohort(predict_fused_).out, HasSubstr("between recorded widths"));
  const json added = add_calls_of_fused_plan();
  EXPECT_EQ(added["calls_wanted"], 1);
  EXPECT_EQ(added["calls_without_time"], 0);
  EXPECT_GT(added["records_added"], 0);
  EXPECT_EQ(threads_timed_at_width(5), std::set<int>{1});
  EXPECT_THAT(cohort(predict_fused_).out, Not(HasSubstr("between recorded widths")));
  const Outcome again = cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "fused.plan.json"});
  EXPECT_THAT(again.out, HasSubstr("every call of the plans is in it"));
}

TEST_F(Learning, WhatAPlanDoesInsteadOnceACallIsTimedIsTimedToo) {
  ASSERT_EQ(profile().exit_code, 0);
  // As recorded, calls of several members take next to nothing, and least on all cores: that is what the plan then
  // does, and what is timed. It takes far longer than that, and so the plan goes over to one core. Calls of one member
  // take the same wherever they were timed, so that nothing hangs on what else this machine did meanwhile.
  Trace trace = profile_trace();
  std::set<std::string> fused;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (record && record->width > 1) fused.insert(record->signature);
  }
  for (Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (!record || !fused.contains(record->signature)) continue;
    slice.duration = Nanoseconds(record->width == 1 ? 1000 : record->threads > 1 ? 1 : 2);
  }
  ASSERT_TRUE(write_trace(path("mlp.trace.json.gz"), trace, Overwrite::kAllow));
  write_fused_plan("");
  const std::size_t ways = trace.info.device.cores > 1 ? 2 : 1;  // with one core there is no other way
  const json added = add_calls_of_fused_plan();
  EXPECT_EQ(added["calls_wanted"], ways);
  EXPECT_EQ(threads_timed_at_width(5).size(), ways);
  EXPECT_THAT(cohort(predict_fused_).out, Not(HasSubstr("between recorded widths")));
  const Outcome again = cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "fused.plan.json"});
  EXPECT_THAT(again.out, HasSubstr("every call of the plans is in it"));
}

TEST_F(Learning, CallsThatThereWasNoTimeForAreSaid) {
  ASSERT_EQ(profile().exit_code, 0);
  write_fused_plan(R"(, "threads": 1)");
  const std::string before = read("mlp.trace.json.gz");
  const Outcome outcome =
      cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "fused.plan.json", "--budget", "1e-9"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 calls of the plans were not in it, 0 timings added"));
  EXPECT_THAT(outcome.err, HasSubstr("1 of these calls were not timed"));
  EXPECT_EQ(read("mlp.trace.json.gz"), before);
}

TEST_F(Learning, WhatIsAddedToAProfileFollowsFromIt) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2", "-q"}).exit_code, 0);
  const std::string before = read("mlp.trace.json.gz");
  const Outcome outcome =
      cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "mlp.plan.json", "--minibatch", "4"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--minibatch: not with --add, where the profile already says so"));
  EXPECT_EQ(cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "mlp.plan.json", "--strict-nan"}).exit_code, 2);
  for (const char* const option : {"-o=other.trace.json.gz", "--twice"})
    EXPECT_EQ(cohort({"profile", "--add", "mlp.trace.json.gz", "--for", "mlp.plan.json", option}).exit_code, 2)
        << option;
  EXPECT_EQ(cohort({"profile", "--add", "mlp.trace.json.gz"}).exit_code, 2) << "--for says what";
  EXPECT_EQ(cohort({"profile", "mlp", "--for", "mlp.plan.json"}).exit_code, 2);
  EXPECT_EQ(read("mlp.trace.json.gz"), before);
}

}  // namespace
}  // namespace cohort
