#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReportCommand : public ProgramTest {
 protected:
  static std::string recorded(const std::string& name) { return std::string(COHORT_TRACES) + "/" + name; }
};

constexpr std::string_view kMarkupTrace = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "</style><script>alert(1)</script>", "pid": 0, "tid": 7, "ts": 100, "dur": 30},
  {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 140, "dur": 60}
]})";

TEST_F(ReportCommand, WritesOnePageOfAWalkThrough) {
  const Outcome outcome =
      cohort({"report", recorded("lenet5-b1-n16.plan.json"), recorded("lenet5-b1-n16.predicted.json.gz"),
              recorded("lenet5-b1-n16.measured.json.gz"), recorded("lenet5-b1.trace.json.gz"), "-o", "lenet5.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("wrote lenet5.html"));
  const std::string page = read("lenet5.html");
  EXPECT_THAT(page, AllOf(HasSubstr("16 lenet5 together"), HasSubstr("Predicted against measured"),
                          HasSubstr("Throughput against memory"), HasSubstr("Speedup against number of models"),
                          HasSubstr("Made by cohort report, cohort 0.1.0")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_EQ(files(), std::vector<std::string>{"lenet5.html"});
}

TEST_F(ReportCommand, PrintsWhatThePageHoldsAsJson) {
  const Outcome outcome = cohort({"report", recorded("lenet5-b1.trace.json.gz"), "-n", "2", "--json", "-q"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  const json page = json::parse(outcome.out);
  EXPECT_EQ(page["output"], "report.html");
  EXPECT_EQ(page["plans"][0]["members"], "2 lenet5");
  EXPECT_EQ(page["plans"][0]["recommended"], true);
  EXPECT_GT(page["plans"][0]["prediction"]["predicted_ns"].get<std::int64_t>(), 0);
  EXPECT_EQ(files(), std::vector<std::string>{"report.html"});
}

TEST_F(ReportCommand, DrawsWhatSeveralProcessesGain) {
  const Outcome outcome = cohort({"report", recorded("parvagpu/resnet50.csv"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json page = json::parse(outcome.out);
  ASSERT_EQ(page["processes"].size(), 1U);
  EXPECT_EQ(page["processes"][0]["model"], "resnet50");
  EXPECT_FALSE(page["processes"][0]["rows"].empty());
  EXPECT_THAT(read("report.html"), AllOf(HasSubstr("resnet50: several processes on one GPU"), HasSubstr("7 GPCs"),
                                         HasSubstr("minibatch 16, measured"), HasSubstr("in the median")));

  write("together.csv", "minibatch,step_ms,processes\n8,5,2\n");
  const Outcome none = cohort({"report", "together.csv", "-f"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("together.csv: has no row of one process alone"));
  EXPECT_EQ(cohort({"report", recorded("parvagpu/resnet50.csv"), "--as-is", "-f"}).exit_code, 0);
  EXPECT_THAT(read("report.html"), HasSubstr("What several processes of resnet50.csv gain is not shown"));
  write("bad.csv", "minibatch,step_ms\n1,2\n2,x\n");
  const Outcome bad = cohort({"report", "bad.csv", "-f"});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("bad.csv: line 3: column step_ms must be a number"));
}

TEST_F(ReportCommand, PredictsNothingWhereAsked) {
  const Outcome outcome = cohort({"report", recorded("lenet5-b1.trace.json.gz"), "--as-is", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json page = json::parse(outcome.out);
  EXPECT_TRUE(page["plans"].empty());
  EXPECT_EQ(page["profiles"].size(), 1U);
  EXPECT_THAT(read("report.html"), Not(HasSubstr("Other ways")));
}

TEST_F(ReportCommand, TakesNamesInATraceAsText) {
  write("t.json", kMarkupTrace);
  ASSERT_EQ(cohort({"report", "t.json"}).exit_code, 0);
  const std::string page = read("report.html");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
}

TEST_F(ReportCommand, NamesAFileThatCannotBeRead) {
  write("good.json", kMarkupTrace);
  write("broken.json", "{\"traceEvents\": nonsense");
  const Outcome broken = cohort({"report", "good.json", "broken.json"});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr("broken.json"));
  const Outcome absent = cohort({"report", "good.json", "absent.json"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_THAT(absent.err, HasSubstr("absent.json"));
  EXPECT_EQ(files(), (std::vector<std::string>{"broken.json", "good.json"})) << "no page of some of the files";
}

TEST_F(ReportCommand, OverwritesOnlyWhereAsked) {
  write("t.json", kMarkupTrace);
  write("report.html", "mine");
  const Outcome refused = cohort({"report", "t.json"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("report.html"));
  EXPECT_EQ(read("report.html"), "mine");
  EXPECT_EQ(cohort({"report", "t.json", "-f"}).exit_code, 0);
  EXPECT_THAT(read("report.html"), HasSubstr("<!doctype html>"));
}

TEST_F(ReportCommand, WantsFilesAndASensibleNumber) {
  EXPECT_EQ(cohort({"report"}).exit_code, 2);
  EXPECT_EQ(cohort({"report", "t.json", "-n", "0"}).exit_code, 2);
}

}  // namespace
}  // namespace cohort
