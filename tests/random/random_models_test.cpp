#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "executor/host/host_session.hpp"
#include "executor/input/npy.hpp"
#include "executor/input_values.hpp"
#include "executor/onednn/onednn_kernels.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/runner.hpp"
#include "models/builder.hpp"
#include "models/compute/evaluate.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/random/generator.hpp"
#include "tests/random/values.hpp"

namespace cohort {
namespace {

/// The model's outputs as a device computes them, in the order of memory that a plan has by default.
Result<TensorValues> run_on(Backend& backend, const LoadedModel& loaded, const TensorValues& inputs) {
  const Plan plan = uniform_plan({Member{"random", {}, 0}}, Strategy::kSerial, 1);
  const Model* const models[] = {&loaded.model};
  const Weights* const weights[] = {&loaded.weights};
  COHORT_TRY(const Program program, lower(plan, models, backend.catalog()));
  COHORT_TRY(const auto runner, Runner::create(backend, program, weights));
  for (std::size_t i = 0; i < inputs.size(); ++i) COHORT_CHECK(write_input(*runner, i, 0, inputs[i]));
  runner->upload(0);
  COHORT_CHECK(runner->step(0));
  TensorValues outputs;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    COHORT_TRY(auto values, runner->session().read_output(i));
    outputs.push_back(std::move(values));
  }
  return outputs;
}

std::string describe(const Model& model) {
  std::string text;
  for (const Op& op : model.ops) {
    text += "  " + op.name + ": " + signature_of(model, op) + " of";
    for (const TensorId id : op.inputs) text += " " + model.tensor(id).name;
    text += "\n";
  }
  return text;
}

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const asked = std::getenv(name);
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : otherwise;
}
std::uint64_t first_model() { return number_in_environment("COHORT_RANDOM_MODELS_FROM", 0); }
std::uint64_t model_count() { return number_in_environment("COHORT_RANDOM_MODELS", 1000); }

/// Writes a model, its inputs and what it must compute as files that other programs read.
Result<void> write_case(const std::filesystem::path& folder, const LoadedModel& loaded, const std::string& model,
                        const TensorValues& inputs, const TensorValues& outputs) {
  std::filesystem::create_directories(folder);
  COHORT_CHECK(write_file(folder / "model.onnx", model, Overwrite::kAllow));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = loaded.model.tensor(loaded.model.inputs[i]).shape;
    COHORT_CHECK(write_npy(folder / fmt::format("input_{}.npy", i), shape, inputs[i], Overwrite::kAllow));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = loaded.model.tensor(loaded.model.outputs[i]).shape;
    COHORT_CHECK(write_npy(folder / fmt::format("output_{}.npy", i), shape, outputs[i], Overwrite::kAllow));
  }
  return {};
}

TEST(RandomModels, ComputeTheSameWrittenAsOnnxAndReadAgain) {
  const char* const folder = std::getenv("COHORT_RANDOM_MODELS_TO");  // bench/peers/random_models.py
  for (std::uint64_t seed = first_model(); seed < first_model() + model_count(); ++seed) {
    const LoadedModel loaded = random_model(seed);
    const auto bytes = onnx::serialize_model(loaded);
    ASSERT_TRUE(bytes) << bytes.error().message << "\n" << describe(loaded.model);
    const auto again = onnx::parse_model(*bytes, {});
    ASSERT_TRUE(again) << again.error().message << "\n" << describe(loaded.model);
    const TensorValues inputs = random_inputs(loaded.model, seed + 1);
    const auto meant = reference::evaluate(loaded, inputs);
    const auto computed = reference::evaluate(*again, inputs);
    ASSERT_TRUE(meant) << meant.error().message;
    ASSERT_TRUE(computed) << computed.error().message << "\n" << describe(again->model);
    EXPECT_LE(difference(*computed, *meant), 1e-5) << "seed " << seed << "\n" << describe(loaded.model);
    if (folder == nullptr) continue;
    const auto written =
        write_case(std::filesystem::path(folder) / std::to_string(seed), loaded, *bytes, inputs, *meant);
    ASSERT_TRUE(written) << written.error().message;
  }
}

TEST(RandomModels, GiveOnEveryDeviceSimplifiedOrNotWhatTheirOpsMean) {
  HostBackend reference(make_reference_kernels(1), reference_device_info(1));
  HostBackend onednn(make_onednn_kernels(1), reference_device_info(1));
  for (std::uint64_t seed = first_model(); seed < first_model() + model_count(); ++seed) {
    const LoadedModel loaded = random_model(seed);
    const LoadedModel simple = simplify(loaded);
    ASSERT_TRUE(validate(simple.model)) << validate(simple.model).error().message;
    const TensorValues inputs = random_inputs(loaded.model, seed + 1);
    const auto meant = reference::evaluate(loaded, inputs);
    ASSERT_TRUE(meant) << meant.error().message;
    for (Backend* const backend : {static_cast<Backend*>(&reference), static_cast<Backend*>(&onednn)}) {
      const auto computed = run_on(*backend, simple, inputs);
      ASSERT_TRUE(computed) << computed.error().message << "\n" << describe(simple.model);
      EXPECT_LE(difference(*computed, *meant), 1e-4)
          << "seed " << seed << " on " << (backend == &onednn ? "oneDNN" : "plain loops") << "\n"
          << describe(simple.model) << "made of\n"
          << describe(loaded.model);
    }
  }
}

TEST(Devices, ComputeWithScalarsAndInfinitiesWhatOpsMean) {
  ModelBuilder b("scalars");
  const TensorId x = b.input("x", {2, 3});
  const TensorId sum = b.add("sum", Reduce{ReduceKind::kSum, {0, 1}, false}, {x});
  const TensorId rise = b.add("rise", Activation{ActivationKind::kExp, 0, 0}, {sum});
  const TensorId ratio = b.add("ratio", Binary{BinaryKind::kDiv}, {sum, rise});
  b.output(b.reshape("ratios", ratio, {1, 1}));
  const TensorId lowest =
      b.add("lowest", Activation{ActivationKind::kLog, 0, 0}, {b.add("zero", Binary{BinaryKind::kSub}, {x, x})});
  b.output(b.add("largest", Reduce{ReduceKind::kMax, {1}, true}, {lowest}));
  b.output(b.add("smallest", Reduce{ReduceKind::kMin, {1}, false},
                 {b.add("up", Activation{ActivationKind::kNeg, 0, 0}, {lowest})}));
  const auto model = b.finish();
  ASSERT_TRUE(model) << model.error().message;
  const LoadedModel loaded{*model, random_weights(*model, 0)};
  const TensorValues inputs{{1, 0.5F, 0.25F, -1, 2, 0}};
  HostBackend onednn(make_onednn_kernels(1), reference_device_info(1));
  const auto computed = run_on(onednn, loaded, inputs);
  ASSERT_TRUE(computed) << computed.error().message;
  EXPECT_NEAR((*computed)[0][0], 2.75F / std::exp(2.75F), 1e-6);
  EXPECT_EQ((*computed)[1], (std::vector<float>{-HUGE_VALF, -HUGE_VALF}));
  EXPECT_EQ((*computed)[2], (std::vector<float>{HUGE_VALF, HUGE_VALF}));
}

}  // namespace
}  // namespace cohort
