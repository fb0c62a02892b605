#include "tests/strategies/trainees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "executor/host/host_session.hpp"
#include "executor/input_values.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/runner.hpp"
#include "models/builder.hpp"
#include "models/networks/networks.hpp"
#include "simulator/plan/fuse.hpp"

namespace cohort::testing {
namespace {

constexpr int kSteps = 4;
/// Of float32 sums in another order, after kSteps; relative to the largest value of a state.
constexpr float kNearAlone = 1e-3F;

/// Convolution, batch normalisation, pooling, a product: with statistics that live across steps.
Model normalized_network(std::int64_t minibatch) {
  ModelBuilder builder("normalized");
  TensorId x = builder.input("x", {minibatch, 3, 8, 8});
  x = builder.convolution("conv", x, {.channels = 6, .kernel = 3, .stride = 1, .pad = 1});
  std::vector<TensorId> inputs{x};
  for (const char* const part : {"scale", "shift", "mean", "variance"})
    inputs.push_back(builder.weight(fmt::format("norm.{}", part), {6}));
  x = builder.add("norm", BatchNormalization{}, inputs);
  x = builder.relu("relu", x);
  x = builder.max_pool("pool", x, 2, 2);
  builder.output(builder.linear("fc", x, 5));
  auto model = builder.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

/// Two convolutions and two poolings of what a LeNet is made of, small enough for plain loops under sanitizers.
Model small_lenet(std::int64_t minibatch) {
  ModelBuilder builder("small_lenet");
  TensorId x = builder.input("x", {minibatch, 1, 12, 12});
  x = builder.convolution("conv1", x, {.channels = 4, .kernel = 5, .stride = 1, .pad = 2});
  x = builder.add("tanh", Activation{ActivationKind::kTanh, 0, 0}, {x});
  const Window window{{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}};
  x = builder.add("pool1", Pool{PoolKind::kAverage, window, false, false}, {x});
  x = builder.convolution("conv2", x, {.channels = 6, .kernel = 3, .stride = 1, .pad = 0});
  x = builder.relu("relu", x);
  x = builder.max_pool("pool2", x, 2, 2);
  x = builder.linear("fc1", x, 16);
  builder.output(builder.linear("fc2", builder.relu("relu2", x), 5));
  auto model = builder.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

Result<Model> network_of(const std::string& name, std::int64_t minibatch) {
  if (name == "normalized") return normalized_network(minibatch);
  if (name == "small_lenet") return small_lenet(minibatch);
  std::map<std::string, std::string> arguments;
  if (name == "mlp") arguments = {{"inputs", "24"}, {"hidden", "20"}};
  if (name == "lstm") arguments = {{"steps", "5"}, {"inputs", "10"}, {"hidden", "12"}};
  return make_network(name, minibatch, arguments);
}

/// Inputs of one step.
void fill(Runner& runner, int step, const TrainingChoices& choices) {
  const Program& program = runner.program();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    std::vector<float> values;
    if (input.role == TensorRole::kSetting && input.element == ElementType::kFloat32) {
      for (std::uint32_t m = 0; m < input.members.size(); ++m) {
        const std::vector<float> row = choices.settings(choices.first + m);
        values.insert(values.end(), row.begin(), row.end());
      }
    } else {
      values = generated_values(input, static_cast<std::uint64_t>(step), {0, i});
    }
    const auto written = write_input(runner, i, 0, values);
    ASSERT_TRUE(written) << written.error().message;
  }
  runner.upload(0);
}

/// Ops that `strategy` takes, of those not taken yet.
void fuse_all(Plan& plan, const Model& model, const std::string& name, Strategy strategy,
              std::set<std::string>& taken) {
  Group group{name, plan.groups[0].members, {}, strategy, 0, {}, {}};
  for (const Op& op : model.ops) {
    if (taken.contains(op.name)) continue;
    const bool reads_input = model.tensor(op.inputs[0]).role == TensorRole::kInput;
    const bool wide = strategy != Strategy::kDenseConvolution || reads_input;
    if (!wide || !fuse(model, op, strategy, 2, reads_input)) continue;
    group.ops.push_back(op.name);
    taken.insert(op.name);
  }
  if (!group.ops.empty()) plan.groups.push_back(std::move(group));
}

}  // namespace

Trainees trainees(const std::string& network, std::int64_t minibatch, const std::string& optimizer, int count) {
  Trainees made;
  TrainingSpec spec;
  spec.update = *optimizer_from(optimizer);
  spec.update.clip = optimizer == "momentum";
  for (int i = 0; i < count; ++i) {
    auto model = network_of(network, minibatch);
    EXPECT_TRUE(model) << model.error().message;
    Weights weights = random_weights(*model, static_cast<std::uint64_t>(i));
    auto step = differentiate({*std::move(model), std::move(weights)}, spec);
    EXPECT_TRUE(step) << step.error().message;
    made.steps.push_back(*std::move(step));
    made.members.push_back({fmt::format("m{}", i), {network, {}, minibatch}, static_cast<std::uint64_t>(i)});
  }
  return made;
}

std::vector<float> settings_of(std::uint32_t member) {
  std::vector<float> values = usual_settings();
  values[static_cast<std::size_t>(Setting::kLearningRate)] = 0.01F * static_cast<float>(member + 1);
  values[static_cast<std::size_t>(Setting::kWeightDecay)] = 0.001F * static_cast<float>(member);
  values[static_cast<std::size_t>(Setting::kClipNorm)] = 2 + static_cast<float>(member);
  // Adam steps by the sign of a gradient, however small: with the usual 1e-8 rounding errors would turn steps round.
  values[static_cast<std::size_t>(Setting::kEpsilon)] = 1e-3F;
  return values;
}

States train(Backend& backend, const Plan& plan, const Trainees& all, const TrainingChoices& choices) {
  std::vector<const Model*> models;
  std::vector<const Weights*> weights;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    models.push_back(&all.steps[choices.first + i].loaded.model);
    weights.push_back(&all.steps[choices.first + i].loaded.weights);
  }
  const auto program = lower(plan, models, backend.catalog(), choices.alternative);
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return {};
  const auto runner = Runner::create(backend, *program, weights);
  EXPECT_TRUE(runner) << runner.error().message;
  if (!runner) return {};
  for (int step = 0; step < kSteps; ++step) {
    fill(**runner, step, choices);
    const auto stepped = (*runner)->step(0);
    EXPECT_TRUE(stepped) << stepped.error().message;
  }
  States states;
  for (std::size_t i = 0; i < program->states.size(); ++i) {
    auto values = (*runner)->session().read_state(i);
    EXPECT_TRUE(values) << values.error().message;
    states.push_back(*std::move(values));
  }
  return states;
}

States train_alone(const Trainees& all) {
  States states;
  HostBackend backend(make_reference_kernels(), reference_device_info());
  for (std::uint32_t m = 0; m < all.members.size(); ++m) {
    const Plan plan = uniform_plan({all.members[m]}, Strategy::kSerial, 1);
    for (auto& state : train(backend, plan, all, {m})) states.push_back(std::move(state));
  }
  return states;
}

Plan plan_for(const std::string& name, const Trainees& all) {
  const bool serial = name == "serial" || name == "strided";
  Plan plan = uniform_plan(all.members, serial ? Strategy::kSerial : Strategy::kConcurrent, serial ? 1 : 2);
  const Model& model = all.steps[0].loaded.model;
  std::set<std::string> taken;
  if (name == "dense" || name == "mixed") fuse_all(plan, model, "first", Strategy::kDenseConvolution, taken);
  if (name == "grouped" || name == "mixed") fuse_all(plan, model, "channels", Strategy::kGroupedConvolution, taken);
  if (name == "strided" || name == "mixed" || name == "branches")
    fuse_all(plan, model, "stacked", Strategy::kStridedBatch, taken);
  if (name == "branches") {
    plan.groups.push_back(plan.groups.back());
    std::vector<std::string> all_ops = std::exchange(plan.groups.back().ops, {});
    Group& first = plan.groups[plan.groups.size() - 2];
    Group& second = plan.groups.back();
    first.ops.clear();
    for (std::size_t i = 0; i < all_ops.size(); ++i) (i % 2 == 0 ? first : second).ops.push_back(all_ops[i]);
    second.name = "stacked, too";
    second.streams = {1};
  }
  return plan;
}

void expect_same_states(const States& actual, const States& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    float largest = 0;
    for (const float value : expected[i]) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < actual[i].size(); ++k)
      ASSERT_NEAR(actual[i][k], expected[i][k], kNearAlone * largest) << "state " << i << " element " << k;
  }
}

}  // namespace cohort::testing
