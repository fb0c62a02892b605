#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.hpp"
#include "base/json.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Folders with a model.onnx beside the source tree, which are no part of it.
std::vector<std::string> case_folders() {
  std::vector<std::string> folders;
  const fs::path root = COHORT_SHARED_CASES;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "model.onnx") folders.push_back(it->path().parent_path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// A test's name may hold letters, digits and underscores only.
std::string test_name(const std::string& folder) {
  std::string name = fs::path(folder).filename().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
};

Tolerance tolerance_of(const fs::path& folder) {
  Tolerance tolerance;
  if (!fs::exists(folder / "data.json")) return tolerance;
  const auto data = parse_json(read_file(folder / "data.json").value());
  if (data && data->contains("rtol")) tolerance.rtol = data->at("rtol").get<double>();
  if (data && data->contains("atol")) tolerance.atol = data->at("atol").get<double>();
  return tolerance;
}

class OnnxCase : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxCase);

TEST_P(OnnxCase, GivesTheExpectedOutputAsReadAndSimplified) {
  const fs::path folder = GetParam();
  const Result<LoadedModel> loaded = onnx::read_model(folder / "model.onnx", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const LoadedModel simple = simplify(*loaded);
  const Result<void> valid = validate(simple.model);
  ASSERT_TRUE(valid) << valid.error().message;
  const fs::path data = folder / "test_data_set_0";
  std::vector<std::vector<float>> inputs;
  for (std::size_t i = 0; i < loaded->model.inputs.size(); ++i) {
    const auto tensor = onnx::read_tensor(data / fmt::format("input_{}.pb", i));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->shape, loaded->model.tensor(loaded->model.inputs[i]).shape);
    inputs.push_back(tensor->values);
  }
  const Tolerance tolerance = tolerance_of(folder);
  std::vector<const LoadedModel*> models{&simple};
  // Plain loops take their time: a large network is computed once, as it is run.
  if (work_of(loaded->model).flops.value < 100'000'000) models.push_back(&*loaded);
  for (const LoadedModel* model : models) {
    const auto outputs = evaluate(*model, inputs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const auto expected = onnx::read_tensor(data / fmt::format("output_{}.pb", i));
      ASSERT_TRUE(expected) << expected.error().message;
      EXPECT_EQ(expected->shape, model->model.tensor(model->model.outputs[i]).shape);
      EXPECT_LE(excess((*outputs)[i], expected->values, tolerance.rtol), tolerance.atol);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, OnnxCase, testing::ValuesIn(case_folders()),
                         [](const auto& each) { return test_name(each.param); });

TEST(OnnxCases, AreThere) {
  if (case_folders().empty()) GTEST_SKIP() << "no cases at " << COHORT_SHARED_CASES;
  EXPECT_GE(case_folders().size(), 14U);
}

}  // namespace
}  // namespace cohort
