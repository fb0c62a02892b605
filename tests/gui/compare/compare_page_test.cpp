#include "gui/compare/compare_page.hpp"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <filesystem>

#include "gui/compare/slice_flash.hpp"
#include "gui/figures/figure_strip.hpp"
#include "gui/timeline/timeline_panel.hpp"
#include "tests/view/compare/small_traces.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;

class ComparePageTest : public testing::Test {
 protected:
  ComparePageTest() {
    page_.resize(1280, 800);
    page_.set_theme(theme_of(ThemeKind::kLight));
    page_.show();
  }

  void open(std::vector<OpenFile> files) {
    page_.set_files(files);
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return page_.settled(); }));
  }
  void open_small() { open({{"/p.json", predicted_, nullptr}, {"/m.json", measured_, nullptr}}); }
  template <class Widget>
  Widget& find(const char* name) {
    auto* widget = page_.findChild<Widget*>(QLatin1String(name));
    EXPECT_NE(widget, nullptr) << name;
    return *widget;
  }
  QTableView& table() { return find<QTableView>("differences"); }
  QString cell(int row, int column) { return table().model()->index(row, column).data().toString(); }
  void choose(const char* name, int index) {
    auto& box = find<QComboBox>(name);
    box.setFocus();
    while (box.currentIndex() < index) QTest::keyClick(&box, Qt::Key_Down);
    while (box.currentIndex() > index) QTest::keyClick(&box, Qt::Key_Up);
    wait();
  }

  std::shared_ptr<const Trace> predicted_ = shared(trace_of_plan(
      TraceKind::kPredicted,
      {{"a", 0, 0_us, 10_us}, {"b", 0, 10_us, 5_us, "fc1"}, {"a", 1, 15_us, 10_us}, {"b", 1, 25_us, 5_us, "fc1"}}));
  std::shared_ptr<const Trace> measured_ = shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 100_us, 90_us},
                                                                                       {"b", 0, 190_us, 50_us, "fc1"},
                                                                                       {"a", 1, 300_us, 20_us},
                                                                                       {"b", 1, 321_us, 4_us, "fc1"},
                                                                                       {"a", 2, 330_us, 21_us},
                                                                                       {"b", 2, 352_us, 4_us, "fc1"}}));
  ComparePage page_;
};

TEST_F(ComparePageTest, SaysWhatToDoWithoutTraces) {
  open({});
  EXPECT_FALSE(page_.state().enabled);
  EXPECT_THAT(page_.state().next.toStdString(), testing::HasSubstr("Open two traces"));
  auto* next = page_.findChild<QPushButton*>();
  ASSERT_NE(next, nullptr);
  const QSignalSpy requested(&page_, &Page::requested);
  QPushButton* start = nullptr;
  for (QPushButton* button : page_.findChildren<QPushButton*>()) {
    if (button->text() == "Start from a profile") start = button;
  }
  ASSERT_NE(start, nullptr);
  QTest::mouseClick(start, Qt::LeftButton);
  ASSERT_EQ(requested.size(), 1);
  EXPECT_EQ(requested[0][0].value<PageRequest>().page, PageId::kProfile);
}

TEST_F(ComparePageTest, PairsTracesOfOnePlanByItself) {
  open_small();
  EXPECT_EQ(find<QComboBox>("predicted").currentData().toString(), "/p.json");
  EXPECT_EQ(find<QComboBox>("measured").currentData().toString(), "/m.json");
  ASSERT_NE(page_.picture().timeline, nullptr);
  EXPECT_EQ(page_.panel().view().timeline(), page_.picture().timeline);
  EXPECT_EQ(table().model()->rowCount(), 2);
  EXPECT_EQ(cell(0, DifferenceModel::kName), "a");
  EXPECT_EQ(cell(0, DifferenceModel::kDifference), "-10.0 us");
  EXPECT_EQ(cell(0, DifferenceModel::kError), "-50.0%");
}

TEST_F(ComparePageTest, ShowsTheTypicalStepsFirst) {
  open_small();
  const TimeWindow range = page_.panel().view().visible_range();
  EXPECT_LE(range.start, 0_us);
  EXPECT_GE(range.end, 25_us);
  EXPECT_LT(range.length(), 30_us);
  EXPECT_EQ(find<QComboBox>("measured step").currentIndex(), 1);
}

TEST_F(ComparePageTest, JumpsToTheSlicesOfARow) {
  open_small();
  table().setFocus();
  const QSignalSpy selected(&page_.panel().view(), &TimelineView::slice_selected);
  QTest::keyClick(&table(), Qt::Key_Down);
  if (table().currentIndex().row() == 0) QTest::keyClick(&table(), Qt::Key_Down);
  ASSERT_EQ(table().currentIndex().row(), 1);
  EXPECT_EQ(page_.panel().view().selected(), (SliceRef{1, SliceId(3)}));
  EXPECT_GE(selected.size(), 1);
  const auto* flash = page_.panel().view().findChild<SliceFlash*>();
  ASSERT_NE(flash, nullptr);
  EXPECT_THAT(flash->slices(), ElementsAre(SliceRef{0, SliceId(1)}, SliceRef{1, SliceId(3)}));
  EXPECT_THAT(find<QLabel>("slice").text().toStdString(), testing::HasSubstr("+25.0%"));
}

TEST(Flash, IsOfNoMoreSlicesThanTheEyeTellsApart) {
  Trace trace;
  const TrackId track = trace.add_track("GPU 0", "stream 7");
  std::vector<SliceRef> all;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    trace.add_slice(track, "k", "kernel", i * 2_us, 1_us);
    all.push_back({0, SliceId(i)});
  }
  TimelineView view;
  view.resize(800, 200);
  view.set_timeline(std::make_shared<const Timeline>(std::vector<TimelinePart>{{shared(std::move(trace)), 0_ns, ""}},
                                                     TimelineOptions()));
  SliceFlash flash(view);
  view.set_visible_range({0_us, 20_us});
  flash.flash(all);
  EXPECT_EQ(flash.slices().size(), 10U) << "those that are in view";
  view.show_all();
  flash.flash(all);
  EXPECT_EQ(flash.slices().size(), SliceFlash::kMost);
  EXPECT_EQ(flash.slices().front(), (SliceRef{0, SliceId(0)}));
}

TEST_F(ComparePageTest, FindsTheRowOfAClickedSlice) {
  open_small();
  TimelineView& view = page_.panel().view();
  const auto place = view.rectangle({0, SliceId(1)});
  ASSERT_TRUE(place.has_value());
  QTest::mouseClick(&view, Qt::LeftButton, {}, place->center().toPoint());
  EXPECT_EQ(view.selected(), (SliceRef{0, SliceId(1)}));
  EXPECT_EQ(table().currentIndex().row(), 1);
}

TEST_F(ComparePageTest, AlignsWhereItIsTold) {
  open_small();
  EXPECT_EQ(page_.picture().overlay->offset[0], 0_us);
  choose("align", 2);
  EXPECT_EQ(page_.picture().overlay->settings.align, AlignAt::kEnd);
  EXPECT_EQ(page_.picture().overlay->offset[0], 25_us - 15_us);
  choose("align", 1);
  EXPECT_TRUE(find<QComboBox>("anchor").isVisible());
  choose("anchor", 1);
  EXPECT_EQ(page_.picture().overlay->settings.anchor, "b");
  EXPECT_EQ(page_.picture().overlay->offset[0], 21_us - 10_us);
}

TEST_F(ComparePageTest, ComparesTheChosenSteps) {
  open_small();
  choose("measured step", 2);
  EXPECT_EQ(cell(0, DifferenceModel::kMeasured), "21.0 us");
  choose("scope", 1);
  EXPECT_EQ(page_.picture().overlay->settings.scope, CompareScope::kAllSteps);
}

TEST_F(ComparePageTest, SumsByOp) {
  open_small();
  choose("by", 1);
  EXPECT_EQ(cell(0, DifferenceModel::kName), "conv1");
  EXPECT_EQ(cell(1, DifferenceModel::kName), "fc1");
}

TEST_F(ComparePageTest, FiltersByTypedText) {
  open_small();
  QTest::keyClicks(&find<QLineEdit>("filter"), "fc");
  ASSERT_EQ(table().model()->rowCount(), 1);
  EXPECT_EQ(cell(0, DifferenceModel::kName), "b");
}

TEST_F(ComparePageTest, SwapsTheTraces) {
  open_small();
  QTest::mouseClick(page_.findChild<QToolButton*>("swap"), Qt::LeftButton);
  wait();
  EXPECT_EQ(find<QComboBox>("predicted").currentData().toString(), "/m.json");
  EXPECT_EQ(cell(0, DifferenceModel::kError), "+100.0%");
}

TEST_F(ComparePageTest, KeepsTheChosenPairWhenFurtherFilesAreOpened) {
  open_small();
  QTest::mouseClick(page_.findChild<QToolButton*>("swap"), Qt::LeftButton);
  wait();
  open({{"/p.json", predicted_, nullptr},
        {"/m.json", measured_, nullptr},
        {"/p2.json", predicted_, nullptr},
        {"/m2.json", measured_, nullptr}});
  EXPECT_EQ(find<QComboBox>("predicted").currentData().toString(), "/m.json");
}

TEST_F(ComparePageTest, ComparesTheLikelyPairOfTheFilesOpenedWithIt) {
  const auto profile = shared(trace_of_plan(TraceKind::kProfile, {{"a", 0, 0_us, 8_us}}));
  open({{"/x.json", predicted_, nullptr},
        {"/profile.json", profile, nullptr},
        {"/p.json", predicted_, nullptr},
        {"/m.json", measured_, nullptr}});
  page_.show_files({"/profile.json", "/p.json", "/m.json"});
  wait();
  EXPECT_EQ(find<QComboBox>("predicted").currentData().toString(), "/p.json");
  EXPECT_EQ(find<QComboBox>("measured").currentData().toString(), "/m.json");
}

TEST_F(ComparePageTest, ShowsAFileThatHasChanged) {
  open_small();
  const auto changed = shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 8_us}, {"b", 0, 8_us, 5_us, "fc1"}}));
  open({{"/p.json", predicted_, nullptr}, {"/m.json", changed, nullptr}});
  EXPECT_EQ(cell(0, DifferenceModel::kMeasured), "8.00 us");
}

TEST_F(ComparePageTest, EmptiesWhenAFileIsClosed) {
  open_small();
  open({{"/p.json", predicted_, nullptr}});
  EXPECT_EQ(page_.picture().comparison, nullptr);
  EXPECT_THAT(page_.state().next.toStdString(), testing::HasSubstr("Open two traces"));
}

TEST_F(ComparePageTest, LetsGoOfATraceThatIsClosed) {
  const std::weak_ptr<const Trace> measured = measured_;
  open_small();
  measured_.reset();
  open({{"/p.json", predicted_, nullptr}});
  EXPECT_TRUE(measured.expired());
  EXPECT_EQ(table().model()->rowCount(), 0);
}

TEST_F(ComparePageTest, SaysThatPlansDiffer) {
  open({{"/p.json", shared(trace_of_plan(TraceKind::kPredicted, {{"0/a", 0, 0_us, 1_us}}, "{1}")), nullptr},
        {"/m.json", shared(trace_of_plan(TraceKind::kMeasured, {{"0-1/a", 0, 0_us, 1_us}}, "{2}")), nullptr}});
  EXPECT_TRUE(find<QLabel>("notes").isVisible());
  EXPECT_THAT(find<QLabel>("notes").text().toStdString(), testing::HasSubstr("different plans"));
}

TEST_F(ComparePageTest, WritesTheShownTable) {
  open_small();
  QTest::keyClicks(&find<QLineEdit>("filter"), "fc");
  const QTemporaryDir folder;
  const QString path = folder.filePath("d.csv");
  ASSERT_TRUE(page_.export_differences(path, Overwrite::kNever).has_value());
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll().split('\n')[1], "b,fc1,convolutions,1,1,5000,4000,1000,0.2500,-11000\r");
  EXPECT_FALSE(page_.export_differences(path, Overwrite::kNever).has_value());
}

TEST_F(ComparePageTest, ShowsSpeedupAndTotalErrorOfARecordedRun) {
  const std::filesystem::path folder = COHORT_TRACES;
  open({{"/p", shared(read_trace(folder / "lenet5-b1-n16.predicted.json.gz").value()), nullptr},
        {"/m", shared(read_trace(folder / "lenet5-b1-n16.measured.json.gz").value()), nullptr}});
  const QString totals = page_.findChild<FigureStrip*>()->text();
  EXPECT_THAT(totals.toStdString(), testing::HasSubstr("Speedup over one after another: "));
  EXPECT_THAT(totals.toStdString(), testing::HasSubstr("Partners: 72 matched; alone: 0 predicted, 0 measured"));
}

TEST_F(ComparePageTest, ComparesTwoPredictionsThatAreNoFiles) {
  open_small();
  page_.compare_predictions({"serial", predicted_},
                            {"concurrent x2", shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 20_us}}))});
  wait();
  EXPECT_EQ(find<QComboBox>("predicted").currentIndex(), -1);
  EXPECT_EQ(find<QComboBox>("predicted").placeholderText(), "serial");
  EXPECT_EQ(find<QComboBox>("measured").placeholderText(), "concurrent x2");
  EXPECT_EQ(find<QComboBox>("by").currentText(), "by op");
  EXPECT_EQ(cell(0, DifferenceModel::kName), "conv1");
  EXPECT_EQ(cell(0, DifferenceModel::kError), "-50.0%");
  // Another file that is opened does not take their place, but a chosen one does.
  open({{"/p.json", predicted_, nullptr}, {"/m.json", measured_, nullptr}, {"/x.json", measured_, nullptr}});
  EXPECT_EQ(find<QComboBox>("predicted").currentIndex(), -1);
  page_.show_files({"/p.json", "/m.json"});
  wait();
  EXPECT_EQ(find<QComboBox>("measured").currentData().toString(), "/m.json");
}

TEST_F(ComparePageTest, SwapsPredictionsAndComparesOneWithAFile) {
  open_small();
  const auto concurrent = shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 20_us}}));
  page_.compare_predictions({"serial", predicted_}, {"concurrent x2", concurrent});
  wait();
  QTest::mouseClick(&find<QToolButton>("swap"), Qt::LeftButton);
  wait();
  EXPECT_EQ(find<QComboBox>("predicted").placeholderText(), "concurrent x2");
  EXPECT_EQ(find<QComboBox>("measured").placeholderText(), "serial");
  EXPECT_EQ(cell(0, DifferenceModel::kName), "conv1");
  EXPECT_EQ(cell(0, DifferenceModel::kError), "+100.0%");
  choose("measured", 1);
  EXPECT_EQ(&page_.picture().comparison->trace(CompareSide::kPredicted), concurrent.get());
  EXPECT_EQ(&page_.picture().comparison->trace(CompareSide::kMeasured), measured_.get());
  EXPECT_EQ(find<QComboBox>("predicted").currentIndex(), -1);
  QTest::mouseClick(&find<QToolButton>("swap"), Qt::LeftButton);
  wait();
  EXPECT_EQ(find<QComboBox>("predicted").currentData().toString(), "/m.json");
  EXPECT_EQ(find<QComboBox>("measured").placeholderText(), "concurrent x2");
  EXPECT_EQ(&page_.picture().comparison->trace(CompareSide::kPredicted), measured_.get());
  // The file is read anew, and then closed.
  const auto again = shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 30_us}}));
  open({{"/p.json", predicted_, nullptr}, {"/m.json", again, nullptr}});
  EXPECT_EQ(&page_.picture().comparison->trace(CompareSide::kPredicted), again.get());
  open({{"/p.json", predicted_, nullptr}});
  EXPECT_EQ(page_.picture().comparison, nullptr);
}

TEST_F(ComparePageTest, AnswersOnlyTheLastOfManyChanges) {
  open_small();
  for (int i = 0; i < 20; ++i) {
    find<QComboBox>("align").setCurrentIndex(i % 2 == 0 ? 2 : 0);
  }
  wait();
  EXPECT_EQ(page_.picture().overlay->settings.align, AlignAt::kStart);
}

}  // namespace
}  // namespace cohort
