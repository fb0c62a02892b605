#include "view/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/view/report/sample_files.hpp"
#include "tests/view/xml_check.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string page_of(const std::vector<ReportFile>& files) {
  ReportOptions options;
  options.made = "Made by a test.";
  const auto report = make_report(files, options);
  EXPECT_TRUE(report.has_value());
  return report ? to_html(*report) : std::string();
}

/// Elements and text of a page; a failure where it is not well formed.
struct PageContent {
  explicit PageContent(const std::string& page) {
    const XmlVisitor visitor{[this](const std::string& name, const std::map<std::string, std::string>& attributes) {
                               elements.push_back(name);
                               for (const auto& [key, value] : attributes) attribute_names.push_back(key);
                             },
                             [this](const std::string& part) { text += part; }};
    EXPECT_EQ(xml_fault(page, visitor), "");
  }

  std::vector<std::string> elements;
  std::vector<std::string> attribute_names;
  std::string text;
};

TEST(ReportFiles, AreToldApartByTheirContent) {
  const TemporaryFolder folder;
  const Plan plan = sample_plan();
  folder.write("a", write_plan(plan));
  folder.write("b", trace_to_json(sample_trace(plan, TraceKind::kMeasured, 100)));
  folder.write("c.plan.json", trace_to_json(sample_recording()));
  const std::vector<std::filesystem::path> paths = {folder.path() / "a", folder.path() / "b",
                                                    folder.path() / "c.plan.json"};
  const auto files = read_report_files(paths, {});
  ASSERT_TRUE(files.has_value()) << files.error().message;
  ASSERT_EQ(files->size(), 3U);
  ASSERT_NE((*files)[0].plan(), nullptr);
  EXPECT_EQ(fingerprint(*(*files)[0].plan()), fingerprint(plan));
  EXPECT_NE((*files)[1].trace(TraceKind::kMeasured), nullptr);
  EXPECT_EQ((*files)[1].trace(TraceKind::kPredicted), nullptr);
  EXPECT_NE((*files)[2].trace(TraceKind::kRecorded), nullptr);
}

TEST(ReportFiles, ThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  folder.write("broken.json", "{\"traceEvents\": [");
  folder.write("plan.json", "{\"format\": \"cohort.plan\", \"version\": 1}");
  for (const char* name : {"broken.json", "plan.json", "absent.json"}) {
    const std::vector<std::filesystem::path> paths = {folder.path() / name};
    const auto files = read_report_files(paths, {});
    ASSERT_FALSE(files.has_value()) << name;
    EXPECT_EQ(files.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(files.error().message, HasSubstr(name));
  }
}

TEST(Report, PutsFilesOfOnePlanTogether) {
  std::vector<ReportFile> files = sample_files("tiny");
  std::vector<ReportFile> others = sample_files("other");
  std::vector<ReportFile> mixed;
  for (std::size_t i = 0; i < files.size(); ++i) {
    mixed.push_back(std::move(others[files.size() - 1 - i]));
    mixed.push_back(std::move(files[i]));
  }
  const auto report = make_report(mixed, {});
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->plans.size(), 2U);
  for (const PlanSection& section : report->plans) {
    EXPECT_EQ(section.files.size(), 3U);
    ASSERT_NE(section.predicted, nullptr);
    ASSERT_EQ(section.runs.size(), 1U);
    EXPECT_TRUE(section.runs[0].comparison.has_value());
  }
  EXPECT_EQ(report->plans[0].plan.members[0].source.model, "other");
  EXPECT_EQ(report->title, "2 other together, and 1 more plan");
}

TEST(Report, NamesStrategiesAndStreamsAsTheExplorerDoes) {
  Plan plan = sample_plan();
  plan.streams = 1;
  plan.groups.front().strategy = Strategy::kGroupedConvolution;
  plan.resolved.reset();
  const PageContent content(page_of({{"tiny.plan.json", plan}}));
  EXPECT_THAT(content.text, HasSubstr("grouped convolution"));
  EXPECT_THAT(content.text, Not(HasSubstr("dealt round-robin")));
}

TEST(Report, ComparesEachRunWithThePrediction) {
  std::vector<ReportFile> files = sample_files();
  files.push_back({"again.measured.json.gz", shared(sample_trace(sample_plan(), TraceKind::kMeasured, 900))});
  const auto report = make_report(files, {});
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->plans.size(), 1U);
  const PlanSection& section = report->plans[0];
  ASSERT_EQ(section.runs.size(), 2U);
  EXPECT_EQ(section.runs[1].comparison->tasks.front().measured.count(), 1910);
  EXPECT_EQ(section.runs[1].comparison->tasks.front().predicted.count(), 1110);
  const std::string page = to_html(*report);
  EXPECT_THAT(page, HasSubstr("Predicted against measured: again.measured.json.gz"));
}

TEST(Report, SaysWhatIsMissingAndHowToGetIt) {
  std::vector<ReportFile> files = sample_files();
  files.resize(1);
  const auto report = make_report(files, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->missing, ElementsAre(HasSubstr("`cohort simulate PROFILE --plan tiny.plan.json"),
                                           HasSubstr("`cohort run tiny.plan.json`"),
                                           HasSubstr("no file is a profile of tiny at minibatch 1")));
  EXPECT_THAT(to_html(*report), HasSubstr("<code>cohort run tiny.plan.json</code>"));
}

TEST(Report, HasAPageOfNothing) {
  const auto report = make_report({}, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(xml_fault(to_html(*report)), "");
}

TEST(Report, KeepsATraceWhosePlanCannotBeRead) {
  Trace trace = sample_trace(sample_plan(), TraceKind::kPredicted, 100);
  trace.info.plan = "{\"format\": \"cohort.plan\", \"version\": 99}";
  std::vector<ReportFile> files;
  files.push_back({"new.json", shared(std::move(trace))});
  const auto report = make_report(files, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->recordings.size(), 1U);
  EXPECT_THAT(report->missing, ElementsAre(HasSubstr("new.json")));
  EXPECT_EQ(xml_fault(to_html(*report)), "");
}

TEST(Report, PredictsSeveralOfARecordedProgram) {
  Trace trace = sample_recording();
  const TrackId host = trace.add_track("python", "thread 1");
  const std::array<Trace::NamedArg, 1> launch = {{{"correlation", std::int64_t{1}}}};
  trace.add_slice(host, "cudaLaunchKernel", "cuda_runtime", Nanoseconds(100), Nanoseconds(200), launch);
  std::vector<ReportFile> files;
  files.push_back({"gpu.json", shared(std::move(trace))});
  ReportOptions options;
  options.models = 2;
  const auto report = make_report(files, options);
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->recordings.size(), 1U);
  const RecordingSection& section = report->recordings[0];
  ASSERT_TRUE(section.gpu.has_value());
  ASSERT_TRUE(section.forecast.has_value()) << section.no_forecast;
  EXPECT_EQ(section.forecast->answer.report.members, 2U);
  EXPECT_EQ(section.forecast->answer.counted, "steps");
  const PageContent content(to_html(*report));
  EXPECT_THAT(content.text, HasSubstr("2 of it together"));
  EXPECT_THAT(content.text, HasSubstr("More or fewer models"));
}

TEST(Report, IsCancelled) {
  CancelToken cancel;
  cancel.cancel();
  ReportOptions options;
  options.cancel = &cancel;
  const auto report = make_report(sample_files(), options);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, ErrorCode::kInterrupted);
}

TEST(Page, LoadsNothingAndHasNoScripts) {
  std::vector<ReportFile> files = sample_files();
  files.push_back({"gpu.json", shared(sample_recording())});
  const std::string page = page_of(files);
  const PageContent content(page);
  for (const char* element : {"script", "link", "iframe", "img", "object", "embed", "base"})
    EXPECT_THAT(content.elements, Not(Contains(element)));
  for (const char* attribute : {"src", "href", "onload", "onclick"})
    EXPECT_THAT(content.attribute_names, Not(Contains(attribute)));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
}

TEST(Page, TakesNamesAsText) {
  const std::string model = "<script>alert('x')</script>&\"";
  std::vector<ReportFile> files = sample_files(model);
  Trace recording = sample_recording();
  recording.info.device.name = model;
  recording.info.settings = {{model, model}};
  recording.add_slice(recording.add_track(model, model), model, "kernel", Nanoseconds(100), Nanoseconds(9000));
  files.push_back({model + ".json", shared(std::move(recording))});
  const PageContent content(page_of(files));
  EXPECT_THAT(content.elements, Not(Contains("script")));
  EXPECT_THAT(content.text, HasSubstr("<script>alert('x')</script>&\""));
}

TEST(Page, IsForLightDarkAndPrint) {
  const std::string page = page_of(sample_files());
  EXPECT_THAT(page, HasSubstr("@media screen and (prefers-color-scheme:dark)"));
  EXPECT_THAT(page, HasSubstr("@media print"));
  EXPECT_THAT(page, HasSubstr("break-inside:avoid"));
}

TEST(Page, IsAsItWas) {
  const std::string page = page_of(sample_files());
  const std::string golden = std::string(COHORT_REPORT_GOLDENS) + "/page.html";
  if (std::getenv("COHORT_WRITE_GOLDENS") != nullptr) {
    ASSERT_TRUE(write_file(golden, page, Overwrite::kAllow).has_value());
  }
  const auto expected = read_file(golden);
  ASSERT_TRUE(expected.has_value()) << golden << ": made with COHORT_WRITE_GOLDENS=1";
  EXPECT_EQ(page, *expected) << "compare with " << golden;
}

TEST(ReportJson, HoldsWhatThePageShows) {
  const auto files = sample_files();
  const auto report = make_report(files, {});
  ASSERT_TRUE(report.has_value());
  const auto json = to_json(*report);
  EXPECT_EQ(json["title"], "2 tiny together");
  ASSERT_EQ(json["plans"].size(), 1U);
  EXPECT_EQ(json["plans"][0]["files"],
            (std::vector<std::string>{"tiny.plan.json", "tiny.predicted.json.gz", "tiny.measured.json.gz"}));
  EXPECT_NEAR(json["plans"][0]["runs"][0]["comparison"]["predicted_speedup"].get<double>(), 6000.0 / 3100, 1e-12);
  EXPECT_THAT(json["plans"][0]["no_prediction"].get<std::string>(), HasSubstr("no file is a profile"));
  EXPECT_EQ(json["missing"].size(), 1U);
}

/// The files of one walk-through, as they lie in the repository.
class WalkThrough : public testing::Test {
 protected:
  static std::vector<std::filesystem::path> paths(const std::vector<std::string>& names) {
    std::vector<std::filesystem::path> result;
    for (const std::string& name : names) result.push_back(std::filesystem::path(COHORT_TRACES) / name);
    return result;
  }
};

TEST_F(WalkThrough, IsPredictedAnewFromItsProfile) {
  const auto files = read_report_files(paths({"lenet5-b1-n16.measured.json.gz", "lenet5-b1.trace.json.gz",
                                              "lenet5-b1-n16.plan.json", "lenet5-b1-n16.predicted.json.gz"}),
                                       {});
  ASSERT_TRUE(files.has_value()) << files.error().message;
  const auto report = make_report(*files, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(report->plans.size(), 1U);
  const PlanSection& section = report->plans[0];
  ASSERT_TRUE(section.forecast.has_value()) << section.no_forecast;
  const Forecast& forecast = *section.forecast;
  EXPECT_EQ(forecast.answer.report.members, 16U);
  EXPECT_GT(forecast.answer.report.speedup, 1);
  EXPECT_GT(forecast.search.ranked, 3U);
  ASSERT_TRUE(forecast.chosen.has_value()) << "the plan is among those that the planner finds";
  const std::vector<ScaledWay>& ways = forecast.scaling.ways;
  ASSERT_GE(ways.size(), 2U);
  EXPECT_TRUE(ways.back().measured);
  ASSERT_EQ(ways.back().points.size(), 1U);
  EXPECT_EQ(ways.back().points[0].models, 16);
  std::vector<int> models;
  for (const ScaledPoint& point : ways.front().points) models.push_back(point.models);
  EXPECT_THAT(models, ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(report->missing, IsEmpty());
  const PageContent content(to_html(*report));
  for (const char* heading : {"Why", "Other ways", "More or fewer models", "Memory", "Predicted against measured",
                              "Profile of lenet5", "Where this comes from"}) {
    EXPECT_THAT(content.text, HasSubstr(heading));
  }
}

TEST_F(WalkThrough, GetsARecommendationFromAProfileAlone) {
  const auto files = read_report_files(paths({"lenet5-b1.trace.json.gz"}), {});
  ASSERT_TRUE(files.has_value()) << files.error().message;
  ReportOptions options;
  options.models = 4;
  const auto report = make_report(*files, options);
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->plans.size(), 1U);
  EXPECT_TRUE(report->plans[0].recommended);
  EXPECT_EQ(report->plans[0].plan.members.size(), 4U);
  EXPECT_THAT(report->missing, ElementsAre(HasSubstr("cohort plan lenet5-b1.trace.json.gz -n 4")));
  EXPECT_EQ(xml_fault(to_html(*report)), "");
}

}  // namespace
}  // namespace cohort
