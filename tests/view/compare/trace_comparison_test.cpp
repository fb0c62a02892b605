#include "view/compare/trace_comparison.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/view/compare/small_traces.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ids = std::pair<std::uint32_t, std::uint32_t>;

std::vector<Ids> ids_of(const std::vector<SlicePair>& pairs) {
  std::vector<Ids> ids;
  for (const SlicePair& pair : pairs) {
    ids.emplace_back(static_cast<std::uint32_t>(pair.slice[0]), static_cast<std::uint32_t>(pair.slice[1]));
  }
  return ids;
}

/// Two iterations predicted; measured is slower at first, has a third one, and runs b before a.
TraceComparison two_of_three() {
  return {shared(trace_of_plan(
              TraceKind::kPredicted,
              {{"a", 0, 0_us, 10_us}, {"b", 0, 10_us, 5_us}, {"a", 1, 15_us, 10_us}, {"b", 1, 25_us, 5_us}})),
          shared(trace_of_plan(TraceKind::kMeasured, {{"b", 0, 100_us, 50_us},
                                                      {"a", 0, 150_us, 90_us},
                                                      {"b", 1, 300_us, 4_us},
                                                      {"a", 1, 305_us, 20_us},
                                                      {"b", 2, 330_us, 4_us},
                                                      {"a", 2, 336_us, 20_us}}))};
}

TEST(TraceComparison, MatchesByTaskAndIterationWhateverTheOrder) {
  const Result<Overlay> overlay = two_of_three().overlay({{0, 0}});
  ASSERT_TRUE(overlay.has_value());
  EXPECT_THAT(ids_of(overlay->pairs), ElementsAre(Ids(1, 0), Ids(0, 1), Ids(3, 2), Ids(2, 3)));
  EXPECT_EQ(overlay->totals.pairs, 2);
  EXPECT_EQ(overlay->totals.matched.predicted, 15_us);
  EXPECT_EQ(overlay->totals.matched.measured, 140_us);
}

TEST(TraceComparison, ShiftsIterationsSoThatTheChosenOnesMatch) {
  const TraceComparison comparison = two_of_three();
  const Result<Overlay> overlay = comparison.overlay({{0, 1}});
  ASSERT_TRUE(overlay.has_value());
  EXPECT_THAT(ids_of(overlay->pairs), ElementsAre(Ids(1, 2), Ids(0, 3), Ids(3, 4), Ids(2, 5)));
  EXPECT_FALSE(overlay->pair_of[1][0].has_value());
  EXPECT_EQ(overlay->pair_of[1][3], std::optional(1U));
}

TEST(TraceComparison, TakesTheTypicalIterationsUnlessTold) {
  const TraceComparison comparison = two_of_three();
  const Result<Overlay> overlay = comparison.overlay({});
  ASSERT_TRUE(overlay.has_value());
  EXPECT_EQ(overlay->settings.step[0], std::optional<std::size_t>(0));
  EXPECT_EQ(overlay->settings.step[1], std::optional<std::size_t>(1));  // not the first, which is slow
  EXPECT_EQ(comparison.steps(CompareSide::kMeasured)[1].name, "iteration 1");
  EXPECT_EQ(comparison.steps(CompareSide::kMeasured)[1].window, (TimeWindow{300_us, 325_us}));
}

TEST(TraceComparison, AlignsAtTheStartTheEndOrATask) {
  const TraceComparison comparison = two_of_three();
  CompareSettings settings{{1, 1}};
  Overlay overlay = comparison.overlay(settings).value();
  EXPECT_EQ(overlay.offset[0], -15_us);
  EXPECT_EQ(overlay.offset[1], -300_us);
  // b: predicted 10 us after the start, measured at it.
  EXPECT_EQ(start_shift(comparison, overlay, overlay.pairs[2]), 10_us);

  settings.align = AlignAt::kEnd;
  overlay = comparison.overlay(settings).value();
  EXPECT_EQ(overlay.offset[0], 25_us - 30_us);
  EXPECT_EQ(overlay.offset[1], -300_us);

  settings.align = AlignAt::kAnchor;
  settings.anchor = "b";
  overlay = comparison.overlay(settings).value();
  EXPECT_EQ(overlay.offset[0], -25_us);
  EXPECT_EQ(start_shift(comparison, overlay, overlay.pairs[2]), 0_us);
  EXPECT_THAT(overlay.anchors, ElementsAre("b", "a"));

  settings.anchor.clear();
  EXPECT_EQ(comparison.overlay(settings).value().settings.anchor, "b");
}

TEST(TraceComparison, RefusesAnAnchorOrAStepThatIsNotThere) {
  const TraceComparison comparison = two_of_three();
  CompareSettings settings;
  settings.align = AlignAt::kAnchor;
  settings.anchor = "c";
  EXPECT_EQ(comparison.overlay(settings).error().message,
            "\"c\" is not in both steps: choose another to align them at");
  EXPECT_EQ(comparison.overlay({{2, 0}}).error().message, "the predicted trace has no step 2: it has 2");
}

TEST(TraceComparison, CountsWhatHasNoPartner) {
  const TraceComparison comparison(
      shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 10_us}, {"only here", 0, 10_us, 1_us}})),
      shared(trace_of_plan(TraceKind::kMeasured,
                           {{"a", 0, 0_us, 8_us}, {"x", 0, 8_us, 1_us}, {"y", 0, 9_us, 1_us}, {"a", 1, 20_us, 9_us}})));
  Overlay overlay = comparison.overlay({{0, 0}}).value();
  EXPECT_EQ(overlay.totals.pairs, 1);
  EXPECT_EQ(overlay.totals.unmatched[0], 1);
  EXPECT_EQ(overlay.totals.unmatched[1], 2);
  EXPECT_DOUBLE_EQ(overlay.totals.matched.relative_error().value(), 0.25);
  EXPECT_EQ(overlay.totals.step.predicted, 11_us);
  EXPECT_EQ(overlay.totals.step.measured, 10_us);
  overlay = comparison.overlay({{0, 0}, AlignAt::kStart, "", CompareScope::kAllSteps}).value();
  EXPECT_EQ(overlay.totals.unmatched[1], 3);
}

TEST(TraceComparison, MatchesDuplicatesInOrderOfTheirStart) {
  const TraceComparison comparison(
      shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 20_us, 2_us}, {"a", 0, 0_us, 1_us}})),
      shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 1_us}, {"a", 0, 5_us, 1_us}, {"a", 0, 9_us, 1_us}})));
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_THAT(ids_of(overlay.pairs), ElementsAre(Ids(1, 0), Ids(0, 1)));
  EXPECT_EQ(overlay.totals.unmatched[1], 1);
}

TEST(TraceComparison, HasNoErrorWhereNothingWasMeasured) {
  const TraceComparison comparison(shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 2_us}})),
                                   shared(trace_of_plan(TraceKind::kMeasured, {{"a", 0, 0_us, 0_us}})));
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_EQ(relative_error(comparison, overlay.pairs[0]), std::nullopt);
}

TEST(TraceComparison, MatchesForeignTracesByOpAndName) {
  const TraceComparison comparison(
      shared(foreign_trace(
          {{"gemm", 0_us, 5_us, "kernel", "fc1"}, {"relu", 5_us, 1_us}, {"gemm", 6_us, 6_us, "kernel", "fc2"}})),
      shared(foreign_trace({{"gemm", 0_us, 4_us, "kernel", "fc2"},
                            {"relu", 4_us, 1_us},
                            {"gemm", 9_us, 5_us, "kernel", "fc1"},
                            {"forward", 0_us, 9_us, "python_function"}})));
  EXPECT_EQ(comparison.keyed().matched_by, MatchedBy::kOpAndName);
  EXPECT_THAT(ids_of(comparison.overlay({}).value().pairs), ElementsAre(Ids(2, 0), Ids(1, 1), Ids(0, 2)));
  EXPECT_THAT(
      comparison.notes(),
      ElementsAre("Without task ids of a plan in both, slices are matched by op, name and occurrence in the step.",
                  "Not compared of the second trace, by category: python_function (1)."));
}

TEST(TraceComparison, MatchesByNameWhereOnlyOneTraceNotesOps) {
  const TraceComparison comparison(
      shared(foreign_trace({{"gemm", 0_us, 5_us, "kernel", "fc1"}})),
      shared(foreign_trace({{"gemm", 3_us, 4_us}, {"relu", 7_us, 1_us}, {"gemm", 8_us, 4_us}})));
  EXPECT_EQ(comparison.keyed().matched_by, MatchedBy::kName);
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_THAT(ids_of(overlay.pairs), ElementsAre(Ids(0, 0)));
  EXPECT_EQ(overlay.totals.unmatched[1], 2);
  // The second gemm has the name of the first, and no partner.
  EXPECT_EQ(overlay.totals.matched.predicted, 5_us);
  EXPECT_EQ(overlay.totals.matched.measured, 4_us);
}

TEST(TraceComparison, CountsOccurrencesWithinTheStepsOfForeignTraces) {
  const auto steps = [](Nanoseconds kernel) {
    return foreign_trace({{"ProfilerStep#1", 0_us, 10_us, "user_annotation"},
                          {"ProfilerStep#2", 10_us, 10_us, "user_annotation"},
                          {"k", 1_us, kernel},
                          {"k", 11_us, kernel},
                          {"k", 13_us, kernel}});
  };
  const TraceComparison comparison(shared(steps(1_us)), shared(steps(2_us)));
  ASSERT_EQ(comparison.steps(CompareSide::kMeasured).size(), 2U);
  const Overlay overlay = comparison.overlay({{1, 1}}).value();
  // The first kernel of a step belongs to the first of the other's, however many came before.
  EXPECT_THAT(ids_of(overlay.pairs), ElementsAre(Ids(0, 0), Ids(2, 2), Ids(1, 1), Ids(3, 3), Ids(4, 4)));
  EXPECT_EQ(overlay.totals.pairs, 3);
}

TEST(TraceComparison, FindsTheStepOfAKernelByItsLaunch) {
  Trace trace = foreign_trace({{"ProfilerStep#1", 0_us, 10_us, "user_annotation"},
                               {"ProfilerStep#2", 10_us, 10_us, "user_annotation"},
                               {"cudaLaunchKernel", 8_us, 1_us, "cuda_runtime"},
                               {"k", 12_us, 1_us}});
  trace.flows.push_back({SliceId(2), SliceId(3), trace.strings.intern("ac2g")});
  const KeyedTraces keyed = keyed_traces(trace, trace);
  for (const KeyedSlice& slice : keyed.sides[0].slices) {
    if (slice.slice == SliceId(3)) {
      EXPECT_EQ(slice.step, 0U);
    }
  }
  EXPECT_TRUE(keyed.sides[0].compared[3]);
}

TEST(TraceComparison, SaysThatMostOfWhatWasMeasuredWasDisturbed) {
  const std::vector<PlannedSlice> slices{{"0/a", 0, 0_us, 1_us}};
  const auto notes_with = [&](int discarded) {
    Trace measured = trace_of_plan(TraceKind::kMeasured, slices);
    measured.info.wall_times = {{"plan", {1_us, 2_us}, discarded}};
    return TraceComparison(shared(trace_of_plan(TraceKind::kPredicted, slices)), shared(std::move(measured))).notes();
  };
  EXPECT_THAT(notes_with(4), IsEmpty());
  EXPECT_THAT(notes_with(5),
              ElementsAre("Other programs kept the machine busy: 5 of 7 wall times of the plan were left out."));
}

TEST(TraceComparison, SaysThatCoresWereMoved) {
  const std::vector<PlannedSlice> slices{{"0/a", 0, 0_us, 1_us}};
  const auto notes_with = [&](const std::string& predicted, const std::string& measured) {
    PerSide<Trace> traces{trace_of_plan(TraceKind::kPredicted, slices), trace_of_plan(TraceKind::kMeasured, slices)};
    if (!predicted.empty()) traces[0].info.device.settings["core_round_trip_ns"] = predicted;
    if (!measured.empty()) traces[1].info.device.settings["core_round_trip_ns"] = measured;
    return TraceComparison(shared(std::move(traces[0])), shared(std::move(traces[1]))).notes();
  };
  EXPECT_THAT(notes_with("50", "99"), IsEmpty());
  EXPECT_THAT(notes_with("50", "100"),
              ElementsAre("Cores were moved apart: a round trip between two takes 50 ns in the predicted trace and 100 "
                          "ns in the measured one, which changes the time of ops on several cores."));
  EXPECT_THAT(notes_with("310", "60"), ElementsAre(testing::HasSubstr("moved together")));
  EXPECT_THAT(notes_with("", "60"), IsEmpty());
  EXPECT_THAT(notes_with("many", "60"), IsEmpty());
  PerSide<Trace> elsewhere{trace_of_plan(TraceKind::kPredicted, slices), trace_of_plan(TraceKind::kMeasured, slices)};
  for (const std::size_t side : {0U, 1U}) {
    elsewhere[side].info.device.settings["core_round_trip_ns"] = side == 0 ? "50" : "300";
    elsewhere[side].info.device.name = side == 0 ? "one machine" : "another";
  }
  EXPECT_THAT(TraceComparison(shared(std::move(elsewhere[0])), shared(std::move(elsewhere[1]))).notes(), IsEmpty());
}

TEST(TraceComparison, SaysThatPlansDiffer) {
  const TraceComparison comparison(shared(trace_of_plan(TraceKind::kPredicted, {{"0/a", 0, 0_us, 1_us}}, "{1}")),
                                   shared(trace_of_plan(TraceKind::kMeasured, {{"0-1/a", 0, 0_us, 1_us}}, "{2}")));
  EXPECT_THAT(
      comparison.notes(),
      ElementsAre("The traces are of different plans without a task in common: only sums by op tell them apart."));
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_THAT(overlay.pairs, IsEmpty());
  EXPECT_EQ(overlay.totals.unmatched[0], 1);
  EXPECT_EQ(overlay.totals.unmatched[1], 1);
}

TEST(TraceComparison, IsEmptyForEmptyTraces) {
  const TraceComparison comparison(shared(Trace()), shared(Trace()));
  const Overlay overlay = comparison.overlay({}).value();
  EXPECT_THAT(overlay.pairs, IsEmpty());
  EXPECT_EQ(overlay.totals.matched.measured, 0_ns);
  EXPECT_THAT(comparison.notes(), ElementsAre("The first trace has no slices.", "The second trace has no slices."));
  const TraceComparison half(shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 1_us}})), shared(Trace()));
  EXPECT_THAT(half.overlay({}).value().pairs, IsEmpty());
}

TEST(TraceComparison, LaysTheTracesOnOneTimeline) {
  const TraceComparison comparison = two_of_three();
  const Overlay overlay = comparison.overlay({{1, 1}}).value();
  const Timeline timeline = comparison_timeline(comparison, overlay, {RowGrouping::kTracks, PartLayout::kOverlaid});
  ASSERT_EQ(timeline.rows().size(), 2U);
  EXPECT_EQ(timeline.parts()[0].label, "predicted");
  EXPECT_EQ(timeline.parts()[1].label, "measured");
  EXPECT_EQ(timeline.window({0, SliceId(2)}), (TimeWindow{0_us, 10_us}));
  EXPECT_EQ(timeline.window({1, SliceId(3)}), (TimeWindow{5_us, 25_us}));
  EXPECT_EQ(chosen_window(comparison, overlay), (TimeWindow{0_us, 25_us}));
}

TEST(TraceComparison, NamesTwoPredictionsByTheirPlace) {
  const auto trace = shared(trace_of_plan(TraceKind::kPredicted, {{"a", 0, 0_us, 1_us}}));
  EXPECT_THAT(side_labels({trace, trace}), ElementsAre("first", "second"));
}

TEST(TraceComparison, AgreesWithTheCommandLineOnARecordedRun) {
  const std::filesystem::path folder = COHORT_TRACES;
  const auto predicted = shared(read_trace(folder / "lenet5-b1-n16.predicted.json.gz").value());
  const auto measured = shared(read_trace(folder / "lenet5-b1-n16.measured.json.gz").value());
  const TraceComparison comparison(predicted, measured);
  EXPECT_THAT(comparison.notes(), IsEmpty());
  const Overlay overlay = comparison.overlay({{}, AlignAt::kStart, "", CompareScope::kAllSteps}).value();
  const Comparison expected = compare(*predicted, *measured).value();
  EXPECT_EQ(overlay.totals.matched.predicted, expected.all.predicted);
  EXPECT_EQ(overlay.totals.matched.measured, expected.all.measured);
  EXPECT_EQ(overlay.totals.speedup.predicted, expected.predicted_speedup);
  EXPECT_EQ(overlay.totals.speedup.relative_error(), expected.relative_error);
  EXPECT_EQ(overlay.totals.pairs, 288);  // four iterations of 72 slices
}

}  // namespace
}  // namespace cohort
