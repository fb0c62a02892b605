#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "models/compute/evaluate.hpp"
#include "models/onnx/onnx_file.hpp"

// The ONNX project's own cases, read, written and read again: what is computed must not change.

namespace cohort {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<std::vector<float>>;
using Inputs = std::map<std::string, onnx::NamedTensor>;

/// Where Debian's libonnx-testdata puts them.
constexpr const char* kCases = "/usr/lib/python3/dist-packages/onnx/backend/test/data/node";

/// A case that can be read and whose inputs are of types that models compute with.
struct Case {
  LoadedModel loaded;
  Values inputs;  ///< in the order of Model::inputs
};

std::optional<std::vector<float>> elements_of(const onnx::NamedTensor& tensor) {
  if (!tensor.is_whole) return tensor.values;
  std::vector<float> elements;
  for (const std::int64_t value : tensor.integers) {
    if (value < INT32_MIN || value > INT32_MAX) return std::nullopt;
    elements.push_back(std::bit_cast<float>(static_cast<std::int32_t>(value)));
  }
  return elements;
}

std::optional<Values> inputs_of(const Model& model, const Inputs& given) {
  Values values;
  for (const TensorId id : model.inputs) {
    const auto found = given.find(model.tensor(id).name);
    if (found == given.end()) return std::nullopt;
    auto elements = elements_of(found->second);
    if (!elements) return std::nullopt;
    values.push_back(*std::move(elements));
  }
  return values;
}

std::optional<Case> read_case(const fs::path& folder) {
  const auto bytes = read_file(folder / "model.onnx");
  const auto names = bytes ? onnx::input_names(*bytes) : fail(ErrorCode::kInvalidInput, "no model");
  if (!names) return std::nullopt;
  Inputs given;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const fs::path file = folder / "test_data_set_0" / fmt::format("input_{}.pb", i);
    if (!fs::exists(file)) continue;
    auto tensor = onnx::read_tensor(file);
    if (!tensor) return std::nullopt;
    given.emplace((*names)[i].name, *std::move(tensor));
  }
  onnx::ReadOptions options;
  options.given = &given;
  auto loaded = onnx::parse_model(*bytes, options);
  if (!loaded) return std::nullopt;
  auto inputs = inputs_of(loaded->model, given);
  if (!inputs) return std::nullopt;
  return Case{*std::move(loaded), *std::move(inputs)};
}

bool same(float a, float b) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return true;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::abs(a - b) <= 1e-5F * (1 + std::abs(b));
}

void expect_same(const Values& actual, const Values& expected, const std::string& name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size()) << name;
    const bool equal = std::equal(actual[i].begin(), actual[i].end(), expected[i].begin(), same);
    EXPECT_TRUE(equal) << name << ", output " << i;
  }
}

TEST(OnnxCaseRoundTrip, ComputesTheSameForEveryKindOfOp) {
  if (!fs::is_directory(kCases)) GTEST_SKIP() << "the ONNX project's cases are Debian's package libonnx-testdata";
  std::set<std::string> kinds, kinds_of_all;
  int written = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCases)) {
    const std::string name = entry.path().filename().string();
    const std::optional<Case> given = read_case(entry.path());
    if (!given) continue;
    const auto expected = reference::evaluate(given->loaded, given->inputs);
    if (!expected) continue;
    for (const Op& op : given->loaded.model.ops) kinds_of_all.emplace(op_type(op.attributes));
    const auto bytes = onnx::serialize_model(given->loaded);
    EXPECT_TRUE(bytes) << name << ": " << bytes.error().message;
    if (!bytes) continue;
    const auto again = onnx::parse_model(*bytes, {});
    EXPECT_TRUE(again) << name << ": " << again.error().message;
    if (!again) continue;
    const auto computed = reference::evaluate(*again, given->inputs);
    ASSERT_TRUE(computed) << name << ": " << computed.error().message;
    expect_same(*computed, *expected, name);
    for (const Op& op : given->loaded.model.ops) kinds.emplace(op_type(op.attributes));
    ++written;
  }
  EXPECT_EQ(kinds, kinds_of_all);
  EXPECT_GE(written, 400);
  EXPECT_GE(kinds.size(), 60U);
}

}  // namespace
}  // namespace cohort
