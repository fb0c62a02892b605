#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/file.hpp"
#include "models/onnx/onnx_file.hpp"
#include "program.hpp"
#include "tests/models/onnx_text.hpp"
#include "tests/onnx_project_cases.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Numbers of a TensorProto's fields, as protobuf writes them on the wire.
void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value > 127; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  bytes += static_cast<char>(value);
}

/// A TensorProto of float32 values: dims, data_type 1, raw_data.
std::string tensor_file(const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
  std::string bytes;
  for (const std::uint64_t extent : shape) {
    bytes += '\x08';
    put_varint(bytes, extent);
  }
  bytes += "\x10\x01\x4a";
  put_varint(bytes, values.size() * sizeof(float));
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

class Verify : public ProgramTest {
 protected:
  /// Plans two members of the profile, whose model is read with these arguments, and runs them.
  void plan_and_run(const std::string& profile, const json& arguments) {
    const std::string plan = path("plan.json").string();
    const Outcome planned = cohort({"plan", profile, "-n", "2", "-o", plan});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_EQ(json::parse(*read_file(plan))["members"][0]["arguments"], arguments);
    const Outcome run =
        cohort({"run", plan, "--blocks", "1", "--block-ms", "1", "-o", path("run.trace.json").string()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  /// A case of a built-in network: its file, one data set, and what it is to give.
  void write_case(const std::string& name, const std::vector<float>& expected) {
    std::filesystem::create_directories(path(name + "/test_data_set_0"));
    const Outcome made = cohort({"models", "mlp", "--set", "inputs=2", "--set", "hidden=2", "--set", "classes=2",
                                 "--export", path(name + "/model.onnx").string()});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    write(name + "/test_data_set_0/input_0.pb", tensor_file({1, 2}, {0, 0}));
    write(name + "/test_data_set_0/output_0.pb", tensor_file({1, 2}, expected));
  }
};

TEST_F(Verify, StrictNanPassesThroughARelu) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_case("diverged", {nan, nan});
  write("diverged/test_data_set_0/input_0.pb", tensor_file({1, 2}, {nan, 0}));
  const Outcome outcome = cohort({"verify", path("").string(), "--strict-nan"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(Verify, ReportsTheWorstElementAndWhere) {
  write_case("wrong", {1000, -5000});
  const Outcome outcome = cohort({"verify", path("").string(), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 1 cases failed"));
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["cases"][0]["name"], "wrong");
  EXPECT_THAT(report["cases"][0]["reason"].get<std::string>(), HasSubstr("2 of 2 elements are outside the tolerance"));
  EXPECT_THAT(report["cases"][0]["reason"].get<std::string>(), HasSubstr("at [0, 1], expected -5000"));
}

TEST_F(Verify, RunsOnNothingButTheGivenInputs) {
  // Of zeros the indices would be -5, which are outside of the table.
  std::filesystem::create_directories(path("rows/test_data_set_0"));
  write("rows/model.onnx", onnx_model(17, input_text("x", {3}) + integers_text("five", {}, {5}) +
                                              floats_text("table", {4}, {10, 11, 12, 13}) +
                                              node_text("Cast", {"x"}, {"ids"}, integer_attribute("to", 7)) +
                                              node_text("Sub", {"ids", "five"}, {"rows"}) +
                                              node_text("Gather", {"table", "rows"}, {"y"}) + output_text("y")));
  write("rows/test_data_set_0/input_0.pb", tensor_file({3}, {5, 8, 6}));
  write("rows/test_data_set_0/output_0.pb", tensor_file({3}, {10, 13, 11}));
  const Outcome outcome = cohort({"verify", path("rows").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(Verify, TakesTheToleranceOfTheCase) {
  write_case("wide", {1000, -5000});
  write("wide/data.json", R"({"rtol": 2, "atol": 1})");
  const Outcome outcome = cohort({"verify", path("").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("1 passed, 0 failed, 0 unsupported on "));
}

TEST_F(Verify, SaysWhyACaseCannotRun) {
  write_case("one", {0, 0});
  std::filesystem::remove_all(path("one/test_data_set_0"));
  write_case("two", {0, 0});
  write("two/test_data_set_0/input_0.pb",
        "\x08\x01\x08\x02\x10\x0e\x4a\x10"
        "0123456789012345");  // 1 x 2 of complex64
  const Outcome outcome = cohort({"verify", path("one").string(), path("two").string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nothing was verified: no case is supported, 2 in all"));
  EXPECT_THAT(outcome.out, HasSubstr("unsupported one: there is no test_data_set_* beside the model"));
  EXPECT_THAT(outcome.out, HasSubstr("input_0.pb: holds complex64; supported are"));
  write_case("three", {0, 0});
  write("three/data.json", R"({"atol": 1})");
  const Outcome with_one = cohort({"verify", path("one").string(), path("two").string(), path("three").string()});
  EXPECT_EQ(with_one.exit_code, 0) << with_one.err;
  EXPECT_THAT(with_one.out, HasSubstr("1 passed, 0 failed, 2 unsupported on "));
}

TEST_F(Verify, FailsCasesOfFilesThatAreBrokenOrCutShort) {
  write_case("case", {0, 0});
  const std::string tensor = tensor_file({1, 2}, {0, 0});
  const auto reason = [&](const std::string& file, const std::string& content) {
    const std::string good = read(file);
    write(file, content);
    const Outcome outcome = cohort({"verify", path("case").string(), "--json"});
    write(file, good);
    EXPECT_EQ(outcome.exit_code, 1) << file << ": " << outcome.out;
    const json each = json::parse(outcome.out)["cases"][0];
    EXPECT_EQ(each["status"], "failed") << file << ": " << each["reason"];
    return each["reason"].get<std::string>();
  };
  const std::string model = read("case/model.onnx");
  EXPECT_THAT(reason("case/model.onnx", "not a model"), HasSubstr("model.onnx: not an ONNX model"));
  EXPECT_THAT(reason("case/model.onnx", ""), HasSubstr("model.onnx: not an ONNX model: it has no graph"));
  for (const std::size_t bytes : {model.size() / 2, model.size() - 1})
    EXPECT_THAT(reason("case/model.onnx", model.substr(0, bytes)), HasSubstr("model.onnx: not an ONNX model"));
  for (const char* const file : {"case/test_data_set_0/input_0.pb", "case/test_data_set_0/output_0.pb"}) {
    EXPECT_THAT(reason(file, "not a tensor"), HasSubstr("not an ONNX tensor, or cut short"));
    EXPECT_THAT(reason(file, tensor.substr(0, tensor.size() - 1)), HasSubstr("not an ONNX tensor, or cut short"));
    EXPECT_THAT(reason(file, tensor.substr(0, 6)), HasSubstr("it holds 0 values where its shape needs 2"));
    EXPECT_THAT(reason(file, ""), HasSubstr("it says no type"));
  }
}

TEST_F(Verify, EndsWithinACaseWhenItIsInterrupted) {
  write_case("case", {0, 0});
  constexpr int kSets = 20'000;  // of one case, which takes many seconds
  for (int i = 1; i < kSets; ++i)
    std::filesystem::create_directory_symlink("test_data_set_0", path("case/test_data_set_" + std::to_string(i)));
  write("case/data.json", R"({"rtol": 1, "atol": 100})");
  Terminal terminal;
  const pid_t process = start({"verify", path("").string(), "--device", "reference"}, &terminal);
  EXPECT_TRUE(terminal.shows("1 of 1: case"));
  ASSERT_EQ(::kill(process, SIGINT), 0);
  EXPECT_EQ(wait_for(process), 130);
}

TEST_F(Verify, RefusesFoldersWithoutCasesAndFiltersThatMatchNone) {
  const Outcome empty = cohort({"verify", path("").string()});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_THAT(empty.err, HasSubstr("holds no model.onnx at any depth"));
  write_case("one", {0, 0});
  EXPECT_EQ(cohort({"verify", path("").string(), "--filter", "^two$"}).exit_code, 2);
  EXPECT_EQ(cohort({"verify", path("").string(), "--filter", "("}).exit_code, 2);
}

/// A case that adds zero to x of as many elements.
class VerifyRule : public Verify {
 protected:
  std::string reason(const std::vector<float>& x, const std::vector<float>& expected, std::string_view data = "") {
    const Shape shape{static_cast<std::int64_t>(x.size())};
    write("sum/model.onnx", onnx_model(13, input_text("x", shape) + output_text("y") + floats_text("zero", {1}, {0}) +
                                               node_text("Add", {"x", "zero"}, {"y"})));
    write("sum/test_data_set_0/input_0.pb", tensor_file({x.size()}, x));
    write("sum/test_data_set_0/output_0.pb", tensor_file({x.size()}, expected));
    std::filesystem::remove(path("sum/data.json"));
    if (!data.empty()) write("sum/data.json", std::string(data));
    const Outcome outcome = cohort({"verify", path("sum").string(), "--device", "reference", "--json"});
    return json::parse(outcome.out)["cases"][0]["reason"];
  }
};

TEST_F(VerifyRule, JudgesElementsNearZeroByTheLargestOfTheTensor) {
  std::filesystem::create_directories(path("sum/test_data_set_0"));
  EXPECT_EQ(reason({1000, 0}, {1000, 0.9e-3F}), "");
  EXPECT_THAT(reason({1000, 0}, {1000, 1.1e-3F}), HasSubstr("1 of 2 elements are outside the tolerance"));
  EXPECT_EQ(reason({0.1F, 0}, {0.1F, 0.9e-7F}), "");
  EXPECT_THAT(reason({0.01F, 0}, {0.01F, 1.2e-7F}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({1000, 0}, {1000, 0.9e-3F}, R"({"atol": 1e-7})"), HasSubstr("1 of 2 elements"));
  EXPECT_EQ(reason({1000, 0}, {1000, 0.9e-3F}, R"({"rtol": 1e-3})"), "");
}

TEST_F(VerifyRule, TakesNotANumberAndInfinityAsEqualToThemselvesAlone) {
  std::filesystem::create_directories(path("sum/test_data_set_0"));
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reason({nan, infinity, -infinity, 1}, {nan, infinity, -infinity, 1}), "");
  EXPECT_THAT(reason({nan, 1}, {1, 1}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({1, 1}, {nan, 1}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({infinity, 1}, {-infinity, 1}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({infinity, 1}, {3e38F, 1}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({1, 1}, {infinity, 1}), HasSubstr("1 of 2 elements"));
  EXPECT_THAT(reason({0, 1}, {infinity, 2}), HasSubstr("2 of 2 elements"));
}

TEST_F(Verify, ReadsWeightsInAnotherFile) {
  std::filesystem::create_directories(path("external/test_data_set_0"));
  const float weights[] = {10, 20};
  write("external/weights.bin", std::string(reinterpret_cast<const char*>(weights), sizeof weights));
  write("external/model.onnx",
        onnx_model(13, input_text("x", {2}) + output_text("y") + node_text("Add", {"x", "w"}, {"y"}) +
                           " initializer { name: \"w\" data_type: 1 dims: 2 data_location: EXTERNAL "
                           "external_data { key: \"location\" value: \"weights.bin\" } }"));
  write("external/test_data_set_0/input_0.pb", tensor_file({2}, {1, 2}));
  write("external/test_data_set_0/output_0.pb", tensor_file({2}, {11, 22}));
  const Outcome outcome = cohort({"verify", path("external").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("1 passed"));
}

TEST_F(Verify, TakesAGivenValueInPlaceOfADefault) {
  std::filesystem::create_directories(path("default/test_data_set_0"));
  write("default/model.onnx", onnx_model(13, input_text("c", {2}) + input_text("x", {2}) + output_text("y") +
                                                 floats_text("c", {2}, {5, 6}) + node_text("Sub", {"x", "c"}, {"y"})));
  write("default/test_data_set_0/input_0.pb", tensor_file({2}, {1, 2}));  // of x, which has none
  write("default/test_data_set_0/output_0.pb", tensor_file({2}, {-4, -4}));
  EXPECT_THAT(cohort({"verify", path("default").string()}).out, HasSubstr("1 passed"));
  write("default/test_data_set_0/input_0.pb", tensor_file({2}, {1, 2}));  // of both, in the file's order
  write("default/test_data_set_0/input_1.pb", tensor_file({2}, {3, 5}));
  write("default/test_data_set_0/output_0.pb", tensor_file({2}, {2, 3}));
  EXPECT_THAT(cohort({"verify", path("default").string()}).out, HasSubstr("1 passed"));
  std::string c = tensor_file({2}, {1, 1});
  write("default/test_data_set_0/input_0.pb", tensor_file({2}, {1, 2}) + "\x42\x01x");  // by their names
  write("default/test_data_set_0/input_1.pb", c + "\x42\x01"
                                                  "c");
  write("default/test_data_set_0/output_0.pb", tensor_file({2}, {0, 1}));
  EXPECT_THAT(cohort({"verify", path("default").string()}).out, HasSubstr("1 passed"));
}

TEST_F(Verify, NamesAPointerOrPageForWhatItIs) {
  write_case("one", {0, 0});
  write("one/model.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_THAT(cohort({"verify", path("one").string()}).out,
              HasSubstr("model.onnx: not an ONNX model: it is a Git LFS pointer, not the file itself; `git lfs pull`"));
  EXPECT_THAT(cohort({"profile", path("one/model.onnx").string(), "--device", "reference"}).err,
              HasSubstr("it is a Git LFS pointer"));
  write("one/model.onnx", "\n<!DOCTYPE html>\n<html>");
  EXPECT_THAT(cohort({"verify", path("one").string()}).out, HasSubstr("it is a web page; download the file itself"));
}

TEST_F(Verify, ProfilesAModelWithAnInputThatIsFixed) {
  const auto branch = [](std::string_view name, std::string_view op) {
    return " attribute { name: \"" + std::string(name) + "\" type: GRAPH g { " + node_text(op, {"x"}, {"r"}) +
           " output { name: \"r\" } } }";
  };
  write("if.onnx",
        onnx_model(17, input_text("x", {2}) + " input { name: \"k\" type { tensor_type { elem_type: 9 shape { } } } }" +
                           output_text("y") +
                           node_text("If", {"k"}, {"y"}, branch("then_branch", "Neg") + branch("else_branch", "Exp"))));
  const std::string model = path("if.onnx").string();
  const std::string profile = path("if.profile").string();
  EXPECT_THAT(cohort({"profile", model, "--device", "reference", "-o", profile}).err,
              HasSubstr("its condition depends on k, which --set-input NAME=VALUE fixes"));
  const Outcome fixed = cohort({"profile", model, "--device", "reference", "--set-input", "k=1", "-o", profile});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err;
  EXPECT_THAT(cohort({"profile", "mlp", "--set-input", "k=1"}).err, HasSubstr("--set-input is for .onnx files"));
}

TEST_F(Verify, ProfilesPlansAndRunsAModelUpToTensorsInItsMiddle) {
  write("detector.onnx", onnx_model(17, input_text("x", {4}) + output_text("y") + node_text("Neg", {"x"}, {"boxes"}) +
                                            node_text("Exp", {"x"}, {"all scores"}) +
                                            node_text("NonMaxSuppression", {"boxes", "all scores"}, {"y"})));
  const std::string model = path("detector.onnx").string();
  const std::string profile = path("detector.trace.json").string();
  const auto profile_until = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"profile", model, "--device", "reference", "-o", profile});
    return cohort(words);
  };
  EXPECT_THAT(profile_until({}).err,
              HasSubstr("or, to compute only what comes before: --until boxes --until 'all scores'"));
  EXPECT_THAT(profile_until({"--until", "boxes", "--until", "boxes"}).err, HasSubstr("--until names boxes twice"));
  const Outcome profiled = profile_until({"--until", "boxes", "--until", "all scores"});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  plan_and_run(profile, {{"until all scores", "2"}, {"until boxes", "1"}});
  EXPECT_THAT(cohort({"profile", "mlp", "--until", "boxes"}).err, HasSubstr("--until is for .onnx files"));
}

TEST_F(Verify, ProfilesPlansAndRunsAModelFromATensorInItsMiddle) {
  write("speech.onnx",
        onnx_model(17, input_text("x", {4}) + output_text("y") + node_text("Unique", {"x"}, {"lengths"}) +
                           node_text("Neg", {"lengths"}, {"y"})));
  const std::string model = path("speech.onnx").string();
  const std::string profile = path("speech.trace.json").string();
  const std::vector<std::string> words = {"profile", model,   "--device", "reference",
                                          "-o",      profile, "--from",   "lengths"};
  EXPECT_THAT(
      cohort(words).err,
      testing::AllOf(HasSubstr("--from lengths: its shape is not known (an op is not supported: node n_lengths"),
                     HasSubstr("give its dimensions, as --dim lengths:0=N, of float32 numbers")));
  std::vector<std::string> with_shape = words;
  with_shape.insert(with_shape.end(), {"--dim", "lengths:0=3"});
  const Outcome profiled = cohort(with_shape);
  ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  plan_and_run(profile, {{"from lengths", "1"}, {"lengths:0", "3"}});
  EXPECT_THAT(cohort({"profile", "mlp", "--from", "lengths"}).err, HasSubstr("--from is for .onnx files"));
}

/// Random numbers have no expected values.
TEST_F(Verify, SaysThatACaseOfRandomNumbersIsNotSupported) {
  std::filesystem::create_directories(path("random/test_data_set_0"));
  write("random/model.onnx",
        onnx_model(17, input_text("x", {2}) + output_text("y") + node_text("RandomNormalLike", {"x"}, {"noise"}) +
                           node_text("Add", {"x", "noise"}, {"y"})));
  write("random/test_data_set_0/input_0.pb", tensor_file({2}, {1, 2}));
  write("random/test_data_set_0/output_0.pb", tensor_file({2}, {1, 2}));
  const Outcome verified = cohort({"verify", path("random").string()});
  EXPECT_EQ(verified.exit_code, 1) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("noise holds random numbers, so that no output can be expected"));
}

/// Folders of cases beside the source tree that people reported, which are no part of it.
TEST_F(Verify, PassesTheReportedCasesOfExporters) {
  const std::filesystem::path reports = COHORT_REPORTS;
  if (!std::filesystem::exists(reports)) GTEST_SKIP() << "no cases at " << reports;
  std::vector<std::string> words{"verify"};
  for (const char* const name : {"20-verify-external-data", "21-overridable-initializer", "22-constant-value_floats",
                                 "23-local-functions", "25-unused-initializers", "29-passthrough-and-scalars"})
    words.push_back((reports / name).string());
  const Outcome outcome = cohort(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("8 passed, 0 failed, 0 unsupported"));
}

/// The ONNX project's own single-node cases.
class OnnxProject : public ProgramTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kProjectCases))
      GTEST_SKIP() << "the ONNX project's cases are not here; they are Debian's package libonnx-testdata";
  }
  json verify(const std::string& folder) {
    const Outcome outcome = cohort({"verify", std::string(kProjectCases) + "/" + folder, "--device", GetParam(),
                                    "--json", "--filter", kReadableCases});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  static std::vector<std::string> names(const json& report, std::string_view status) {
    std::vector<std::string> found;
    for (const json& each : report["cases"]) {
      if (each["status"] == status)
        found.push_back(each["name"].get<std::string>() + ": " + each["reason"].get<std::string>());
    }
    return found;
  }
};

/// Ops that networks are made of: what exporters write for them is to be read.
constexpr const char* kCommonOps =
    "Abs Add ArgMax AveragePool BatchNormalization Cast Clip Concat Constant ConstantOfShape Conv ConvTranspose "
    "DepthToSpace Div Dropout Elu Equal Erf Exp Expand Flatten GRU Gather Gelu Gemm GlobalAveragePool "
    "GlobalMaxPool GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LRN LSTM "
    "LayerNormalization LeakyRelu Log LogSoftmax MatMul Max MaxPool Mean Min Mish Mul Neg PRelu Pad Pow RNN Range "
    "ReduceMax ReduceMean ReduceSum Relu Reshape Resize Selu Shape Sigmoid Slice Softmax Softplus Softsign "
    "SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze Where";

bool is_common(const std::string& op_type) {
  std::istringstream names(kCommonOps);
  return std::find(std::istream_iterator<std::string>(names), {}, op_type) != std::istream_iterator<std::string>();
}

/// A case of one of them on float32, with whole numbers and truth values at most beside it.
bool is_common_case(const json& each) {
  ::onnx::ModelProto model;
  const auto bytes = read_file(std::filesystem::path(each["folder"].get<std::string>()) / "model.onnx");
  if (!bytes || !model.ParseFromString(*bytes) || model.graph().node_size() != 1) return false;
  if (!is_common(model.graph().node(0).op_type())) return false;
  std::set<int> types;  // UNDEFINED for what is no tensor
  for (const auto* const values : {&model.graph().input(), &model.graph().output()}) {
    for (const auto& value : *values) types.insert(value.type().tensor_type().elem_type());
  }
  using Proto = ::onnx::TensorProto;
  const bool has_floats = types.erase(Proto::FLOAT) > 0;
  for (const int other : {Proto::INT64, Proto::INT32, Proto::BOOL}) types.erase(other);
  return has_floats && types.empty();
}

TEST_P(OnnxProject, SingleNodeCasesHaveNoFailures) {
  const json report = verify("node");
  EXPECT_THAT(names(report, "failed"), IsEmpty());
  // Of 932; the rest are of ops or element types that are not supported, which must not grow.
  EXPECT_GE(report["passed"].get<int>(), 760);
  std::size_t common = 0;
  std::vector<std::string> unsupported;
  for (const json& each : report["cases"]) {
    if (!is_common_case(each)) continue;
    ++common;
    if (each["status"] == "unsupported") unsupported.push_back(each["name"]);
  }
  EXPECT_GE(common, 300U);
  EXPECT_LE(50 * unsupported.size(), common) << testing::PrintToString(unsupported);
}

TEST_P(OnnxProject, CasesConvertedFromPyTorchAllPass) {
  const json report = verify("pytorch-converted");
  EXPECT_THAT(names(report, "failed"), IsEmpty());
  EXPECT_THAT(names(report, "unsupported"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Devices, OnnxProject, ::testing::Values("reference", "cpu"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace cohort
