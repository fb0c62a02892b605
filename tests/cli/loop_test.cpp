// The loop by the real program: profile, plan, run, compare; and what it says to options that make no sense.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "executor/input/npy.hpp"
#include "tests/cli/loop.hpp"
#include "tests/models/onnx_text.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(LoopTest, ProfilesPlansRunsAndCompares) {
  const Outcome profiled = profile();
  ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  const Outcome planned = cohort({"plan", "mlp.trace.json.gz", "-n", "3", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plan = nlohmann::json::parse(planned.out);
  EXPECT_GT(plan["ranked"].size(), 1U);
  EXPECT_GT(plan["ranked"][0]["predicted_speedup"].get<double>(), 0);
  for (std::size_t i = 1; i < plan["ranked"].size(); ++i)
    EXPECT_LE(plan["ranked"][i - 1]["step_ns"], plan["ranked"][i]["step_ns"]);

  const Outcome ran = run_shortly("mlp.plan.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err,
              testing::AnyOf(HasSubstr("tracing changed the time of a step by"), HasSubstr("less time while traced")));
  const auto measured = nlohmann::json::parse(ran.out);
  EXPECT_GT(measured["measured_speedup"].get<double>(), 0);
  EXPECT_EQ(measured["samples_per_step"], 6);
  EXPECT_FALSE(read("results/mlp-2/fc3.npy").empty());

  const Outcome compared = cohort({"compare", "mlp.predicted.json.gz", "mlp.measured.json.gz", "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  const auto comparison = nlohmann::json::parse(compared.out);
  EXPECT_TRUE(comparison["only_predicted"].empty()) << comparison["only_predicted"];
  EXPECT_TRUE(comparison["only_measured"].empty()) << comparison["only_measured"];
  EXPECT_GT(comparison["tasks"].size(), 0U);
  EXPECT_NEAR(comparison["measured_speedup"].get<double>(), measured["measured_speedup"].get<double>(),
              1e-3);  // whole nanoseconds
}

TEST_F(LoopTest, MeasuresPlansOfTheSameMembersSideBySide) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2", "--candidates", "all"}).exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "3", "-o", "three.plan.json"}).exit_code, 0);
  const auto run_beside = [&](const std::vector<std::string>& others, const std::string& format) {
    std::vector<std::string> arguments{"run", "mlp.plan.json", "-f", format,    "--blocks", "1", "--block-ms",
                                       "1",   "--iterations",  "1",  "--beside"};
    arguments.insert(arguments.end(), others.begin(), others.end());
    return cohort(arguments);
  };
  const Outcome ran = run_beside({"all/01.plan.json", "all/02.plan.json"}, "--json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto measured = nlohmann::json::parse(ran.out);
  ASSERT_EQ(measured["beside"].size(), 2U);
  EXPECT_EQ(measured["beside"][1]["file"], "all/02.plan.json");
  EXPECT_NEAR(measured["beside"][1]["measured_speedup"].get<double>(),
              measured["baseline"]["median_ns"].get<double>() / measured["beside"][1]["median_ns"].get<double>(), 1e-9);
  EXPECT_THAT(run_beside({"all/02.plan.json"}, "-q").out, HasSubstr("x measured: all/02.plan.json\n"));

  const Outcome other = run_beside({"three.plan.json"}, "-q");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("three.plan.json: members are other than"));
  EXPECT_EQ(run_beside({"missing.plan.json"}, "-q").exit_code, 3);

  auto seeded = nlohmann::json::parse(read("all/02.plan.json"));
  seeded["input"]["seed"] = 77;
  write("seeded.plan.json", seeded.dump());
  EXPECT_THAT(run_beside({"seeded.plan.json"}, "-q").err,
              HasSubstr("seeded.plan.json: input is other than in the plan that it is to be measured beside"));
}

TEST_F(LoopTest, KeepsResultsOfPlansBesideApart) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2", "--candidates", "all"}).exit_code, 0);
  const Outcome ran = cohort({"run", "mlp.plan.json", "--blocks", "1", "--block-ms", "1", "--iterations", "1",
                              "--outputs", "results", "--beside", "mlp.plan.json", "all/02.plan.json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const std::string member : {"mlp-0", "mlp-1"}) {
    const std::string expected = read("results/" + member + "/fc3.npy");
    EXPECT_FALSE(expected.empty());
    EXPECT_TRUE(read("results/beside-1/" + member + "/fc3.npy") == expected);
    EXPECT_EQ(read("results/beside-2/" + member + "/fc3.npy").size(), expected.size());
  }
}

TEST_F(LoopTest, SimulatesAPlanThatWasEditedByHand) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "4"}).exit_code, 0);
  write("mine.plan.json", R"({"format": "cohort.plan", "version": 1, "device": "reference:0",
    "members": [{"name": "mlp", "model": "mlp", "arguments": {"inputs": "8", "hidden": "8"}, "minibatch": 2, "seed": 0, "count": 4}],
    "input": {"source": "generated", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0, "bad_images": "skip"},
    "streams": 1, "layout": "nhwc", "launch": "graph",
    "groups": [{"name": "all", "members": "0-3", "strategy": "strided_batch"}]})");
  const Outcome simulated =
      cohort({"simulate", "mlp.trace.json.gz", "--plan", "mine.plan.json", "--json", "-o", "mine.predicted.json.gz"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_GT(nlohmann::json::parse(simulated.out)["predicted_ns"].get<std::int64_t>(), 0);
  const auto trace = read_trace(path("mine.predicted.json.gz"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.kind, TraceKind::kPredicted);
  const Outcome unresolved = run_shortly("mine.plan.json");
  EXPECT_EQ(unresolved.exit_code, 0);
  EXPECT_THAT(unresolved.err, HasSubstr("is not resolved"));

  const Outcome resolved =
      cohort({"plan", "mlp.trace.json.gz", "--resolve", "mine.plan.json", "-o", "resolved.plan.json", "--json"});
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "--resolve", "mine.plan.json", "--limit", "memory=1GiB"}).exit_code,
            2);
  ASSERT_EQ(resolved.exit_code, 0) << resolved.err;
  EXPECT_EQ(nlohmann::json::parse(resolved.out)["step_ns"], nlohmann::json::parse(simulated.out)["predicted_ns"]);
  EXPECT_THAT(files(), Contains("resolved.predicted.json.gz"));
  const Outcome ran = cohort({"run", "resolved.plan.json", "-f", "--blocks", "1", "--block-ms", "1"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, Not(HasSubstr("is not resolved")));
}

TEST_F(LoopTest, ProfilesPlansAndRunsMembersThatReadImages) {
  make_photos();
  write("net.onnx", onnx_model(13, input_text("x", {2, 3, 8, 8}) + output_text("y") + node_text("Relu", {"x"}, {"r"}) +
                                       node_text("GlobalAveragePool", {"r"}, {"y"})));
  const Outcome made = cohort({"profile", "net.onnx", "--data", "photos", "--device", "reference", "-q"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto profiled = read_trace(path("net.trace.json.gz"));
  ASSERT_TRUE(profiled) << profiled.error().message;
  EXPECT_TRUE(std::any_of(profiled->slices.begin(), profiled->slices.end(), [&](const Slice& slice) {
    return profiled->text_arg(slice, "signature").value_or("") == kInputDecodeRecord;
  }));
  for (const char* const sharing : {"shared", "separate"}) {
    const Outcome planned =
        cohort({"plan", "net.trace.json.gz", "--data", "photos", "--input", sharing, "-n", "2", "-f", "--json"});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_THAT(read("net.plan.json"), HasSubstr(R"("source": "folder")"));
    const Outcome ran = run_shortly("net.plan.json");
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const Outcome compared = cohort({"compare", "net.predicted.json.gz", "net.measured.json.gz", "--json"});
    ASSERT_EQ(compared.exit_code, 0) << compared.err;
    const auto comparison = nlohmann::json::parse(compared.out);
    EXPECT_TRUE(comparison["only_predicted"].empty()) << comparison["only_predicted"];
    EXPECT_TRUE(comparison["only_measured"].empty()) << comparison["only_measured"];
    std::filesystem::remove(path("net.measured.json.gz"));
    std::filesystem::remove_all(path("results"));
  }
}

TEST_F(LoopTest, PlansWithImagesAsTheyWereTimed) {
  make_photos();
  write("net.onnx", onnx_model(13, input_text("x", {2, 3, 8, 8}) + output_text("y") + node_text("Relu", {"x"}, {"y"})));
  const std::vector<std::string> profiling{"profile", "net.onnx", "--data", "photos", "--device", "reference", "-q"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome small = cohort(with(profiling, {"--resize", "7"}));
  EXPECT_EQ(small.exit_code, 3);
  EXPECT_THAT(small.err, HasSubstr("resize is 7; must be 8 to 16384 for images of 8 x 8"));
  ASSERT_EQ(cohort(with(profiling, {"--resize", "12", "--std", "1,0.5,0.25"})).exit_code, 0);
  const auto profiled = read_trace(path("net.trace.json.gz"));
  ASSERT_TRUE(profiled) << profiled.error().message;
  EXPECT_EQ(profiled->info.settings.at("input.resize"), "12");
  EXPECT_EQ(profiled->info.settings.at("input.std"), "1,0.5,0.25");
  EXPECT_EQ(profiled->info.settings.at("input.random_crop"), "false");

  const std::vector<std::string> planning{"plan", "net.trace.json.gz", "-n", "2", "-f"};
  const Outcome differs = cohort(with(planning, {"--data", "photos", "--resize", "16"}));
  EXPECT_EQ(differs.exit_code, 2);
  EXPECT_THAT(differs.err, HasSubstr("--resize is 16: net.trace.json.gz timed decoding with --resize 12; profile with "
                                     "--data and --resize 16"));
  EXPECT_THAT(cohort(with(planning, {"--data", "photos"})).err, HasSubstr("profile with --data and no --resize"));
  EXPECT_THAT(cohort(with(planning, {"--resize", "12"})).err, HasSubstr("--resize requires --data"));
  const Outcome zero = cohort(with(planning, {"--data", "photos", "--resize", "12", "--std", "1,0,1"}));
  EXPECT_EQ(zero.exit_code, 2);
  EXPECT_THAT(zero.err, HasSubstr("--std[1] must be from 1e-06 to 1000000, not 0"));

  const Outcome planned = cohort(with(planning, {"--data", "photos", "--resize", "12", "--random-crop", "--random-flip",
                                                 "--mean", "-1,-1,-1", "--decode-workers", "1", "--buffers", "2"}));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto input = nlohmann::json::parse(read("net.plan.json"))["input"];
  EXPECT_EQ(input["resize"], 12);
  EXPECT_EQ(input["random_crop"], true);
  EXPECT_EQ(input["random_flip"], true);
  EXPECT_EQ(input["mean"], (std::vector<double>{-1, -1, -1}));
  EXPECT_FALSE(input.contains("std"));
  ASSERT_EQ(run_shortly("net.plan.json").exit_code, 0);
  const std::string varied = read("results/net-0/y.npy");
  ASSERT_EQ(
      cohort({"run", "-f", "net.plan.json", "--blocks", "1", "--block-ms", "1", "--outputs", "results"}).exit_code, 0);
  EXPECT_TRUE(read("results/net-1/y.npy") == varied);
  edit("net.plan.json", "\"resize\": 12", "\"resize\": 13");
  const Outcome edited = cohort({"simulate", "net.trace.json.gz", "--plan", "net.plan.json"});
  EXPECT_EQ(edited.exit_code, 2);
  EXPECT_THAT(edited.err, HasSubstr("the plan's input.resize is 13: net.trace.json.gz timed decoding"));
  EXPECT_EQ(cohort({"plan", "net.trace.json.gz", "-f", "--resolve", "net.plan.json"}).exit_code, 2);
}

TEST_F(LoopTest, KeepsResultsOfTheSameImagesHoweverLongItMeasures) {
  make_photos();
  ASSERT_EQ(run_shortly("photos.plan.json").exit_code, 0);
  const std::string results = read("results/lenet5-1/fc3.npy");
  ASSERT_EQ(
      cohort({"run", "-f", "photos.plan.json", "--blocks", "2", "--block-ms", "5", "--outputs", "results"}).exit_code,
      0);
  EXPECT_TRUE(read("results/lenet5-1/fc3.npy") == results);
}

TEST_F(LoopTest, RunsOnArraysThatThePlanNames) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2"}).exit_code, 0);
  edit("mlp.plan.json", R"("source":"generated")", R"("source":"arrays","path":"arrays")");
  const Outcome missing = run_shortly("mlp.plan.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("arrays/input.npy"));
  const std::vector<float> ones(16, 1);
  std::filesystem::create_directory(path("arrays"));
  ASSERT_TRUE(write_npy(path("arrays/input.npy"), std::array<std::int64_t, 2>{1, 8}, std::span(ones).first(8),
                        Overwrite::kAllow));
  EXPECT_THAT(run_shortly("mlp.plan.json").err,
              HasSubstr("arrays/input.npy: shape [1, 8] does not fit input input of shape [2, 8]"));
  ASSERT_TRUE(write_npy(path("arrays/input.npy"), std::array<std::int64_t, 2>{2, 8}, ones, Overwrite::kAllow));
  const Outcome ran = run_shortly("mlp.plan.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_FALSE(read("results/mlp-1/fc3.npy").empty());
}

TEST_F(LoopTest, RefusesTwoOutputsForOneFile) {
  write("net.onnx", onnx_model(13, input_text("x", {1, 3}) + output_text("a/b") + output_text("a_b") +
                                       node_text("Relu", {"x"}, {"a/b"}) + node_text("Neg", {"x"}, {"a_b"})));
  ASSERT_EQ(cohort({"profile", "net.onnx", "--device", "reference", "-q"}).exit_code, 0);
  ASSERT_EQ(cohort({"plan", "net.trace.json.gz", "-n", "2"}).exit_code, 0);
  for (const char* const more : {"-q", "-f"}) {
    const Outcome ran =
        cohort({"run", "net.plan.json", "--blocks", "1", "--block-ms", "1", "--outputs", "results", more});
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr("a_b.npy would be written twice"));
    EXPECT_FALSE(std::filesystem::exists(path("results")));
  }
}

TEST_F(LoopTest, RunsOnArraysOfWholeNumbersForInputsOfSuch) {
  write("net.onnx",
        onnx_model(13, R"(input { name: "ids" type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } })" +
                           output_text("y") + node_text("Cast", {"ids"}, {"y"}, integer_attribute("to", 1))));
  ASSERT_EQ(cohort({"profile", "net.onnx", "--device", "reference", "-q"}).exit_code, 0);
  ASSERT_EQ(cohort({"plan", "net.trace.json.gz", "-n", "2"}).exit_code, 0);
  edit("net.plan.json", R"("source":"generated")", R"("source":"arrays","path":"arrays")");
  std::filesystem::create_directory(path("arrays"));
  std::string array("\x93NUMPY\1\0\x37\0{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", 65);
  array += std::string("\7\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16);
  write("arrays/ids.npy", array);
  const Outcome ran = run_shortly("net.plan.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_npy(path("results/net-1/y.npy"))->values, (std::vector<float>{7, -1}));
  array[65 + 3] = '\1';
  write("arrays/ids.npy", array);
  std::filesystem::remove(path("net.measured.json.gz"));
  const Outcome large = run_shortly("net.plan.json");
  EXPECT_EQ(large.exit_code, 3);
  EXPECT_THAT(large.err, HasSubstr("ids.npy: whole numbers from 2^24 (16777216) on cannot be read exactly"));
}

TEST_F(LoopTest, TakesAnOnnxFileWithItsOpenDimensions) {
  write("net.onnx", onnx_model(13, input_text("x", {2, -1}) + output_text("y") + node_text("Relu", {"x"}, {"r"}) +
                                       node_text("Softmax", {"r"}, {"y"})));
  const Outcome open = cohort({"profile", "net.onnx", "--device", "reference"});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_THAT(open.err,
              HasSubstr("net.onnx: input x leaves dimension 1 open, which the file calls n; set it with --dim"));
  const Outcome set = cohort({"profile", "net.onnx", "--device", "reference", "--set", "n=16"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("--dim sets open dimensions of net.onnx"));
  ASSERT_EQ(cohort({"profile", "net.onnx", "--device", "reference", "--dim", "n=16", "-q"}).exit_code, 0);
  ASSERT_EQ(cohort({"plan", "net.trace.json.gz", "-n", "3"}).exit_code, 0);
  const Outcome ran = run_shortly("net.plan.json");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(read("results/net-2/y.npy"), HasSubstr("(2, 16)"));
}

TEST_F(LoopTest, FindsAModelThatWasMovedWithItsProfileAndPlan) {
  write("net.onnx", onnx_model(13, input_text("x", {2, 16}) + output_text("y") + node_text("Softmax", {"x"}, {"y"})));
  ASSERT_EQ(cohort({"profile", "net.onnx", "--device", "reference", "-q"}).exit_code, 0);
  std::filesystem::create_directory(path("moved"));
  std::filesystem::rename(path("net.trace.json.gz"), path("moved/net.trace.json.gz"));
  const std::vector<std::string> plan = {"plan", "moved/net.trace.json.gz", "-n", "2", "-f"};
  EXPECT_EQ(cohort(plan).exit_code, 0) << "the model is where it was";
  std::filesystem::rename(path("net.plan.json"), path("moved/earlier.plan.json"));
  std::filesystem::rename(path("net.predicted.json.gz"), path("moved/earlier.predicted.json.gz"));
  std::filesystem::rename(path("net.onnx"), path("moved/net.onnx"));
  const Outcome moved = cohort(plan);
  ASSERT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_EQ(run_shortly("net.plan.json").exit_code, 0) << "the plan says where the model is now";
  std::filesystem::remove_all(path("results"));
  const Outcome earlier = run_shortly("moved/earlier.plan.json");
  EXPECT_THAT(earlier.err, Not(HasSubstr("not resolved")));
  EXPECT_EQ(earlier.exit_code, 0) << "the model lies beside the plan: " << earlier.err;
  const Outcome reported = cohort({"report", "moved/earlier.plan.json", "moved/earlier.predicted.json.gz",
                                   "earlier.measured.json.gz", "moved/net.trace.json.gz", "--json"});
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  const auto page = nlohmann::json::parse(reported.out);
  ASSERT_EQ(page["plans"].size(), 1U) << "all files are of one plan";
  EXPECT_FALSE(page["plans"][0]["runs"][0].contains("not_compared")) << page["plans"][0]["runs"];
  EXPECT_EQ(page["missing"], nlohmann::json::array());
  std::filesystem::remove(path("moved/net.onnx"));
  const Outcome gone = cohort(plan);
  EXPECT_EQ(gone.exit_code, 3);
  EXPECT_THAT(gone.err, HasSubstr("cannot read net.onnx: No such file"));
}

TEST_F(LoopTest, PlansMembersThatDiffer) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"profile", "mlp", "--set", "inputs=8", "--set", "hidden=12", "--device", "reference", "--minibatch",
                    "2", "-q", "-o", "wide.trace.json.gz"})
                .exit_code,
            0);
  write("members.json", R"({"members": [
    {"name": "narrow", "model": "mlp", "arguments": {"inputs": "8", "hidden": "8"}, "minibatch": 2, "seed": 5, "count": 2},
    {"name": "wide", "model": "mlp", "arguments": {"inputs": "8", "hidden": "12"}, "minibatch": 2, "seed": 1}]})");
  const Outcome planned =
      cohort({"plan", "mlp.trace.json.gz", "wide.trace.json.gz", "--members", "members.json", "-o", "mixed.plan.json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Outcome ran = run_shortly("mixed.plan.json");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(files(), Contains("results"));
}

TEST_F(LoopTest, PlansByAnObjectiveWithinALatencyLimitAndExplains) {
  ASSERT_EQ(profile().exit_code, 0);
  const Outcome planned = cohort({"plan", "mlp.trace.json.gz", "-n", "4", "--objective", "p99-latency", "--limit",
                                  "latency=10s", "--limit", "memory=1GiB", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plan = nlohmann::json::parse(planned.out);
  EXPECT_EQ(plan["objective"], "p99-latency");
  EXPECT_EQ(plan["interrupted"], false);
  EXPECT_EQ(plan["ranked"][0]["lost_to_best_ns"].size(), 0U);
  for (std::size_t i = 1; i < plan["ranked"].size(); ++i)
    EXPECT_LE(plan["ranked"][i - 1]["p99_latency_ns"], plan["ranked"][i]["p99_latency_ns"]);
  const Outcome explained = cohort({"plan", "mlp.trace.json.gz", "-n", "4", "-f", "--explain", "--rows", "2"});
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("ranked by throughput; "));
  EXPECT_THAT(explained.out, HasSubstr("     behind 1 +"));
  const Outcome against = cohort({"plan", "mlp.trace.json.gz", "-n", "4", "-f", "--pareto", "--json"});
  ASSERT_EQ(against.exit_code, 0) << against.err;
  const auto both = nlohmann::json::parse(against.out);
  ASSERT_GE(both["pareto"].size(), 1U);
  EXPECT_EQ(both["pareto"][0]["step_ns"], both["ranked"][0]["step_ns"]);
  EXPECT_THAT(cohort({"plan", "mlp.trace.json.gz", "-n", "4", "-f", "--pareto"}).out,
              HasSubstr("no plan is better in both\n"));
  const Outcome late = cohort({"plan", "mlp.trace.json.gz", "-n", "4", "-f", "--limit", "latency=1ns"});
  EXPECT_EQ(late.exit_code, 5);
  EXPECT_THAT(late.err, HasSubstr("the limit is 1 ns"));
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "--limit", "latency=soon"}).exit_code, 2);
}

TEST_F(LoopTest, ChoosesAmongTheMinibatchesThatWereProfiled) {
  ASSERT_EQ(profile().exit_code, 0);  // at 2
  const auto profile_at = [&](const char* minibatch, const char* hidden, const char* file) {
    return cohort({"profile", "mlp", "--set", "inputs=8", "--set", hidden, "--device", "reference", "--minibatch",
                   minibatch, "-q", "-o", file});
  };
  ASSERT_EQ(profile_at("8", "hidden=8", "eight.trace.json.gz").exit_code, 0);
  const Outcome planned = cohort({"plan", "mlp.trace.json.gz", "eight.trace.json.gz", "-n", "3", "--choose-minibatch",
                                  "-o", "chosen.plan.json", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plan = nlohmann::json::parse(planned.out);
  ASSERT_EQ(plan["minibatches"].size(), 2U);
  EXPECT_EQ(plan["minibatches"][0]["name"], "minibatch 2");
  EXPECT_EQ(plan["minibatches"][1]["name"], "minibatch 8");
  EXPECT_TRUE(plan["model_batches"].empty());
  for (std::size_t i = 2; i < plan["ranked"].size(); ++i)  // the first may be the least that is as good
    EXPECT_GE(plan["ranked"][i - 1]["samples_per_second"], plan["ranked"][i]["samples_per_second"]);
  const Outcome ran = run_shortly("chosen.plan.json");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Outcome both = cohort({"plan", "mlp.trace.json.gz", "eight.trace.json.gz", "--choose-models", "3",
                               "--choose-minibatch", "-f", "-o", "chosen.plan.json", "--json"});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  const auto pairs = nlohmann::json::parse(both.out);
  EXPECT_TRUE(pairs["minibatches"].empty());
  std::vector<std::string> names;
  for (const auto& each : pairs["model_batches"]) {
    names.push_back(each["name"]);
    EXPECT_EQ(names.back(), fmt::format("{} member{}, minibatch {}", each["members"].get<int>(),
                                        each["members"] == 1 ? "" : "s", each["minibatch"].get<int>()));
  }
  EXPECT_THAT(names, ElementsAre("1 member, minibatch 2", "1 member, minibatch 8", "2 members, minibatch 2",
                                 "2 members, minibatch 8", "3 members, minibatch 2", "3 members, minibatch 8"));
  const auto chosen = nlohmann::json::parse(read("chosen.plan.json"));
  const std::string minibatch = fmt::format("minibatch {}", chosen["members"][0]["minibatch"].get<int>());
  EXPECT_THAT(pairs["ranked"][0]["name"].get<std::string>(), EndsWith(minibatch));
  EXPECT_EQ(cohort({"simulate", "mlp.trace.json.gz", "eight.trace.json.gz", "--plan", "chosen.plan.json"}).exit_code,
            0);
  ASSERT_EQ(profile_at("4", "hidden=12", "other.trace.json.gz").exit_code, 0);
  const Outcome apart = cohort({"plan", "mlp.trace.json.gz", "other.trace.json.gz", "--choose-minibatch", "-f"});
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("no minibatch in common; profile each at the same ones"));
}

TEST_F(LoopTest, RefusesWhatDoesNotFitBeforeAnythingRuns) {
  ASSERT_EQ(profile().exit_code, 0);
  const Outcome planned = cohort({"plan", "mlp.trace.json.gz", "-n", "4", "--limit", "memory=100"});
  EXPECT_EQ(planned.exit_code, 5);
  EXPECT_THAT(planned.err, HasSubstr("limits.memory_bytes is 100 B"));
  EXPECT_THAT(files(), ElementsAre("mlp.trace.json.gz"));

  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "4", "--limit", "memory=1GiB", "-o", "mine.plan.json", "-q"})
                .exit_code,
            0);
  edit("mine.plan.json", "1073741824", "100");
  const std::vector<std::string> before = files();
  const Outcome ran = run_shortly("mine.plan.json");
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_THAT(ran.err, HasSubstr("limits.memory_bytes is 100 B"));
  EXPECT_EQ(files(), before);
}

TEST_F(LoopTest, RefusesUseThatMakesNoSense) {
  ASSERT_EQ(profile().exit_code, 0);
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "0"}).exit_code, 2);
  for (const auto& [option, value] : {std::pair{"-n", "65537"}, {"--buffers", "1025"}, {"--decode-workers", "-1"}}) {
    const Outcome outside = cohort({"plan", "mlp.trace.json.gz", option, value});
    EXPECT_EQ(outside.exit_code, 2);
    EXPECT_THAT(outside.err, HasSubstr(std::string(option) + " must be from"));
  }
  const Outcome twice = cohort({"plan", "mlp.trace.json.gz", "mlp.trace.json.gz"});
  EXPECT_EQ(twice.exit_code, 3);
  EXPECT_THAT(twice.err, HasSubstr("are profiles of the same mlp"));
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "--limit", "memory=lots"}).exit_code, 2);
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "--limit", "memory=1.5"}).exit_code, 2);  // bytes
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "--limit", "memory=0.5GiB", "-o", "half.plan.json"}).exit_code, 0);
  EXPECT_EQ(cohort({"plan", "missing.trace.json.gz"}).exit_code, 3);
  EXPECT_EQ(cohort({"plan", "mlp.trace.json.gz", "-o", "no/such/folder.json"}).exit_code, 3);
  EXPECT_EQ(cohort({"profile", "mlp"}).exit_code, 3) << "mlp.trace.json.gz is there";
  const Outcome compared = cohort({"compare", "mlp.trace.json.gz", "mlp.trace.json.gz"});
  EXPECT_EQ(compared.exit_code, 3);
  EXPECT_THAT(compared.err, HasSubstr("mlp.trace.json.gz: a predicted trace is needed, this is a profile one"));
  EXPECT_EQ(cohort({"compare", "--tolerance", "-1", "a.json", "b.json"}).exit_code, 2);
  write("net.bin", "");
  const Outcome other = cohort({"profile", "net.bin"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("net.bin is no built-in network, and a model's file ends in .onnx"));
  const Outcome packed = cohort({"run", "mlp.trace.json.gz"});
  EXPECT_EQ(packed.exit_code, 3);
  EXPECT_THAT(packed.err, HasSubstr("mlp.trace.json.gz: not JSON but gzipped, as traces are"));
}

}  // namespace
}  // namespace cohort
