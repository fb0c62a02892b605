#include "gui/timeline/timeline_page.hpp"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "tests/gui/timeline/fixtures.hpp"

namespace cohort {
namespace {

using namespace literals;

OpenFile file_of(const QString& path, TraceKind kind, Nanoseconds first = 0_ns) {
  Trace trace = small_trace();
  trace.info.kind = kind;
  for (Slice& slice : trace.slices) slice.start += first;
  return {path, std::make_shared<const Trace>(std::move(trace)), nullptr};
}

bool settle(TimelinePage& page) {
  return QTest::qWaitFor([&] { return page.settled(); });
}

TEST(TimelineScreen, WaitsForATrace) {
  TimelinePage page;
  EXPECT_FALSE(page.state().enabled);
  EXPECT_TRUE(page.settled());
  EXPECT_EQ(page.title(), "Timeline");
  EXPECT_GE(page.shortcuts().size(), 15U);
  EXPECT_GE(page.commands().size(), 8U);
}

TEST(TimelineScreen, ShowsTheTraceThatWasOpenedLast) {
  TimelinePage page;
  page.set_files({file_of("/a.json", TraceKind::kPredicted)});
  ASSERT_TRUE(settle(page));
  EXPECT_TRUE(page.state().enabled);
  EXPECT_EQ(page.shown(), QStringList{"/a.json"});
  ASSERT_TRUE(page.panel().view().timeline());
  EXPECT_EQ(page.panel().view().timeline()->slices(), 6U);
  page.set_files({});
  EXPECT_FALSE(page.panel().view().timeline());
}

TEST(TimelineScreen, ShowsSeveralFromTheirBeginnings) {
  TimelinePage page;
  const std::vector<OpenFile> files = {file_of("/a.json", TraceKind::kPredicted),
                                       file_of("/b.json", TraceKind::kMeasured, 77_ms)};
  page.set_files(files);
  page.show_files({"/a.json", "/b.json"});
  ASSERT_TRUE(settle(page));
  const auto timeline = page.panel().view().timeline();
  ASSERT_EQ(timeline->parts().size(), 2U);
  EXPECT_EQ(timeline->parts()[1].label, "measured");
  EXPECT_EQ(timeline->window(), (TimeWindow{0_us, 100_us}));
}

TEST(TimelineScreen, KeepsWhatItShowsWhenAnotherFileIsOpened) {
  TimelinePage page;
  const OpenFile a = file_of("/a.json", TraceKind::kPredicted);
  page.set_files({a});
  ASSERT_TRUE(settle(page));
  const auto before = page.panel().view().timeline();
  page.set_files({a, file_of("/b.json", TraceKind::kMeasured)});
  ASSERT_TRUE(settle(page));
  EXPECT_EQ(page.panel().view().timeline(), before);
  page.set_files({file_of("/a.json", TraceKind::kPredicted)});
  ASSERT_TRUE(settle(page));
  EXPECT_NE(page.panel().view().timeline(), before) << "it has changed on disk";
}

TEST(TimelineScreen, KeepsWhatItShowsWhenAFileWithoutSlicesIsAskedFor) {
  TimelinePage page;
  page.set_files(
      {file_of("/a.json", TraceKind::kPredicted), {"/a.plan.json", nullptr, std::make_shared<const Plan>()}});
  ASSERT_TRUE(settle(page));
  const auto before = page.panel().view().timeline();
  page.show_files({"/a.plan.json"});
  ASSERT_TRUE(settle(page));
  EXPECT_EQ(page.panel().view().timeline(), before);
  EXPECT_EQ(page.shown(), QStringList{"/a.json"});
}

TEST(TimelineScreen, KeepsTheRowsThatWereChosenWhenAFileChanges) {
  TimelinePage page;
  page.set_files({file_of("/a.json", TraceKind::kPredicted)});
  ASSERT_TRUE(settle(page));
  page.panel().set_grouping(RowGrouping::kEngines);
  ASSERT_TRUE(settle(page));
  page.set_files({file_of("/a.json", TraceKind::kPredicted)});
  ASSERT_TRUE(settle(page));
  EXPECT_EQ(page.panel().view().timeline()->options().grouping, RowGrouping::kEngines);
}

TEST(TimelineScreen, RemembersItsColours) {
  const QTemporaryDir folder;
  QSettings settings(folder.filePath("settings.ini"), QSettings::IniFormat);
  TimelinePage page;
  page.commands()[4]->trigger();
  page.save(settings);
  TimelinePage later;
  later.restore(settings);
  later.set_files({file_of("/a.json", TraceKind::kPredicted)});
  ASSERT_TRUE(settle(later));
  const auto& view = later.panel().view();
  EXPECT_EQ(view.colours(), colour_slices(*view.timeline(), Colouring::kName));
}

}  // namespace
}  // namespace cohort
