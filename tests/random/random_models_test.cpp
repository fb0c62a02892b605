#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/random.hpp"
#include "executor/host/host_session.hpp"
#include "executor/input_values.hpp"
#include "executor/onednn/onednn_kernels.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/runner.hpp"
#include "models/compute/evaluate.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/random/generator.hpp"

namespace cohort {
namespace {

using Values = std::vector<std::vector<float>>;

Values random_values(const Model& model, std::uint64_t seed) {
  Random random(seed);
  Values inputs;
  for (const TensorId id : model.inputs) {
    std::vector<float> values(static_cast<std::size_t>(element_count(model.tensor(id).shape)));
    for (float& value : values) value = random.uniform(-1, 1);
    inputs.push_back(std::move(values));
  }
  return inputs;
}

/// The model's outputs as a device computes them, in the order of memory that a plan has by default.
Result<Values> run_on(Backend& backend, const LoadedModel& loaded, const Values& inputs) {
  const Plan plan = uniform_plan({Member{"random", {}, 0}}, Strategy::kSerial, 1);
  const Model* const models[] = {&loaded.model};
  const Weights* const weights[] = {&loaded.weights};
  COHORT_TRY(const Program program, lower(plan, models, backend.catalog()));
  COHORT_TRY(const auto runner, Runner::create(backend, program, weights));
  for (std::size_t i = 0; i < inputs.size(); ++i) COHORT_CHECK(write_input(*runner, i, 0, inputs[i]));
  runner->upload(0);
  COHORT_CHECK(runner->step(0));
  Values outputs;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    COHORT_TRY(auto values, runner->session().read_output(i));
    outputs.push_back(std::move(values));
  }
  return outputs;
}

/// Largest difference, in units of the largest value; infinite where one is no number and the other is.
double difference(const Values& a, const Values& b) {
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return HUGE_VAL;
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      const double x = static_cast<double>(a[i][j]);
      const double y = static_cast<double>(b[i][j]);
      if (!std::isfinite(x) || !std::isfinite(y)) {
        if (std::isfinite(x) != std::isfinite(y)) return HUGE_VAL;
        continue;
      }
      worst = std::max(worst, std::abs(x - y));
      largest = std::max(largest, std::abs(y));
    }
  }
  return worst / largest;
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

std::uint64_t model_count() {
  const char* const asked = std::getenv("COHORT_RANDOM_MODELS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 50;
}

TEST(RandomModels, GiveOnEveryDeviceSimplifiedOrNotWhatTheirOpsMean) {
  HostBackend reference(make_reference_kernels(1), reference_device_info(1));
  HostBackend onednn(make_onednn_kernels(1), reference_device_info(1));
  for (std::uint64_t seed = 0; seed < model_count(); ++seed) {
    const LoadedModel loaded = random_model(seed);
    const LoadedModel simple = simplify(loaded);
    ASSERT_TRUE(validate(simple.model)) << validate(simple.model).error().message;
    const Values inputs = random_values(loaded.model, seed + 1);
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

}  // namespace
}  // namespace cohort
