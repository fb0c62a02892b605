#include "view/compare/error_colours.hpp"

#include <gmock/gmock.h>

#include <set>
#include <tuple>

#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;

TEST(ErrorColours, DivergeFromPaleYellow) {
  const ErrorColours colours(false);
  EXPECT_EQ(hex(colours.of_error(0)), "#ffffbf");
  EXPECT_EQ(hex(colours.of_error(-0.5)), "#4575b4");
  EXPECT_EQ(hex(colours.of_error(0.5)), "#d73027");
  EXPECT_EQ(colours.of_error(7), colours.of_error(0.5));
  EXPECT_EQ(hex(ErrorColours(false, 0.2).of_error(0.2)), "#d73027");
}

TEST(ErrorColours, GrowDarkerTowardsBothEnds) {
  const ErrorColours colours(true);
  const Colour black;
  for (const double sign : {-1.0, 1.0}) {
    for (int i = 1; i <= 10; ++i) {
      EXPECT_LT(contrast(colours.of_error(sign * i / 20), black),
                contrast(colours.of_error(sign * (i - 1) / 20), black))
          << sign * i;
    }
  }
}

TEST(ErrorColours, AreExplainedByALegendOfDifferentColours) {
  const std::vector<ErrorLegendEntry> legend = error_legend(ErrorColours(false));
  ASSERT_EQ(legend.size(), 11U);
  EXPECT_EQ(legend.front().text, "≤ -50%");
  EXPECT_EQ(legend[4].text, "0%");
  EXPECT_EQ(legend[5].text, "+12.5%");
  EXPECT_EQ(legend[8].text, "≥ +50%");
  std::set<std::string> different;
  for (const ErrorLegendEntry& entry : legend) different.insert(hex(entry.colour));
  EXPECT_EQ(different.size(), legend.size());
}

TEST(ErrorColours, ColourEachSliceByItsError) {
  Trace measured = trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 10_us}, {"b", 0, 10_us, 5_us}});
  measured.add_slice(TrackId(0), "decode", "input", 0_us, 1_us);
  const TraceComparison comparison(shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 15_us}})),
                                   shared(std::move(measured)));
  const Overlay overlay = comparison.overlay({}).value();
  const ErrorColours colours(false);
  EXPECT_THAT(slice_colours(comparison, overlay, colours),
              ElementsAre(ElementsAre(argb(colours.of_error(0.5))),
                          ElementsAre(argb(colours.of_error(0.5)), argb(colours.without_partner()),
                                      argb(colours.not_compared()))));
}

TEST(ErrorColours, AreSaidInWords) {
  const TraceComparison comparison(
      shared(trace_of_plan(TraceKind::kPredicted, {{"x", 0, 0_us, 1_us}, {"a", 0, 2_us, 15_us}})),
      shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 10_us}})));
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_THAT(describe_error(comparison, overlay, CompareSide::kMeasured, SliceId(0)),
              ElementsAre("predicted 15.0 us, measured 10.0 us", "difference +5.00 us (+50.0%)",
                          "predicted to start 2.00 us later"));
  EXPECT_THAT(describe_error(comparison, overlay, CompareSide::kPredicted, SliceId(0)),
              ElementsAre("no measured slice is its partner"));
}

TEST(FormatError, WritesASignAndNoMoreThanIsKnown) {
  EXPECT_EQ(format_error(0.1234), "+12.3%");
  EXPECT_EQ(format_error(-0.004), "-0.4%");
  EXPECT_EQ(format_error(12.5), "+1250%");
  EXPECT_EQ(format_error(std::nullopt), "-");
  EXPECT_EQ(format_difference(-1200_ns), "-1.20 us");
  EXPECT_EQ(format_difference(0_ns), "0 ns");
}

}  // namespace
}  // namespace cohort
