#include "simulator/what_if/minibatch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "simulator/what_if/what_if.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

/// A convolution that takes `conv` us and a loss that takes 10, whatever the minibatch.
Trace recorded_at(int conv, std::string_view loss = "loss") {
  return gpu_trace_from(fmt::format(R"(
    main cudaLaunchKernel       0   5   c1
    main cudaLaunchKernel      10  15   c2
    main cudaDeviceSynchronize 20  {2}  c3
    s7   conv                   8  {0}  c1
    s7   {4}                   {1} {3}  c2)",
                                    8 + conv, 9 + conv, 24 + conv, 19 + conv, loss));
}

struct TwoRecordings {
  explicit TwoRecordings(const Trace& second) : traces{recorded_at(100), second} {
    EXPECT_TRUE(what_if_case.add(traces[0], {}));
    EXPECT_TRUE(what_if_case.add_second(traces[1], {}, 32));
  }
  Result<WhatIfPrediction> at(int minibatch) const {
    WhatIf what_if;
    what_if.minibatch = minibatch;
    what_if.recorded_minibatch = 16;
    return predict_what_if(what_if_case, what_if);
  }
  std::array<Trace, 2> traces;
  WhatIfCase what_if_case;
};

TEST(Minibatch, LiesOnALineThroughTwoRecordings) {
  const TwoRecordings recordings(recorded_at(180));
  const Result<WhatIfPrediction> between = recordings.at(24);
  ASSERT_TRUE(between) << between.error().message;
  EXPECT_EQ(between->step_time, Nanoseconds(124'000 + 40'000));
  EXPECT_EQ(between->minibatch->traced, Nanoseconds(124'000));
  EXPECT_NEAR(between->minibatch->more_samples, 1.5 * 124 / 164, 1e-9);
  EXPECT_EQ(between->speedup, 1);  // the baseline is at the new minibatch, too
  EXPECT_EQ(between->confidence(), Confidence::kMedium);
  EXPECT_EQ(recordings.at(16)->step_time, Nanoseconds(124'000));
  EXPECT_EQ(recordings.at(32)->step_time, Nanoseconds(124'000 + 80'000));
  // Far below no recording tells: work falls no faster than the minibatch.
  EXPECT_EQ(recordings.at(1)->facts.tasks.front().name, "conv");
  EXPECT_GE(recordings.at(1)->step_time, Nanoseconds(24'000 + 100'000 / 16));
}

TEST(Minibatch, IsRefusedWhereTheRecordingsDiffer) {
  const TwoRecordings other(gpu_trace_from(R"(
    main cudaLaunchKernel       0   5   c1
    main cudaDeviceSynchronize 20  40   c3
    s7   conv                   8  35   c1)"));
  const Result<WhatIfPrediction> prediction = other.at(24);
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kNegativeAnswer);
  EXPECT_THAT(prediction.error().message, HasSubstr("do not launch the same ops"));
  const TwoRecordings renamed(recorded_at(180, "loss_v2"));
  const Result<WhatIfPrediction> doubtful = renamed.at(24);
  ASSERT_TRUE(doubtful);
  EXPECT_EQ(doubtful->doubts.size(), TwoRecordings(recorded_at(180)).at(24)->doubts.size() + 1);
}

/// Of inputs: of an embedding, of an op `aten::linear` on samples x words, of the product in it, and of an update of
/// weights.
struct Shapes {
  std::string_view embedding = "[[1000, 64], [16, 512]]";
  std::string_view linear = "[[16, 512, 64], [64, 64], [64]]";
  std::string_view product = "[[8192, 64], [64, 64]]";
  std::string_view update = "[[64, 64], [64, 64], []]";
};

/// As PyTorch's profiler writes shapes.
Trace with_shapes(const std::optional<Shapes>& shapes) {
  const auto dims = [&](std::string_view Shapes::*of) {
    return shapes ? fmt::format(R"("Input Dims": {}, )", (*shapes).*of) : "";
  };
  return *parse_trace(fmt::format(R"({{"schemaVersion": 1, "traceEvents": [
  {{"ph": "X", "cat": "cpu_op", "name": "aten::embedding", "pid": 1, "tid": 1, "ts": 90, "dur": 9,
   "args": {{{}"External id": 1}}}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 100, "dur": 8,
   "args": {{{}"External id": 4}}}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 7,
   "args": {{{}"External id": 2}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 101, "dur": 5,
   "args": {{"correlation": 1}}}},
  {{"ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 1, "tid": 1, "ts": 109, "dur": 7,
   "args": {{{}"External id": 3}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5,
   "args": {{"correlation": 2}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 120, "dur": 105,
   "args": {{"correlation": 3}}}},
  {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 108, "dur": 60,
   "args": {{"correlation": 1, "stream": 7, "blocks per SM": 64, "warps per SM": 512}}}},
  {{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 169, "dur": 50,
   "args": {{"correlation": 2, "stream": 7}}}}]}})",
                                  dims(&Shapes::embedding), dims(&Shapes::linear), dims(&Shapes::product),
                                  dims(&Shapes::update)));
}

/// Times by name, of what was recorded at `recorded` samples, with twice as many.
std::map<std::string, Nanoseconds> doubled(const Shapes& shapes, int recorded) {
  const Trace trace = with_shapes(shapes);
  const Result<TraceGraph> made = build_trace_graph(trace);
  EXPECT_TRUE(made) << made.error().message;
  TaskGraph graph = made->graph;
  const Result<MinibatchChange> change =
      scale_minibatch(graph, {&trace, &*made, recorded}, 2 * recorded, Nanoseconds(0));
  EXPECT_TRUE(change) << change.error().message;
  EXPECT_FALSE(change->doubts.empty());
  std::map<std::string, Nanoseconds> times;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i)
    times[std::string(graph.label(TaskId(i)))] = graph.tasks[i].duration;
  return times;
}

TEST(Minibatch, GrowsTheKernelsWhoseOpsHaveItAmongTheirShapes) {
  const auto times = doubled({}, 16);
  EXPECT_EQ(times.at("gemm"), Nanoseconds(120'000));
  EXPECT_EQ(times.at("add"), Nanoseconds(50'000));
}

TEST(Minibatch, LeavesWeightsThatBeginWithAnExtentThatGrows) {
  // At a minibatch of 1 a tensor that begins with 96 may be one of 96 words, or weights of 96 outputs.
  const auto one = doubled(
      {"[[1000, 64], [1, 96]]", "[[1, 512, 64], [96, 64], [96]]", "[[512, 64], [64, 96]]", "[[96, 64], [96, 64], []]"},
      1);
  EXPECT_EQ(one.at("gemm"), Nanoseconds(120'000));
  EXPECT_EQ(one.at("add"), Nanoseconds(50'000));
  // A table of positions has the shape of the words: no update of it is told from an op on words.
  const auto positions = doubled({"[[512, 64], [1, 512]]", "[[1, 512, 64], [64, 64], [64]]", "[[512, 64], [64, 64]]",
                                  "[[512, 64], [512, 64], []]"},
                                 1);
  EXPECT_EQ(positions.at("gemm"), Nanoseconds(120'000));
  EXPECT_EQ(positions.at("add"), Nanoseconds(100'000));
  // Nor of weights of 64 by 64 where 64 samples have 64 features.
  const auto square = doubled(
      {"[[1000, 64], [64]]", "[[64, 64], [64, 64], [64]]", "[[64, 64], [64, 64]]", "[[64, 64], [64, 64], []]"}, 64);
  EXPECT_EQ(square.at("gemm"), Nanoseconds(120'000));
  EXPECT_EQ(square.at("add"), Nanoseconds(100'000));
}

TEST(Minibatch, IsRefusedWhereNoShapeTellsWhatGrows) {
  WhatIf what_if;
  what_if.minibatch = 32;
  const auto refusal = [&](const Trace& trace, std::optional<int> recorded) {
    what_if.recorded_minibatch = recorded;
    WhatIfCase what_if_case;
    EXPECT_TRUE(what_if_case.add(trace, {}));
    const Result<WhatIfPrediction> prediction = predict_what_if(what_if_case, what_if);
    EXPECT_FALSE(prediction);
    return prediction ? "" : prediction.error().message;
  };
  EXPECT_THAT(refusal(with_shapes(std::nullopt), 16), HasSubstr("record_shapes"));
  EXPECT_THAT(refusal(with_shapes(Shapes{}), 7), HasSubstr("first extent is 7"));
  EXPECT_THAT(refusal(with_shapes(Shapes{}), std::nullopt), HasSubstr("--recorded-minibatch"));
}

}  // namespace
}  // namespace cohort
