#include "gui/files/load_file.hpp"

#include <gmock/gmock.h>

#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

Result<OpenFile> load(const QString& path) {
  const CancelToken cancel;
  ReadProgress progress;
  return load_file(path, cancel, progress);
}

TEST(LoadFile, TellsTracesAndPlansApartByWhatTheyHold) {
  const FileFolder folder;
  const auto trace = load(folder.write("a.plan.json", small_trace(3)));
  ASSERT_TRUE(trace);
  EXPECT_NE(trace->trace, nullptr);
  EXPECT_EQ(trace->plan, nullptr);
  const auto plan = load(folder.write("b.trace.json", small_plan()));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->trace, nullptr);
  ASSERT_NE(plan->plan, nullptr);
  EXPECT_EQ(plan->plan->members.size(), 1U);
}

TEST(LoadFile, NamesTheFileAndWhatIsWrongWithIt) {
  const FileFolder folder;
  const auto image = load(folder.write("a.json", QByteArray("\x89PNG\r\n")));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(image.error().message, HasSubstr("a.json: not a trace but a PNG image"));
  const auto plan = load(folder.write("b.json", QByteArray("{\"format\": \"cohort.plan\", \"version\": 1}")));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("b.json: "));
  EXPECT_THAT(load(folder.path("missing.json")).error().message, HasSubstr("missing.json"));
  EXPECT_THAT(load(folder.path(".")).error().message, HasSubstr("is a folder"));
}

TEST(LoadFile, StopsWhenCancelledAndSaysHowFarItIs) {
  const FileFolder folder;
  const QString path = folder.write_trace_of("a.json.gz", 20000);
  CancelToken cancel;
  ReadProgress progress;
  ASSERT_TRUE(load_file(path, cancel, progress));
  EXPECT_GT(progress.total.load(), 100000U);
  EXPECT_GT(progress.done.load(), 0U);
  EXPECT_LE(progress.done.load(), progress.total.load());
  cancel.cancel();
  const auto cancelled = load_file(path, cancel, progress);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kInterrupted);
}

TEST(LoadFile, SaysInAFewWordsWhatAFileHolds) {
  Trace trace = small_trace(3, TraceKind::kProfile);
  trace.info.settings["model"] = "lenet5";
  trace.info.device.id = "cpu:0";
  OpenFile file;
  file.trace = std::make_shared<const Trace>(trace);
  EXPECT_EQ(description_of(file), "profile of lenet5, cpu:0");
  file.trace.reset();
  file.plan = std::make_shared<const Plan>(small_plan());
  EXPECT_EQ(description_of(file), QStringLiteral("plan of 1 × mlp, cpu:0"));
}

}  // namespace
}  // namespace cohort
