#include "gui/explore/exploration_source.hpp"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <QTest>

#include "tests/gui/explore/fake_exploration.hpp"
#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;

OpenFile file_of(const char* path, TraceKind kind) {
  return {QString::fromLatin1(path), shared(trace_of_plan(kind, {})), nullptr};
}

class Source : public testing::Test {
 protected:
  ExplorationSource source_{nullptr,
                            [this](const std::vector<NamedTrace>& traces, const CancelToken&) { return open(traces); }};
  std::vector<std::string> opened_;
  bool broken_ = false;

  Result<std::unique_ptr<Exploration>> open(const std::vector<NamedTrace>& traces) {
    opened_.clear();
    for (const NamedTrace& trace : traces) opened_.push_back(trace.file.string());
    if (broken_) return fail(ErrorCode::kInvalidInput, "p: no op was timed");
    return std::make_unique<FakeExploration>(std::make_shared<FakeControl>());
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !source_.opening(); }));
  }
};

TEST_F(Source, OpensTheFirstProfileAndWhatWasMeasured) {
  const QSignalSpy changed(&source_, &ExplorationSource::exploration_changed);
  source_.set_files({file_of("/m", TraceKind::kMeasured), file_of("/p", TraceKind::kProfile),
                     file_of("/r", TraceKind::kRecorded), file_of("/x", TraceKind::kPredicted)});
  wait();
  ASSERT_NE(source_.exploration(), nullptr);
  EXPECT_THAT(opened_, ElementsAre("/p", "/m"));
  EXPECT_EQ(source_.settings().streams, 2);
  EXPECT_EQ(changed.size(), 2);
  ASSERT_EQ(source_.choices().size(), 2U);
  EXPECT_EQ(source_.choices()[1].title, "r");
}

TEST_F(Source, GoesOnWithAProfileWhileWhatWasMeasuredIsOpened) {
  std::vector<OpenFile> files{file_of("/p", TraceKind::kProfile)};
  source_.set_files(files);
  wait();
  const auto before = source_.exploration();
  ExploreSettings settings = source_.settings();
  settings.streams = 5;
  source_.set_settings(settings);
  files.push_back(file_of("/m", TraceKind::kMeasured));
  source_.set_files(files);
  EXPECT_EQ(source_.exploration(), before);
  wait();
  EXPECT_NE(source_.exploration(), before);
  EXPECT_THAT(opened_, ElementsAre("/p", "/m"));
  EXPECT_EQ(source_.settings(), settings);
  EXPECT_EQ(source_.recordings().size(), 1U);
  // Read anew, it is another one.
  files.front() = file_of("/p", TraceKind::kProfile);
  source_.set_files(files);
  EXPECT_EQ(source_.exploration(), nullptr);
  wait();
}

TEST_F(Source, OffersAllProfilesTogether) {
  source_.set_files({file_of("/a", TraceKind::kProfile), file_of("/b", TraceKind::kProfile)});
  wait();
  ASSERT_EQ(source_.choices().size(), 3U);
  EXPECT_EQ(source_.choices()[2].title, "all 2 profiles together");
  source_.choose(2);
  wait();
  EXPECT_THAT(opened_, ElementsAre("/a", "/b"));
  EXPECT_EQ(source_.choice_of({"/b"}), std::optional(1));
}

TEST_F(Source, KeepsWhatIsLookedAtWhenFurtherFilesAreOpened) {
  std::vector<OpenFile> files{file_of("/a", TraceKind::kProfile), file_of("/b", TraceKind::kProfile)};
  source_.set_files(files);
  source_.choose(1);
  wait();
  const auto before = source_.exploration();
  files.insert(files.begin(), file_of("/c", TraceKind::kProfile));
  source_.set_files(files);
  wait();
  EXPECT_EQ(source_.exploration(), before);
  EXPECT_EQ(source_.choices()[static_cast<std::size_t>(source_.chosen())].title, "b");
}

TEST_F(Source, SaysWhyAFileCannotBeExplored) {
  broken_ = true;
  source_.set_files({file_of("/p", TraceKind::kProfile)});
  wait();
  EXPECT_EQ(source_.exploration(), nullptr);
  EXPECT_EQ(source_.error(), "p: no op was timed");
  source_.set_files({});
  EXPECT_TRUE(source_.error().isEmpty());
  EXPECT_TRUE(source_.choices().empty());
}

OpenFile plan_file(const char* path, int streams) {
  const Plan plan = uniform_plan({{"tiny", {"lenet5", {}, 1}, 0}}, Strategy::kConcurrent, streams);
  return {QString::fromLatin1(path), nullptr, std::make_shared<const Plan>(plan)};
}

TEST_F(Source, BeginsWithThePlanThatWasOpenedLast) {
  source_.set_files({plan_file("/3.plan.json", 3), file_of("/p", TraceKind::kProfile), plan_file("/6.plan.json", 6)});
  wait();
  EXPECT_EQ(source_.settings().streams, 6);
}

TEST_F(Source, FollowsAPlanThatIsOpenedLaterUntilSettingsWereChanged) {
  std::vector<OpenFile> files{file_of("/p", TraceKind::kProfile)};
  source_.set_files(files);
  wait();
  const QSignalSpy changed(&source_, &ExplorationSource::settings_changed);
  files.push_back(plan_file("/3.plan.json", 3));
  source_.set_files(files);
  EXPECT_EQ(source_.settings().streams, 3);
  EXPECT_EQ(changed.size(), 1);
  ExploreSettings settings = source_.settings();
  settings.graphs = true;
  source_.set_settings(settings);
  files.push_back(plan_file("/6.plan.json", 6));
  source_.set_files(files);
  EXPECT_EQ(source_.settings(), settings);
  EXPECT_EQ(source_.first_settings().streams, 6);
}

TEST_F(Source, TellsOfOtherSettingsOnce) {
  source_.set_files({file_of("/p", TraceKind::kProfile)});
  wait();
  const QSignalSpy changed(&source_, &ExplorationSource::settings_changed);
  ExploreSettings settings = source_.settings();
  settings.streams = 5;
  source_.set_settings(settings);
  source_.set_settings(settings);
  EXPECT_EQ(changed.size(), 1);
}

}  // namespace
}  // namespace cohort
