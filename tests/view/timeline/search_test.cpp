#include "view/timeline/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

SliceRef at(std::uint32_t slice, std::uint32_t part = 0) { return {part, static_cast<SliceId>(slice)}; }

class Search : public testing::Test {
 protected:
  static Trace trace() {
    Trace trace;
    const TrackId track = trace.add_track("cpu:0", "stream 0");
    const TrackId other = trace.add_track("cpu:0", "stream 1");
    const std::array<Trace::NamedArg, 3> one{
        {{"task", std::string_view("0-7/conv1")}, {"stream", std::int64_t{7}}, {"graph", true}}};
    const std::array<Trace::NamedArg, 2> two{{{"task", std::string_view("8/fc")}, {"share", 0.5}}};
    trace.add_slice(track, "Conv1", "task", 30_us, 1_us, one);
    trace.add_slice(other, "fc", "task", 10_us, 1_us, two);
    trace.add_slice(track, "conv2", "task", 20_us, 1_us);
    return trace;
  }
  Timeline timeline_{std::vector<TimelinePart>{{std::make_shared<const Trace>(trace()), 0_ns, ""},
                                               {std::make_shared<const Trace>(trace()), 5_us, ""}}};
};

TEST_F(Search, FindsNamesInOrderOfTimeWhateverTheirCase) {
  EXPECT_THAT(search(timeline_, "CONV").found(), ElementsAre(at(2), at(2, 1), at(0), at(0, 1)));
  EXPECT_THAT(search(timeline_, "nothing like it").found(), IsEmpty());
  EXPECT_THAT(search(timeline_, "").found(), IsEmpty());
}

TEST_F(Search, FindsArguments) {
  EXPECT_THAT(search(timeline_, "0-7/").found(), ElementsAre(at(0), at(0, 1)));
  EXPECT_THAT(search(timeline_, "stream=7").found(), ElementsAre(at(0), at(0, 1)));
  EXPECT_THAT(search(timeline_, "task=fc").found(), ElementsAre(at(1), at(1, 1)));
  EXPECT_THAT(search(timeline_, "share=0.5").found(), ElementsAre(at(1), at(1, 1)));
  EXPECT_THAT(search(timeline_, "graph=true").found(), ElementsAre(at(0), at(0, 1)));
  EXPECT_THAT(search(timeline_, "graph=false").found(), IsEmpty());
  EXPECT_THAT(search(timeline_, "stream=8").found(), IsEmpty());
}

TEST_F(Search, StepsThroughWhatItFoundAndAroundTheEnd) {
  const SearchResults results = search(timeline_, "conv");
  EXPECT_EQ(results.next(timeline_, std::nullopt, 21_us), at(2, 1));
  EXPECT_EQ(results.next(timeline_, at(2), 0_us), at(2, 1));
  EXPECT_EQ(results.next(timeline_, at(0, 1), 0_us), at(2));
  EXPECT_EQ(results.next(timeline_, at(1), 0_us), at(2)) << "from a slice that was not found itself";
  EXPECT_EQ(results.previous(timeline_, at(2), 0_us), at(0, 1));
  EXPECT_EQ(results.previous(timeline_, std::nullopt, 29_us), at(2, 1));
  EXPECT_EQ(results.position(timeline_, at(0)), 2U);
  EXPECT_EQ(results.position(timeline_, at(1)), std::nullopt);
  EXPECT_EQ(SearchResults().next(timeline_, std::nullopt, 0_us), std::nullopt);
}

TEST_F(Search, FindsRowsThatBeginWithTheTextFirst) {
  const std::vector<RowId> rows = find_rows(timeline_, "STREAM 1");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(timeline_.row(rows[0]).title, "stream 1");
  EXPECT_EQ(find_rows(timeline_, "cpu").size(), 4U);
}

}  // namespace
}  // namespace cohort
