#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/onnx/onnx_file.hpp"
#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Where Debian's libonnx-testdata puts the ONNX project's cases.
constexpr const char* kCases = "/usr/lib/python3/dist-packages/onnx/backend/test/data";

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

TEST_F(Verify, TakesTheToleranceOfTheCase) {
  write_case("wide", {1000, -5000});
  write("wide/data.json", R"({"rtol": 2, "atol": 1})");
  const Outcome outcome = cohort({"verify", path("").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("1 passed, 0 failed, 0 unsupported on "));
}

TEST_F(Verify, SaysWhyACaseCannotRun) {
  write_case("one", {0, 0});
  write("one/test_data_set_0/input_0.pb", "not a tensor");
  write_case("two", {0, 0});
  std::filesystem::remove_all(path("two/test_data_set_0"));
  const Outcome outcome = cohort({"verify", path("one").string(), path("two").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("unsupported one: "));
  EXPECT_THAT(outcome.out, HasSubstr("unsupported two: there is no test_data_set_* beside the model"));
}

TEST_F(Verify, RefusesFoldersWithoutCasesAndFiltersThatMatchNone) {
  const Outcome empty = cohort({"verify", path("").string()});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_THAT(empty.err, HasSubstr("holds no model.onnx at any depth"));
  write_case("one", {0, 0});
  EXPECT_EQ(cohort({"verify", path("").string(), "--filter", "^two$"}).exit_code, 2);
  EXPECT_EQ(cohort({"verify", path("").string(), "--filter", "("}).exit_code, 2);
}

/// The ONNX project's own single-node cases.
class OnnxProject : public ProgramTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kCases))
      GTEST_SKIP() << "the ONNX project's cases are not here; they are Debian's package libonnx-testdata";
  }
  json verify(const std::string& folder) {
    const Outcome outcome = cohort({"verify", std::string(kCases) + "/" + folder, "--device", GetParam(), "--json"});
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

TEST_P(OnnxProject, SingleNodeCasesHaveNoFailures) {
  const json report = verify("node");
  EXPECT_THAT(names(report, "failed"), IsEmpty());
  // Of 932; the rest are of ops or element types that are not supported, which must not grow.
  EXPECT_GE(report["passed"].get<int>(), 510);
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
