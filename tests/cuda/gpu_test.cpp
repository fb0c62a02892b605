// On a GPU: a member of a model batch computes what the reference computes for it alone, whatever the strategy.
// Skipped where there is none; with COHORT_REQUIRE_GPU=1 that is a failure. Label: gpu.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/cuda_libraries.hpp"
#include "executor/cuda_plugin.hpp"
#include "executor/host/host_session.hpp"
#include "executor/input_values.hpp"
#include "executor/profile/op_case.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/input/fixture.hpp"
#include "tests/strategies/batch.hpp"
#include "tests/strategies/trainees.hpp"

namespace cohort::testing {
namespace {

constexpr auto kTolerance = static_cast<float>(tolerance_of(Precision::kFloat32));

Result<std::unique_ptr<Backend>> open_gpu() {
  COHORT_CHECK(probe_cuda_driver());
  COHORT_TRY(const SharedLibrary library, open_cuda_plugin("cuda", kCudaPluginLibraries));
  COHORT_TRY(CudaPluginEntry* const entry, library.function<CudaPluginEntry>(kCudaPluginEntry));
  return entry()->open(0);
}

void expect_close(const std::vector<std::vector<float>>& actual, const std::vector<std::vector<float>>& expected,
                  float tolerance = kTolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size()) << "output " << i;
    float largest = 0;
    for (const float value : expected[i]) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < actual[i].size(); ++k)
      ASSERT_NEAR(actual[i][k], expected[i][k], tolerance * largest) << "output " << i << " element " << k;
  }
}

/// The outputs of one step, twice: nothing of the first may be left over, and sums are added in a fixed order.
std::vector<std::vector<float>> outputs_on(Backend& device, const Plan& plan, const Batch& batch) {
  auto run = BatchRun::open(device, plan, batch.models(), {});
  EXPECT_TRUE(run) << run.error().message;
  if (!run) return {};
  const auto together = outputs_of(**run);
  EXPECT_TRUE(together) << together.error().message;
  if (!together) return {};
  const auto again = outputs_of(**run);
  EXPECT_TRUE(again && *again == *together) << "a second step differs from the first";
  return *together;
}

/// Set to 1 where a GPU must be tested: a gate of skipped tests is open to everything.
constexpr const char* kRequired = "COHORT_REQUIRE_GPU";

bool is_required() {
  const char* const value = std::getenv(kRequired);
  return value != nullptr && std::string_view(value) == "1";
}

/// On "gpu", skipped where there is none and none is required, and on "fake", which runs own kernels on the host and
/// shows that what is tested here is tested rightly.
class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "fake") {
      device_ = std::make_unique<FakeGpuBackend>();
      return;
    }
    auto opened = open_gpu();
    if (!opened && is_required()) FAIL() << kRequired << " is set, and " << opened.error().message;
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_ = std::move(*opened);
  }
  [[nodiscard]] bool is_fake() const { return std::string_view(GetParam()) == "fake"; }

  std::unique_ptr<Backend> device_;
  HostBackend reference_{make_reference_kernels(4), reference_device_info(4)};
};

INSTANTIATE_TEST_SUITE_P(Cuda, OnDevice, ::testing::Values("gpu", "fake"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(OnDevice, EveryStrategyEqualsTheReferenceOfEachMember) {
  const std::map<std::string, std::string> small_lstm{{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}};
  const std::vector<Batch> batches = [&] {
    std::vector<Batch> all;
    all.push_back(equal_members("lenet5", 3, {}, 3));
    all.push_back(equal_members("mlp", 3, {{"hidden", "40"}}, 3));
    all.push_back(equal_members("lstm", 2, small_lstm, 3));
    all.push_back(mixed_members(2));
    return all;
  }();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool mixed = i + 1 == batches.size();
    for (const char* strategy : {"serial", "concurrent", "dense", "grouped", "strided", "grouped_gemm", "mixed"}) {
      const std::string_view name = strategy;
      if (mixed && name != "serial" && name != "concurrent" && name != "grouped_gemm") continue;
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
        Plan plan = plan_by_name(strategy, batches[i]);
        plan.layout = layout;
        plan.launch = layout == Layout::kNhwc ? LaunchMode::kGraph : LaunchMode::kSingle;
        SCOPED_TRACE(fmt::format("batch {}, {}, layout {}", i, strategy, static_cast<int>(layout)));
        expect_close(outputs_on(*device_, plan, batches[i]), outputs_alone(reference_, plan, batches[i]));
      }
    }
  }
}

TEST_P(OnDevice, SeveralLaunchThreadsComputeWhatOneDoes) {
  std::vector<Batch> batches;
  batches.push_back(equal_members("lenet5", 3, {}, 5));
  batches.push_back(mixed_members(2));
  for (const Batch& batch : batches) {
    for (const char* strategy : {"concurrent", "mixed"}) {
      const bool mixed = &batch != &batches.front();
      if (mixed && std::string_view(strategy) == "mixed") continue;
      Plan plan = plan_by_name(strategy, batch);
      plan.launch = LaunchMode::kSingle;
      plan.streams = 3;
      const auto expected = outputs_alone(reference_, plan, batch);
      for (const int threads : {2, 3}) {
        SCOPED_TRACE(fmt::format("{}, {} launch threads", strategy, threads));
        plan.launch_threads = threads;
        expect_close(outputs_on(*device_, plan, batch), expected);
      }
    }
  }
}

TEST_P(OnDevice, EveryStepReadsItsOwnImagesThoughTheNextAreCopiedMeanwhile) {
  const TemporaryFolder folder;
  input_test::write_numbered_images(folder, 9);
  const Batch batch = equal_members("lenet5", 2, {}, 3);
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    for (const int buffers : {1, 2, 3}) {
      Plan plan = plan_by_name("concurrent", batch);
      plan.input.source = InputSource::kFolder;
      plan.input.path = folder.path().string();
      plan.input.sharing = sharing;
      plan.input.buffers = buffers;
      plan.launch = buffers == 2 ? LaunchMode::kGraph : LaunchMode::kSingle;
      auto run = BatchRun::open(*device_, plan, batch.models(), {});
      ASSERT_TRUE(run) << run.error().message;
      auto expected = BatchRun::open(reference_, plan, batch.models(), {});
      ASSERT_TRUE(expected) << expected.error().message;
      std::vector<std::vector<float>> last;
      for (int i = 0; i < 8; ++i) {
        SCOPED_TRACE(fmt::format("{} buffers, step {}", buffers, i));
        const auto outputs = outputs_of(**run);
        ASSERT_TRUE(outputs) << outputs.error().message;
        expect_close(*outputs, outputs_of(**expected).value());
        EXPECT_NE(*outputs, last) << "the images are others than before";
        last = *outputs;
      }
    }
  }
}

TEST_P(OnDevice, EveryPrecisionStaysNearTheReferenceOfEachMember) {
  std::vector<Batch> batches;
  batches.push_back(equal_members("lenet5", 3, {}, 3));
  batches.push_back(equal_members("mlp", 3, {{"hidden", "40"}}, 3));
  if (!is_fake()) batches.push_back(equal_members("resnet18", 2, {}, 3));
  for (const Precision precision : device_->catalog().precisions()) {
    for (const Batch& batch : batches) {
      const bool convolutions = batch.loaded[0]->model.name != "mlp";
      for (const char* strategy : {"concurrent", convolutions ? "grouped" : "strided", "mixed"}) {
        for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
          Plan plan = plan_by_name(strategy, batch);
          plan.layout = layout;
          SCOPED_TRACE(fmt::format("{}, {}, {}, layout {}", batch.loaded[0]->model.name, strategy, to_string(precision),
                                   static_cast<int>(layout)));
          const auto expected = outputs_alone(is_fake() ? reference_ : *device_, plan, batch);
          plan.precision = precision;
          expect_close(outputs_on(*device_, plan, batch), expected, static_cast<float>(tolerance_of(precision)));
        }
      }
    }
  }
}

TEST_P(OnDevice, EveryStrategyOfImageNetworksEqualsTheSerialRun) {
  if (is_fake()) GTEST_SKIP() << "too slow for loops on the host";
  for (const char* network : {"smallcnn", "squeezenet1_1", "resnet18", "alexnet5"}) {
    const Batch batch = equal_members(network, 2, {}, 3);
    const Plan serial = plan_by_name("serial", batch);
    const auto expected = outputs_alone(*device_, serial, batch);
    for (const char* strategy : {"concurrent", "dense", "grouped", "mixed"}) {
      SCOPED_TRACE(fmt::format("{}, {}", network, strategy));
      expect_close(outputs_on(*device_, plan_by_name(strategy, batch), batch), expected);
    }
  }
}

TEST_P(OnDevice, MembersThatTrainInAModelBatchGetTheWeightsTheyGetAlone) {
  for (const char* const network : {"small_lenet", "normalized", "mlp", "lstm"}) {
    const Trainees all = trainees(network, 4, "momentum", 3);
    const States alone = train_alone(all);
    for (const char* const strategy : {"serial", "concurrent", "strided", "grouped", "dense", "mixed"}) {
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
        SCOPED_TRACE(fmt::format("{}, {}, layout {}", network, strategy, static_cast<int>(layout)));
        Plan plan = plan_for(strategy, all);
        plan.layout = layout;
        plan.launch = layout == Layout::kNhwc ? LaunchMode::kGraph : LaunchMode::kSingle;
        expect_same_states(train(*device_, plan, all), alone);
      }
    }
  }
  for (const char* const optimizer : {"sgd", "nesterov", "adam", "adamw"}) {
    const Trainees all = trainees("small_lenet", 4, optimizer, 2);
    expect_same_states(train(*device_, plan_for("mixed", all), all), train_alone(all));
  }
}

TEST_P(OnDevice, EveryAlternativeOfTheOpsOfATrainingStepGivesTheSameWeights) {
  for (const char* const network : {"small_lenet", "normalized"}) {
    const Trainees all = trainees(network, 4, "momentum", 3);
    const States alone = train_alone(all);
    for (const char* const strategy : {"serial", "grouped", "dense", "strided"}) {
      std::size_t listed = 1;
      for (std::size_t i = 0; i < listed; ++i) {
        SCOPED_TRACE(fmt::format("{}, {}, alternative {}", network, strategy, i));
        const auto choose = [&](const CostKey& /*key*/, std::span<const Alternative> alternatives) {
          listed = std::max(listed, alternatives.size());
          return std::min(i, alternatives.size() - 1);
        };
        expect_same_states(train(*device_, plan_for(strategy, all), all, {0, settings_of, choose}), alone);
      }
    }
  }
}

TEST_P(OnDevice, EveryWayToRunOpsOfSeveralMembersInOneGroupEqualsTheReference) {
  const auto recurrent = [](const char* hidden) {
    return equal_members("lstm", 2, {{"steps", "3"}, {"inputs", "12"}, {"hidden", hidden}}, 3);
  };
  std::vector<std::pair<const char*, Batch>> cases;
  cases.emplace_back("strided", recurrent("20"));
  cases.emplace_back("strided", recurrent("1000"));  // in blocks of as many threads as there can be
  cases.emplace_back("grouped_gemm", mixed_members(2));
  for (const auto& [strategy, batch] : cases) {
    Plan plan = plan_by_name(strategy, batch);
    const auto expected = outputs_alone(reference_, plan, batch);
    std::size_t listed = 1;
    for (std::size_t i = 0; i < listed; ++i) {
      const auto choose = [&](const CostKey& key, std::span<const Alternative> list) {
        if (!key.signature.starts_with(kGroupPrefix)) return std::size_t{0};
        listed = std::max(listed, list.size());
        return std::min(i, list.size() - 1);
      };
      plan.resolved.reset();
      const auto program = lower(plan, batch.models().models, device_->catalog(), choose);
      ASSERT_TRUE(program) << program.error().message;
      plan.resolved = resolve(plan, *program, device_->info().name);
      SCOPED_TRACE(fmt::format("{}, alternative {} of {}", strategy, i, listed));
      expect_close(outputs_on(*device_, plan, batch), expected);
    }
    EXPECT_TRUE(listed >= 2 || (is_fake() && std::string_view(strategy) == "grouped_gemm"));
  }
}

TEST_P(OnDevice, EveryAlternativeOfEveryOpEqualsTheReference) {
  for (const char* network : {"lenet5", "mlp", "lstm"}) {
    const Batch batch = equal_members(network, 2, {}, 1);
    const LoadedModel& loaded = *batch.loaded[0];
    for (const Op& op : loaded.model.ops) {
      const Model single = single_op_model(loaded.model, op);
      const Weights weights = random_weights(single, 7);
      const std::vector<const Model*> models{&single};
      const std::vector<const Weights*> values{&weights};
      const auto run = [&](Backend& device, std::size_t wanted, std::size_t& listed) {
        const auto choose = [&](const CostKey& /*key*/, std::span<const Alternative> alternatives) {
          listed = alternatives.size();
          return std::min(wanted, alternatives.size() - 1);
        };
        const auto program =
            lower(uniform_plan({{"one", {}, 0}}, Strategy::kSerial, 1), models, device.catalog(), choose);
        EXPECT_TRUE(program) << program.error().message;
        const auto runner = Runner::create(device, *program, values);
        EXPECT_TRUE(runner) << runner.error().message;
        const auto filled = fill_inputs(**runner, [](const ProgramInput& input, InputPlace place) {
          return Result<std::vector<float>>(generated_values(input.shape, 3, place));
        });
        EXPECT_TRUE(filled && (*runner)->step(0));
        return *(*runner)->session().read_output(0);
      };
      std::size_t listed = 1;
      std::size_t of_reference = 0;
      const std::vector<float> expected = run(reference_, 0, of_reference);
      for (std::size_t i = 0; i < listed; ++i) {
        SCOPED_TRACE(fmt::format("{} {}, alternative {}", network, op.name, i));
        expect_close({run(*device_, i, listed)}, {expected});
      }
    }
  }
}

}  // namespace
}  // namespace cohort::testing
